"""atan2: the angle of a point."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.scalar.tangent import vjp
from lumus.core.tensor import Tensor, operands
from lumus.ops.broadcasting import sum_to
from lumus.ops.elementwise.map import fused

_FUNCTION = expression(lambda y, x: scalar.atan2(y, x))
_GRAD_Y, _GRAD_X = vjp(_FUNCTION, 0), vjp(_FUNCTION, 1)


@record
class Atan2Record(Record):
    """d atan2(y, x) = (grad * x, -grad * y) / (x**2 + y**2), 0 at (0, 0)."""

    y: Saved[Float]
    x: Saved[Float]
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        y, x = self.y.tensor(), self.x.tensor()
        return (
            sum_to(fused(_GRAD_Y, grad, y, x), y.spec) if self.needs[0] else None,
            sum_to(fused(_GRAD_X, grad, y, x), x.spec) if self.needs[1] else None,
        )


@register
class Atan2(ElementwiseOp):
    name = "atan2"
    scalar = _FUNCTION

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return Atan2Record(Saved(inputs[0]), Saved(inputs[1]), needs)


def atan2(y: Tensor[Float] | float, x: Tensor[Float] | float) -> Tensor[Float]:
    """The angle in [-pi, pi] of the point (x, y), counted from the x axis; signs of zeros count.

    **Shapes.** Broadcast together.
    **Kinds.** Float; one of the two may be a number.
    **Gradient.** ``x / (x**2 + y**2)`` for y, ``-y / (x**2 + y**2)`` for x; 0 where both are 0.
    **Raises.** KindError for Int and Bool, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.atan2(lm.tensor([1.0, 0.0]), lm.tensor([1.0, -1.0])).tolist()
    [0.7853981852531433, 3.1415927410125732]
    """
    return apply("atan2", *operands("atan2", y, x))
