"""conv1d: a convolution over one spatial axis."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.ops.conv.convolve import convolve
from lumus.ops.conv.geometry import Padding, Sizes


def conv1d(
    x: Tensor[Float],
    weight: Tensor[Float],
    bias: Tensor[Float] | None = None,
    stride: Sizes = 1,
    padding: Padding = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor[Float]:
    """Weights slid over x: ``y[o, p] = bias[o] + sum over c, t of weight[o, c, t] *
    x[c, p * stride - padding + t * dilation]``; what lies outside x contributes nothing.

    The kernel is not flipped (a cross-correlation). With `groups` the channels of x and y are cut
    into as many parts, each with its own weights: channels of y in one part follow one another.
    Padding is a count of zeros at both ends, 'valid' for none, or 'same' for as many positions in y
    as in x (stride 1); where that takes an odd number of zeros, the extra one is at the end.

    **Shapes.** `x` ([batch,] in, length),
    `weight` (out, in // groups, *kernel), `bias` (out,); y ([batch,] out, ...) with
    ``(size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1`` positions along an axis.
    **Kinds.** Float; dtypes promote. Half types add up in float32 and round once.
    **Gradient.** By x the transposed convolution of grad; by weight the products of grad with what
    each window saw; by bias the sum of grad over all but the channels.
    **Raises.** ShapeError for shapes that do not fit and a kernel that reaches over more than the
    padded input, ArgumentError for numbers out of range, KindError for Int and Bool.

    >>> import lumus as lm
    >>> x, weight = lm.tensor([[[1.0, 2.0, 3.0, 4.0]]]), lm.tensor([[[1.0, -1.0]]])
    >>> lm.nn.functional.conv1d(x, weight).tolist()
    [[[-1.0, -1.0, -1.0]]]
    """
    return convolve("conv1d", 1, x, weight, bias, stride, padding, dilation, groups)
