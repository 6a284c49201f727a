"""InstanceNorm2d: each channel of each example at mean 0 and variance 1."""

from lumus.nn.layers.instance_norm import InstanceNorm


class InstanceNorm2d(InstanceNorm):
    """`lumus.nn.functional.instance_norm` of (N, C, H, W).

    With ``track_running_stats=True`` it keeps running statistics as BatchNorm2d does, of the
    examples' means and variances, and normalises with them in evaluation mode.

    **Shapes.** (N, C, H, W), or one example (C, H, W); the result has the shape of `x`.
    **Parameters.** With ``affine=True``, `weight` of ones and `bias` of zeros, (num_features,).
    **Buffers.** With ``track_running_stats=True``, those of BatchNorm2d.
    **Raises.** ShapeError for another number of axes or channels, and for fewer than two positions;
    ArgumentError for arguments out of range.

    Source: Ulyanov et al., "Instance Normalization: The Missing Ingredient for Fast Stylization",
    2016.

    >>> import lumus as lm
    >>> lm.nn.InstanceNorm2d(3)(lm.ones((8, 3, 4, 4))).shape
    (8, 3, 4, 4)
    """

    axes = (4,)
    layout = "(N, C, H, W) or (C, H, W)"
