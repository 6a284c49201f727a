"""squeeze: axes of length 1 removed."""

from __future__ import annotations

from lumus.core.argument import axes_of, check_tensors
from lumus.core.composite import composite
from lumus.core.kinds import K
from lumus.core.tensor import Axes, Tensor
from lumus.errors import ShapeError


@composite("squeeze")
def squeeze(x: Tensor[K], axis: Axes = None) -> Tensor[K]:
    """A view without axes of length 1: those in `axis`, by default all.

    **Shapes.** The axes named must have length 1.
    **Kinds.** Any.
    **Gradient.** `grad` with those axes put back.
    **Raises.** ShapeError for an axis of another length, ArgumentError for one out of range.

    >>> import lumus as lm
    >>> lm.squeeze(lm.zeros((2, 1, 3)), axis=1).shape
    (2, 3)
    """
    check_tensors("squeeze", x)
    if axis is None:
        return x.reshape(tuple(length for length in x.shape if length != 1))
    axes = axes_of("squeeze", x, axis)
    for one in axes:
        if x.shape[one] != 1:
            raise ShapeError(
                f"squeeze: axis {one} of shape {x.shape} has length {x.shape[one]}, not 1",
                op="squeeze",
                axis=one,
            )
    return x.reshape(tuple(length for place, length in enumerate(x.shape) if place not in axes))
