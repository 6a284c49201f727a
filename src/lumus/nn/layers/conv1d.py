"""Conv1d: a convolution over one spatial axis."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.convolution import ForwardConvolution
from lumus.ops.conv.conv1d import conv1d


class Conv1d(ForwardConvolution):
    """`lumus.nn.functional.conv1d` with weights of its own.

    `padding_mode` says what is beyond the ends: zeros, the mirror image (reflect), the outermost
    element (replicate) or the other end (circular).

    **Shapes.** ([batch,] in_channels, length) gives ([batch,] out_channels, ...).
    **Parameters.** `weight` (out_channels, in_channels // groups, *kernel_size) and, unless
    ``bias=False``, `bias` (out_channels,), both evenly spread over ``+-1 / sqrt(n)`` at first, with
    n the numbers that go into an output: ``in_channels // groups`` times the size of the kernel.
    **Raises.** ArgumentError for numbers out of range and channels that groups do not divide;
    ShapeError for an x that does not fit.

    >>> import lumus as lm
    >>> lm.nn.Conv1d(3, 8, 5, stride=2)(lm.zeros((4, 3, 32))).shape
    (4, 8, 14)
    """

    rank = 1

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        x, padding = self.padded(x)
        return conv1d(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)
