"""sign: the sign of each element."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.dispatch import apply
from lumus.core.kinds import Float, Int
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.ops.broadcasting import zeros


@record
class SignRecord(Record):
    """d sign(x) / dx = 0."""

    by_signature = True

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (zeros(grad.spec),)


@register
class Sign(ElementwiseOp):
    name = "sign"
    kinds = ("float", "int")
    scalar = expression(lambda x: scalar.sign(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return SignRecord()


@overload
def sign(x: Tensor[Float]) -> Tensor[Float]: ...
@overload
def sign(x: Tensor[Int]) -> Tensor[Int]: ...
def sign(x: Any) -> Any:
    """The sign of each element: -1, 0 or 1; NaN at NaN.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float or Int; the result has the kind and dtype of `x`.
    **Gradient.** 0 everywhere.
    **Raises.** KindError for Bool.

    >>> import lumus as lm
    >>> lm.sign(lm.tensor([-3.0, 0.0])).tolist()
    [-1.0, 0.0]
    """
    return apply("sign", x)
