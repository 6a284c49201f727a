"""ELU: the activation of that name."""

from __future__ import annotations

from lumus.core.argument import finite
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.elementwise.elu import elu


class ELU(Module):
    """`lumus.elu` as a layer: ``alpha * (e**x - 1)`` where x is not positive.

    **Shapes.** Any; the result has the shape of `x`.
    **Raises.** ArgumentError for an `alpha` that is not finite.

    >>> import lumus as lm
    >>> lm.nn.ELU()(lm.zeros((2,))).shape
    (2,)
    """

    alpha: float

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = finite("ELU", "alpha", alpha)

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return elu(x, self.alpha)

    def extra_repr(self) -> str:
        return f"{self.alpha}"
