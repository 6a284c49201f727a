"""PixelUnshuffle: blocks of pixels laid out as channels."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.pool.pixel_shuffle import pixel_unshuffle


class PixelUnshuffle(Module):
    """Blocks of pixels laid out as channels: see `lumus.nn.functional.pixel_unshuffle`.

    **Shapes.** (..., C, H * r, W * r) gives (..., C * r * r, H, W).

    >>> import lumus as lm
    >>> lm.nn.PixelUnshuffle(2)(lm.zeros((1, 2, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(self, downscale_factor: int) -> None:
        self.downscale_factor = downscale_factor

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return pixel_unshuffle(x, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"{self.downscale_factor}"
