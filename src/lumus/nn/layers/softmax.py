"""Softmax: e**x scaled to a sum of 1 along an axis."""

from __future__ import annotations

from lumus.core.broadcast import integer
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.reduce.softmax import softmax


class Softmax(Module):
    """`lumus.softmax` as a layer: ``e**x`` scaled to a sum of 1 along `axis`.

    **Shapes.** Any with such an axis; the result has the shape of `x`.
    **Raises.** ArgumentError for an axis that is no integer.

    >>> import lumus as lm
    >>> lm.nn.Softmax(axis=1)(lm.zeros((2, 1))).tolist()
    [[1.0], [1.0]]
    """

    axis: int

    def __init__(self, axis: int = -1) -> None:
        self.axis = integer("Softmax", "axis", axis)

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return softmax(x, self.axis)

    def extra_repr(self) -> str:
        return f"axis={self.axis}"
