"""Generators of random numbers: a seed and a counter, nothing else."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from lumus.core.broadcast import integer
from lumus.core.construct import made_tensor, new_tensor
from lumus.core.device import Device
from lumus.core.dtypes import int64
from lumus.core.kinds import Int
from lumus.core.mode import MODE
from lumus.core.spec import spec_of
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, TraceError

_lock = threading.Lock()  # for the few instructions that read and move a stream


def _renew_lock() -> None:
    # A thread that does not exist in a forked child may have held it.
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


class Generator:
    """A stream of random numbers (Philox 4x32-10), the same on every device and for any threads.

    The numbers of a call depend only on the seed and on how many numbers were drawn before; element
    i of a call on nothing but these and i. `state` can be read and set, to resume a stream exactly.

    Source: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.

    >>> import lumus as lm
    >>> a, b = lm.random.Generator(7), lm.random.Generator(7)
    >>> bool((lm.random.normal((3,), generator=a) == lm.random.normal((3,), generator=b)).all())
    True
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed(int.from_bytes(os.urandom(7), "little") if seed is None else seed)

    _made_by: object = None  # what traced the function that made it

    def seed(self, seed: int) -> None:
        """Starts the stream of another seed, an int in [0, 2**63)."""
        self.state = (seed, 0)

    @property
    def state(self) -> tuple[int, int]:
        """(seed, counter)."""
        with _lock:
            return (self._seed, self._counter)

    @state.setter
    def state(self, state: tuple[int, int]) -> None:
        if not isinstance(state, Sequence) or len(state) != 2:
            raise ArgumentError(f"Generator: a state is (seed, counter), got {state!r}")
        seed = integer("Generator", "the seed", state[0])
        counter = integer("Generator", "the counter", state[1])
        if not 0 <= seed < 2**63:
            raise ArgumentError(f"Generator: the seed must be in [0, 2**63), got {seed}")
        if not 0 <= counter < 2**62:
            raise ArgumentError(f"Generator: the counter must be in [0, 2**62), got {counter}")
        tracer = MODE.get().tracer
        if tracer is not None and hasattr(self, "_seed") and self._made_by is not tracer:
            raise TraceError(
                "compile: a generator from outside is seeded in a compiled function, which would "
                "happen once, when it is traced",
                hint="seed it outside, or make a Generator(seed) inside",
            )
        self._made_by = tracer
        with _lock:
            self._seed, self._counter = seed, counter

    def next_key(self, count: int, device: Device) -> Tensor[Int]:
        """The key [seed, counter] of the next `count` numbers, as a tensor; moves the stream on."""
        spec = spec_of((2,), int64, device)
        # A block of the cipher gives four words; a number takes at most two of them.
        blocks = max(1, (count + 1) // 2)
        tracer = MODE.get().tracer
        if tracer is not None and self._made_by is tracer:
            # Made in the traced function, so it starts again at each call.
            key = device.copy_in(np.array(self.advance(blocks), dtype=np.int64), spec)
            return cast("Tensor[Int]", made_tensor(key, spec))
        if tracer is not None:
            return cast("Tensor[Int]", new_tensor(tracer.host(KeySource(self, blocks), spec), spec))
        key = np.array(self.advance(blocks), dtype=np.int64)
        return cast("Tensor[Int]", new_tensor(device.copy_in(key, spec), spec))

    def advance(self, blocks: int) -> tuple[int, int]:
        """(seed, counter) of the next blocks; moves the stream on."""
        with _lock:
            counter = self._counter
            self._counter += blocks
            return self._seed, counter

    def __repr__(self) -> str:
        return f"Generator(seed={self._seed}, counter={self._counter})"

    def __getstate__(self) -> Any:
        return self.state

    def __setstate__(self, state: Any) -> None:
        self.state = state


class KeySource:
    """The key of a random op of a compiled function: the next of its generator, at each call."""

    def __init__(self, generator: Generator, blocks: int) -> None:
        self.generator = generator
        self.blocks = blocks

    def values(self) -> tuple[int, int]:
        """(seed, counter)."""
        return self.generator.advance(self.blocks)

    def commit(self) -> None:
        """The stream has moved on when the key was asked for."""


default_generator = Generator()


def chosen_generator(op: str, generator: Generator | None) -> Generator:
    """The generator given, or the default one; raises ArgumentError for anything else."""
    source = default_generator if generator is None else generator
    if not isinstance(source, Generator):
        raise ArgumentError(
            f"{op}: generator must be a lumus.random.Generator, got {type(source).__name__}",
            op=op,
        )
    return source


def seed(value: int) -> None:
    """Seeds the generator that random functions use when none is given."""
    default_generator.seed(value)
