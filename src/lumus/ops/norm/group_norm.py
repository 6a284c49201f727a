"""group_norm: groups of channels of each example at mean 0 and variance 1."""

from __future__ import annotations

import math

from lumus.core.argument import check_tensors
from lumus.core.broadcast import Shape, integer
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.normalization import Extents
from lumus.core.kinds import Float
from lumus.core.op import register
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.ops.norm.normalization import Normalization, NormalizationOp, affine_of, checked_eps


@frozen
class GroupNormAttrs(Normalization):
    """Into how many groups the channels, axis 1, are cut."""

    eps: float
    num_groups: int

    op = "group_norm"

    def check(self, x: Spec) -> None:
        if x.ndim < 2:
            raise ShapeError(
                f"group_norm: the input is (batch, channels, ...), got shape {x.shape}",
                op="group_norm",
                specs=(x,),
            )
        if x.shape[1] and (not self.num_groups or x.shape[1] % self.num_groups):
            raise ShapeError(
                f"group_norm: {x.shape[1]} channels cannot be cut into {self.num_groups} groups "
                f"of equal size (input of shape {x.shape})",
                op="group_norm",
                specs=(x,),
            )

    def extents(self, shape: Shape) -> Extents:
        channels = shape[1] // self.num_groups if self.num_groups else 0
        return (shape[0], self.num_groups, channels, math.prod(shape[2:]))

    def weight_shape(self, shape: Shape) -> Shape:
        return (shape[1],)


@register
class GroupNorm(NormalizationOp):
    name = "group_norm"
    attrs = GroupNormAttrs


def group_norm(
    x: Tensor[Float],
    num_groups: int,
    weight: Tensor[Float] | None = None,
    bias: Tensor[Float] | None = None,
    *,
    eps: float = 1e-5,
) -> Tensor[Float]:
    """``(x - mean) / sqrt(variance + eps) * weight + bias``, over groups of channels.

    Mean and variance (divided by the count) are those of one example's channels of a group, all
    their positions together; weight and bias are a channel's.

    **Shapes.** `x` (N, C, ...); `weight` and `bias` (C,). The result has the shape of `x`.
    **Kinds.** Float; dtypes promote, half types compute in float32.
    **Gradient.** As that of `layer_norm`, over a group; ``grad * a`` and `grad`, summed over all
    axes but the channels, for weight and bias.
    **Raises.** ShapeError for shapes that do not fit and channels that the groups do not divide,
    KindError for Int and Bool, ArgumentError for arguments out of range.

    Source: Wu and He, "Group Normalization", ECCV 2018.

    >>> import lumus as lm
    >>> x = lm.tensor([[1.0, 3.0, 10.0, 30.0]])
    >>> lm.nn.functional.group_norm(x, 2, eps=0.0).tolist()
    [[-1.0, 1.0, -1.0, 1.0]]
    """
    check_tensors("group_norm", x)
    num_groups = integer("group_norm", "num_groups", num_groups)
    if num_groups < 1:
        raise ArgumentError(f"group_norm: num_groups must be positive, got {num_groups}")
    eps = checked_eps("group_norm", eps)
    inputs = affine_of("group_norm", x, weight, bias)
    y: Tensor[Float] = apply("group_norm", *inputs, eps=eps, num_groups=num_groups)[0]
    return y
