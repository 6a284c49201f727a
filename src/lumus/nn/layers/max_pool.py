"""MaxPool1d, MaxPool2d, MaxPool3d: the maximum of each window."""

from __future__ import annotations

from typing import Any

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.pool.max_pool_nd import max_pool1d, max_pool2d, max_pool3d
from lumus.ops.pool.windows import PerAxis


class MaxPool(Module):
    """What the three have in common: the arguments of `lumus.nn.functional.max_pool2d`."""

    def __init__(
        self,
        kernel_size: PerAxis,
        stride: PerAxis | None = None,
        padding: PerAxis = 0,
        dilation: PerAxis = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def arguments(self) -> dict[str, Any]:
        """What the function takes besides the input."""
        return {
            "kernel_size": self.kernel_size,
            "stride": self.stride,
            "padding": self.padding,
            "dilation": self.dilation,
            "ceil_mode": self.ceil_mode,
            "return_indices": self.return_indices,
        }

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(MaxPool):
    """The maximum of each window: `lumus.nn.functional.max_pool1d`, whose result it gives.

    **Shapes.** (N, C, L) or (C, L).

    >>> import lumus as lm
    >>> lm.nn.MaxPool1d(3, stride=2, padding=1)(lm.zeros((1, 1, 8))).shape
    (1, 1, 4)
    """

    def forward(self, x: Tensor[Float]) -> Any:
        return max_pool1d(x, **self.arguments())


class MaxPool2d(MaxPool):
    """The maximum of each window: `lumus.nn.functional.max_pool2d`, whose result it gives.

    **Shapes.** (N, C, H, W) or (C, H, W).

    >>> import lumus as lm
    >>> lm.nn.MaxPool2d(3, stride=2, padding=1)(lm.zeros((1, 1, 8, 8))).shape
    (1, 1, 4, 4)
    """

    def forward(self, x: Tensor[Float]) -> Any:
        return max_pool2d(x, **self.arguments())


class MaxPool3d(MaxPool):
    """The maximum of each window: `lumus.nn.functional.max_pool3d`, whose result it gives.

    **Shapes.** (N, C, D, H, W) or (C, D, H, W).

    >>> import lumus as lm
    >>> lm.nn.MaxPool3d(3, stride=2, padding=1)(lm.zeros((1, 1, 8, 8, 8))).shape
    (1, 1, 4, 4, 4)
    """

    def forward(self, x: Tensor[Float]) -> Any:
        return max_pool3d(x, **self.arguments())
