"""Batch normalisation of any number of axes."""

from __future__ import annotations

from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.running_norm import RunningNorm
from lumus.ops.norm.batch_norm import batch_norm


class BatchNorm(RunningNorm):
    """Base of BatchNorm1d, 2d and 3d: `lumus.nn.functional.batch_norm` with its statistics kept.

    In training mode it normalises with the batch's statistics and moves the running ones towards
    them; with ``momentum=None`` they are the plain average over all batches. In evaluation mode it
    normalises with the running ones, or the batch's with ``track_running_stats=False``.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        *,
        affine: bool = True,
        track_running_stats: bool = True,
        dtype: DType[Float] = float32,
    ) -> None:
        super().__init__(
            num_features,
            eps,
            momentum,
            affine=affine,
            track_running_stats=track_running_stats,
            dtype=dtype,
        )

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        self.check_input(x)
        count = self.num_batches_tracked
        moves = self.training and count is not None
        y = batch_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            training=self.training or count is None,
            momentum=self.share_of_batch() if moves else 0.0,
            eps=self.eps,
        )
        if moves and count is not None:
            count.add_(1)
        return y
