"""mean: the average of elements over axes."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import axes_of
from lumus.core.broadcast import Shape
from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import Needs, register
from lumus.core.record import Record, record
from lumus.core.tensor import Axes, Tensor
from lumus.ops.reduce.axes import ReduceAttrs, ReduceOp, count_of, spread


@record
class MeanRecord(Record):
    """d mean(x) / dx = grad / n, repeated over the axes that were averaged."""

    by_signature = True

    shape: Shape
    axes: tuple[int, ...]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        count = count_of(self.shape, self.axes)
        # Of nothing there is nothing to hand the gradient to: any finite number will do.
        return (spread(grad / float(max(count, 1)), self.shape, self.axes),)


@register
class Mean(ReduceOp):
    name = "mean"
    reduction = "mean"
    kinds = ("float",)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: ReduceAttrs, needs: Needs
    ) -> Record:
        return MeanRecord(inputs[0].shape, attrs.axes)


def mean(x: Tensor[Float], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Float]:
    """The average of elements over `axis`: their sum divided by their number; NaN of nothing.

    **Shapes.** The axes in `axis` (all by default) are removed, or kept with length 1 by
    `keepdims`.
    **Kinds.** Float; half types add up in float32 and round once, after the division.
    **Gradient.** ``grad / n``, repeated over the axes.
    **Raises.** KindError for Int and Bool, ArgumentError for an axis out of range or named twice.

    >>> import lumus as lm
    >>> lm.mean(lm.tensor([[1.0, 2.0], [3.0, 6.0]]), axis=0).tolist()
    [2.0, 4.0]
    """
    axes = axes_of("mean", x, axis)
    return apply("mean", x, axes=axes, keepdims=keepdims)
