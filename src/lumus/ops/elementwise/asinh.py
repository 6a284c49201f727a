"""asinh: the inverse hyperbolic sine of each element."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.ops.elementwise.map import fused

# Beyond 1e10 the 1 is lost beside the square, which may overflow.
_GRAD = expression(
    lambda grad, x: (
        grad
        * scalar.where(
            scalar.absolute(x) < 1e10,
            scalar.rsqrt(1 + scalar.square(x)),
            scalar.absolute(scalar.reciprocal(x)),
        )
    )
)


@record
class AsinhRecord(Record):
    """d asinh(x) / dx = grad / sqrt(1 + x**2)."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Asinh(ElementwiseOp):
    name = "asinh"
    scalar = expression(lambda x: scalar.asinh(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return AsinhRecord(Saved(inputs[0]))


def asinh(x: Tensor[Float]) -> Tensor[Float]:
    """The inverse hyperbolic sine of each element: ``log(x + sqrt(1 + x**2))``, without
    cancellation.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``1 / sqrt(1 + x**2)``; 0 at the infinities.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.asinh(lm.tensor([0.0])).tolist()
    [0.0]
    """
    return apply("asinh", x)
