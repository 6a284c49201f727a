"""LogSigmoid: the activation of that name."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.elementwise.logsigmoid import logsigmoid


class LogSigmoid(Module):
    """`lumus.logsigmoid` as a layer: ``log(sigmoid(x))``.

    **Shapes.** Any; the result has the shape of `x`.

    >>> import lumus as lm
    >>> lm.nn.LogSigmoid()(lm.zeros((2,))).shape
    (2,)
    """

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return logsigmoid(x)
