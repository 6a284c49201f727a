"""Softplus: the activation of that name."""

from __future__ import annotations

from lumus.core.argument import positive
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.elementwise.softplus import softplus


class Softplus(Module):
    """`lumus.softplus` as a layer: ``log(1 + e**(beta * x)) / beta``.

    **Shapes.** Any; the result has the shape of `x`.
    **Raises.** ArgumentError for a `beta` that is not positive and finite.

    >>> import lumus as lm
    >>> lm.nn.Softplus()(lm.zeros((2,))).shape
    (2,)
    """

    beta: float

    def __init__(self, beta: float = 1.0) -> None:
        self.beta = positive("Softplus", "beta", beta)

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return softplus(x, self.beta)

    def extra_repr(self) -> str:
        return f"{self.beta}"
