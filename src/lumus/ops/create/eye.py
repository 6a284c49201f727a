"""eye and diag: matrices by their diagonal."""

from __future__ import annotations

from typing import Any, Literal, cast, overload

from lumus.core.argument import check_tensors
from lumus.core.broadcast import check_shape, integer
from lumus.core.device import Device
from lumus.core.dispatch import apply
from lumus.core.dtypes import DType, checked_dtype, float32
from lumus.core.kinds import Float, K
from lumus.core.tensor import Tensor, leaf
from lumus.errors import ShapeError
from lumus.ops.create.arange import arange
from lumus.ops.linalg.diagonal import diagonal


@overload
def eye(
    rows: int,
    columns: int | None = None,
    *,
    dtype: None = None,
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Float]: ...
@overload
def eye(
    rows: int,
    columns: int | None = None,
    *,
    dtype: DType[Float],
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Float]: ...
@overload
def eye(
    rows: int,
    columns: int | None = None,
    *,
    dtype: DType[K],
    device: str | Device | None = None,
    requires_grad: Literal[False] = False,
) -> Tensor[K]: ...
def eye(
    rows: int,
    columns: int | None = None,
    *,
    dtype: DType[Any] | None = None,
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Any]:
    """The identity matrix: ones on the diagonal, zeros elsewhere.

    **Shapes.** (rows, columns), square by default.
    **Kinds.** By `dtype`, float32 by default.
    **Gradient.** `requires_grad=True` makes it a leaf.
    **Raises.** ShapeError for negative sizes.

    >>> import lumus as lm
    >>> lm.eye(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    wide = rows if columns is None else columns
    if dtype is not None:
        checked_dtype(dtype, "eye")
    rows = integer("eye", "rows", rows)
    wide = rows if columns is None else integer("eye", "columns", columns)
    if rows < 0 or wide < 0:
        raise ShapeError(f"eye: sizes cannot be negative, got {rows} by {wide}", op="eye")
    check_shape("eye", (rows, wide))
    on_diagonal = _offsets(rows, wide, device) == 0
    return leaf(on_diagonal.astype(float32 if dtype is None else dtype), requires_grad)


def _offsets(rows: int, columns: int, device: str | Device | None) -> Tensor[Any]:
    """Column minus row, for each element of a matrix."""
    across = arange(columns, device=device).reshape(1, columns)
    return across - arange(rows, device=device).reshape(rows, 1)


def diag(x: Tensor[K], offset: int = 0) -> Tensor[K]:
    """The diagonal of a matrix, or a square matrix with the vector `x` on its diagonal.

    **Shapes.** (n, m) gives the elements at ``[i, i + offset]``; (n,) gives a matrix of side
    ``n + abs(offset)``.
    **Kinds.** Any.
    **Gradient.** `grad` at the elements of the diagonal.
    **Raises.** ShapeError unless there are one or two axes.

    >>> import lumus as lm
    >>> lm.diag(lm.tensor([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    check_tensors("diag", x)
    if x.ndim == 2:
        return diagonal(x, integer("diag", "offset", offset))
    if x.ndim != 1:
        raise ShapeError(f"diag: needs one or two axes, got shape {x.shape}", op="diag")
    offset = integer("diag", "offset", offset)
    side = x.shape[0] + abs(offset)
    check_shape("diag", (side, side))
    # In row-major order the elements of a diagonal are side + 1 apart.
    start = max(0, -offset) * side + max(0, offset)
    flat = apply("unslice", x, shape=(side * side,), starts=(start,), steps=(side + 1,))
    return cast("Tensor[K]", flat.reshape(side, side))
