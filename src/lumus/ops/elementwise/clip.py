"""clip: each element held between bounds."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.argument import check_tensors
from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.kinds import Float, Int
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor, require_operand
from lumus.errors import ArgumentError
from lumus.ops.broadcasting import sum_to
from lumus.ops.elementwise.map import fused

# min(max(x, low), high), so that high wins when low > high; the bounds themselves count as inside.
_GRAD_X = expression(lambda grad, x, low, high: scalar.where((x >= low) & (x <= high), grad, 0.0))
_GRAD_LOW = expression(
    lambda grad, x, low, high: scalar.where((x < low) & (low <= high), grad, 0.0)
)
_GRAD_HIGH = expression(
    lambda grad, x, low, high: scalar.where((x > high) | ((low > high) & (x <= high)), grad, 0.0)
)


@record
class ClipRecord(Record):
    """d clip(x, low, high) = grad to x inside [low, high], bounds included.

    To the bound outside.
    """

    x: Saved[Float]
    low: Saved[Float]
    high: Saved[Float]
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        inputs = (self.x.tensor(), self.low.tensor(), self.high.tensor())
        return tuple(
            sum_to(fused(rule, grad, *inputs), tensor.spec) if needed else None
            for rule, tensor, needed in zip(
                (_GRAD_X, _GRAD_LOW, _GRAD_HIGH), inputs, self.needs, strict=True
            )
        )


@register
class Clip(ElementwiseOp):
    name = "clip"
    kinds = ("float", "int")
    scalar = expression(lambda x, low, high: scalar.minimum(scalar.maximum(x, low), high))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        x, low, high = inputs
        return ClipRecord(Saved(x), Saved(low), Saved(high), needs)


@overload
def clip(
    x: Tensor[Float],
    min: Tensor[Float] | float | None = None,
    max: Tensor[Float] | float | None = None,
) -> Tensor[Float]: ...
@overload
def clip(
    x: Tensor[Int], min: Tensor[Int] | int | None = None, max: Tensor[Int] | int | None = None
) -> Tensor[Int]: ...
@composite("clip")
def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    """Each element held between `min` and `max`: ``minimum(maximum(x, min), max)``.

    **Shapes.** All broadcast together. Either bound may be left out.
    **Kinds.** Float or Int, all the same. NaN in any of them gives NaN; ``min > max`` gives `max`.
    **Gradient.** `grad` to x inside the bounds and on them, else to the bound that was returned.
    With one bound the same holds (a tie of x and the bound goes to x alone).
    **Raises.** KindError for Bool or mixed kinds, ShapeError for shapes that do not broadcast,
    ArgumentError when both bounds are left out.

    >>> import lumus as lm
    >>> lm.clip(lm.tensor([-2.0, 0.5, 3.0]), -1.0, 1.0).tolist()
    [-1.0, 0.5, 1.0]
    """
    check_tensors("clip", x)
    low = None if min is None else require_operand(x, min, "clip")
    high = None if max is None else require_operand(x, max, "clip")
    if low is not None and high is not None:
        return apply("clip", x, low, high)
    if low is not None:
        return apply("clip_below", x, low)
    if high is not None:
        return apply("clip_above", x, high)
    raise ArgumentError("clip: give min, max or both", op="clip")


_GRAD_X_BELOW = expression(lambda grad, x, low: scalar.where(x >= low, grad, 0.0))
_GRAD_BELOW = expression(lambda grad, x, low: scalar.where(x < low, grad, 0.0))
_GRAD_X_ABOVE = expression(lambda grad, x, high: scalar.where(x <= high, grad, 0.0))
_GRAD_ABOVE = expression(lambda grad, x, high: scalar.where(x > high, grad, 0.0))


@record
class ClipBelowRecord(Record):
    """d maximum(x, low) = grad to x where x >= low, else to low: the closed rule of clip."""

    x: Saved[Float]
    low: Saved[Float]
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        x, low = self.x.tensor(), self.low.tensor()
        return (
            sum_to(fused(_GRAD_X_BELOW, grad, x, low), x.spec) if self.needs[0] else None,
            sum_to(fused(_GRAD_BELOW, grad, x, low), low.spec) if self.needs[1] else None,
        )


@register
class ClipBelow(ElementwiseOp):
    name = "clip_below"
    kinds = ("float", "int")
    scalar = expression(lambda x, low: scalar.maximum(x, low))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return ClipBelowRecord(Saved(inputs[0]), Saved(inputs[1]), needs)


@record
class ClipAboveRecord(Record):
    """d minimum(x, high) = grad to x where x <= high, else to high: the closed rule of clip."""

    x: Saved[Float]
    high: Saved[Float]
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        x, high = self.x.tensor(), self.high.tensor()
        return (
            sum_to(fused(_GRAD_X_ABOVE, grad, x, high), x.spec) if self.needs[0] else None,
            sum_to(fused(_GRAD_ABOVE, grad, x, high), high.spec) if self.needs[1] else None,
        )


@register
class ClipAbove(ElementwiseOp):
    name = "clip_above"
    kinds = ("float", "int")
    scalar = expression(lambda x, high: scalar.minimum(x, high))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return ClipAboveRecord(Saved(inputs[0]), Saved(inputs[1]), needs)
