"""index_add: slices added at given indices along one axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from lumus.core.argument import axis_of, check_tensors
from lumus.core.broadcast import inverse_order
from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.dtypes import promote
from lumus.core.index_errors import index_error_of
from lumus.core.kinds import Int, K
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import IndexRangeError, ShapeError
from lumus.ops.index.take import index_tensor


@composite("index_add")
def index_add(
    x: Tensor[K], indices: Tensor[Int] | Sequence[Any], values: Tensor[K], axis: int = 0
) -> Tensor[K]:
    """A copy of `x` with slice i of `values` added at index ``indices[i]`` along `axis`.

    Duplicates accumulate, in a fixed order.

    **Shapes.** `indices` has one axis; `values` has the shape of `x` with `axis` as long as
    `indices`.
    **Kinds.** Float or Int; `indices` are Int, negative ones count from the end.
    **Gradient.** `grad` for x; for values its slices at the indices.
    **Raises.** IndexRangeError for an index outside the axis, ShapeError for shapes that do not
    fit, KindError for Bool, mixed kinds or indices that are not Int.

    >>> import lumus as lm
    >>> lm.index_add(lm.zeros((2,)), [0, 0], lm.ones((2,))).tolist()
    [2.0, 0.0]
    """
    check_tensors("index_add", x, values)
    axis = axis_of("index_add", x, axis)
    index = index_tensor(x, indices, "index_add")
    if x.dtype.kind == "bool":
        raise kind_error("index_add", x.dtype, ("float", "int"))
    promote(x.dtype, values.dtype, "index_add")
    wanted = tuple(index.size if place == axis else n for place, n in enumerate(x.shape))
    if index.ndim != 1 or values.shape != wanted:
        raise ShapeError(
            f"index_add: indices of shape {index.shape} want values of shape {wanted}, "
            f"got {values.shape}",
            op="index_add",
        )
    front = (axis, *(place for place in range(x.ndim) if place != axis))
    try:
        summed = apply(
            "index_put",
            x.permute_dims(front),
            values.astype(x.dtype).permute_dims(front),
            index,
            accumulate=True,
        )
    except IndexRangeError as error:
        raise index_error_of("index_add", axis, error) from None
    return cast("Tensor[K]", summed.permute_dims(inverse_order(front)))
