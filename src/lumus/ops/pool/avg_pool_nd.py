"""avg_pool1d, avg_pool2d, avg_pool3d: the mean of each window."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.ops.pool.avg_pool import pooled_means
from lumus.ops.pool.windows import PerAxis


def avg_pool1d(
    x: Tensor[Float],
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor[Float]:
    """The mean of each window along the last axis; see `avg_pool2d` for the arguments.

    **Shapes.** (N, C, L) or (C, L) gives (N, C, L') or (C, L') with
    ``L' = (L + 2 * padding - kernel_size) // stride + 1``.
    **Kinds.** Float; half types add up in float32.
    **Gradient.** `grad` over the divisor, added to all elements of the window.
    **Raises.** ArgumentError for a padding beyond half a window, ShapeError where a window does not
    fit, KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.nn.functional.avg_pool1d(lm.tensor([[2.0, 4.0, 6.0]]), 2, 1).tolist()
    [[3.0, 5.0]]
    """
    return pooled_means(
        "avg_pool1d", x, 1, kernel_size, stride, padding, ceil_mode, count_include_pad, None
    )


def avg_pool2d(
    x: Tensor[Float],
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor[Float]:
    """The mean of each window over the last two axes.

    Windows of `kernel_size` elements begin every `stride` elements (by default side by side), the
    first of them `padding` before the input. ``ceil_mode`` adds a last window that overhangs the
    end, if it begins before it. The divisor counts the elements of the window and, unless
    ``count_include_pad=False``, the padding in it, but never what overhangs that; or it is
    `divisor_override`.

    **Shapes.** (N, C, H, W) or (C, H, W) gives the same with
    ``(length + 2 * padding - kernel_size) // stride + 1`` for each of the last two axes.
    **Kinds.** Float; half types add up in float32.
    **Gradient.** `grad` over the divisor, added to all elements of the window.
    **Raises.** ArgumentError for a padding beyond half a window and a divisor of 0, ShapeError
    where a window does not fit, KindError for Int and Bool.

    >>> import lumus as lm
    >>> x = lm.tensor([[[1.0, 2.0, 5.0, 6.0], [3.0, 4.0, 7.0, 8.0]]])
    >>> lm.nn.functional.avg_pool2d(x, 2).tolist()
    [[[2.5, 6.5]]]
    """
    return pooled_means(
        "avg_pool2d",
        x,
        2,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    )


def avg_pool3d(
    x: Tensor[Float],
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor[Float]:
    """The mean of each window over the last three axes; see `avg_pool2d` for the arguments.

    **Shapes.** (N, C, D, H, W) or (C, D, H, W) gives the same with
    ``(length + 2 * padding - kernel_size) // stride + 1`` for each of the last three axes.
    **Kinds.** Float; half types add up in float32.
    **Gradient.** `grad` over the divisor, added to all elements of the window.
    **Raises.** ArgumentError for a padding beyond half a window and a divisor of 0, ShapeError
    where a window does not fit, KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.nn.functional.avg_pool3d(lm.arange(8.0).reshape(1, 2, 2, 2), 2).tolist()
    [[[[3.5]]]]
    """
    return pooled_means(
        "avg_pool3d",
        x,
        3,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    )
