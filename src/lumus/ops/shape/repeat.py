"""repeat: each element several times in a row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lumus.core.argument import axis_of, check_tensors
from lumus.core.broadcast import integer, listed
from lumus.core.composite import call, composite
from lumus.core.kinds import Int, K
from lumus.core.tensor import Tensor
from lumus.core.values import require_values
from lumus.errors import ArgumentError, ShapeError


@composite("repeat")
def repeat(
    x: Tensor[K], repeats: int | Sequence[int] | Tensor[Int], axis: int | None = None
) -> Tensor[K]:
    """Each element `repeats` times in a row along `axis`; without an axis, of the flattened `x`.

    NumPy's meaning: PyTorch's ``x.repeat`` is `tile`.

    **Shapes.** `repeats` is one number, or one for each index of the axis; the axis becomes as long
    as their sum.
    **Kinds.** Any; `repeats` are ints, and are read: a traced program keeps those it was traced
    with.
    **Gradient.** `grad`, summed over each element's repetitions.
    **Raises.** ArgumentError for a negative number or an axis out of range, ShapeError for as many
    numbers as there are not indices.

    >>> import lumus as lm
    >>> lm.repeat(lm.tensor([1, 2]), 2).tolist()
    [1, 1, 2, 2]
    >>> lm.repeat(lm.tensor([[1, 2]]), [0, 3], axis=1).tolist()
    [[2, 2, 2]]
    """
    check_tensors("repeat", x)
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = axis_of("repeat", x, axis)
    counts = _counts(repeats)
    if len(counts) == 1:
        return _evenly(x, counts[0], axis)
    if len(counts) != x.shape[axis]:
        raise ShapeError(
            f"repeat: {len(counts)} numbers of repeats for axis {axis} of length {x.shape[axis]}",
            op="repeat",
            axis=axis,
        )
    places = np.repeat(np.arange(len(counts)), counts)
    return x.take(call("from_numpy", places, device=x.device), axis)


def _counts(repeats: Any) -> list[int]:
    if isinstance(repeats, Tensor):
        if repeats.dtype.kind != "int" or repeats.ndim > 1:
            raise ArgumentError(
                f"repeat: repeats must be Int and of one axis, got {repeats.spec!r}", op="repeat"
            )
        require_values(
            "repeat",
            "how many there are",
            "give numbers, or call it outside and pass the result",
        )
        repeats = repeats.tolist()
    counts = [integer("repeat", "each of repeats", one) for one in listed(repeats)]
    if any(count < 0 for count in counts):
        raise ArgumentError(f"repeat: repeats cannot be negative, got {min(counts)}", op="repeat")
    return counts


def _evenly(x: Tensor[K], count: int, axis: int) -> Tensor[K]:
    if count == 1:
        return x.copy()
    outer, length = math.prod(x.shape[:axis]), x.shape[axis]
    inner = math.prod(x.shape[axis + 1 :])
    shape = (*x.shape[:axis], length * count, *x.shape[axis + 1 :])
    apart = x.reshape(outer, length, 1, inner)
    return apart.broadcast_to(outer, length, count, inner).reshape(shape)
