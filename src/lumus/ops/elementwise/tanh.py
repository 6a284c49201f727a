"""tanh: the hyperbolic tangent of each element."""

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

_GRAD = expression(lambda grad, y: grad * (1 - y * y))


@record
class TanhRecord(Record):
    """d tanh(x) / dx = grad * (1 - y**2)."""

    y: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.y.tensor()),)


@register
class Tanh(ElementwiseOp):
    name = "tanh"
    scalar = expression(lambda x: scalar.tanh(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return TanhRecord(saved_output(output))


def tanh(x: Tensor[Float]) -> Tensor[Float]:
    """The hyperbolic tangent of each element: ``(e**x - e**-x) / (e**x + e**-x)``, without
    overflow.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``1 - tanh(x)**2``.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.tanh(lm.tensor([0.0, 1000.0])).tolist()
    [0.0, 1.0]
    """
    return apply("tanh", x)
