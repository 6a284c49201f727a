"""hardsigmoid: the sigmoid in three straight pieces."""

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

_GRAD = expression(lambda grad, x: scalar.where((x >= -3) & (x <= 3), grad / 6, 0.0))


@record
class HardsigmoidRecord(Record):
    """d hardsigmoid(x) / dx = grad / 6 where -3 <= x <= 3, else 0."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Hardsigmoid(ElementwiseOp):
    name = "hardsigmoid"
    scalar = expression(lambda x: scalar.minimum(scalar.maximum(x + 3, 0.0), 6.0) / 6)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return HardsigmoidRecord(Saved(inputs[0]))


def hardsigmoid(x: Tensor[Float]) -> Tensor[Float]:
    """The sigmoid in three straight pieces: ``min(max(x + 3, 0), 6) / 6``. NaN stays NaN.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** 1/6 for x between -3 and 3 and on these bounds, as for `clip`, else 0.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.hardsigmoid(lm.tensor([-4.0, 0.0, 4.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return apply("hardsigmoid", x)
