"""subtract: the difference of two tensors, element by element."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.dispatch import apply
from lumus.core.kinds import Float, Int
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, record
from lumus.core.scalar.expressions import expression
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor, operands
from lumus.ops.broadcasting import sum_to


@record
class SubtractRecord(Record):
    """d (x - y) = (grad, -grad), each summed over the axes along which it was broadcast."""

    by_signature = True

    x_spec: Spec | None
    y_spec: Spec | None

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (
            None if self.x_spec is None else sum_to(grad, self.x_spec),
            None if self.y_spec is None else sum_to(-grad, self.y_spec),
        )


@register
class Subtract(ElementwiseOp):
    name = "subtract"
    kinds = ("float", "int")
    scalar = expression(lambda x, y: x - y)
    kind_hint = "for masks use ^, & ~ or, for 1 - mask, ~; or convert with .astype(lumus.int64)"

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        x, y = inputs
        return SubtractRecord(x.spec if needs[0] else None, y.spec if needs[1] else None)


@overload
def subtract(x: Tensor[Float] | float, y: Tensor[Float] | float) -> Tensor[Float]: ...
@overload
def subtract(x: Tensor[Int] | int, y: Tensor[Int] | int) -> Tensor[Int]: ...
def subtract(x: Any, y: Any) -> Any:
    """The difference ``x - y`` of each pair of elements.

    **Shapes.** Broadcast together.
    **Kinds.** Float or Int, both the same; dtypes promote within the kind; ints wrap.
    **Gradient.** `grad` for x, ``-grad`` for y, summed over broadcast axes.
    **Raises.** KindError for Bool or mixed kinds, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.subtract(lm.tensor([1.0, 2.0]), 3.0).tolist()
    [-2.0, -1.0]
    """
    return apply("subtract", *operands("subtract", x, y))
