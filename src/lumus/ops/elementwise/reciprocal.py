"""reciprocal: one over each element."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.ops.elementwise.map import fused, gradient_rule

_GRAD = gradient_rule(lambda grad, y: -grad * (y * y))


@record
class ReciprocalRecord(Record):
    """d (1 / x) / dx = -grad * y**2."""

    y: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.y.tensor()),)


@register
class Reciprocal(ElementwiseOp):
    name = "reciprocal"
    scalar = expression(lambda x: scalar.reciprocal(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return ReciprocalRecord(saved_output(output))


def reciprocal(x: Tensor[Float]) -> Tensor[Float]:
    """The reciprocal of each element: ``1 / x``; infinite at 0 with the zero's sign.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``-1 / x**2``.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.reciprocal(lm.tensor([4.0])).tolist()
    [0.25]
    """
    return apply("reciprocal", x)
