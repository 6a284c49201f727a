"""batch_norm: each channel of a batch at mean 0 and variance 1."""

from __future__ import annotations

import math

from lumus.core.argument import check_tensors, flag, real
from lumus.core.broadcast import Shape
from lumus.core.constant import constant
from lumus.core.dispatch import apply
from lumus.core.dtypes import float32, is_half
from lumus.core.frozen import frozen
from lumus.core.kernels.normalization import Extents
from lumus.core.kinds import Float
from lumus.core.op import kind_error, register
from lumus.core.scalar.expressions import expression
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.core.write import update
from lumus.errors import ArgumentError, GradientError, ShapeError
from lumus.ops.norm.normalization import Normalization, NormalizationOp, affine_of, checked_eps

_RUNNING = expression(
    lambda mean, var, batch_mean, batch_var, momentum, correction: (
        (1 - momentum) * mean + momentum * batch_mean,
        (1 - momentum) * var + momentum * (batch_var * correction),
    )
)


class ChannelNorm(Normalization):
    """The elements of a channel, axis 1, are normalised together, over the whole batch."""

    __slots__ = ()
    over = "channels"

    def check(self, x: Spec) -> None:
        if x.ndim < 2:
            raise ShapeError(
                f"batch_norm: the input is (batch, channels, ...), got shape {x.shape}",
                op="batch_norm",
                specs=(x,),
            )

    def extents(self, shape: Shape) -> Extents:
        return (shape[0], 1, shape[1], math.prod(shape[2:]))

    def weight_shape(self, shape: Shape) -> Shape:
        return (shape[1],)


@frozen
class BatchNormAttrs(ChannelNorm):
    """What the variance is raised by."""

    eps: float

    op = "batch_norm"

    def check(self, x: Spec) -> None:
        ChannelNorm.check(self, x)
        if x.shape[1] and count_of(x.shape) < 2:
            raise ShapeError(
                "batch_norm: a variance needs more than one value a channel, got shape "
                f"{x.shape} in training",
                hint="use larger batches, or evaluation mode: training=False or .eval()",
                op="batch_norm",
                specs=(x,),
            )


@frozen
class BatchNormInferenceAttrs(ChannelNorm):
    """What the variance is raised by."""

    eps: float

    op = "batch_norm_inference"
    num_given = 2


@register
class BatchNorm(NormalizationOp):
    name = "batch_norm"
    attrs = BatchNormAttrs


@register
class BatchNormInference(NormalizationOp):
    """Of (x, mean, variance, [weight, [bias]]), with constants for statistics."""

    name = "batch_norm_inference"
    attrs = BatchNormInferenceAttrs


def count_of(shape: Shape) -> int:
    """The values of a channel."""
    return shape[0] * math.prod(shape[2:])


def batch_norm(
    x: Tensor[Float],
    running_mean: Tensor[Float] | None = None,
    running_var: Tensor[Float] | None = None,
    weight: Tensor[Float] | None = None,
    bias: Tensor[Float] | None = None,
    *,
    training: bool = True,
    momentum: float | Tensor[Float] = 0.1,
    eps: float = 1e-5,
) -> Tensor[Float]:
    """``(x - mean) / sqrt(var + eps) * weight + bias``, channel by channel.

    In training, mean and variance are those of the batch, over all axes but the channels (axis 1);
    the variance is divided by the count n to normalise. The running statistics, if there are any,
    are updated in place: ``running = (1 - momentum) * running + momentum * batch``, where the
    variance is divided by ``n - 1``. (Other libraries and ONNX call ``1 - momentum`` the momentum.)
    Out of training the running statistics take the place of the batch's.

    **Shapes.** `x` (N, C, ...); all others (C,). The result has the shape of `x`.
    **Kinds.** Float; dtypes of x, weight and bias promote, half types compute in float32.
    **Gradient.** In training with ``h = grad * weight`` and a the normalised elements,
    ``(h - mean(h) - a * mean(h * a)) / sqrt(var + eps)``; otherwise ``h / sqrt(var + eps)``.
    ``grad * a`` and `grad`, summed over all axes but the channels, for weight and bias. Running
    statistics have none.
    **Raises.** ShapeError for shapes that do not fit, and in training for fewer than two values a
    channel (so for an empty batch, too: nothing is updated); KindError for Int and Bool;
    ArgumentError for a momentum outside [0, 1], or running statistics that are missing.

    Source: Ioffe and Szegedy, "Batch Normalization", ICML 2015.

    >>> import lumus as lm
    >>> mean, var = lm.zeros((1,)), lm.ones((1,))
    >>> y = lm.nn.functional.batch_norm(lm.tensor([[1.0], [3.0]]), mean, var, eps=0.0)
    >>> y.tolist(), mean.item(), var.item()
    ([[-1.0], [1.0]], 0.20000000298023224, 1.100000023841858)
    """
    training = flag("batch_norm", "training", training)
    eps = checked_eps("batch_norm", eps)
    inputs = affine_of("batch_norm", x, weight, bias)
    running = check_running("batch_norm", x, running_mean, running_var)
    if not training:
        if running is None:
            raise ArgumentError(
                "batch_norm: without running statistics there is nothing to normalise with",
                hint="pass running_mean and running_var, or training=True",
                op="batch_norm",
            )
        return with_running(inputs, running, eps)
    if running is None:
        y: Tensor[Float] = apply("batch_norm", *inputs, eps=eps)[0]
        return y
    share = checked_momentum("batch_norm", momentum, running[0])
    y, mean, var = apply("batch_norm", *inputs, eps=eps)
    count = count_of(x.shape)
    if count:
        correction = constant(count / (count - 1), mean.dtype, mean.device, "batch_norm")
        update_running("batch_norm", running, (mean, var), share, correction)
    return y


def update_running(
    op: str,
    running: tuple[Tensor[Float], Tensor[Float]],
    batch: tuple[Tensor[Float], Tensor[Float]],
    share: Tensor[Float],
    correction: Tensor[Float],
) -> None:
    """Moves running mean and variance by `share` to a batch's, the variance corrected."""
    update(op, _RUNNING, running, (*running, *batch, share, correction))


def with_running(
    inputs: tuple[Tensor[Float], ...], running: tuple[Tensor[Float], Tensor[Float]], eps: float
) -> Tensor[Float]:
    """``(x, [weight, [bias]])`` normalised by running statistics."""
    dtype = float32 if is_half(inputs[0].dtype) else inputs[0].dtype
    if running[0].requires_grad or running[1].requires_grad:
        raise GradientError(
            "batch_norm: running statistics are constants, but these require a gradient",
            hint="pass them as .detach()",
            op="batch_norm",
        )
    mean, var = running[0].astype(dtype), running[1].astype(dtype)
    y: Tensor[Float] = apply("batch_norm_inference", inputs[0], mean, var, *inputs[1:], eps=eps)
    return y


def check_running(
    op: str,
    x: Tensor[Float],
    running_mean: Tensor[Float] | None,
    running_var: Tensor[Float] | None,
) -> tuple[Tensor[Float], Tensor[Float]] | None:
    """Both running statistics, of the right shape and kind, or None."""
    if running_mean is None and running_var is None:
        return None
    if running_mean is None or running_var is None:
        raise ArgumentError(f"{op}: pass both of running_mean and running_var, or neither", op=op)
    check_tensors(op, running_mean, running_var)
    for name, one in (("running_mean", running_mean), ("running_var", running_var)):
        if one.dtype.kind != "float":
            raise kind_error(op, one.dtype, ("float",), what=name)
        if x.ndim > 1 and one.shape != x.shape[1:2]:
            raise ShapeError(
                f"{op}: {name} must have shape {x.shape[1:2]} for an input of shape {x.shape}, "
                f"got {one.shape}",
                op=op,
                specs=(x.spec, one.spec),
            )
    return running_mean, running_var


def checked_momentum(
    op: str, momentum: float | Tensor[Float], like: Tensor[Float]
) -> Tensor[Float]:
    """The share of the batch in the running statistics, as a tensor of no axes."""
    if isinstance(momentum, Tensor):
        if momentum.shape != () or momentum.dtype.kind != "float":
            raise ArgumentError(
                f"{op}: momentum must be one number, got a tensor {momentum.spec!r}", op=op
            )
        return momentum
    momentum = real(op, "momentum", momentum)
    if not 0 <= momentum <= 1:
        raise ArgumentError(f"{op}: momentum must be in [0, 1], got {momentum}", op=op)
    number: Tensor[Float] = constant(momentum, float32, like.device, op)
    return number
