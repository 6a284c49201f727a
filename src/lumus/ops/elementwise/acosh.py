"""acosh: the inverse hyperbolic cosine of each element."""

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

_GRAD = gradient_rule(lambda grad, x: grad * (scalar.rsqrt(x - 1) * scalar.rsqrt(x + 1)))


@record
class AcoshRecord(Record):
    """d acosh(x) / dx = grad / sqrt(x**2 - 1)."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Acosh(ElementwiseOp):
    name = "acosh"
    scalar = expression(lambda x: scalar.acosh(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return AcoshRecord(Saved(inputs[0]))


def acosh(x: Tensor[Float]) -> Tensor[Float]:
    """The inverse hyperbolic cosine of each element: ``log(x + sqrt(x**2 - 1))``; NaN below 1.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``1 / sqrt(x**2 - 1)``; infinite at 1.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.acosh(lm.tensor([1.0])).tolist()
    [0.0]
    """
    return apply("acosh", x)
