"""AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d: maxima to a given size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.pool.adaptive_max_pool_nd import (
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)


class AdaptiveMaxPool(Module):
    """What the three have in common: the size of the result, None for a length to be kept."""

    output_size: Any

    def __init__(
        self, output_size: int | Sequence[int | None] | None, return_indices: bool = False
    ) -> None:
        self.output_size = output_size
        self.return_indices: Any = return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(AdaptiveMaxPool):
    """The maxima to a given size: `lumus.nn.functional.adaptive_max_pool1d`, whose result it gives.

    **Shapes.** (N, C, L) or (C, L).

    >>> import lumus as lm
    >>> lm.nn.AdaptiveMaxPool1d(4)(lm.zeros((1, 1, 8))).shape
    (1, 1, 4)
    """

    def forward(self, x: Tensor[Float]) -> Any:
        return adaptive_max_pool1d(x, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(AdaptiveMaxPool):
    """The maxima to a given size: `lumus.nn.functional.adaptive_max_pool2d`, whose result it gives.

    **Shapes.** (N, C, H, W) or (C, H, W).

    >>> import lumus as lm
    >>> lm.nn.AdaptiveMaxPool2d(4)(lm.zeros((1, 1, 8, 8))).shape
    (1, 1, 4, 4)
    """

    def forward(self, x: Tensor[Float]) -> Any:
        return adaptive_max_pool2d(x, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(AdaptiveMaxPool):
    """The maxima to a given size: `lumus.nn.functional.adaptive_max_pool3d`, whose result it gives.

    **Shapes.** (N, C, D, H, W) or (C, D, H, W).

    >>> import lumus as lm
    >>> lm.nn.AdaptiveMaxPool3d(4)(lm.zeros((1, 1, 8, 8, 8))).shape
    (1, 1, 4, 4, 4)
    """

    def forward(self, x: Tensor[Float]) -> Any:
        return adaptive_max_pool3d(x, self.output_size, self.return_indices)
