"""LPPool1d, LPPool2d, LPPool3d: the p-norm of each window."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.pool.lp_pool_nd import lp_pool1d, lp_pool2d, lp_pool3d
from lumus.ops.pool.windows import PerAxis


class LPPool(Module):
    """What the three have in common: the arguments of `lumus.nn.functional.lp_pool2d`."""

    def __init__(
        self,
        norm_type: float,
        kernel_size: PerAxis,
        stride: PerAxis | None = None,
        ceil_mode: bool = False,
    ) -> None:
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(LPPool):
    """The p-norm of each window: see `lumus.nn.functional.lp_pool1d`.

    **Shapes.** (N, C, L) or (C, L).

    >>> import lumus as lm
    >>> lm.nn.LPPool1d(2, 2)(lm.zeros((1, 1, 8))).shape
    (1, 1, 4)
    """

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return lp_pool1d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(LPPool):
    """The p-norm of each window: see `lumus.nn.functional.lp_pool2d`.

    **Shapes.** (N, C, H, W) or (C, H, W).

    >>> import lumus as lm
    >>> lm.nn.LPPool2d(2, 2)(lm.zeros((1, 1, 8, 8))).shape
    (1, 1, 4, 4)
    """

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return lp_pool2d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(LPPool):
    """The p-norm of each window: see `lumus.nn.functional.lp_pool3d`.

    **Shapes.** (N, C, D, H, W) or (C, D, H, W).

    >>> import lumus as lm
    >>> lm.nn.LPPool3d(2, 2)(lm.zeros((1, 1, 8, 8, 8))).shape
    (1, 1, 4, 4, 4)
    """

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return lp_pool3d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)
