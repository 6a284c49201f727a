"""sqrt: the square root of each element."""

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

_GRAD = gradient_rule(lambda grad, y: grad / (2 * y))


@record
class SqrtRecord(Record):
    """d sqrt(x) / dx = grad / (2 * y)."""

    y: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.y.tensor()),)


@register
class Sqrt(ElementwiseOp):
    name = "sqrt"
    scalar = expression(lambda x: scalar.sqrt(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return SqrtRecord(saved_output(output))


def sqrt(x: Tensor[Float]) -> Tensor[Float]:
    """The square root of each element; NaN below 0, and -0.0 stays -0.0.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``1 / (2 * sqrt(x))``; infinite at 0. (For a norm, which is finite there, see
    `lumus.std`.)
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.sqrt(lm.tensor([4.0, 0.0])).tolist()
    [2.0, 0.0]
    """
    return apply("sqrt", x)
