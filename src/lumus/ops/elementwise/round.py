"""round: each element rounded to the nearest integer."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.ops.broadcasting import zeros


@record
class RoundRecord(Record):
    """d round(x) / dx = 0."""

    by_signature = True

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (zeros(grad.spec),)


@register
class Round(ElementwiseOp):
    name = "round"
    scalar = expression(lambda x: scalar.round(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return RoundRecord()


def round(x: Tensor[Float]) -> Tensor[Float]:
    """Each element rounded to the nearest integer, halves to even.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** 0 everywhere.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.round(lm.tensor([0.5, 1.5, -2.5])).tolist()
    [0.0, 2.0, -2.0]
    """
    return apply("round", x)
