"""split: a tensor cut into pieces along an axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lumus.core.argument import axis_of
from lumus.core.broadcast import integer, lengths_of
from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.shape import Pieces
from lumus.core.kinds import Float, K
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, record
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.ops.broadcasting import zeros
from lumus.ops.shape.concat import concat


@frozen
class SplitAttrs:
    """The axis, counted from the front, and the lengths of at least two pieces."""

    axis: int
    sizes: tuple[int, ...]


@record
class SplitRecord(Record):
    """d split(x) / dx = the gradients of the pieces, one after the other; 0 for those unused."""

    by_signature = True

    axis: int
    specs: Specs

    def vjp(self, *grads: Tensor[Float] | None) -> tuple[Tensor[Float] | None, ...]:
        parts = [
            zeros(spec) if grad is None else grad
            for grad, spec in zip(grads, self.specs, strict=True)
        ]
        return (concat(parts, self.axis),)


@register
class Split(Op):
    name = "split"
    attrs = SplitAttrs

    def infer(self, specs: Specs, attrs: SplitAttrs) -> Specs:
        (x,) = specs
        before, after = x.shape[: attrs.axis], x.shape[attrs.axis + 1 :]
        return tuple([x.with_shape((*before, size, *after)) for size in attrs.sizes])

    def kernel(self, specs: Specs, attrs: SplitAttrs) -> Kernel:
        return Pieces(attrs.axis, attrs.sizes, keepdims=True)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Any, attrs: SplitAttrs, needs: Needs
    ) -> Record:
        return SplitRecord(attrs.axis, tuple([one.spec for one in output]))


@composite("split")
def split(x: Tensor[K], sizes: int | Sequence[int], axis: int = 0) -> list[Tensor[K]]:
    """Views of `x`, one after the other along `axis`.

    **Shapes.** `sizes` are the lengths of the pieces, which add up to that of the axis; one int
    cuts pieces of that length, the last perhaps shorter.
    **Kinds.** Any.
    **Gradient.** Those of the pieces, one after the other.
    **Raises.** ShapeError when the sizes do not add up, ArgumentError for sizes that are not
    positive (0 is fine in a list) or an axis out of range.

    >>> import lumus as lm
    >>> [piece.tolist() for piece in lm.split(lm.tensor([1, 2, 3]), 2)]
    [[1, 2], [3]]
    """
    axis = axis_of("split", x, axis)
    total = x.shape[axis]
    if isinstance(sizes, Iterable) and getattr(sizes, "ndim", True):
        lengths = list(lengths_of("split", sizes))
    else:
        size = integer("split", "the length of pieces", sizes)
        if size <= 0:
            raise ArgumentError(f"split: the length of pieces must be positive, got {size}")
        lengths = [min(size, total - start) for start in range(0, max(total, 1), size)]
    if sum(lengths) != total or any(length < 0 for length in lengths):
        raise ShapeError(
            f"split: pieces of {lengths} do not make up axis {axis} of length {total}",
            op="split",
            axis=axis,
        )
    if len(lengths) < 2:
        return [x.narrow(axis, 0, length) for length in lengths]
    return list(apply("split", x, axis=axis, sizes=tuple(lengths)))
