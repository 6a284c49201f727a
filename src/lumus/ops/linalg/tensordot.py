"""tensordot: products summed over several axes of each operand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

from lumus.core.argument import axis_of, check_tensors
from lumus.core.broadcast import integer, listed
from lumus.core.dtypes import promote
from lumus.core.kinds import Float, Int
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError

TensordotAxes = int | tuple[int | Sequence[int], int | Sequence[int]]


@overload
def tensordot(x: Tensor[Float], y: Tensor[Float], *, axes: TensordotAxes = 2) -> Tensor[Float]: ...
@overload
def tensordot(x: Tensor[Int], y: Tensor[Int], *, axes: TensordotAxes = 2) -> Tensor[Int]: ...
def tensordot(x: Any, y: Any, *, axes: TensordotAxes = 2) -> Any:
    """Products of `x` and `y`, summed over pairs of axes; one matrix product.

    **Shapes.** `axes` is a number n, for the last n of `x` with the first n of `y`, or the axes of
    `x` and those of `y`, in pairs. Paired axes have the same length, and are gone from the result,
    which has the other axes of `x`, then those of `y`.
    **Kinds.** Float or Int, both the same; dtypes promote.
    **Gradient.** ``tensordot(grad, y)`` for x, ``tensordot(x, grad)`` for y, over the other axes.
    **Raises.** ArgumentError for axes that are out of range, named twice or not in pairs,
    ShapeError for pairs of different lengths, KindError for Bool or mixed kinds.

    >>> import lumus as lm
    >>> lm.tensordot(lm.ones((2, 3, 4)), lm.ones((4, 3, 5)), axes=((1, 2), (1, 0))).shape
    (2, 5)
    """
    check_tensors("tensordot", x, y)
    dtype = promote(x.dtype, y.dtype, "tensordot")
    if dtype.kind == "bool":
        raise kind_error("tensordot", dtype, ("float", "int"))
    ours, theirs = _pairs(x, y, axes)
    for one, other in zip(ours, theirs, strict=True):
        if x.shape[one] != y.shape[other]:
            raise ShapeError(
                f"tensordot: shapes {x.shape} and {y.shape} do not fit: axis {one} of the first is "
                f"{x.shape[one]}, axis {other} of the second is {y.shape[other]}",
                op="tensordot",
            )
    rows = [axis for axis in range(x.ndim) if axis not in ours]
    columns = [axis for axis in range(y.ndim) if axis not in theirs]
    count = math.prod(x.shape[axis] for axis in ours)
    left, right = [x.shape[axis] for axis in rows], [y.shape[axis] for axis in columns]
    matrix = x.permute_dims((*rows, *ours)).reshape(math.prod(left), count)
    other_matrix = y.permute_dims((*theirs, *columns)).reshape(count, math.prod(right))
    return (matrix @ other_matrix).reshape((*left, *right))


def _pairs(x: Tensor[Any], y: Tensor[Any], axes: Any) -> tuple[list[int], list[int]]:
    """The axes of each operand that belong together."""
    if isinstance(axes, Sequence) and not isinstance(axes, str):
        if len(axes) != 2:
            raise ArgumentError(
                f"tensordot: axes are a number, or two lists of axes, got {axes}", op="tensordot"
            )
        ours = [axis_of("tensordot", x, axis) for axis in listed(axes[0])]
        theirs = [axis_of("tensordot", y, axis) for axis in listed(axes[1])]
    else:
        count = integer("tensordot", "axes", axes)
        if not 0 <= count <= min(x.ndim, y.ndim):
            raise ArgumentError(
                f"tensordot: axes={count} for tensors of {x.ndim} and {y.ndim} axes",
                op="tensordot",
            )
        ours, theirs = list(range(x.ndim - count, x.ndim)), list(range(count))
    if len(ours) != len(theirs):
        raise ArgumentError(
            f"tensordot: {len(ours)} axes of the first, {len(theirs)} of the second",
            op="tensordot",
        )
    if len(set(ours)) != len(ours) or len(set(theirs)) != len(theirs):
        raise ArgumentError(f"tensordot: axes={axes} names an axis more than once", op="tensordot")
    return ours, theirs
