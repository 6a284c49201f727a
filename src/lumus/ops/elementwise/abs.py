"""abs: the absolute value of each element."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.dispatch import apply
from lumus.core.kinds import Float, Int
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.ops.elementwise.map import fused

_GRAD = expression(lambda grad, x: grad * scalar.sign(x))


@record
class AbsRecord(Record):
    """d |x| / dx = grad * sign(x)."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Abs(ElementwiseOp):
    name = "abs"
    kinds = ("float", "int")
    scalar = expression(lambda x: scalar.absolute(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return AbsRecord(Saved(inputs[0]))


@overload
def abs(x: Tensor[Float]) -> Tensor[Float]: ...
@overload
def abs(x: Tensor[Int]) -> Tensor[Int]: ...
def abs(x: Any) -> Any:
    """The absolute value of each element. The smallest int of a dtype wraps to itself.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float or Int; the result has the kind and dtype of `x`.
    **Gradient.** ``sign(x)``: 0 at 0.
    **Raises.** KindError for Bool.

    >>> import lumus as lm
    >>> lm.abs(lm.tensor([-3.0, 2.0])).tolist()
    [3.0, 2.0]
    """
    return apply("abs", x)
