"""affine_grid: the points that an affine map takes the elements of a picture from."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lumus.core.argument import check_tensors, flag
from lumus.core.broadcast import normalize_shape
from lumus.core.kinds import Float
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.create.arange import linspace
from lumus.ops.create.full import ones
from lumus.ops.shape.concat import concat


def affine_grid(
    theta: Tensor[Float], size: Sequence[int], align_corners: bool = False
) -> Tensor[Float]:
    """The points that an affine map takes each element of a picture of `size` from.

    ``grid[n, i, j] = theta[n] @ (x_j, y_i, 1)``, with coordinates from -1 to 1 as in `grid_sample`.

    **Shapes.** `theta` (N, 2, 3) and `size` (N, C, H, W) give (N, H, W, 2); `theta` (N, 3, 4) and
    `size` (N, C, D, H, W) give (N, D, H, W, 3).
    **Kinds.** Float.
    **Gradient.** ``grad.T @ (x_j, y_i, 1)``, summed over all elements.
    **Raises.** ShapeError for shapes that do not fit, KindError for Int and Bool.

    >>> import lumus as lm
    >>> theta = lm.tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]])
    >>> lm.nn.functional.affine_grid(theta, (1, 1, 1, 2)).tolist()
    [[[[0.0, 0.0], [1.0, 0.0]]]]
    """
    check_tensors("affine_grid", theta)
    if theta.dtype.kind != "float":
        raise kind_error("affine_grid", theta.dtype, ("float",))
    shape = normalize_shape("affine_grid", size)
    aligned = flag("affine_grid", "align_corners", align_corners)
    num_axes = len(shape) - 2
    if num_axes not in (2, 3) or theta.shape != (shape[0], num_axes, num_axes + 1):
        raise ShapeError(
            f"affine_grid: theta of shape {theta.shape} for size {shape}: (N, 2, 3) is for "
            "(N, C, H, W), (N, 3, 4) for (N, C, D, H, W)"
        )
    lengths = shape[2:]
    columns: list[Tensor[Float]] = []
    for axis in reversed(range(num_axes)):
        length = lengths[axis]
        edge = (1.0 if aligned else (length - 1) / max(length, 1)) if length > 1 else 0.0
        line: Tensor[Float] = linspace(-edge, edge, length, dtype=theta.dtype, device=theta.device)
        along = (length, *(1,) * (num_axes - axis))
        columns.append(line.reshape(along).broadcast_to((*lengths, 1)))
    columns.append(ones((*lengths, 1), dtype=theta.dtype, device=theta.device))
    points = concat(columns, axis=-1).reshape((math.prod(lengths), num_axes + 1))
    return (points @ theta.mT).reshape((shape[0], *lengths, num_axes))
