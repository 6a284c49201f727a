"""add: the sum of two tensors, element by element."""

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
class AddRecord(Record):
    """d (x + y) = (grad, grad), each summed over the axes along which it was broadcast."""

    by_signature = True

    x_spec: Spec | None
    y_spec: Spec | None

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (
            None if self.x_spec is None else sum_to(grad, self.x_spec),
            None if self.y_spec is None else sum_to(grad, self.y_spec),
        )


@register
class Add(ElementwiseOp):
    name = "add"
    kinds = ("float", "int")
    scalar = expression(lambda x, y: x + y)
    kind_hint = "for masks use |, or convert with .astype(lumus.int64)"

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        x, y = inputs
        return AddRecord(x.spec if needs[0] else None, y.spec if needs[1] else None)


@overload
def add(x: Tensor[Float] | float, y: Tensor[Float] | float) -> Tensor[Float]: ...
@overload
def add(x: Tensor[Int] | int, y: Tensor[Int] | int) -> Tensor[Int]: ...
def add(x: Any, y: Any) -> Any:
    """The sum ``x + y`` of each pair of elements.

    **Shapes.** Broadcast together.
    **Kinds.** Float or Int, both the same; dtypes promote within the kind; ints wrap.
    **Gradient.** `grad` for both, summed over broadcast axes.
    **Raises.** KindError for Bool or mixed kinds, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.add(lm.tensor([1.0, 2.0]), 3.0).tolist()
    [4.0, 5.0]
    """
    return apply("add", *operands("add", x, y))
