"""square: the square of each element."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.dispatch import apply
from lumus.core.kinds import Float, Int
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.ops.elementwise.map import fused

_GRAD = expression(lambda grad, x: grad * (2 * x))


@record
class SquareRecord(Record):
    """d x**2 / dx = grad * 2 * x."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Square(ElementwiseOp):
    name = "square"
    kinds = ("float", "int")
    scalar = expression(lambda x: x * x)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return SquareRecord(Saved(inputs[0]))


@overload
def square(x: Tensor[Float]) -> Tensor[Float]: ...
@overload
def square(x: Tensor[Int]) -> Tensor[Int]: ...
def square(x: Any) -> Any:
    """The square of each element: ``x * x``; ints wrap.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float or Int; the result has the kind and dtype of `x`.
    **Gradient.** ``2 * x``.
    **Raises.** KindError for Bool.

    >>> import lumus as lm
    >>> lm.square(lm.tensor([-3.0, 2.0])).tolist()
    [9.0, 4.0]
    """
    return apply("square", x)
