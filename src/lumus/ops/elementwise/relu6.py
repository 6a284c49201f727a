"""relu6: each element held between 0 and 6."""

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

_GRAD = expression(lambda grad, x: scalar.where((x >= 0) & (x <= 6), grad, 0.0))


@record
class Relu6Record(Record):
    """d min(max(x, 0), 6) / dx = grad where 0 <= x <= 6, else 0."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Relu6(ElementwiseOp):
    name = "relu6"
    scalar = expression(lambda x: scalar.minimum(scalar.maximum(x, 0.0), 6.0))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return Relu6Record(Saved(inputs[0]))


def relu6(x: Tensor[Float]) -> Tensor[Float]:
    """Each element held between 0 and 6: ``min(max(x, 0), 6)``. NaN stays NaN.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** 1 inside the bounds and on them, as for `clip`, else 0.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.relu6(lm.tensor([-1.0, 3.0, 9.0])).tolist()
    [0.0, 3.0, 6.0]
    """
    return apply("relu6", x)
