"""Flatten: all axes but the first made one."""

from __future__ import annotations

import math

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.nn.module import Module


class Flatten(Module):
    """All axes but the first made one: (n, ...) gives (n, product of the rest).

    **Raises.** ShapeError for a 0-d tensor.

    >>> import lumus as lm
    >>> lm.nn.Flatten()(lm.zeros((2, 3, 4))).shape
    (2, 12)
    """

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        if x.ndim == 0:
            raise ShapeError("Flatten: needs at least one axis, got shape ()")
        return x.reshape(x.shape[0], math.prod(x.shape[1:]))
