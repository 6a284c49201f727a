"""InstanceNorm3d: each channel of each example at mean 0 and variance 1."""

from lumus.nn.layers.instance_norm import InstanceNorm


class InstanceNorm3d(InstanceNorm):
    """`lumus.nn.functional.instance_norm` of (N, C, D, H, W).

    With ``track_running_stats=True`` it keeps running statistics as BatchNorm3d does, of the
    examples' means and variances, and normalises with them in evaluation mode.

    **Shapes.** (N, C, D, H, W), or one example (C, D, H, W); the result has the shape of `x`.
    **Parameters.** With ``affine=True``, `weight` of ones and `bias` of zeros, (num_features,).
    **Buffers.** With ``track_running_stats=True``, those of BatchNorm3d.
    **Raises.** ShapeError for another number of axes or channels, and for fewer than two positions;
    ArgumentError for arguments out of range.

    Source: Ulyanov et al., "Instance Normalization: The Missing Ingredient for Fast Stylization",
    2016.

    >>> import lumus as lm
    >>> lm.nn.InstanceNorm3d(3)(lm.ones((8, 3, 2, 2, 2))).shape
    (8, 3, 2, 2, 2)
    """

    axes = (5,)
    layout = "(N, C, D, H, W) or (C, D, H, W)"
