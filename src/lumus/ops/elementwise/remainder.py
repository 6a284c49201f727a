"""remainder: the remainder of a division that rounds down."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.dispatch import apply
from lumus.core.kinds import Float, Int
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor, operands
from lumus.ops.broadcasting import sum_to
from lumus.ops.elementwise.map import fused

# Not floor(x / y): the quotient may round up to the next integer.
_GRAD_Y = expression(lambda grad, x, y: -grad * scalar.floor_divide(x, y))


@record
class RemainderRecord(Record):
    """d (x % y) = (grad, -grad * floor(x / y))."""

    x: Saved[Float] | None
    y: Saved[Float] | None
    x_spec: Spec | None

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        grad_y = None
        if self.x is not None and self.y is not None:
            y = self.y.tensor()
            grad_y = sum_to(fused(_GRAD_Y, grad, self.x.tensor(), y), y.spec)
        return (None if self.x_spec is None else sum_to(grad, self.x_spec), grad_y)


@register
class Remainder(ElementwiseOp):
    name = "remainder"
    kinds = ("float", "int")
    scalar = expression(lambda x, y: x % y)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        x, y = inputs
        x_spec = x.spec if needs[0] else None
        if not needs[1]:
            return RemainderRecord(None, None, x_spec)
        return RemainderRecord(Saved(x), Saved(y), x_spec)


@overload
def remainder(x: Tensor[Float] | float, y: Tensor[Float] | float) -> Tensor[Float]: ...
@overload
def remainder(x: Tensor[Int] | int, y: Tensor[Int] | int) -> Tensor[Int]: ...
def remainder(x: Any, y: Any) -> Any:
    """The remainder ``x - floor(x / y) * y``, with the sign of `y` as in Python; a zero has it,
    too.

    **Shapes.** Broadcast together.
    **Kinds.** Float or Int, both the same; dtypes promote within the kind; an Int modulo 0 gives 0.
    **Gradient.** `grad` for x, ``-grad * floor(x / y)`` for y.
    **Raises.** KindError for Bool or mixed kinds, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.remainder(lm.tensor([7.5, -7.5]), 2.0).tolist()
    [1.5, 0.5]
    """
    return apply("remainder", *operands("remainder", x, y))
