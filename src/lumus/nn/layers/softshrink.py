"""Softshrink: the activation of that name."""

from __future__ import annotations

from lumus.core.argument import not_negative
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.elementwise.softshrink import softshrink


class Softshrink(Module):
    """`lumus.softshrink` as a layer: ``sign(x) * max(|x| - lambd, 0)``.

    **Shapes.** Any; the result has the shape of `x`.
    **Raises.** ArgumentError for a `lambd` that is negative or not finite.

    >>> import lumus as lm
    >>> lm.nn.Softshrink()(lm.zeros((2,))).shape
    (2,)
    """

    lambd: float

    def __init__(self, lambd: float = 0.5) -> None:
        self.lambd = not_negative("Softshrink", "lambd", lambd)

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return softshrink(x, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"
