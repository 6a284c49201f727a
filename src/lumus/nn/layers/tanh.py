"""Tanh: the activation of that name."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module


class Tanh(Module):
    """`lumus.tanh` as a layer.

    **Shapes.** Any; the result has the shape of `x`.

    >>> import lumus as lm
    >>> lm.nn.Tanh()(lm.zeros((2,))).shape
    (2,)
    """

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return x.tanh()
