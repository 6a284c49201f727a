"""ReLU6: the activation of that name."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.elementwise.relu6 import relu6


class ReLU6(Module):
    """`lumus.relu6` as a layer: ``min(max(x, 0), 6)``.

    **Shapes.** Any; the result has the shape of `x`.

    >>> import lumus as lm
    >>> lm.nn.ReLU6()(lm.zeros((2,))).shape
    (2,)
    """

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return relu6(x)
