"""CELU: the activation of that name."""

from __future__ import annotations

from lumus.core.argument import positive
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.elementwise.celu import celu


class CELU(Module):
    """`lumus.celu` as a layer: ``alpha * (e**(x / alpha) - 1)`` where x is not positive.

    **Shapes.** Any; the result has the shape of `x`.
    **Raises.** ArgumentError for an `alpha` that is not positive and finite.

    >>> import lumus as lm
    >>> lm.nn.CELU()(lm.zeros((2,))).shape
    (2,)
    """

    alpha: float

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = positive("CELU", "alpha", alpha)

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return celu(x, self.alpha)

    def extra_repr(self) -> str:
        return f"{self.alpha}"
