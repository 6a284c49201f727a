"""hardswish: each element times its hard sigmoid."""

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

_GRAD = expression(
    lambda grad, x: scalar.where(x < -3, 0.0, scalar.where(x > 3, grad, grad * (x / 3 + 0.5)))
)


@record
class HardswishRecord(Record):
    """d hardswish(x) / dx = grad * (x / 3 + 1/2) where -3 <= x <= 3; 0 below, grad above."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Hardswish(ElementwiseOp):
    name = "hardswish"
    scalar = expression(
        lambda x: scalar.where(x < -3, 0.0, scalar.where(x > 3, x, x * ((x + 3) / 6)))
    )

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return HardswishRecord(Saved(inputs[0]))


def hardswish(x: Tensor[Float]) -> Tensor[Float]:
    """Each element times its hard sigmoid: ``x * min(max(x + 3, 0), 6) / 6``; 0 at -inf.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``x / 3 + 1/2`` for x between -3 and 3 and on these bounds, 0 below, 1 above.
    **Raises.** KindError for Int and Bool.

    Source: Howard et al., "Searching for MobileNetV3", ICCV 2019.

    >>> import lumus as lm
    >>> lm.hardswish(lm.tensor([-4.0, 3.0, 6.0])).tolist()
    [0.0, 3.0, 6.0]
    """
    return apply("hardswish", x)
