"""LeakyReLU: the activation of that name."""

from __future__ import annotations

from lumus.core.argument import finite
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.elementwise.leaky_relu import leaky_relu


class LeakyReLU(Module):
    """`lumus.leaky_relu` as a layer: ``negative_slope * x`` where x is negative.

    **Shapes.** Any; the result has the shape of `x`.
    **Raises.** ArgumentError for a slope that is not finite.

    >>> import lumus as lm
    >>> lm.nn.LeakyReLU()(lm.zeros((2,))).shape
    (2,)
    """

    negative_slope: float

    def __init__(self, negative_slope: float = 0.01) -> None:
        self.negative_slope = finite("LeakyReLU", "negative_slope", negative_slope)

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return leaky_relu(x, self.negative_slope)

    def extra_repr(self) -> str:
        return f"{self.negative_slope}"
