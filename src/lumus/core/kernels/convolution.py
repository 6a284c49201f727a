"""The part of the kernel vocabulary that slides windows over spatial axes.

All speak of one relation. Along each of one to three spatial axes, which come last, output position
p meets input position ``p * stride - padding + tap * dilation`` at each tap of the window; input
positions that do not exist hold zeros. The spatial shape of what is computed is that of the output.
"""

from __future__ import annotations

from lumus.core.broadcast import Shape
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel


@frozen
class Convolution(Kernel):
    """Of (x, weight[, bias]): sum over channels and taps of x * weight, plus bias.

    x (n, groups * i, ...), weight (groups * o, i, taps...) give (n, groups * o, ...).
    """

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int


@frozen
class ConvolutionTranspose(Kernel):
    """Of (y, weight[, bias]): what Convolution is transposed to, from y's side to x's.

    Positions that the output of the convolution does not have contribute nothing.
    """

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int


@frozen
class ConvolutionWeight(Kernel):
    """Of (x, grad): sum over batch and positions of x * grad for each weight of a Convolution."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int


@frozen
class Im2col(Kernel):
    """Of (n, c, ...): (n, c * taps, positions): a column for each window, with what it sees."""

    taps: Shape
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    positions: Shape


@frozen
class Col2im(Kernel):
    """What Im2col is transposed to: columns added up where their windows lie, over `size`."""

    taps: Shape
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    positions: Shape
    size: Shape
