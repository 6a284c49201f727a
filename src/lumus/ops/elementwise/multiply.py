"""multiply: the product of two tensors, element by element."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.dispatch import apply
from lumus.core.kinds import Float, Int
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar.expressions import expression
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor, operands
from lumus.ops.broadcasting import sum_to


@record
class MultiplyRecord(Record):
    """d (x * y) = (grad * y, grad * x), each summed over the axes along which it was broadcast."""

    x: Saved[Float] | None
    y: Saved[Float] | None
    x_spec: Spec
    y_spec: Spec

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (
            None if self.y is None else sum_to(grad * self.y.tensor(), self.x_spec),
            None if self.x is None else sum_to(grad * self.x.tensor(), self.y_spec),
        )


@register
class Multiply(ElementwiseOp):
    name = "multiply"
    kinds = ("float", "int")
    scalar = expression(lambda x, y: x * y)
    kind_hint = "for masks use &, or convert with .astype(lumus.int64)"

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        x, y = inputs
        return MultiplyRecord(
            Saved(x) if needs[1] else None, Saved(y) if needs[0] else None, x.spec, y.spec
        )


@overload
def multiply(x: Tensor[Float] | float, y: Tensor[Float] | float) -> Tensor[Float]: ...
@overload
def multiply(x: Tensor[Int] | int, y: Tensor[Int] | int) -> Tensor[Int]: ...
def multiply(x: Any, y: Any) -> Any:
    """The product ``x * y`` of each pair of elements.

    **Shapes.** Broadcast together.
    **Kinds.** Float or Int, both the same; dtypes promote within the kind; ints wrap.
    **Gradient.** ``grad * y`` for x, ``grad * x`` for y, summed over broadcast axes.
    **Raises.** KindError for Bool or mixed kinds, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.multiply(lm.tensor([1.0, 2.0]), 3.0).tolist()
    [3.0, 6.0]
    """
    return apply("multiply", *operands("multiply", x, y))
