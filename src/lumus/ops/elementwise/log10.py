"""log10: the logarithm to base 10 of each element."""

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

_INV_LN10 = 0.4342944819032518
_GRAD = gradient_rule(lambda grad, x: grad * _INV_LN10 / x)


@record
class Log10Record(Record):
    """d log10(x) / dx = grad / (x * log(10))."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Log10(ElementwiseOp):
    name = "log10"
    scalar = expression(lambda x: scalar.log10(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return Log10Record(Saved(inputs[0]))


def log10(x: Tensor[Float]) -> Tensor[Float]:
    """The logarithm to base 10 of each element; whole for powers of 10.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``1 / (x * log(10))``; infinite at 0.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.log10(lm.tensor([100.0, 1.0])).tolist()
    [2.0, 0.0]
    """
    return apply("log10", x)
