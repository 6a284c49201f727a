"""acos: the inverse cosine of each element."""

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

_GRAD = gradient_rule(lambda grad, x: -(grad * scalar.rsqrt((1 - x) * (1 + x))))


@record
class AcosRecord(Record):
    """d acos(x) / dx = -grad / sqrt(1 - x**2)."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Acos(ElementwiseOp):
    name = "acos"
    scalar = expression(lambda x: scalar.acos(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return AcosRecord(Saved(inputs[0]))


def acos(x: Tensor[Float]) -> Tensor[Float]:
    """The angle in [0, pi] whose cosine each element is; NaN outside [-1, 1].

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``-1 / sqrt(1 - x**2)``; infinite at -1 and 1.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.acos(lm.tensor([1.0, 0.0])).tolist()
    [0.0, 1.5707963705062866]
    """
    return apply("acos", x)
