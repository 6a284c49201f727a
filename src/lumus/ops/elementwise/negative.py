"""negative: the negative of each element."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.dispatch import apply
from lumus.core.kinds import Float, Int
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, record
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor


@record
class NegativeRecord(Record):
    """d -x / dx = -grad."""

    by_signature = True

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (-grad,)


@register
class Negative(ElementwiseOp):
    name = "negative"
    kinds = ("float", "int")
    kind_hint = "for masks use ~, or convert with .astype(lumus.int64)"
    scalar = expression(lambda x: -x)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return NegativeRecord()


@overload
def negative(x: Tensor[Float]) -> Tensor[Float]: ...
@overload
def negative(x: Tensor[Int]) -> Tensor[Int]: ...
def negative(x: Any) -> Any:
    """The negative of each element: ``-x``; ints wrap.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float or Int; the result has the kind and dtype of `x`.
    **Gradient.** -1.
    **Raises.** KindError for Bool.

    >>> import lumus as lm
    >>> lm.negative(lm.tensor([-3.0, 2.0])).tolist()
    [3.0, -2.0]
    """
    return apply("negative", x)
