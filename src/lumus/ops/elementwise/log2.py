"""log2: the logarithm to base 2 of each element."""

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

_INV_LN2 = 1.4426950408889634
_GRAD = gradient_rule(lambda grad, x: grad * _INV_LN2 / x)


@record
class Log2Record(Record):
    """d log2(x) / dx = grad / (x * log(2))."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Log2(ElementwiseOp):
    name = "log2"
    scalar = expression(lambda x: scalar.log2(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return Log2Record(Saved(inputs[0]))


def log2(x: Tensor[Float]) -> Tensor[Float]:
    """The logarithm to base 2 of each element; whole for powers of 2.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``1 / (x * log(2))``; infinite at 0.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.log2(lm.tensor([8.0, 0.5])).tolist()
    [3.0, -1.0]
    """
    return apply("log2", x)
