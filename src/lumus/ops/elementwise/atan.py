"""atan: the inverse tangent of each element."""

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
            1 / (1 + scalar.square(x)),
            scalar.square(scalar.reciprocal(x)),
        )
    )
)


@record
class AtanRecord(Record):
    """d atan(x) / dx = grad / (1 + x**2)."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Atan(ElementwiseOp):
    name = "atan"
    scalar = expression(lambda x: scalar.atan(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return AtanRecord(Saved(inputs[0]))


def atan(x: Tensor[Float]) -> Tensor[Float]:
    """The angle in [-pi/2, pi/2] whose tangent each element is.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``1 / (1 + x**2)``; 0 at the infinities.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.atan(lm.tensor([0.0, 1.0])).tolist()
    [0.0, 0.7853981852531433]
    """
    return apply("atan", x)
