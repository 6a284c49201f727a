"""Unfold: what each window of a picture sees, as columns."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.conv.geometry import Sizes, numbers
from lumus.ops.conv.unfold import unfold


class Unfold(Module):
    """`lumus.nn.functional.unfold` with these windows.

    **Shapes.** ([batch,] channels, height, width) gives ([batch,] channels * taps, windows).

    >>> import lumus as lm
    >>> lm.nn.Unfold(3, padding=1)(lm.zeros((2, 4, 8, 8))).shape
    (2, 36, 64)
    """

    def __init__(
        self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
    ) -> None:
        self.kernel_size = numbers("Unfold", "kernel_size", kernel_size, 2, 1)
        self.dilation = numbers("Unfold", "dilation", dilation, 2, 1)
        self.padding = numbers("Unfold", "padding", padding, 2, 0)
        self.stride = numbers("Unfold", "stride", stride, 2, 1)

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return unfold(x, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"{self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )
