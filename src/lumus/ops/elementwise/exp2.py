"""exp2: 2 to the power of each element."""

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

_LN2 = 0.6931471805599453
_GRAD = gradient_rule(lambda grad, y: grad * (_LN2 * y))


@record
class Exp2Record(Record):
    """d 2**x / dx = grad * log(2) * y."""

    y: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.y.tensor()),)


@register
class Exp2(ElementwiseOp):
    name = "exp2"
    scalar = expression(lambda x: scalar.exp2(x))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return Exp2Record(saved_output(output))


def exp2(x: Tensor[Float]) -> Tensor[Float]:
    """2 to the power of each element; exact for whole numbers.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``log(2) * 2**x``.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.exp2(lm.tensor([3.0, -1.0])).tolist()
    [8.0, 0.5]
    """
    return apply("exp2", x)
