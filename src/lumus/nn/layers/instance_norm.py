"""Instance normalisation of any number of axes."""

from __future__ import annotations

from lumus.core.argument import check_tensors
from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.running_norm import RunningNorm
from lumus.ops.norm.instance_norm import instance_norm


class InstanceNorm(RunningNorm):
    """Base of InstanceNorm1d, 2d and 3d: `lumus.nn.functional.instance_norm`.

    With ``track_running_stats=True`` it keeps running statistics as batch normalisation does, and
    normalises with them in evaluation mode.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        *,
        affine: bool = False,
        track_running_stats: bool = False,
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
        check_tensors(type(self).__name__, x)
        if x.ndim + 1 in self.axes:
            return self.forward(x.expand_dims(0)).squeeze(0)
        self.check_input(x)
        count = self.num_batches_tracked
        moves = self.training and count is not None
        y = instance_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            use_input_stats=self.training or count is None,
            momentum=self.share_of_batch() if moves else 0.0,
            eps=self.eps,
        )
        if moves and count is not None:
            count.add_(1)
        return y
