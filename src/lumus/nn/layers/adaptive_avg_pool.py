"""AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d: means to a given size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.pool.adaptive_avg_pool_nd import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)


class AdaptiveAvgPool(Module):
    """What the three have in common: the size of the result, None for a length to be kept."""

    output_size: Any

    def __init__(self, output_size: int | Sequence[int | None] | None) -> None:
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(AdaptiveAvgPool):
    """The means to a given size: see `lumus.nn.functional.adaptive_avg_pool1d`.

    **Shapes.** (N, C, L) or (C, L).

    >>> import lumus as lm
    >>> lm.nn.AdaptiveAvgPool1d(4)(lm.zeros((1, 1, 8))).shape
    (1, 1, 4)
    """

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return adaptive_avg_pool1d(x, self.output_size)


class AdaptiveAvgPool2d(AdaptiveAvgPool):
    """The means to a given size: see `lumus.nn.functional.adaptive_avg_pool2d`.

    **Shapes.** (N, C, H, W) or (C, H, W).

    >>> import lumus as lm
    >>> lm.nn.AdaptiveAvgPool2d(4)(lm.zeros((1, 1, 8, 8))).shape
    (1, 1, 4, 4)
    """

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return adaptive_avg_pool2d(x, self.output_size)


class AdaptiveAvgPool3d(AdaptiveAvgPool):
    """The means to a given size: see `lumus.nn.functional.adaptive_avg_pool3d`.

    **Shapes.** (N, C, D, H, W) or (C, D, H, W).

    >>> import lumus as lm
    >>> lm.nn.AdaptiveAvgPool3d(4)(lm.zeros((1, 1, 8, 8, 8))).shape
    (1, 1, 4, 4, 4)
    """

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return adaptive_avg_pool3d(x, self.output_size)
