"""meshgrid: the coordinates of a grid."""

from __future__ import annotations

from typing import Literal

from lumus.core.argument import check_tensors, choice
from lumus.core.kinds import K
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError


def meshgrid(*tensors: Tensor[K], indexing: Literal["xy", "ij"] = "xy") -> list[Tensor[K]]:
    """For each vector of coordinates a view of the whole grid that they span.

    **Shapes.** Vectors of lengths n, m, ... (a 0-d tensor counts as one of length 1) give tensors
    of shape (n, m, ...) with ``indexing="ij"``, and with "xy", the default, of (m, n, ...): the
    first counts columns, the second rows.
    **Kinds.** Any; each result has its vector's.
    **Gradient.** `grad`, summed over the other axes.
    **Raises.** ShapeError for tensors of more axes, ArgumentError for another indexing.

    >>> import lumus as lm
    >>> [one.tolist() for one in lm.meshgrid(lm.tensor([1, 2]), lm.tensor([3, 4]))]
    [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    check_tensors("meshgrid", *tensors)
    choice("meshgrid", "indexing", indexing, ("xy", "ij"))
    for one in tensors:
        if one.ndim > 1:
            raise ShapeError(f"meshgrid: needs vectors, got shape {one.shape}", op="meshgrid")
    axes = list(range(len(tensors)))
    if indexing == "xy":
        axes[:2] = axes[:2][::-1]
    shape = [0] * len(tensors)
    for axis, one in zip(axes, tensors, strict=True):
        shape[axis] = one.size
    grids = []
    for axis, one in zip(axes, tensors, strict=True):
        along = [1] * len(shape)
        along[axis] = one.size
        grids.append(one.reshape(along).broadcast_to(shape))
    return grids
