"""cross_entropy: the cross-entropy of the softmax of logits with target classes or shares."""

from __future__ import annotations

import math
from typing import Any, cast

from lumus.core.argument import real
from lumus.core.dispatch import apply
from lumus.core.kinds import Float, Int
from lumus.core.scalar import functions as scalar
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.ops.loss.class_targets import (
    check_classes,
    checked_ignore_index,
    class_axis,
)
from lumus.ops.loss.elementwise_loss import elementwise_loss, formula
from lumus.ops.loss.nll_loss import along_classes
from lumus.ops.loss.reduction import Reduction, check_reduction
from lumus.ops.loss.softmax_cross_entropy import CrossEntropyAttrs, composed

# What has no share costs nothing, even where its probability is 0.
_SHARE = formula(
    lambda logarithm, share: scalar.where(
        scalar.equal(share, 0) & ~scalar.isnan(logarithm), 0.0, -(share * logarithm)
    ),
    lambda grad, logarithm, share: -(grad * share),
    lambda grad, logarithm, share: -(grad * logarithm),
)


def cross_entropy(
    logits: Tensor[Float],
    targets: Tensor[Int] | Tensor[Float],
    *,
    weight: Tensor[Float] | None = None,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    reduction: Reduction = "mean",
) -> Tensor[Float]:
    """The cross-entropy of the softmax of `logits` with target classes: ``-log
    softmax(logits)[t]``.

    Float targets are the shares of all classes: ``-sum(share * log softmax(logits))``, where a
    share of 0 costs exactly 0. ``label_smoothing=s`` mixes the target, with weight ``1 - s``, with
    all classes evenly, each with ``s / C``. A confidently wrong logit costs no digits.

    **Shapes.** `logits` (N, C, ...) with the classes on axis 1, or (C,); `targets` (N, ...) or (),
    shares as `logits`; `weight` (C,). The result is 0-d, or has the shape (N, ...) with
    ``reduction="none"``.
    **Kinds.** Float; targets are Int or Float.
    **Gradient.** ``softmax(logits) - target`` for each row, weighted like the row.
    **Reduction.** The mean divides by the sum of the targets' weights, of shares by the number of
    rows; with every target ignored it is 0 with gradient 0.
    **Raises.** IndexRangeError for a target outside [0, C) that is not `ignore_index`, ShapeError,
    KindError, ArgumentError.

    >>> import lumus as lm
    >>> logits = lm.tensor([[0.0, 10000.0]])
    >>> lm.nn.functional.cross_entropy(logits, lm.tensor([0])).item()
    10000.0
    """
    op = "cross_entropy"
    check_classes(op, logits, targets, weight)
    check_reduction(op, reduction)
    smoothing = real(op, "label_smoothing", label_smoothing)
    if not 0 <= smoothing <= 1:
        raise ArgumentError(f"{op}: label_smoothing must be in [0, 1], got {smoothing}")
    ignored = checked_ignore_index(op, ignore_index)
    if targets.dtype.kind == "float":
        if ignored is not None:
            raise ArgumentError(f"{op}: ignore_index is a class; targets of shares have none")
        return _of_shares(logits, cast("Tensor[Float]", targets), weight, smoothing, reduction)
    attrs = CrossEntropyAttrs(ignored, smoothing, reduction)
    if logits.ndim != 2 or weight is not None:
        return composed(logits, cast("Tensor[Int]", targets), weight, attrs)
    made: tuple[Any, ...] = apply(
        op,
        logits,
        targets,
        ignore_index=ignored,
        label_smoothing=smoothing,
        reduction=reduction,
    )
    loss: Tensor[Float] = made[0]
    return loss


def _of_shares(
    logits: Tensor[Float],
    shares: Tensor[Float],
    weight: Tensor[Float] | None,
    smoothing: float,
    reduction: Reduction,
) -> Tensor[Float]:
    axis = class_axis(logits)
    logarithms = logits.log_softmax(axis=axis)
    if smoothing:
        shares = shares * (1 - smoothing) + smoothing / logits.shape[axis]
    if weight is not None:
        shares = shares * along_classes(weight, logits)
    if reduction == "none":
        return elementwise_loss(_SHARE, "none", logarithms, shares).sum(axis=axis)
    total = elementwise_loss(_SHARE, "sum", logarithms, shares)
    if reduction == "sum":
        return total
    rows = math.prod(logits.shape) // max(logits.shape[axis], 1)
    return total / float(rows) if rows else total * math.nan
