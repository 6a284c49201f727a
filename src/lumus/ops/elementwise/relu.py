"""relu: the positive part of each element."""

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

_GRAD = expression(lambda grad, y: scalar.where(y > 0, grad, 0))


@record
class ReluRecord(Record):
    """d max(x, 0) / dx = grad where y > 0, else 0."""

    y: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.y.tensor()),)


@register
class Relu(ElementwiseOp):
    name = "relu"
    scalar = expression(lambda x: scalar.where(x <= 0, 0, x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return ReluRecord(saved_output(output))


def relu(x: Tensor[Float]) -> Tensor[Float]:
    """The positive part of each element: ``max(x, 0)``. NaN stays NaN.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** 1 where ``x > 0``, else 0; 0 at 0 and at NaN.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.relu(lm.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    return apply("relu", x)
