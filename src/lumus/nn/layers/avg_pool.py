"""AvgPool1d, AvgPool2d, AvgPool3d: the mean of each window."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.pool.avg_pool_nd import avg_pool1d, avg_pool2d, avg_pool3d
from lumus.ops.pool.windows import PerAxis


class AvgPool(Module):
    """What the three have in common: the arguments of `lumus.nn.functional.avg_pool2d`."""

    def __init__(
        self,
        kernel_size: PerAxis,
        stride: PerAxis | None = None,
        padding: PerAxis = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(AvgPool):
    """The mean of each window: see `lumus.nn.functional.avg_pool1d`.

    **Shapes.** (N, C, L) or (C, L).

    >>> import lumus as lm
    >>> lm.nn.AvgPool1d(2)(lm.zeros((1, 1, 8))).shape
    (1, 1, 4)
    """

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return avg_pool1d(
            x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )


class AvgPool2d(AvgPool):
    """The mean of each window: see `lumus.nn.functional.avg_pool2d`.

    **Shapes.** (N, C, H, W) or (C, H, W).

    >>> import lumus as lm
    >>> lm.nn.AvgPool2d(2)(lm.zeros((1, 1, 8, 8))).shape
    (1, 1, 4, 4)
    """

    def __init__(
        self,
        kernel_size: PerAxis,
        stride: PerAxis | None = None,
        padding: PerAxis = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return avg_pool2d(
            x,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool3d(AvgPool):
    """The mean of each window: see `lumus.nn.functional.avg_pool3d`.

    **Shapes.** (N, C, D, H, W) or (C, D, H, W).

    >>> import lumus as lm
    >>> lm.nn.AvgPool3d(2)(lm.zeros((1, 1, 8, 8, 8))).shape
    (1, 1, 4, 4, 4)
    """

    def __init__(
        self,
        kernel_size: PerAxis,
        stride: PerAxis | None = None,
        padding: PerAxis = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return avg_pool3d(
            x,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )
