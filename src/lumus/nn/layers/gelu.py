"""GELU: the activation of that name."""

from __future__ import annotations

from typing import Literal

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module


class GELU(Module):
    """`lumus.gelu` as a layer, in its erf form or the tanh approximation.

    **Shapes.** Any; the result has the shape of `x`.

    >>> import lumus as lm
    >>> lm.nn.GELU()(lm.zeros((2,))).shape
    (2,)
    """

    approximate: Literal["none", "tanh"]

    def __init__(self, approximate: Literal["none", "tanh"] = "none") -> None:
        self.approximate = approximate

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return x.gelu(self.approximate)

    def extra_repr(self) -> str:
        return "" if self.approximate == "none" else f"approximate={self.approximate!r}"
