"""LogSoftmax: the logarithm of `softmax` along an axis."""

from __future__ import annotations

from lumus.core.broadcast import integer
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.reduce.log_softmax import log_softmax


class LogSoftmax(Module):
    """`lumus.log_softmax` as a layer: the logarithm of `softmax` along `axis`.

    **Shapes.** Any with such an axis; the result has the shape of `x`.
    **Raises.** ArgumentError for an axis that is no integer.

    >>> import lumus as lm
    >>> lm.nn.LogSoftmax(axis=1)(lm.zeros((2, 1))).tolist()
    [[0.0], [0.0]]
    """

    axis: int

    def __init__(self, axis: int = -1) -> None:
        self.axis = integer("LogSoftmax", "axis", axis)

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return log_softmax(x, self.axis)

    def extra_repr(self) -> str:
        return f"axis={self.axis}"
