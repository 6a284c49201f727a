"""adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d: maxima to a given size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

from lumus.core.argument import flag
from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.ops.pool.max_pool import pooled_maxima
from lumus.ops.pool.windows import adaptive_axes

Sizes = int | None | Sequence[int | None]


@overload
def adaptive_max_pool1d(
    x: Tensor[Float], output_size: Sizes, return_indices: Literal[False] = False
) -> Tensor[Float]: ...
@overload
def adaptive_max_pool1d(
    x: Tensor[Float], output_size: Sizes, return_indices: Literal[True]
) -> tuple[Tensor[Float], Tensor[Int]]: ...
def adaptive_max_pool1d(x: Tensor[Float], output_size: Sizes, return_indices: bool = False) -> Any:
    """The maxima of `output_size` windows along the last axis; see `adaptive_avg_pool2d`.

    NaN is greater than all. With ``return_indices`` also where the maxima are: the number of the
    element along the axis.

    **Shapes.** (N, C, L) or (C, L) gives (N, C, output_size) or (C, output_size).
    **Kinds.** Float; the indices are int64.
    **Gradient.** `grad`, added where the maxima are: at a tie to the first in row-major order.
    **Raises.** ArgumentError for a size below 1, ShapeError for another shape or one without
    elements along the axis, KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.nn.functional.adaptive_max_pool1d(lm.tensor([[1.0, 2.0, 6.0]]), 2).tolist()
    [[2.0, 6.0]]
    """
    axes = adaptive_axes("adaptive_max_pool1d", x, 1, output_size)
    return pooled_maxima(x, axes, flag("adaptive_max_pool1d", "return_indices", return_indices))


@overload
def adaptive_max_pool2d(
    x: Tensor[Float], output_size: Sizes, return_indices: Literal[False] = False
) -> Tensor[Float]: ...
@overload
def adaptive_max_pool2d(
    x: Tensor[Float], output_size: Sizes, return_indices: Literal[True]
) -> tuple[Tensor[Float], Tensor[Int]]: ...
def adaptive_max_pool2d(x: Tensor[Float], output_size: Sizes, return_indices: bool = False) -> Any:
    """The maxima of windows that divide the last two axes; see `adaptive_avg_pool2d`.

    NaN is greater than all. With ``return_indices`` also where the maxima are: the number of the
    element in row-major order over these axes.

    **Shapes.** (N, C, H, W) or (C, H, W) gives the same with `output_size` as the last two axes.
    **Kinds.** Float; the indices are int64.
    **Gradient.** `grad`, added where the maxima are: at a tie to the first in row-major order.
    **Raises.** ArgumentError for a size below 1, ShapeError for another shape or one without
    elements along these axes, KindError for Int and Bool.

    >>> import lumus as lm
    >>> x = lm.arange(8.0).reshape(1, 2, 4)
    >>> y, indices = lm.nn.functional.adaptive_max_pool2d(x, (1, 2), return_indices=True)
    >>> y.tolist(), indices.tolist()
    ([[[5.0, 7.0]]], [[[5, 7]]])
    """
    axes = adaptive_axes("adaptive_max_pool2d", x, 2, output_size)
    return pooled_maxima(x, axes, flag("adaptive_max_pool2d", "return_indices", return_indices))


@overload
def adaptive_max_pool3d(
    x: Tensor[Float], output_size: Sizes, return_indices: Literal[False] = False
) -> Tensor[Float]: ...
@overload
def adaptive_max_pool3d(
    x: Tensor[Float], output_size: Sizes, return_indices: Literal[True]
) -> tuple[Tensor[Float], Tensor[Int]]: ...
def adaptive_max_pool3d(x: Tensor[Float], output_size: Sizes, return_indices: bool = False) -> Any:
    """The maxima of windows that divide the last three axes; see `adaptive_avg_pool2d`.

    NaN is greater than all. With ``return_indices`` also where the maxima are: the number of the
    element in row-major order over these axes.

    **Shapes.** (N, C, D, H, W) or (C, D, H, W) gives the same with `output_size` as the last three.
    **Kinds.** Float; the indices are int64.
    **Gradient.** `grad`, added where the maxima are: at a tie to the first in row-major order.
    **Raises.** ArgumentError for a size below 1, ShapeError for another shape or one without
    elements along these axes, KindError for Int and Bool.

    >>> import lumus as lm
    >>> x = lm.arange(8.0).reshape(1, 2, 2, 2)
    >>> lm.nn.functional.adaptive_max_pool3d(x, (1, 1, 2)).tolist()
    [[[[6.0, 7.0]]]]
    """
    axes = adaptive_axes("adaptive_max_pool3d", x, 3, output_size)
    return pooled_maxima(x, axes, flag("adaptive_max_pool3d", "return_indices", return_indices))
