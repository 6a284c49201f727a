"""cos: the cosine of each element."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.ops.elementwise.map import fused

_GRAD = expression(lambda grad, x: -grad * scalar.sin(x))


@record
class CosRecord(Record):
    """d cos(x) / dx = -grad * sin(x)."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Cos(ElementwiseOp):
    name = "cos"
    scalar = expression(lambda x: scalar.cos(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return CosRecord(Saved(inputs[0]))


def cos(x: Tensor[Float]) -> Tensor[Float]:
    """The cosine of each element, in radians; NaN at infinities.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``-sin(x)``.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.cos(lm.tensor([0.0])).tolist()
    [1.0]
    """
    return apply("cos", x)
