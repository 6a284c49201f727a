"""sinh: the hyperbolic sine of each element."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.ops.elementwise.map import fused, gradient_rule

_GRAD = gradient_rule(lambda grad, x: grad * scalar.cosh(x))


@record
class SinhRecord(Record):
    """d sinh(x) / dx = grad * cosh(x)."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Sinh(ElementwiseOp):
    name = "sinh"
    scalar = expression(lambda x: scalar.sinh(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return SinhRecord(Saved(inputs[0]))


def sinh(x: Tensor[Float]) -> Tensor[Float]:
    """The hyperbolic sine of each element: ``(e**x - e**-x) / 2``, without cancellation.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``cosh(x)``.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.sinh(lm.tensor([0.0])).tolist()
    [0.0]
    """
    return apply("sinh", x)
