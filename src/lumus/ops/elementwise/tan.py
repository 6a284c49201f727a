"""tan: the tangent of each element."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.ops.elementwise.map import fused

_GRAD = expression(lambda grad, y: grad * (1 + y * y))


@record
class TanRecord(Record):
    """d tan(x) / dx = grad * (1 + y**2)."""

    y: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.y.tensor()),)


@register
class Tan(ElementwiseOp):
    name = "tan"
    scalar = expression(lambda x: scalar.tan(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return TanRecord(saved_output(output))


def tan(x: Tensor[Float]) -> Tensor[Float]:
    """The tangent of each element, in radians.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``1 + tan(x)**2``.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.tan(lm.tensor([0.0])).tolist()
    [0.0]
    """
    return apply("tan", x)
