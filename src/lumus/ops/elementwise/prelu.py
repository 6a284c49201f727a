"""prelu: each element, scaled by a learned slope where it is negative."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor, operands
from lumus.ops.broadcasting import sum_to
from lumus.ops.elementwise.map import fused

_GRAD_X = expression(lambda grad, x, weight: scalar.where(x > 0, grad, grad * weight))
_GRAD_WEIGHT = expression(lambda grad, x, weight: scalar.where(x > 0, 0.0, grad * x))


@record
class PreluRecord(Record):
    """d prelu(x, weight) = (grad where x > 0, else grad * weight; 0 where x > 0, else grad * x)."""

    x: Saved[Float]
    weight: Saved[Float]
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        x, weight = self.x.tensor(), self.weight.tensor()
        return (
            sum_to(fused(_GRAD_X, grad, x, weight), x.spec) if self.needs[0] else None,
            sum_to(fused(_GRAD_WEIGHT, grad, x, weight), weight.spec) if self.needs[1] else None,
        )


@register
class Prelu(ElementwiseOp):
    name = "prelu"
    scalar = expression(lambda x, weight: scalar.where(x > 0, x, weight * x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return PreluRecord(Saved(inputs[0]), Saved(inputs[1]), needs)


def prelu(x: Tensor[Float] | float, weight: Tensor[Float] | float) -> Tensor[Float]:
    """Each element where it is positive, `weight` times it elsewhere. NaN stays NaN.

    **Shapes.** Broadcast together, by the last axes; `nn.PReLU` has a weight for each channel.
    **Kinds.** Float; one of the two may be a number.
    **Gradient.** For x 1 where ``x > 0``, else `weight` (at 0, too); for the weight 0 where ``x >
    0``, else x.
    **Raises.** KindError for Int and Bool, ShapeError for shapes that do not broadcast.

    Source: He et al., "Delving Deep into Rectifiers", ICCV 2015.

    >>> import lumus as lm
    >>> lm.prelu(lm.tensor([-2.0, 3.0]), lm.tensor([0.5, 0.25])).tolist()
    [-1.0, 3.0]
    """
    return apply("prelu", *operands("prelu", x, weight))
