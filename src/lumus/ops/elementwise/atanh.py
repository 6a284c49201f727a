"""atanh: the inverse hyperbolic tangent of each element."""

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

_GRAD = gradient_rule(lambda grad, x: grad / ((1 - x) * (1 + x)))


@record
class AtanhRecord(Record):
    """d atanh(x) / dx = grad / (1 - x**2)."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Atanh(ElementwiseOp):
    name = "atanh"
    scalar = expression(lambda x: scalar.atanh(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return AtanhRecord(Saved(inputs[0]))


def atanh(x: Tensor[Float]) -> Tensor[Float]:
    """The inverse hyperbolic tangent of each element: ``log((1 + x) / (1 - x)) / 2``; infinite at
    -1 and 1, NaN beyond.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``1 / (1 - x**2)``; infinite at -1 and 1.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.atanh(lm.tensor([0.0])).tolist()
    [0.0]
    """
    return apply("atanh", x)
