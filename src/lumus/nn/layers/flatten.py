"""Flatten: neighbouring axes made one."""

from __future__ import annotations

import math

from lumus.core.broadcast import integer
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.nn.module import Module


class Flatten(Module):
    """The axes from `start_axis` to `end_axis`, both included, made one.

    By default all but the first: (n, ...) gives (n, product of the rest), and (n,) gives (n, 1).

    **Raises.** ShapeError for a tensor without these axes, or in another order.

    >>> import lumus as lm
    >>> lm.nn.Flatten()(lm.zeros((2, 3, 4))).shape
    (2, 12)
    """

    start_axis: int
    end_axis: int

    def __init__(self, start_axis: int = 1, end_axis: int = -1) -> None:
        self.start_axis = integer("Flatten", "start_axis", start_axis)
        self.end_axis = integer("Flatten", "end_axis", end_axis)

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        if x.ndim == 0:
            raise ShapeError("Flatten: needs at least one axis, got shape ()")
        start = self.start_axis + (x.ndim if self.start_axis < 0 else 0)
        stop = self.end_axis + (x.ndim if self.end_axis < 0 else 0) + 1
        # Behind the last axis stands the product of none.
        if not 0 <= start <= stop <= x.ndim:
            raise ShapeError(
                f"Flatten: no axes from {self.start_axis} to {self.end_axis} in shape {x.shape}"
            )
        return x.reshape((*x.shape[:start], math.prod(x.shape[start:stop]), *x.shape[stop:]))

    def extra_repr(self) -> str:
        is_default = (self.start_axis, self.end_axis) == (1, -1)
        return "" if is_default else f"{self.start_axis}, {self.end_axis}"
