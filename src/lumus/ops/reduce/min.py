"""min: the smallest element over axes."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.argument import axes_of
from lumus.core.dispatch import apply
from lumus.core.kinds import Float, Int
from lumus.core.op import Needs, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.tensor import Axes, Tensor
from lumus.ops.broadcasting import zeros
from lumus.ops.reduce.axes import ReduceAttrs, ReduceOp, spread


@record
class MinRecord(Record):
    """d min(x) / dx = grad, split evenly among the elements that equal the smallest, else 0."""

    x: Saved[Float]
    y: Saved[Float]
    axes: tuple[int, ...]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        x = self.x.tensor()
        chosen = x == spread(self.y.tensor(), x.shape, self.axes)
        # The number of ties is an integer: a float count would stick at 2**24. A NaN result has
        # none.
        ties = chosen.sum(axis=self.axes).maximum(1).astype(x.dtype).reshape(grad.shape)
        share = spread(grad / ties, x.shape, self.axes)
        return (apply("where", chosen, share, zeros(x.spec)),)


@register
class Min(ReduceOp):
    name = "min"
    reduction = "min"
    empty = False
    kind_hint = "for masks use .all(), or convert with .astype(lumus.int64)"

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: ReduceAttrs, needs: Needs
    ) -> Record:
        return MinRecord(Saved(inputs[0]), saved_output(output), attrs.axes)


@overload
def min(x: Tensor[Float], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Float]: ...
@overload
def min(x: Tensor[Int], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Int]: ...
def min(x: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """The smallest element over `axis`; NaN if any is NaN.

    **Shapes.** The axes in `axis` (all by default) are removed, or kept with length 1 by
    `keepdims`.
    **Kinds.** Float or Int; the dtype stays.
    **Gradient.** `grad`, split evenly among the elements that equal the result. For the gradient of
    one chosen element take it by ``argmin``.
    **Raises.** KindError for Bool, ShapeError for a reduction of nothing, ArgumentError for an axis
    out of range or named twice.

    >>> import lumus as lm
    >>> lm.min(lm.tensor([[1.0, 2.0], [4.0, 3.0]]), axis=1).tolist()
    [1.0, 3.0]
    """
    return apply("min", x, axes=axes_of("min", x, axis), keepdims=keepdims)
