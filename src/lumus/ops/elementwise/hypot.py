"""hypot: the length of the vector of two elements."""

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

_FUNCTION = expression(lambda x, y: scalar.hypot(x, y))
_GRAD_X, _GRAD_Y = vjp(_FUNCTION, 0), vjp(_FUNCTION, 1)


@record
class HypotRecord(Record):
    """d hypot(x, y) = (grad * x / hypot(x, y), grad * y / hypot(x, y)), 0 at (0, 0)."""

    x: Saved[Float]
    y: Saved[Float]
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        x, y = self.x.tensor(), self.y.tensor()
        return (
            sum_to(fused(_GRAD_X, grad, x, y), x.spec) if self.needs[0] else None,
            sum_to(fused(_GRAD_Y, grad, x, y), y.spec) if self.needs[1] else None,
        )


@register
class Hypot(ElementwiseOp):
    name = "hypot"
    scalar = _FUNCTION

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return HypotRecord(Saved(inputs[0]), Saved(inputs[1]), needs)


def hypot(x: Tensor[Float] | float, y: Tensor[Float] | float) -> Tensor[Float]:
    """``sqrt(x**2 + y**2)`` without overflow or underflow of the squares; inf where either is
    infinite, beside NaN, too.

    **Shapes.** Broadcast together.
    **Kinds.** Float; one of the two may be a number.
    **Gradient.** ``x / hypot(x, y)`` for x, ``y / hypot(x, y)`` for y; 0 where both are 0, the
    limit where one or both are infinite.
    **Raises.** KindError for Int and Bool, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.hypot(lm.tensor([3.0]), lm.tensor([4.0])).tolist()
    [5.0]
    """
    return apply("hypot", *operands("hypot", x, y))
