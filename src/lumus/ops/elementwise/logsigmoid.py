"""logsigmoid: the logarithm of the sigmoid."""

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

_GRAD = expression(lambda grad, x: grad * scalar.sigmoid(-x))


@record
class LogsigmoidRecord(Record):
    """d log(sigmoid(x)) / dx = grad * sigmoid(-x)."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_GRAD, grad, self.x.tensor()),)


@register
class Logsigmoid(ElementwiseOp):
    name = "logsigmoid"
    scalar = expression(
        lambda x: scalar.minimum(x, 0) - scalar.log1p(scalar.exp(-scalar.absolute(x)))
    )

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return LogsigmoidRecord(Saved(inputs[0]))


def logsigmoid(x: Tensor[Float]) -> Tensor[Float]:
    """The logarithm of the sigmoid: ``min(x, 0) - log(1 + e**-|x|)``, which keeps both tails.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``sigmoid(-x)``.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.logsigmoid(lm.tensor([-1000.0, 1000.0])).tolist()
    [-1000.0, 0.0]
    """
    return apply("logsigmoid", x)
