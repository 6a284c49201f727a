"""Fold: columns of windows added up to a picture."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.module import Module
from lumus.ops.conv.fold import fold
from lumus.ops.conv.geometry import Sizes, numbers


class Fold(Module):
    """`lumus.nn.functional.fold` with these windows.

    **Shapes.** ([batch,] channels * taps, windows) gives ([batch,] channels, *output_size).

    >>> import lumus as lm
    >>> lm.nn.Fold((8, 8), 3, padding=1)(lm.zeros((2, 36, 64))).shape
    (2, 4, 8, 8)
    """

    def __init__(
        self,
        output_size: Sizes,
        kernel_size: Sizes,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        stride: Sizes = 1,
    ) -> None:
        self.output_size = numbers("Fold", "output_size", output_size, 2, 1)
        self.kernel_size = numbers("Fold", "kernel_size", kernel_size, 2, 1)
        self.dilation = numbers("Fold", "dilation", dilation, 2, 1)
        self.padding = numbers("Fold", "padding", padding, 2, 0)
        self.stride = numbers("Fold", "stride", stride, 2, 1)

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return fold(x, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"{self.output_size}, {self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )
