"""What batch and instance normalisation share: running statistics of channels."""

from __future__ import annotations

from typing import ClassVar

from lumus.core.argument import check_tensors, flag, real
from lumus.core.broadcast import integer
from lumus.core.dtypes import DType, float32, int64
from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.nn.module import Module, Parameter
from lumus.ops.create.full import ones, zeros
from lumus.ops.norm.normalization import checked_eps


class RunningNorm(Module):
    """A normalisation of channels (axis 1) with running statistics, buffers of the module.

    `running_mean` of zeros and `running_var` of ones, (num_features,), and `num_batches_tracked`,
    an int64 of no axes; None without ``track_running_stats``.
    """

    axes: ClassVar[tuple[int, ...]]
    layout: ClassVar[str]

    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor[Float] | None
    running_var: Tensor[Float] | None
    num_batches_tracked: Tensor[Int] | None

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        *,
        affine: bool,
        track_running_stats: bool,
        dtype: DType[Float] = float32,
    ) -> None:
        name = type(self).__name__
        self.num_features = integer(name, "num_features", num_features)
        if self.num_features < 1:
            raise ArgumentError(f"{name}: num_features must be positive, got {num_features}")
        self.eps = checked_eps(name, eps)
        self.momentum = None if momentum is None else real(name, "momentum", momentum)
        if self.momentum is not None and not 0 <= self.momentum <= 1:
            raise ArgumentError(f"{name}: momentum must be in [0, 1] or None, got {momentum}")
        shape, has_affine = (self.num_features,), flag(name, "affine", affine)
        self.weight = Parameter(ones(shape, dtype=dtype)) if has_affine else None
        self.bias = Parameter(zeros(shape, dtype=dtype)) if has_affine else None
        self.track_running_stats = flag(name, "track_running_stats", track_running_stats)
        tracks = self.track_running_stats
        self.running_mean = zeros(shape, dtype=dtype) if tracks else None
        self.running_var = ones(shape, dtype=dtype) if tracks else None
        self.num_batches_tracked = zeros((), dtype=int64) if tracks else None

    def check_input(self, x: Tensor[Float]) -> None:
        """Raises ShapeError for another number of axes or channels."""
        name = type(self).__name__
        check_tensors(name, x)
        if x.ndim not in self.axes:
            raise ShapeError(f"{name}: the input is {self.layout}, got shape {x.shape}")
        if x.shape[1] != self.num_features:
            raise ShapeError(
                f"{name}: axis 1 must have {self.num_features} channels, got shape {x.shape}"
            )

    def share_of_batch(self) -> float | Tensor[Float]:
        """The share of the next batch in the running statistics: without a momentum one of all."""
        if self.momentum is not None or self.num_batches_tracked is None:
            return self.momentum or 0.0
        return 1.0 / (self.num_batches_tracked + 1).astype(float32)

    def extra_repr(self) -> str:
        text = f"{self.num_features}, eps={self.eps}, momentum={self.momentum}"
        text += "" if self.weight is not None else ", affine=False"
        return text + ("" if self.track_running_stats else ", track_running_stats=False")
