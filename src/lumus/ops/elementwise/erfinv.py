"""erfinv: the inverse of the error function."""

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

_HALF_SQRT_PI = 0.886226925452758
_GRAD = gradient_rule(lambda grad, y: grad * (_HALF_SQRT_PI * scalar.exp(scalar.square(y))))


@record
class ErfinvRecord(Record):
    """d erfinv(x) / dx = grad * sqrt(pi) / 2 * e**y**2."""

    y: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.y.tensor()),)


@register
class Erfinv(ElementwiseOp):
    name = "erfinv"
    scalar = expression(lambda x: scalar.erfinv(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return ErfinvRecord(saved_output(output))


def erfinv(x: Tensor[Float]) -> Tensor[Float]:
    """The number whose error function each element is; infinite at -1 and 1, NaN beyond.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``sqrt(pi) / 2 * e**erfinv(x)**2``; infinite at -1 and 1.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.erfinv(lm.tensor([0.0, 1.0])).tolist()
    [0.0, inf]
    """
    return apply("erfinv", x)
