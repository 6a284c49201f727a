"""logaddexp: the logarithm of the sum of two exponentials."""

from __future__ import annotations

from math import inf
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

_LN2 = 0.6931471805599453


def _share(grad: Any, x: Any, y: Any) -> Any:
    # inf - inf would be NaN.
    is_tie = scalar.equal(x, y) & scalar.isinf(x)
    at_tie = scalar.where(scalar.equal(x, inf), 0.5 * grad, 0.0)
    return scalar.where(is_tie, at_tie, grad * scalar.sigmoid(x - y))


_GRAD_X = expression(lambda grad, x, y: _share(grad, x, y))
_GRAD_Y = expression(lambda grad, x, y: _share(grad, y, x))


@record
class LogaddexpRecord(Record):
    """d log(e**x + e**y) = (grad * sigmoid(x - y), grad * sigmoid(y - x))."""

    x: Saved[Float]
    y: Saved[Float]
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        x, y = self.x.tensor(), self.y.tensor()
        return (
            sum_to(fused(_GRAD_X, grad, x, y), x.spec) if self.needs[0] else None,
            sum_to(fused(_GRAD_Y, grad, x, y), y.spec) if self.needs[1] else None,
        )


@register
class Logaddexp(ElementwiseOp):
    name = "logaddexp"
    scalar = expression(
        lambda x, y: scalar.where(
            scalar.equal(x, y),
            x + _LN2,
            scalar.maximum(x, y) + scalar.log1p(scalar.exp(-scalar.absolute(x - y))),
        )
    )

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return LogaddexpRecord(Saved(inputs[0]), Saved(inputs[1]), needs)


def logaddexp(x: Tensor[Float] | float, y: Tensor[Float] | float) -> Tensor[Float]:
    """``log(e**x + e**y)`` without overflow; -inf where both are.

    **Shapes.** Broadcast together.
    **Kinds.** Float; one of the two may be a number.
    **Gradient.** ``sigmoid(x - y)`` for x, ``sigmoid(y - x)`` for y: shares of 1. Where both are
    -inf it is 0, where both are inf one half each.
    **Raises.** KindError for Int and Bool, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.logaddexp(lm.tensor([1000.0]), lm.tensor([-1000.0])).tolist()
    [1000.0]
    """
    return apply("logaddexp", *operands("logaddexp", x, y))
