"""cross: the vector product."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.argument import axis_of, check_tensors
from lumus.core.broadcast import broadcast_shapes
from lumus.core.dtypes import promote
from lumus.core.kinds import Float, Int
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.shape.concat import concat


@overload
def cross(x: Tensor[Float], y: Tensor[Float], *, axis: int = -1) -> Tensor[Float]: ...
@overload
def cross(x: Tensor[Int], y: Tensor[Int], *, axis: int = -1) -> Tensor[Int]: ...
def cross(x: Any, y: Any, *, axis: int = -1) -> Any:
    """The vector product of vectors of three elements along `axis`.

    **Shapes.** Both have length 3 along `axis`, which is counted after broadcasting; the others
    broadcast.
    **Kinds.** Float or Int, both the same; dtypes promote.
    **Gradient.** ``cross(y, grad)`` for x, ``cross(grad, x)`` for y.
    **Raises.** ShapeError for another length or shapes that do not broadcast, ArgumentError for an
    axis out of range, KindError for Bool or mixed kinds.

    >>> import lumus as lm
    >>> lm.linalg.cross(lm.tensor([1, 0, 0]), lm.tensor([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    check_tensors("cross", x, y)
    dtype = promote(x.dtype, y.dtype, "cross")
    if dtype.kind == "bool":
        raise kind_error("cross", dtype, ("float", "int"))
    shape = broadcast_shapes("cross", x.shape, y.shape)
    x, y = x.broadcast_to(shape), y.broadcast_to(shape)
    axis = axis_of("cross", x, axis)
    if shape[axis] != 3:
        raise ShapeError(
            f"cross: axis {axis} must have length 3, it has {shape[axis]} of shape {shape}",
            op="cross",
            axis=axis,
        )
    a, b, c = (x.narrow(axis, place, 1) for place in range(3))
    d, e, f = (y.narrow(axis, place, 1) for place in range(3))
    return concat([b * f - c * e, c * d - a * f, a * e - b * d], axis)
