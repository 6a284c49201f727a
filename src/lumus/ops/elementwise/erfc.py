"""erfc: one minus the error function of each element."""

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

_TWO_OVER_SQRT_PI = 1.1283791670955126
# Beyond 30 the slope is 0 to the last bit; its own derivative would be inf * 0 at the infinities.
_GRAD = expression(
    lambda grad, x: (
        grad * scalar.where(scalar.absolute(x) > 30, 0.0, -_TWO_OVER_SQRT_PI * scalar.exp(-(x * x)))
    )
)


@record
class ErfcRecord(Record):
    """d erfc(x) / dx = -grad * 2 / sqrt(pi) * e**-x**2."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Erfc(ElementwiseOp):
    name = "erfc"
    scalar = expression(lambda x: scalar.erfc(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return ErfcRecord(Saved(inputs[0]))


def erfc(x: Tensor[Float]) -> Tensor[Float]:
    """The complementary error function of each element: ``1 - erf(x)``, which keeps its digits in
    the far tail.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``-2 / sqrt(pi) * e**-x**2``.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.erfc(lm.tensor([0.0, 100.0])).tolist()
    [1.0, 0.0]
    """
    return apply("erfc", x)
