"""flip: the order of elements reversed along axes."""

from __future__ import annotations

from lumus.core.argument import axes_of
from lumus.core.composite import composite
from lumus.core.kinds import K
from lumus.core.tensor import Axes, Tensor
from lumus.ops.shape.slice import view


@composite("flip")
def flip(x: Tensor[K], axis: Axes = None) -> Tensor[K]:
    """A view with the order of elements reversed along `axis` (all axes by default).

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Any.
    **Gradient.** `grad`, flipped back.
    **Raises.** ArgumentError for an axis out of range or named twice.

    >>> import lumus as lm
    >>> lm.flip(lm.tensor([1, 2, 3])).tolist()
    [3, 2, 1]
    """
    axes = axes_of("flip", x, axis)
    starts = tuple(
        length - 1 if place in axes and length else 0 for place, length in enumerate(x.shape)
    )
    return view(x, starts, x.shape, tuple(-1 if place in axes else 1 for place in range(x.ndim)))
