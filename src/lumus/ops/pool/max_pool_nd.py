"""max_pool1d, max_pool2d, max_pool3d: the maximum of each window."""

from __future__ import annotations

from typing import Any, Literal, overload

from lumus.core.argument import flag
from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.ops.pool.max_pool import pooled_maxima
from lumus.ops.pool.windows import PerAxis, pool_axes


@overload
def max_pool1d(
    x: Tensor[Float],
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor[Float]: ...
@overload
def max_pool1d(
    x: Tensor[Float],
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor[Float], Tensor[Int]]: ...
def max_pool1d(
    x: Tensor[Float],
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window along the last axis.

    See `max_pool2d` for the arguments. With ``return_indices`` also where the maxima are: the
    number of the element in row-major order over the last axis.

    **Shapes.** (N, C, L) or (C, L) gives (N, C, L') or (C, L') with
    ``L' = (L + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1``.
    **Kinds.** Float; the indices are int64.
    **Gradient.** `grad`, added where the maxima are: at a tie to the first in row-major order,
    where `lumus.max` splits it.
    **Raises.** ArgumentError for a padding beyond half a window, ShapeError where a window does not
    fit, KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.nn.functional.max_pool1d(lm.tensor([[1.0, 3.0, 2.0, 5.0, 4.0]]), 3, 1).tolist()
    [[3.0, 5.0, 5.0]]
    """
    axes = pool_axes("max_pool1d", x, 1, kernel_size, stride, padding, dilation, ceil_mode)
    return pooled_maxima(x, axes, flag("max_pool1d", "return_indices", return_indices))


@overload
def max_pool2d(
    x: Tensor[Float],
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor[Float]: ...
@overload
def max_pool2d(
    x: Tensor[Float],
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor[Float], Tensor[Int]]: ...
def max_pool2d(
    x: Tensor[Float],
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window over the last two axes.

    Windows of `kernel_size` elements, `dilation` apart, begin every `stride` elements (by default
    side by side), the first of them `padding` before the input. Padding is -inf: it is never the
    maximum. NaN is greater than all. ``ceil_mode`` adds a last window that overhangs the end, if it
    begins before it. With ``return_indices`` also where the maxima are: the number of the element
    in row-major order over the last two axes.

    **Shapes.** (N, C, H, W) or (C, H, W) gives the same with
    ``(length + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1`` for each of the last
    two axes.
    **Kinds.** Float; the indices are int64.
    **Gradient.** `grad`, added where the maxima are: at a tie to the first in row-major order,
    where `lumus.max` splits it.
    **Raises.** ArgumentError for a padding beyond half a window, ShapeError where a window does not
    fit, KindError for Int and Bool.

    >>> import lumus as lm
    >>> x = lm.tensor([[[1.0, 2.0, 5.0, 6.0], [3.0, 4.0, 7.0, 8.0]]])
    >>> y, indices = lm.nn.functional.max_pool2d(x, 2, return_indices=True)
    >>> y.tolist(), indices.tolist()
    ([[[4.0, 8.0]]], [[[5, 7]]])
    """
    axes = pool_axes("max_pool2d", x, 2, kernel_size, stride, padding, dilation, ceil_mode)
    return pooled_maxima(x, axes, flag("max_pool2d", "return_indices", return_indices))


@overload
def max_pool3d(
    x: Tensor[Float],
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor[Float]: ...
@overload
def max_pool3d(
    x: Tensor[Float],
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor[Float], Tensor[Int]]: ...
def max_pool3d(
    x: Tensor[Float],
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window over the last three axes.

    See `max_pool2d` for the arguments. With ``return_indices`` also where the maxima are: the
    number of the element in row-major order over the last three axes.

    **Shapes.** (N, C, D, H, W) or (C, D, H, W) gives the same with
    ``(length + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1`` for each of the last
    three axes.
    **Kinds.** Float; the indices are int64.
    **Gradient.** `grad`, added where the maxima are: at a tie to the first in row-major order,
    where `lumus.max` splits it.
    **Raises.** ArgumentError for a padding beyond half a window, ShapeError where a window does not
    fit, KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.nn.functional.max_pool3d(lm.arange(8.0).reshape(1, 2, 2, 2), 2).tolist()
    [[[[7.0]]]]
    """
    axes = pool_axes("max_pool3d", x, 3, kernel_size, stride, padding, dilation, ceil_mode)
    return pooled_maxima(x, axes, flag("max_pool3d", "return_indices", return_indices))
