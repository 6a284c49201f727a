"""InstanceNorm1d: each channel of each example at mean 0 and variance 1."""

from lumus.nn.layers.instance_norm import InstanceNorm


class InstanceNorm1d(InstanceNorm):
    """`lumus.nn.functional.instance_norm` of (N, C, L).

    With ``track_running_stats=True`` it keeps running statistics as BatchNorm1d does, of the
    examples' means and variances, and normalises with them in evaluation mode.

    **Shapes.** (N, C, L), or one example (C, L); the result has the shape of `x`.
    **Parameters.** With ``affine=True``, `weight` of ones and `bias` of zeros, (num_features,).
    **Buffers.** With ``track_running_stats=True``, those of BatchNorm1d.
    **Raises.** ShapeError for another number of axes or channels, and for fewer than two positions;
    ArgumentError for arguments out of range.

    Source: Ulyanov et al., "Instance Normalization: The Missing Ingredient for Fast Stylization",
    2016.

    >>> import lumus as lm
    >>> lm.nn.InstanceNorm1d(3)(lm.ones((8, 3, 4))).shape
    (8, 3, 4)
    """

    axes = (3,)
    layout = "(N, C, L) or (C, L)"
