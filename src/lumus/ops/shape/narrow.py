"""narrow: a range of indices along one axis."""

from __future__ import annotations

from lumus.core.argument import axis_of
from lumus.core.broadcast import integer
from lumus.core.composite import composite
from lumus.core.kinds import K
from lumus.core.tensor import Tensor
from lumus.errors import IndexRangeError
from lumus.ops.shape.slice import view


@composite("narrow")
def narrow(x: Tensor[K], axis: int, start: int, length: int) -> Tensor[K]:
    """A view of the `length` elements from `start` on along `axis`.

    **Shapes.** ``0 <= start`` and ``start + length <= x.shape[axis]``; a negative start counts from
    the end.
    **Kinds.** Any.
    **Gradient.** `grad` there, 0 elsewhere.
    **Raises.** IndexRangeError when the range leaves the axis, ArgumentError for an axis out of
    range.

    >>> import lumus as lm
    >>> lm.narrow(lm.tensor([1, 2, 3, 4]), 0, 1, 2).tolist()
    [2, 3]
    """
    axis = axis_of("narrow", x, axis)
    start, length = integer("narrow", "start", start), integer("narrow", "length", length)
    bound = x.shape[axis]
    first = start + bound if start < 0 else start
    if length < 0 or not 0 <= first <= bound - length:
        raise IndexRangeError(
            f"narrow: {length} elements from {start} on leave axis {axis} of length {bound}",
            op="narrow",
            index=start,
            bound=bound,
            axis=axis,
        )
    starts = tuple(first if place == axis else 0 for place in range(x.ndim))
    sizes = tuple(length if place == axis else size for place, size in enumerate(x.shape))
    return view(x, starts, sizes, (1,) * x.ndim)
