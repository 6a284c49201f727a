"""split: a tensor cut into pieces along an axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lumus.core.argument import axis_of
from lumus.core.broadcast import integer, lengths_of
from lumus.core.composite import composite
from lumus.core.kinds import K
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError


@composite("split")
def split(x: Tensor[K], sizes: int | Sequence[int], axis: int = 0) -> list[Tensor[K]]:
    """Views of `x`, one after the other along `axis`.

    **Shapes.** `sizes` are the lengths of the pieces, which add up to that of the axis; one int
    cuts pieces of that length, the last perhaps shorter.
    **Kinds.** Any.
    **Gradient.** To each its place in `x`.
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
    pieces, start = [], 0
    for length in lengths:
        pieces.append(x.narrow(axis, start, length))
        start += length
    return pieces
