"""selu: the scaled exponential linear unit."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.ops.elementwise.map import fused

_ALPHA = 1.6732632423543772
_SCALE = 1.0507009873554805
_GRAD = expression(
    lambda grad, x: _SCALE * scalar.where(x > 0, grad, grad * (_ALPHA * scalar.exp(x)))
)


@record
class SeluRecord(Record):
    """d selu(x) / dx = scale * grad where x > 0, else scale * grad * alpha * e**x."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Selu(ElementwiseOp):
    name = "selu"
    scalar = expression(lambda x: _SCALE * scalar.where(x > 0, x, _ALPHA * scalar.expm1(x)))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return SeluRecord(Saved(inputs[0]))


def selu(x: Tensor[Float]) -> Tensor[Float]:
    """The scaled exponential linear unit: ``scale * x`` where x is positive, ``scale * alpha *
    (e**x - 1)`` elsewhere, with the two constants of the paper, which keep mean 0 and variance 1.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``scale`` where ``x > 0``, else ``scale * alpha * e**x`` (at 0, too).
    **Raises.** KindError for Int and Bool.

    Source: Klambauer et al., "Self-Normalizing Neural Networks", NeurIPS 2017.

    >>> import lumus as lm
    >>> lm.selu(lm.tensor([0.0, 2.0])).tolist()
    [0.0, 2.1014020442962646]
    """
    return apply("selu", x)
