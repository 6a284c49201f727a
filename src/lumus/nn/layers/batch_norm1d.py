"""BatchNorm1d: each channel of a batch at mean 0 and variance 1."""

from lumus.nn.layers.batch_norm import BatchNorm


class BatchNorm1d(BatchNorm):
    """`lumus.nn.functional.batch_norm` of (N, C) or (N, C, L).

    In training mode it normalises with the batch's statistics and updates the running ones,
    ``running = (1 - momentum) * running + momentum * batch`` with the unbiased variance, or their
    plain average over all batches with ``momentum=None``. In evaluation mode it normalises with the
    running ones; without ``track_running_stats`` always with the batch's.

    **Shapes.** (N, C) or (N, C, L); the result has the shape of `x`.
    **Parameters.** Unless ``affine=False``, `weight` of ones and `bias` of zeros, (num_features,).
    **Buffers.** `running_mean` of zeros, `running_var` of ones, and `num_batches_tracked`.
    **Raises.** ShapeError for another number of axes or channels, and in training for fewer than
    two values a channel; ArgumentError for arguments out of range.

    Source: Ioffe and Szegedy, "Batch Normalization", ICML 2015.

    >>> import lumus as lm
    >>> layer = lm.nn.BatchNorm1d(3)
    >>> layer(lm.ones((8, 3))).shape, layer.num_batches_tracked.item()
    ((8, 3), 1)
    """

    axes = (2, 3)
    layout = "(N, C) or (N, C, L)"
