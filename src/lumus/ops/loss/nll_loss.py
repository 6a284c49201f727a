"""nll_loss: the negative log-probability of target classes."""

from __future__ import annotations

from lumus.core.dtypes import float32, int64, is_half
from lumus.core.kinds import Bool, Float, Int
from lumus.core.tensor import Tensor
from lumus.ops.elementwise.where import where
from lumus.ops.loss.class_targets import (
    at_targets,
    check_class_numbers,
    check_classes,
    checked_ignore_index,
    class_axis,
    kept_targets,
)
from lumus.ops.loss.reduction import Reduction, check_reduction


def nll_loss(
    log_probabilities: Tensor[Float],
    targets: Tensor[Int],
    *,
    weight: Tensor[Float] | None = None,
    ignore_index: int | None = None,
    reduction: Reduction = "mean",
) -> Tensor[Float]:
    """The negative log-probability of each target class: ``-weight[t] * log_probabilities[...,
    t]``.

    **Shapes.** `log_probabilities` (N, C, ...) with the classes on axis 1, or (C,); `targets` (N,
    ...) or (); `weight` (C,). The result is 0-d, or has the targets' shape with
    ``reduction="none"``.
    **Kinds.** Float; targets are Int.
    **Gradient.** ``-weight[t]`` at each target, over the sum of weights for the mean; 0 elsewhere.
    **Reduction.** The mean divides by the sum of the targets' weights; with every target ignored it
    is 0 with gradient 0.
    **Raises.** IndexRangeError for a target outside [0, C) that is not `ignore_index`, ShapeError,
    KindError, ArgumentError.

    >>> import lumus as lm
    >>> p = lm.log_softmax(lm.tensor([[0.0, 0.0]]))
    >>> round(lm.nn.functional.nll_loss(p, lm.tensor([1])).item(), 4)
    0.6931
    """
    check_class_numbers("nll_loss", targets)
    check_classes("nll_loss", log_probabilities, targets, weight)
    check_reduction("nll_loss", reduction)
    ignore_index = checked_ignore_index("nll_loss", ignore_index)
    return weighted_nll(
        "nll_loss", log_probabilities, targets, weight, ignore_index, reduction, smoothing=0.0
    )


def weighted_nll(
    op: str,
    log_probabilities: Tensor[Float],
    targets: Tensor[Int],
    weight: Tensor[Float] | None,
    ignore_index: int | None,
    reduction: Reduction,
    *,
    smoothing: float,
) -> Tensor[Float]:
    """The loss of checked arguments; `smoothing` of the target is spread over all classes."""
    axis = class_axis(log_probabilities)
    targets = targets.astype(int64)
    kept = kept_targets(targets, ignore_index)
    if kept is not None:
        targets = where(kept, targets, 0)
    losses = -at_targets(op, log_probabilities, targets, axis)
    weights = None if weight is None else weight.take(targets)
    if weights is not None:
        losses = losses * weights
    if smoothing:
        losses = losses * (1 - smoothing) + _smoothed(log_probabilities, weight, axis, smoothing)
    if kept is not None:
        losses = where(kept, losses, 0.0)
    if reduction == "none":
        return losses
    if is_half(losses.dtype):
        # The sum that a mean divides, and the count, may be beyond half precision.
        wide_weights = None if weights is None else weights.astype(float32)
        return _reduced(losses.astype(float32), wide_weights, kept, reduction).astype(losses.dtype)
    return _reduced(losses, weights, kept, reduction)


def _reduced(
    losses: Tensor[Float],
    weights: Tensor[Float] | None,
    kept: Tensor[Bool] | None,
    reduction: Reduction,
) -> Tensor[Float]:
    total = losses.sum()
    if reduction == "sum":
        return total
    if weights is None and kept is None:
        return total / float(losses.size) if losses.size else total * float("nan")
    if weights is None:
        assert kept is not None
        count = kept.sum().maximum(1).astype(losses.dtype)
        return total / count
    if kept is not None:
        weights = where(kept, weights, 0.0)
    divisor = weights.sum()
    # With nothing to average the total is 0, and so is the mean by convention.
    return total / where(divisor == 0.0, 1.0, divisor)


def _smoothed(
    log_probabilities: Tensor[Float], weight: Tensor[Float] | None, axis: int, smoothing: float
) -> Tensor[Float]:
    """The part of the loss that is spread evenly over all classes."""
    classes = log_probabilities.shape[axis]
    weighted = log_probabilities
    if weight is not None:
        weighted = log_probabilities * along_classes(weight, log_probabilities)
    return -weighted.sum(axis=axis) * (smoothing / classes)


def along_classes(weight: Tensor[Float], scores: Tensor[Float]) -> Tensor[Float]:
    """The weights of classes in the shape that broadcasts to the scores."""
    axis = class_axis(scores)
    shape = tuple([length if place == axis else 1 for place, length in enumerate(scores.shape)])
    return weight.reshape(shape)
