"""digamma: the derivative of the logarithm of the gamma function."""

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

_GRAD = gradient_rule(lambda grad, x: grad * scalar.zeta(2, x))


@record
class DigammaRecord(Record):
    """d digamma(x) / dx = grad * zeta(2, x)."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Digamma(ElementwiseOp):
    name = "digamma"
    scalar = expression(lambda x: scalar.digamma(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return DigammaRecord(Saved(inputs[0]))


def digamma(x: Tensor[Float]) -> Tensor[Float]:
    """The derivative of `lgamma`: -inf at 0, inf at -0.0, NaN at the negative whole numbers.

    Right to a few units in the last place for positive numbers; between the poles of negative ones
    beside the two terms that the reflection adds, which cancel at the zeros there.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``polygamma(1, x)``.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.digamma(lm.tensor([1.0])).tolist()
    [-0.5772156715393066]
    """
    return apply("digamma", x)
