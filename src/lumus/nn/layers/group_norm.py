"""GroupNorm: groups of channels of each example at mean 0 and variance 1."""

from __future__ import annotations

from lumus.core.argument import check_tensors, flag
from lumus.core.broadcast import integer
from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.nn.module import Module, Parameter
from lumus.ops.create.full import ones, zeros
from lumus.ops.norm.group_norm import group_norm
from lumus.ops.norm.normalization import checked_eps


class GroupNorm(Module):
    """`lumus.nn.functional.group_norm` of `num_channels` channels in `num_groups` groups.

    **Shapes.** (N, num_channels, ...); the result has the shape of `x`.
    **Parameters.** Unless ``affine=False``, `weight` of ones and `bias` of zeros, (num_channels,).
    **Raises.** ArgumentError for channels that the groups do not divide, ShapeError for another
    number of channels.

    >>> import lumus as lm
    >>> lm.nn.GroupNorm(2, 6)(lm.zeros((4, 6, 5))).shape
    (4, 6, 5)
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        *,
        affine: bool = True,
        dtype: DType[Float] = float32,
    ) -> None:
        self.num_groups = integer("GroupNorm", "num_groups", num_groups)
        self.num_channels = integer("GroupNorm", "num_channels", num_channels)
        self.eps = checked_eps("GroupNorm", eps)
        if self.num_groups < 1 or self.num_channels < 1 or self.num_channels % self.num_groups:
            raise ArgumentError(
                f"GroupNorm: {num_channels} channels cannot be cut into {num_groups} groups of "
                "equal size"
            )
        has_affine = flag("GroupNorm", "affine", affine)
        shape = (self.num_channels,)
        self.weight = Parameter(ones(shape, dtype=dtype)) if has_affine else None
        self.bias = Parameter(zeros(shape, dtype=dtype)) if has_affine else None

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        check_tensors("GroupNorm", x)
        if x.ndim < 2 or x.shape[1] != self.num_channels:
            raise ShapeError(
                f"GroupNorm: axis 1 must have {self.num_channels} channels, got shape {x.shape}"
            )
        return group_norm(x, self.num_groups, self.weight, self.bias, eps=self.eps)

    def extra_repr(self) -> str:
        text = f"{self.num_groups}, {self.num_channels}, eps={self.eps}"
        return text + ("" if self.weight is not None else ", affine=False")
