"""vecdot: products of vectors, along an axis of stacks of them."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.argument import axis_of, check_tensors
from lumus.core.broadcast import broadcast_shapes, integer
from lumus.core.dtypes import promote
from lumus.core.kinds import Float, Int
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError


@overload
def vecdot(x: Tensor[Float], y: Tensor[Float], *, axis: int = -1) -> Tensor[Float]: ...
@overload
def vecdot(x: Tensor[Int], y: Tensor[Int], *, axis: int = -1) -> Tensor[Int]: ...
def vecdot(x: Any, y: Any, *, axis: int = -1) -> Any:
    """The sum of ``x * y`` along `axis`, which is gone from the result.

    **Shapes.** Both have the same length along `axis`, which is counted from the end of each; the
    other axes broadcast.
    **Kinds.** Float or Int, both the same; dtypes promote. Sums are those of `matmul`.
    **Gradient.** ``grad * y`` for x, ``grad * x`` for y.
    **Raises.** ShapeError for lengths that differ or shapes that do not broadcast, ArgumentError
    for an axis out of range or counted from the front, KindError for Bool or mixed kinds.

    >>> import lumus as lm
    >>> lm.vecdot(lm.tensor([[1, 2], [3, 4]]), lm.tensor([1, 10])).tolist()
    [21, 43]
    """
    check_tensors("vecdot", x, y)
    dtype = promote(x.dtype, y.dtype, "vecdot")
    if dtype.kind == "bool":
        raise kind_error("vecdot", dtype, ("float", "int"))
    if integer("vecdot", "axis", axis) >= 0:
        raise ArgumentError(
            f"vecdot: axis counts from the end of both, so it must be negative, got {axis}",
            op="vecdot",
        )
    x, y = (one.moveaxis(axis_of("vecdot", one, axis), -1) for one in (x, y))
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(
            f"vecdot: axis {axis} is {x.shape[-1]} in one and {y.shape[-1]} in the other",
            op="vecdot",
        )
    broadcast_shapes("vecdot", x.shape, y.shape)
    return (x.expand_dims(-2) @ y.expand_dims(-1)).squeeze((-2, -1))
