"""floor_divide: the quotient of two tensors, rounded down."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.dispatch import apply
from lumus.core.kinds import Float, Int
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, record
from lumus.core.scalar.expressions import expression
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor, operands
from lumus.ops.broadcasting import zeros


@record
class FloorDivideRecord(Record):
    """d floor(x / y) = (0, 0)."""

    by_signature = True

    x_spec: Spec | None
    y_spec: Spec | None

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (
            None if self.x_spec is None else zeros(self.x_spec),
            None if self.y_spec is None else zeros(self.y_spec),
        )


@register
class FloorDivide(ElementwiseOp):
    name = "floor_divide"
    kinds = ("float", "int")
    scalar = expression(lambda x, y: x // y)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        x, y = inputs
        return FloorDivideRecord(x.spec if needs[0] else None, y.spec if needs[1] else None)


@overload
def floor_divide(x: Tensor[Float] | float, y: Tensor[Float] | float) -> Tensor[Float]: ...
@overload
def floor_divide(x: Tensor[Int] | int, y: Tensor[Int] | int) -> Tensor[Int]: ...
def floor_divide(x: Any, y: Any) -> Any:
    """The quotient ``floor(x / y)`` of each pair of elements, rounded towards -infinity as in
    Python.

    **Shapes.** Broadcast together.
    **Kinds.** Float or Int, both the same; dtypes promote within the kind; an Int divided by 0
    gives 0.
    **Gradient.** 0 everywhere.
    **Raises.** KindError for Bool or mixed kinds, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.floor_divide(lm.tensor([7.0, -7.0]), 2.0).tolist()
    [3.0, -4.0]
    """
    return apply("floor_divide", *operands("floor_divide", x, y))
