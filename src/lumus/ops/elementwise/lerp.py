"""lerp: the point at a fraction of the way from one tensor to another."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import check_tensors
from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor, require_operand
from lumus.ops.broadcasting import sum_to
from lumus.ops.elementwise.map import fused

_GRAD_START = expression(lambda grad, start, end, weight: grad * (1 - weight))
_GRAD_END = expression(lambda grad, start, end, weight: grad * weight)
_GRAD_WEIGHT = expression(lambda grad, start, end, weight: grad * (end - start))


@record
class LerpRecord(Record):
    """d lerp(start, end, weight) = (grad * (1 - weight), grad * weight, grad * (end - start))."""

    start: Saved[Float]
    end: Saved[Float]
    weight: Saved[Float]
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        inputs = (self.start.tensor(), self.end.tensor(), self.weight.tensor())
        return tuple(
            sum_to(fused(rule, grad, *inputs), tensor.spec) if needed else None
            for rule, tensor, needed in zip(
                (_GRAD_START, _GRAD_END, _GRAD_WEIGHT), inputs, self.needs, strict=True
            )
        )


@register
class Lerp(ElementwiseOp):
    """From the nearer end, so that weight 0 gives `start` and weight 1 `end`, to the bit.

    Between equal ends nothing is to go, also where they are infinite and have no difference.
    """

    name = "lerp"
    scalar = expression(
        lambda start, end, weight: scalar.where(
            scalar.equal(start, end),
            start,
            scalar.where(
                weight < 0.5, start + weight * (end - start), end - (end - start) * (1 - weight)
            ),
        )
    )

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        start, end, weight = inputs
        return LerpRecord(Saved(start), Saved(end), Saved(weight), needs)


def lerp(
    start: Tensor[Float], end: Tensor[Float] | float, weight: Tensor[Float] | float
) -> Tensor[Float]:
    """The point at the fraction `weight` of the way: ``start + weight * (end - start)``.

    Weight 0 gives `start` and weight 1 `end`, to the bit; weights beyond these extrapolate.

    **Shapes.** Broadcast together; `end` and `weight` may be numbers.
    **Kinds.** Float, all of them; dtypes promote.
    **Gradient.** ``1 - weight`` for `start`, ``weight`` for `end`, ``end - start`` for `weight`.
    **Raises.** KindError for Int and Bool, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.lerp(lm.tensor([0.0, 10.0]), lm.tensor([4.0, 20.0]), 0.25).tolist()
    [1.0, 12.5]
    """
    check_tensors("lerp", start)
    return apply(
        "lerp", start, require_operand(start, end, "lerp"), require_operand(start, weight, "lerp")
    )
