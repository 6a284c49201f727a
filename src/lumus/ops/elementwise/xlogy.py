"""xlogy: x times the logarithm of y, 0 where x is 0."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor, operands
from lumus.ops.broadcasting import sum_to
from lumus.ops.elementwise.map import fused, gradient_rule

_GRAD_X = gradient_rule(lambda grad, x, y: grad * scalar.log(y))
_GRAD_Y = gradient_rule(
    lambda grad, x, y: scalar.where(scalar.equal(x, 0) & scalar.equal(y, 0), 0.0, grad * x / y)
)


@record
class XlogyRecord(Record):
    """d (x * log(y)) = (grad * log(y), grad * x / y), the second 0 at (0, 0)."""

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
class Xlogy(ElementwiseOp):
    name = "xlogy"
    scalar = expression(
        lambda x, y: scalar.where(scalar.equal(x, 0) & ~scalar.isnan(y), 0.0, x * scalar.log(y))
    )

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return XlogyRecord(Saved(inputs[0]), Saved(inputs[1]), needs)


def xlogy(x: Tensor[Float] | float, y: Tensor[Float] | float) -> Tensor[Float]:
    """``x * log(y)``, and 0 where x is 0, whatever y is (but NaN): the terms of an entropy.

    **Shapes.** Broadcast together.
    **Kinds.** Float; one of the two may be a number.
    **Gradient.** ``log(y)`` for x, which is -inf at ``y = 0``; ``x / y`` for y, 0 where both are 0.
    **Raises.** KindError for Int and Bool, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.xlogy(lm.tensor([0.0, 2.0]), lm.tensor([0.0, 1.0])).tolist()
    [0.0, 0.0]
    """
    return apply("xlogy", *operands("xlogy", x, y))
