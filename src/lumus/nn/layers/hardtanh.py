"""Hardtanh: the activation of that name."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.elementwise.hardtanh import checked_bounds, hardtanh


class Hardtanh(Module):
    """`lumus.hardtanh` as a layer: each element held between two numbers.

    **Shapes.** Any; the result has the shape of `x`.
    **Raises.** ArgumentError unless ``min_val <= max_val``.

    >>> import lumus as lm
    >>> lm.nn.Hardtanh()(lm.tensor([-2.0, 0.5])).tolist()
    [-1.0, 0.5]
    """

    min_val: float
    max_val: float

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        self.min_val, self.max_val = checked_bounds("Hardtanh", min_val, max_val)

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return hardtanh(x, self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"{self.min_val}, {self.max_val}"
