"""What all functions of matrices check."""

from __future__ import annotations

from typing import Any

from lumus.core.broadcast import Shape, broadcast_shapes
from lumus.core.dtypes import DType, is_half, promote
from lumus.core.op import kind_error
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import DTypeError, ShapeError


def check_matrices(op: str, spec: Spec, *, square: bool = False) -> None:
    """Raises for what is no stack of (square) matrices of float32 or float64."""
    check_precision(op, spec.dtype)
    if spec.ndim < 2:
        raise ShapeError(f"{op}: needs matrices, got shape {spec.shape}", op=op, shape=spec.shape)
    if square and spec.shape[-1] != spec.shape[-2]:
        raise ShapeError(
            f"{op}: needs square matrices, got shape {spec.shape}", op=op, shape=spec.shape
        )


def check_precision(op: str, dtype: DType[Any]) -> None:
    """Raises KindError for Int and Bool, DTypeError for half types."""
    if dtype.kind != "float":
        raise kind_error(op, dtype, ("float",))
    if is_half(dtype):
        raise DTypeError(
            f"{op}: needs float32 or float64, got {dtype.name}",
            hint="convert it with .astype(lumus.float32)",
            op=op,
            dtype=dtype.name,
        )


def same_dtype(op: str, x: Tensor[Any], y: Tensor[Any]) -> tuple[Tensor[Any], Tensor[Any]]:
    """Two operands in the dtype that both convert to."""
    dtype = promote(x.dtype, y.dtype, op)
    return x.astype(dtype), y.astype(dtype)


def right_side_shape(op: str, a: Spec, b: Spec) -> Shape:
    """The shape of a stack of solutions, for right sides `b`: a vector, or a stack of matrices."""
    rows, columns = a.shape[-2:]
    if not b.ndim or b.shape[-1 if b.ndim == 1 else -2] != rows:
        raise ShapeError(
            f"{op}: the right side must have {rows} rows, got shapes {a.shape} and {b.shape}",
            hint="several vectors are the columns of a matrix" if b.ndim > 1 else None,
            op=op,
            shapes=(a.shape, b.shape),
        )
    if b.ndim == 1:
        return (*a.shape[:-2], columns)
    try:
        batch = broadcast_shapes(op, a.shape[:-2], b.shape[:-2])
    except ShapeError:
        raise ShapeError(
            f"{op}: shapes {a.shape} and {b.shape} do not fit: the axes before the last two do not "
            "broadcast",
            op=op,
            shapes=(a.shape, b.shape),
        ) from None
    return (*batch, columns, b.shape[-1])
