"""sin: the sine of each element."""

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

_GRAD = expression(lambda grad, x: grad * scalar.cos(x))


@record
class SinRecord(Record):
    """d sin(x) / dx = grad * cos(x)."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Sin(ElementwiseOp):
    name = "sin"
    scalar = expression(lambda x: scalar.sin(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return SinRecord(Saved(inputs[0]))


def sin(x: Tensor[Float]) -> Tensor[Float]:
    """The sine of each element, in radians; NaN at infinities.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``cos(x)``.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.sin(lm.tensor([0.0])).tolist()
    [0.0]
    """
    return apply("sin", x)
