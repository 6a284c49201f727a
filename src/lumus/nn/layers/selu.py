"""SELU: the activation of that name."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.elementwise.selu import selu


class SELU(Module):
    """`lumus.selu` as a layer: the scaled exponential linear unit.

    **Shapes.** Any; the result has the shape of `x`.

    >>> import lumus as lm
    >>> lm.nn.SELU()(lm.zeros((2,))).shape
    (2,)
    """

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return selu(x)
