"""minimum: the smaller of two tensors, element by element."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.dispatch import apply
from lumus.core.kinds import Float, Int
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor, operands
from lumus.ops.broadcasting import sum_to
from lumus.ops.elementwise.map import fused

_GRAD_X = expression(
    lambda grad, x, y: scalar.where(x < y, grad, scalar.where(scalar.equal(x, y), 0.5 * grad, 0.0))
)
_GRAD_Y = expression(
    lambda grad, x, y: scalar.where(y < x, grad, scalar.where(scalar.equal(x, y), 0.5 * grad, 0.0))
)


@record
class MinimumRecord(Record):
    """d minimum(x, y) = grad to the smaller, half to each at a tie."""

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
class Minimum(ElementwiseOp):
    name = "minimum"
    kinds = ("float", "int")
    scalar = expression(lambda x, y: scalar.minimum(x, y))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return MinimumRecord(Saved(inputs[0]), Saved(inputs[1]), needs)


@overload
def minimum(x: Tensor[Float] | float, y: Tensor[Float] | float) -> Tensor[Float]: ...
@overload
def minimum(x: Tensor[Int] | int, y: Tensor[Int] | int) -> Tensor[Int]: ...
def minimum(x: Any, y: Any) -> Any:
    """The smaller of each pair of elements; NaN if either is NaN.

    **Shapes.** Broadcast together.
    **Kinds.** Float or Int, both the same; dtypes promote within the kind.
    **Gradient.** `grad` to the smaller; half of `grad` to each at a tie, so that they sum to it.
    **Raises.** KindError for Bool or mixed kinds, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.minimum(lm.tensor([1.0, 4.0]), 2.0).tolist()
    [1.0, 2.0]
    """
    return apply("minimum", *operands("minimum", x, y))
