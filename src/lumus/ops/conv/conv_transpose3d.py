"""conv_transpose3d: a transposed convolution over three spatial axes."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.ops.conv.convolve_transposed import convolve_transposed
from lumus.ops.conv.geometry import Sizes


def conv_transpose3d(
    x: Tensor[Float],
    weight: Tensor[Float],
    bias: Tensor[Float] | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor[Float]:
    """Each element of x spreads the kernel over the result: ``weight[c, o, t] * x[c, p]`` is added
    to ``y[o, p * stride - padding + t * dilation]``, then bias.

    It maps as the gradient of `conv3d` by its input does, with the same stride, padding and
    dilation. Since a convolution with a stride has results of one size for inputs of several,
    `output_padding` says how many more positions y has at the end; they get what is due to them.

    **Shapes.** `x` ([batch,] in, depth, height, width),
    `weight` (in, out // groups, *kernel), `bias` (out,); y ([batch,] out, ...) with
    ``(size - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1`` positions
    along an axis.
    **Kinds.** Float; dtypes promote. Half types add up in float32 and round once.
    **Gradient.** By x the convolution of grad; by weight the products of x with what each window of
    grad sees; by bias the sum of grad over all but the channels.
    **Raises.** ShapeError for shapes that do not fit and results without positions, ArgumentError
    for numbers out of range (`output_padding` is less than stride or dilation), KindError for Int
    and Bool.

    >>> import lumus as lm
    >>> x, weight = lm.ones((1, 4, 2, 4, 4)), lm.ones((4, 3, 2, 2, 2))
    >>> lm.nn.functional.conv_transpose3d(x, weight, stride=2).shape
    (1, 3, 4, 8, 8)
    """
    return convolve_transposed(
        "conv_transpose3d", 3, x, weight, bias, stride, padding, output_padding, groups, dilation
    )
