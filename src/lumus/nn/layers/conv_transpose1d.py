"""ConvTranspose1d: a transposed convolution over one spatial axis."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.convolution import TransposedConvolution
from lumus.ops.conv.conv_transpose1d import conv_transpose1d


class ConvTranspose1d(TransposedConvolution):
    """`lumus.nn.functional.conv_transpose1d` with weights of its own.

    **Shapes.** ([batch,] in_channels, length) gives ([batch,] out_channels, ...).
    **Parameters.** `weight` (in_channels, out_channels // groups, *kernel_size) and, unless
    ``bias=False``, `bias` (out_channels,), both evenly spread over ``+-1 / sqrt(n)`` at first, with
    n as ``out_channels // groups`` times the size of the kernel.
    **Raises.** ArgumentError for numbers out of range and channels that groups do not divide;
    ShapeError for an x that does not fit.

    >>> import lumus as lm
    >>> lm.nn.ConvTranspose1d(8, 3, 4, stride=2)(lm.zeros((4, 8, 16))).shape
    (4, 3, 34)
    """

    rank = 1

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return conv_transpose1d(
            x,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.output_padding,
            self.groups,
            self.dilation,
        )
