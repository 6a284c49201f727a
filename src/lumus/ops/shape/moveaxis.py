"""moveaxis: axes moved to other places, the rest kept in order."""

from __future__ import annotations

from collections.abc import Sequence

from lumus.core.argument import axis_of, check_tensors
from lumus.core.broadcast import listed
from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.kinds import K
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError


@composite("moveaxis")
def moveaxis(
    x: Tensor[K], source: int | Sequence[int], destination: int | Sequence[int]
) -> Tensor[K]:
    """A view in which axis ``source[i]`` stands at ``destination[i]``; the others keep their order.

    **Shapes.** As many destinations as sources.
    **Kinds.** Any.
    **Gradient.** `grad`, with its axes put back.
    **Raises.** ArgumentError for an axis out of range or named twice, or numbers that differ.

    >>> import lumus as lm
    >>> lm.moveaxis(lm.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    check_tensors("moveaxis", x)
    sources = [axis_of("moveaxis", x, axis) for axis in listed(source)]
    places = [axis_of("moveaxis", x, axis) for axis in listed(destination)]
    if len(sources) != len(places):
        raise ArgumentError(
            f"moveaxis: {len(sources)} sources, {len(places)} destinations", op="moveaxis"
        )
    if len(set(sources)) != len(sources) or len(set(places)) != len(places):
        raise ArgumentError(
            f"moveaxis: an axis is named more than once, source={source}, "
            f"destination={destination}",
            op="moveaxis",
        )
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return apply("permute_dims", x, axes=tuple(order))
