"""ConvTranspose3d: a transposed convolution over three spatial axes."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.convolution import TransposedConvolution
from lumus.ops.conv.conv_transpose3d import conv_transpose3d


class ConvTranspose3d(TransposedConvolution):
    """`lumus.nn.functional.conv_transpose3d` with weights of its own.

    **Shapes.** ([batch,] in_channels, depth, height, width) gives ([batch,] out_channels, ...).
    **Parameters.** `weight` (in_channels, out_channels // groups, *kernel_size) and, unless
    ``bias=False``, `bias` (out_channels,), both evenly spread over ``+-1 / sqrt(n)`` at first, with
    n as ``out_channels // groups`` times the size of the kernel.
    **Raises.** ArgumentError for numbers out of range and channels that groups do not divide;
    ShapeError for an x that does not fit.

    >>> import lumus as lm
    >>> lm.nn.ConvTranspose3d(8, 3, 2, stride=2)(lm.zeros((1, 8, 2, 4, 4))).shape
    (1, 3, 4, 8, 8)
    """

    rank = 3

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return conv_transpose3d(
            x,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.output_padding,
            self.groups,
            self.dilation,
        )
