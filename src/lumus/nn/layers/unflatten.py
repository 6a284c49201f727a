"""Unflatten: an axis made several."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lumus.core.argument import axis_of
from lumus.core.broadcast import integer
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.nn.module import Module


class Unflatten(Module):
    """The axis `axis` made several of `sizes`, one of which may be -1: what is left.

    **Raises.** ArgumentError for sizes that are no lengths and an axis out of range, ShapeError for
    sizes that do not multiply to the length of the axis.

    >>> import lumus as lm
    >>> lm.nn.Unflatten(1, (3, -1))(lm.zeros((2, 12))).shape
    (2, 3, 4)
    """

    axis: int
    sizes: tuple[int, ...]

    def __init__(self, axis: int, sizes: Sequence[int]) -> None:
        self.axis = integer("Unflatten", "axis", axis)
        self.sizes = tuple(integer("Unflatten", "sizes", size) for size in sizes)
        if not self.sizes or min(self.sizes) < -1 or self.sizes.count(-1) > 1:
            raise ArgumentError(
                f"Unflatten: sizes must be lengths, at most one of them -1, got {self.sizes}"
            )

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        axis = axis_of("Unflatten", x, self.axis)
        length, known = x.shape[axis], abs(math.prod(self.sizes))
        is_open = -1 in self.sizes
        fits = known > 0 and length % known == 0 if is_open else known == length
        if not fits:
            raise ShapeError(f"Unflatten: an axis of length {length} cannot become {self.sizes}")
        sizes = tuple(length // known if size == -1 else size for size in self.sizes)
        return x.reshape((*x.shape[:axis], *sizes, *x.shape[axis + 1 :]))

    def extra_repr(self) -> str:
        return f"{self.axis}, {self.sizes}"
