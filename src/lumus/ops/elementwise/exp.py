"""exp: the exponential of each element."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.ops.elementwise.map import fused, gradient_rule

_GRAD = gradient_rule(lambda grad, y: grad * y)


@record
class ExpRecord(Record):
    """d e**x / dx = grad * y."""

    y: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.y.tensor()),)


@register
class Exp(ElementwiseOp):
    name = "exp"
    scalar = expression(lambda x: scalar.exp(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return ExpRecord(saved_output(output))


def exp(x: Tensor[Float]) -> Tensor[Float]:
    """The exponential of each element: ``e**x``.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``e**x``.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.exp(lm.tensor([0.0, 1.0])).tolist()
    [1.0, 2.7182817459106445]
    """
    return apply("exp", x)
