"""instance_norm: each channel of each example at mean 0 and variance 1."""

from __future__ import annotations

import math

from lumus.core.argument import flag
from lumus.core.constant import constant
from lumus.core.dispatch import apply
from lumus.core.dtypes import float32, is_half
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.ops.norm.batch_norm import check_running, checked_momentum, update_running, with_running
from lumus.ops.norm.normalization import affine_of, checked_eps


def instance_norm(
    x: Tensor[Float],
    running_mean: Tensor[Float] | None = None,
    running_var: Tensor[Float] | None = None,
    weight: Tensor[Float] | None = None,
    bias: Tensor[Float] | None = None,
    *,
    use_input_stats: bool = True,
    momentum: float | Tensor[Float] = 0.1,
    eps: float = 1e-5,
) -> Tensor[Float]:
    """``(x - mean) / sqrt(var + eps) * weight + bias``, channel by channel of each example.

    It is `group_norm` with each channel a group. The running statistics, if there are any, are
    updated as in `batch_norm`, with the mean over the batch of the examples' means and (unbiased)
    variances; ``use_input_stats=False`` normalises with them instead.

    **Shapes.** `x` (N, C, ...) with at least one axis of positions; all others (C,). The result has
    the shape of `x`.
    **Kinds.** Float; dtypes of x, weight and bias promote, half types compute in float32.
    **Gradient.** As that of `group_norm`, or of `batch_norm` out of training.
    **Raises.** ShapeError for shapes that do not fit and fewer than two positions, KindError for
    Int and Bool, ArgumentError for arguments out of range or running statistics that are missing.

    Source: Ulyanov et al., "Instance Normalization: The Missing Ingredient for Fast Stylization",
    2016.

    >>> import lumus as lm
    >>> x = lm.tensor([[[1.0, 3.0], [10.0, 30.0]]])
    >>> lm.nn.functional.instance_norm(x, eps=0.0).tolist()
    [[[-1.0, 1.0], [-1.0, 1.0]]]
    """
    use_input_stats = flag("instance_norm", "use_input_stats", use_input_stats)
    eps = checked_eps("instance_norm", eps)
    inputs = affine_of("instance_norm", x, weight, bias)
    running = check_running("instance_norm", x, running_mean, running_var)
    if not use_input_stats:
        if running is None:
            raise ArgumentError(
                "instance_norm: without running statistics there is nothing to normalise with",
                hint="pass running_mean and running_var, or use_input_stats=True",
                op="instance_norm",
            )
        return with_running(inputs, running, eps)
    _check_positions(x)
    share = None if running is None else checked_momentum("instance_norm", momentum, running[0])
    y: Tensor[Float] = apply("group_norm", *inputs, eps=eps, num_groups=x.shape[1])[0]
    if running is not None and share is not None and x.size:
        plain = x.detach().astype(float32) if is_half(x.dtype) else x.detach()
        axes = tuple(range(2, x.ndim))
        one = constant(1.0, float32, x.device, "instance_norm")
        means, variances = plain.mean(axis=axes), plain.var(axis=axes, correction=1)
        statistics = (means.mean(axis=0), variances.mean(axis=0))
        update_running("instance_norm", running, statistics, share, one)
    return y


def _check_positions(x: Tensor[Float]) -> None:
    positions = math.prod(x.shape[2:])
    if x.ndim < 3 or (positions < 2 and x.shape[0] * x.shape[1]):
        raise ShapeError(
            "instance_norm: the input is (batch, channels, ...) with more than one position a "
            f"channel, got shape {x.shape}",
            op="instance_norm",
            specs=(x.spec,),
        )
