"""diagonal and trace of matrices."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.argument import check_tensors
from lumus.core.broadcast import integer
from lumus.core.composite import composite
from lumus.core.kinds import Float, Int, K
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.shape.slice import view


@composite("diagonal")
def diagonal(x: Tensor[K], offset: int = 0) -> Tensor[K]:
    """The elements at ``[..., i, i + offset]`` of each matrix: a view where the matrix is dense.

    **Shapes.** (..., n, m) give (..., k), k as long as that diagonal, 0 beyond the corners.
    **Kinds.** Any.
    **Gradient.** `grad` on the diagonal, 0 elsewhere.
    **Raises.** ShapeError for fewer than two axes.

    >>> import lumus as lm
    >>> lm.diagonal(lm.tensor([[1, 2], [3, 4]]), 1).tolist()
    [2]
    """
    check_tensors("diagonal", x)
    if x.ndim < 2:
        raise ShapeError(f"diagonal: needs at least two axes, got shape {x.shape}", op="diagonal")
    *batch, rows, columns = x.shape
    offset = integer("diagonal", "offset", offset)
    row, column = max(0, -offset), max(0, offset)
    count = max(0, min(rows - row, columns - column))
    # In row-major order the elements of a diagonal are columns + 1 apart.
    flat = x.reshape(*batch, rows * columns)
    start = row * columns + column if count else 0
    step = columns + 1 if count > 1 else 1
    lead = (0,) * len(batch)
    return view(flat, (*lead, start), (*batch, count), (*(1 for _ in batch), step))


@overload
def trace(x: Tensor[Float], offset: int = 0) -> Tensor[Float]: ...
@overload
def trace(x: Tensor[Int], offset: int = 0) -> Tensor[Int]: ...
@composite("trace")
def trace(x: Any, offset: int = 0) -> Any:
    """The sum of each matrix's diagonal.

    **Shapes.** (..., n, m) give (...); an empty diagonal sums to 0.
    **Kinds.** Float or Int; small ints widen to int64, as in `sum`.
    **Gradient.** `grad` on the diagonal, 0 elsewhere.
    **Raises.** ShapeError for fewer than two axes, KindError for Bool.

    >>> import lumus as lm
    >>> lm.trace(lm.tensor([[1.0, 2.0], [3.0, 4.0]])).item()
    5.0
    """
    check_tensors("trace", x)
    if x.dtype.kind == "bool":
        raise kind_error("trace", x.dtype, ("float", "int"))
    if x.ndim < 2:
        raise ShapeError(f"trace: needs at least two axes, got shape {x.shape}", op="trace")
    return diagonal(x, offset).sum(axis=-1)
