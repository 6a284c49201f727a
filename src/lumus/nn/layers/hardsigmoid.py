"""Hardsigmoid: the activation of that name."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.elementwise.hardsigmoid import hardsigmoid


class Hardsigmoid(Module):
    """`lumus.hardsigmoid` as a layer: ``min(max(x + 3, 0), 6) / 6``.

    **Shapes.** Any; the result has the shape of `x`.

    >>> import lumus as lm
    >>> lm.nn.Hardsigmoid()(lm.zeros((2,))).shape
    (2,)
    """

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return hardsigmoid(x)
