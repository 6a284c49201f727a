"""lp_pool1d, lp_pool2d, lp_pool3d: the p-norm of each window."""

from __future__ import annotations

from lumus.core.argument import finite
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.ops.elementwise.where import where
from lumus.ops.pool.avg_pool import pooled_means
from lumus.ops.pool.windows import PerAxis, check_input


def _pooled_norms(
    num_axes: int,
    x: Tensor[Float],
    norm_type: float,
    kernel_size: PerAxis,
    stride: PerAxis | None,
    ceil_mode: bool,
) -> Tensor[Float]:
    op = f"lp_pool{num_axes}d"
    check_input(op, x, num_axes)
    p = finite(op, "norm_type", norm_type)
    if p < 1:
        raise ArgumentError(f"{op}: norm_type must be at least 1, got {p}", op=op)
    sums = pooled_means(op, x**p, num_axes, kernel_size, stride, 0, ceil_mode, True, 1)
    if p == 1:
        return sums
    # The root has no derivative at 0: there it is 0 by convention.
    is_zero = sums == 0.0
    return where(is_zero, 0.0, where(is_zero, 1.0, sums) ** (1 / p))


def lp_pool1d(
    x: Tensor[Float],
    norm_type: float,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    ceil_mode: bool = False,
) -> Tensor[Float]:
    """The p-norm of each window along the last axis; see `lp_pool2d`.

    **Shapes.** (N, C, L) or (C, L), as for `avg_pool1d`.
    **Kinds.** Float.
    **Gradient.** ``grad * (x / y)**(p - 1)`` for each element of the window, 0 where y is 0.
    **Raises.** ArgumentError for a p below 1, and all that `avg_pool1d` raises.

    >>> import lumus as lm
    >>> lm.nn.functional.lp_pool1d(lm.tensor([[3.0, 4.0, 0.0, 0.0]]), 2, 2).tolist()
    [[5.0, 0.0]]
    """
    return _pooled_norms(1, x, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    x: Tensor[Float],
    norm_type: float,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    ceil_mode: bool = False,
) -> Tensor[Float]:
    """The p-norm of each window over the last two axes: ``(sum of x**p)**(1 / p)``.

    With p = 1 the sum. Elements keep their sign in the power, so that an odd p is for elements that
    are not negative. A window that overhangs the end (`ceil_mode`) has the norm of its elements.

    **Shapes.** (N, C, H, W) or (C, H, W), as for `avg_pool2d`.
    **Kinds.** Float.
    **Gradient.** ``grad * (x / y)**(p - 1)`` for each element of the window, 0 where y is 0.
    **Raises.** ArgumentError for a p below 1, and all that `avg_pool2d` raises.

    >>> import lumus as lm
    >>> lm.nn.functional.lp_pool2d(lm.tensor([[[3.0, 4.0]]]), 2, (1, 2)).tolist()
    [[[5.0]]]
    """
    return _pooled_norms(2, x, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    x: Tensor[Float],
    norm_type: float,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    ceil_mode: bool = False,
) -> Tensor[Float]:
    """The p-norm of each window over the last three axes; see `lp_pool2d`.

    **Shapes.** (N, C, D, H, W) or (C, D, H, W), as for `avg_pool3d`.
    **Kinds.** Float.
    **Gradient.** ``grad * (x / y)**(p - 1)`` for each element of the window, 0 where y is 0.
    **Raises.** ArgumentError for a p below 1, and all that `avg_pool3d` raises.

    >>> import lumus as lm
    >>> lm.nn.functional.lp_pool3d(lm.ones((1, 2, 2, 1)), 2, (2, 2, 1)).tolist()
    [[[[2.0]]]]
    """
    return _pooled_norms(3, x, norm_type, kernel_size, stride, ceil_mode)
