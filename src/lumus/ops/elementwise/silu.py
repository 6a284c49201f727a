"""silu: x * sigmoid(x) of each element."""

from __future__ import annotations

from math import inf
from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.ops.elementwise.map import fused

# At the infinities inf * 0 would be NaN; the limits of the derivative are 0 and 1.
_GRAD = expression(
    lambda grad, x: scalar.where(
        scalar.equal(scalar.absolute(x), inf),
        scalar.where(x > 0, grad, 0.0),
        grad * (scalar.sigmoid(x) * (1 + x * scalar.sigmoid(-x))),
    )
)


@record
class SiluRecord(Record):
    """d x * s(x) / dx = grad * s(x) * (1 + x * s(-x)), with s the sigmoid.

    0 and 1 at the infinities.
    """

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Silu(ElementwiseOp):
    name = "silu"
    scalar = expression(lambda x: scalar.where(scalar.equal(x, -inf), 0.0, x * scalar.sigmoid(x)))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return SiluRecord(Saved(inputs[0]))


def silu(x: Tensor[Float]) -> Tensor[Float]:
    """The sigmoid-weighted linear unit, also called swish: ``x * sigmoid(x)``; 0 at -inf.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``s * (1 + x * (1 - s))`` with ``s = sigmoid(x)``; 0 at -inf, 1 at inf.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.silu(lm.tensor([0.0])).tolist()
    [0.0]
    """
    return apply("silu", x)
