"""Random numbers that are not lumus's: of Python's `random` and of NumPy.

A plan would repeat those that were drawn when its function was traced.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

GENERATORS: list[tuple[str, Any]] = [("random", random), ("numpy.random", np.random)]
"""Those that everybody shares."""


def is_random(value: Any) -> bool:
    """Whether a value is a generator of random numbers, other than lumus's."""
    return isinstance(value, random.Random | np.random.Generator | np.random.RandomState)


def state_of(generator: Any) -> tuple[Any, Callable[[Any], None]]:
    """Its state, in a form that can be compared, and how it is set."""
    if isinstance(generator, np.random.Generator):
        bits = generator.bit_generator
        return bits.state, lambda state: setattr(bits, "state", state)
    if isinstance(generator, random.Random) or generator is random:
        return generator.getstate(), generator.setstate
    name, keys, *rest = generator.get_state()
    state = (name, tuple(keys.tolist()), *rest)
    return state, lambda state: _set_numpy(generator, state)


def _set_numpy(generator: np.random.RandomState | ModuleType, state: tuple[Any, ...]) -> None:
    name, keys, *rest = state
    generator.set_state((name, np.array(keys, np.uint32), *rest))
