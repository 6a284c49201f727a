"""log: the natural logarithm of each element."""

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

_GRAD = gradient_rule(lambda grad, x: grad / x)


@record
class LogRecord(Record):
    """d log(x) / dx = grad / x."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Log(ElementwiseOp):
    name = "log"
    scalar = expression(lambda x: scalar.log(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return LogRecord(Saved(inputs[0]))


def log(x: Tensor[Float]) -> Tensor[Float]:
    """The natural logarithm of each element; -inf at 0, NaN below.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``1 / x``; infinite at 0.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.log(lm.tensor([1.0, 0.0])).tolist()
    [0.0, -inf]
    """
    return apply("log", x)
