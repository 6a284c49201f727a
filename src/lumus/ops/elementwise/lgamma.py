"""lgamma: the logarithm of the absolute value of the gamma function."""

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

_GRAD = gradient_rule(lambda grad, x: grad * scalar.digamma(x))


@record
class LgammaRecord(Record):
    """d lgamma(x) / dx = grad * digamma(x)."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Lgamma(ElementwiseOp):
    name = "lgamma"
    scalar = expression(lambda x: scalar.lgamma(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return LgammaRecord(Saved(inputs[0]))


def lgamma(x: Tensor[Float]) -> Tensor[Float]:
    """The logarithm of the absolute value of the gamma function; infinite at 0 and the negative
    whole numbers.

    Right to a few units in the last place for positive numbers; between the poles of negative ones
    beside the two terms that the reflection adds, which cancel at the zeros there.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``digamma(x)``.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.lgamma(lm.tensor([1.0, 5.0])).tolist()
    [0.0, 3.178053855895996]
    """
    return apply("lgamma", x)
