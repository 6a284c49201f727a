"""adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d: means to a given size."""

from __future__ import annotations

from collections.abc import Sequence

from lumus.core.kernels.pool import PoolAxis
from lumus.core.kinds import Float
from lumus.core.resampling import ResampleAxis
from lumus.core.tensor import Tensor
from lumus.ops.pool.avg_pool import AvgPoolAttrs, applied
from lumus.ops.pool.resample import resampled
from lumus.ops.pool.windows import adaptive_axes


def divided_means(x: Tensor[Float], axes: tuple[PoolAxis, ...]) -> Tensor[Float]:
    """The means of windows that divide the last axes."""
    if all(axis.count == 1 for axis in axes):
        return x.mean(axis=tuple(range(x.ndim - len(axes), x.ndim)), keepdims=True)
    if all(axis.stride for axis in axes):
        return applied("avg_pool", x, AvgPoolAttrs(axes, True, None))
    tables = tuple(
        ResampleAxis(axis.length, axis.count, "mean", (axis.length, axis.count), False)
        for axis in axes
    )
    return resampled(x, tables)


def adaptive_avg_pool1d(x: Tensor[Float], output_size: int | Sequence[int]) -> Tensor[Float]:
    """The means of `output_size` windows along the last axis; see `adaptive_avg_pool2d`.

    **Shapes.** (N, C, L) or (C, L) gives (N, C, output_size) or (C, output_size).
    **Kinds.** Float; half types add up in float32.
    **Gradient.** `grad` over the length of its window, added to the elements of the window.
    **Raises.** ArgumentError for a size below 1, ShapeError for another shape or one without
    elements along the axis, KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.nn.functional.adaptive_avg_pool1d(lm.tensor([[1.0, 2.0, 6.0]]), 2).tolist()
    [[1.5, 4.0]]
    """
    return divided_means(x, adaptive_axes("adaptive_avg_pool1d", x, 1, output_size))


def adaptive_avg_pool2d(
    x: Tensor[Float], output_size: int | Sequence[int | None] | None
) -> Tensor[Float]:
    """The means of windows that divide the last two axes into `output_size` outputs.

    Window o of an axis goes from ``floor(o * length / size)`` to ``ceil((o + 1) * length / size)``;
    neighbours share an element where the length does not divide. One size is for both axes; None
    keeps a length.

    **Shapes.** (N, C, H, W) or (C, H, W) gives the same with `output_size` as the last two axes.
    **Kinds.** Float; half types add up in float32.
    **Gradient.** `grad` over the size of its window, added to the elements of the window.
    **Raises.** ArgumentError for a size below 1, ShapeError for another shape or one without
    elements along these axes, KindError for Int and Bool.

    >>> import lumus as lm
    >>> x = lm.arange(8.0).reshape(1, 2, 4)
    >>> lm.nn.functional.adaptive_avg_pool2d(x, (1, 2)).tolist()
    [[[2.5, 4.5]]]
    """
    return divided_means(x, adaptive_axes("adaptive_avg_pool2d", x, 2, output_size))


def adaptive_avg_pool3d(
    x: Tensor[Float], output_size: int | Sequence[int | None] | None
) -> Tensor[Float]:
    """The means of windows that divide the last three axes; see `adaptive_avg_pool2d`.

    **Shapes.** (N, C, D, H, W) or (C, D, H, W) gives the same with `output_size` as the last three.
    **Kinds.** Float; half types add up in float32.
    **Gradient.** `grad` over the size of its window, added to the elements of the window.
    **Raises.** ArgumentError for a size below 1, ShapeError for another shape or one without
    elements along these axes, KindError for Int and Bool.

    >>> import lumus as lm
    >>> x = lm.arange(8.0).reshape(1, 2, 2, 2)
    >>> lm.nn.functional.adaptive_avg_pool3d(x, (1, 1, 2)).tolist()
    [[[[3.0, 4.0]]]]
    """
    return divided_means(x, adaptive_axes("adaptive_avg_pool3d", x, 3, output_size))
