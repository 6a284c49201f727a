"""log1p: log(1 + x) without cancellation near 0."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.ops.elementwise.map import fused, gradient_rule

_GRAD = gradient_rule(lambda grad, x: grad / (1 + x))


@record
class Log1pRecord(Record):
    """d log(1 + x) / dx = grad / (1 + x)."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Log1p(ElementwiseOp):
    name = "log1p"
    scalar = expression(lambda x: scalar.log1p(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return Log1pRecord(Saved(inputs[0]))


def log1p(x: Tensor[Float]) -> Tensor[Float]:
    """``log(1 + x)`` of each element, exact to rounding near 0.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``1 / (1 + x)``.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.log1p(lm.tensor([0.0, 1e-10])).tolist()
    [0.0, 1.000000013351432e-10]
    """
    return apply("log1p", x)
