"""Random numbers that are not lumus's: of Python's `random` and of NumPy.

A plan would repeat those that were drawn when its function was traced.
"""

from __future__ import annotations

import pickle
import random
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np


def shared_generators() -> list[tuple[str, Any]]:
    """(name, generator) of those that everybody shares."""
    return [("random", random), ("numpy.random", np.random)]


def is_random(value: Any) -> bool:
    """Whether a value is a generator of random numbers, other than lumus's."""
    if isinstance(value, random.Random):
        return True
    # Who has one of NumPy's has loaded its module, which `import lumus` does not.
    numbers: Any = sys.modules.get("numpy.random")
    return numbers is not None and isinstance(value, numbers.Generator | numbers.RandomState)


def state_of(generator: Any) -> tuple[bytes, Callable[[], None]]:
    """Where it stands, as bytes to compare, and how it is put there again."""
    if isinstance(generator, random.Random) or generator is random:
        state, write = generator.getstate(), generator.setstate
    elif hasattr(generator, "get_state"):
        state, write = generator.get_state(), generator.set_state
    else:
        bits = generator.bit_generator
        state, write = bits.state, partial(setattr, bits, "state")
    return pickle.dumps(state), partial(write, state)
