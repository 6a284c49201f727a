"""rsqrt: one over the square root of each element."""

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

_GRAD = gradient_rule(lambda grad, y: grad * (-0.5 * (y * y * y)))


@record
class RsqrtRecord(Record):
    """d x**-0.5 / dx = grad * -y**3 / 2."""

    y: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.y.tensor()),)


@register
class Rsqrt(ElementwiseOp):
    name = "rsqrt"
    scalar = expression(lambda x: scalar.rsqrt(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return RsqrtRecord(saved_output(output))


def rsqrt(x: Tensor[Float]) -> Tensor[Float]:
    """The reciprocal square root of each element: ``1 / sqrt(x)``; inf at 0, NaN below.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``-1 / (2 * x**1.5)``.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.rsqrt(lm.tensor([4.0])).tolist()
    [0.5]
    """
    return apply("rsqrt", x)
