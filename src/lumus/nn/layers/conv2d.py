"""Conv2d: a convolution over two spatial axes."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.convolution import ForwardConvolution
from lumus.ops.conv.conv2d import conv2d


class Conv2d(ForwardConvolution):
    """`lumus.nn.functional.conv2d` with weights of its own.

    `padding_mode` says what is beyond the ends: zeros, the mirror image (reflect), the outermost
    element (replicate) or the other end (circular).

    **Shapes.** ([batch,] in_channels, height, width) gives ([batch,] out_channels, ...).
    **Parameters.** `weight` (out_channels, in_channels // groups, *kernel_size) and, unless
    ``bias=False``, `bias` (out_channels,), both evenly spread over ``+-1 / sqrt(n)`` at first, with
    n the numbers that go into an output: ``in_channels // groups`` times the size of the kernel.
    **Raises.** ArgumentError for numbers out of range and channels that groups do not divide;
    ShapeError for an x that does not fit.

    >>> import lumus as lm
    >>> lm.nn.Conv2d(3, 8, 3, padding=1)(lm.zeros((4, 3, 32, 32))).shape
    (4, 8, 32, 32)
    """

    rank = 2

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        x, padding = self.padded(x)
        return conv2d(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)
