"""expm1: e**x - 1 without cancellation near 0."""

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

_GRAD = gradient_rule(lambda grad, y: grad * (y + 1))


@record
class Expm1Record(Record):
    """d (e**x - 1) / dx = grad * (y + 1)."""

    y: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.y.tensor()),)


@register
class Expm1(ElementwiseOp):
    name = "expm1"
    scalar = expression(lambda x: scalar.expm1(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return Expm1Record(saved_output(output))


def expm1(x: Tensor[Float]) -> Tensor[Float]:
    """``e**x - 1`` of each element, exact to rounding near 0.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``e**x``.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.expm1(lm.tensor([0.0, 1e-10])).tolist()
    [0.0, 1.000000013351432e-10]
    """
    return apply("expm1", x)
