"""take: elements along one axis at given indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from lumus.core.argument import axis_of
from lumus.core.composite import call, composite
from lumus.core.dispatch import apply
from lumus.core.dtypes import int64
from lumus.core.index_errors import index_error_of
from lumus.core.kinds import Int, K
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import IndexRangeError
from lumus.ops.index.selection import listed_indices


def index_tensor(x: Tensor[Any], indices: Tensor[Int] | Sequence[Any], op: str) -> Tensor[Int]:
    """Indices as an int64 tensor beside `x`."""
    if isinstance(indices, Tensor):
        index: Tensor[Any] = indices
    else:
        index = call("from_numpy", listed_indices(op, indices), device=x.device)
    if index.dtype.kind != "int":
        raise kind_error(op, index.dtype, ("int",), what="indices")
    return index.astype(int64)


@composite("take")
def take(x: Tensor[K], indices: Tensor[Int] | Sequence[Any], axis: int = 0) -> Tensor[K]:
    """The elements along `axis` at `indices`, which count from the end when negative.

    **Shapes.** The axis is replaced by all axes of `indices`.
    **Kinds.** Any; `indices` are Int.
    **Gradient.** `grad` added at the places read: duplicates accumulate.
    **Raises.** IndexRangeError for an index outside the axis, KindError for indices that are not
    Int.

    >>> import lumus as lm
    >>> lm.take(lm.tensor([10, 20, 30]), [2, 0, -1]).tolist()
    [30, 10, 30]
    """
    axis = axis_of("take", x, axis)
    index = index_tensor(x, indices, "take")
    front = (axis, *(place for place in range(x.ndim) if place != axis))
    try:
        picked = apply("index", x.permute_dims(front) if axis else x, index)
    except IndexRangeError as error:
        raise index_error_of("take", axis, error) from None
    if not axis:
        return cast("Tensor[K]", picked)
    rest = list(range(index.ndim, picked.ndim))
    order = (*rest[:axis], *range(index.ndim), *rest[axis:])
    return cast("Tensor[K]", picked.permute_dims(order))
