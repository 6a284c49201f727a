"""softsign: each element scaled into (-1, 1)."""

from __future__ import annotations

from math import inf
from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.ops.elementwise.map import fused

# inf / inf would be NaN.
_GRAD = expression(lambda grad, x: grad * scalar.square(scalar.reciprocal(1 + scalar.absolute(x))))


@record
class SoftsignRecord(Record):
    """d x / (1 + |x|) / dx = grad / (1 + |x|)**2."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Softsign(ElementwiseOp):
    name = "softsign"
    scalar = expression(
        lambda x: scalar.where(
            scalar.equal(scalar.absolute(x), inf), scalar.sign(x), x / (1 + scalar.absolute(x))
        )
    )

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return SoftsignRecord(Saved(inputs[0]))


def softsign(x: Tensor[Float]) -> Tensor[Float]:
    """Each element scaled into (-1, 1): ``x / (1 + |x|)``; -1 and 1 at the infinities.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``1 / (1 + |x|)**2``.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.softsign(lm.tensor([1.0, -3.0])).tolist()
    [0.5, -0.75]
    """
    return apply("softsign", x)
