"""PixelShuffle: channels laid out as blocks of pixels."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.pool.pixel_shuffle import pixel_shuffle


class PixelShuffle(Module):
    """Channels laid out as blocks of pixels: see `lumus.nn.functional.pixel_shuffle`.

    **Shapes.** (..., C * r * r, H, W) gives (..., C, H * r, W * r).

    >>> import lumus as lm
    >>> lm.nn.PixelShuffle(2)(lm.zeros((1, 8, 3, 3))).shape
    (1, 2, 6, 6)
    """

    def __init__(self, upscale_factor: int) -> None:
        self.upscale_factor = upscale_factor

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return pixel_shuffle(x, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"{self.upscale_factor}"
