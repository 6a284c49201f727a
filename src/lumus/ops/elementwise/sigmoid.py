"""sigmoid: the logistic function of each element."""

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

_GRAD = expression(lambda grad, y: grad * (y * (1 - y)))


@record
class SigmoidRecord(Record):
    """d sigmoid(x) / dx = grad * y * (1 - y)."""

    y: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.y.tensor()),)


@register
class Sigmoid(ElementwiseOp):
    name = "sigmoid"
    scalar = expression(lambda x: scalar.sigmoid(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return SigmoidRecord(saved_output(output))


def sigmoid(x: Tensor[Float]) -> Tensor[Float]:
    """The logistic function of each element: ``1 / (1 + e**-x)``, without overflow.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``y * (1 - y)`` with y the result.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.sigmoid(lm.tensor([0.0, -1000.0])).tolist()
    [0.5, 0.0]
    """
    return apply("sigmoid", x)
