"""tile: a tensor laid side by side with itself."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lumus.core.argument import check_tensors
from lumus.core.broadcast import integer, listed
from lumus.core.composite import composite
from lumus.core.kinds import K
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError


@composite("tile")
def tile(x: Tensor[K], repetitions: int | Sequence[int]) -> Tensor[K]:
    """`x` laid side by side with itself: ``repetitions[i]`` times along axis i.

    **Shapes.** With fewer repetitions than axes the first axes are kept as they are; with more, new
    ones are put in front.
    **Kinds.** Any.
    **Gradient.** `grad`, summed over the copies.
    **Raises.** ArgumentError for a negative number of repetitions.

    >>> import lumus as lm
    >>> lm.tile(lm.tensor([1, 2]), (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    check_tensors("tile", x)
    counts = [integer("tile", "each number of repetitions", one) for one in listed(repetitions)]
    if any(count < 0 for count in counts):
        raise ArgumentError(f"tile: repetitions cannot be negative, got {repetitions}", op="tile")
    counts = [1] * (x.ndim - len(counts)) + counts
    if all(count == 1 for count in counts):
        return x.copy().reshape((1,) * (len(counts) - x.ndim) + x.shape)
    result = x.reshape((1,) * (len(counts) - x.ndim) + x.shape)
    # From the last axis on, so that the copies grow: together they are little more than the last.
    for axis in reversed(range(len(counts))):
        if counts[axis] != 1:
            result = tiled(result, axis, counts[axis])
    return result


def tiled(x: Tensor[K], axis: int, count: int) -> Tensor[K]:
    """`x` laid side by side with itself along one axis; arguments are already checked."""
    shape = list(x.shape)
    outer, rest = math.prod(shape[:axis]), math.prod(shape[axis:])
    shape[axis] *= count
    return x.reshape(outer, 1, rest).broadcast_to(outer, count, rest).reshape(shape)
