"""Batches: tensors cut into pieces of their first axis, in order or shuffled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lumus.core.broadcast import integer
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, KindError, ShapeError
from lumus.ops.create.arange import arange
from lumus.ops.random.generator import Generator
from lumus.ops.random.sample import permutation


class Batches:
    """Tuples of the tensors' rows, `batch_size` at a time; each iteration is one epoch.

    With `shuffle` each epoch has a new order from `generator`, drawn when the iteration begins. The
    last batch may be smaller, or is left out by `drop_last`. To resume in the middle of an epoch
    set the generator to the state it had at the epoch's start, call `skip` with the number of
    batches done, and only then set the generator to the state it had at the interruption.

    **Raises.** ArgumentError for a batch size that is not a positive int or no tensors, KindError
    for what is no tensor, ShapeError for tensors of different lengths.

    >>> import lumus as lm
    >>> [x.tolist() for (x,) in lm.data.Batches(lm.arange(5), batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        *tensors: Tensor[Any],
        batch_size: int,
        shuffle: bool = False,
        drop_last: bool = False,
        generator: Generator | None = None,
    ) -> None:
        batch_size = integer("Batches", "batch_size", batch_size)
        if not tensors or batch_size <= 0:
            raise ArgumentError(
                f"Batches: needs tensors and a positive batch_size, got {len(tensors)} and "
                f"{batch_size}"
            )
        for one in tensors:
            if not isinstance(one, Tensor):
                raise KindError(
                    f"Batches: {type(one).__name__} is no tensor",
                    hint="lumus.from_numpy(array) shares an array's memory",
                )
            if one.ndim == 0 or one.shape[0] != tensors[0].shape[0]:
                raise ShapeError(
                    "Batches: the tensors must have the same first axis, got shapes "
                    + ", ".join(str(tensor.shape) for tensor in tensors)
                )
        self.tensors = tensors
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.drop_last = drop_last
        self.generator = generator

    def __len__(self) -> int:
        """The number of batches in an epoch."""
        whole, rest = divmod(self.tensors[0].shape[0], self.batch_size)
        return whole + (1 if rest and not self.drop_last else 0)

    def __iter__(self) -> Iterator[tuple[Tensor[Any], ...]]:
        return self.skip(0)

    def skip(self, done: int) -> Iterator[tuple[Tensor[Any], ...]]:
        """The batches of an epoch after the first `done`.

        Raises ArgumentError for a number outside ``[0, len(self)]``.
        """
        if not 0 <= done <= len(self):
            raise ArgumentError(f"Batches: cannot skip {done} of {len(self)} batches")
        done = integer("Batches", "the number of batches to skip", done)
        count = self.tensors[0].shape[0]
        device = self.tensors[0].device
        # The order is drawn before the first batch is asked for: the epoch begins here.
        order = (
            permutation(count, device=device, generator=self.generator)
            if self.shuffle
            else arange(count, device=device)
        )
        return self._rows(order, done)

    def _rows(self, order: Tensor[Any], done: int) -> Iterator[tuple[Tensor[Any], ...]]:
        for place in range(done, len(self)):
            rows = order[place * self.batch_size : (place + 1) * self.batch_size]
            yield tuple(one.take(rows) for one in self.tensors)
