"""multi_margin_loss: the score of the target class must lead all others by a margin."""

from __future__ import annotations

import functools

from lumus.core.argument import finite
from lumus.core.broadcast import integer
from lumus.core.dtypes import int64
from lumus.core.kinds import Float, Int
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.nodes import Scalar
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.ops.create.arange import arange
from lumus.ops.elementwise.where import where
from lumus.ops.loss.class_targets import at_targets, check_class_numbers, check_classes
from lumus.ops.loss.elementwise_loss import Formula, elementwise_loss, formula
from lumus.ops.loss.hinge_embedding_loss import hinge
from lumus.ops.loss.reduction import Reduction, check_reduction, reduced


@functools.lru_cache(maxsize=256)
def _lead(p: int, margin: float) -> Formula:
    def loss(score: Scalar, known: Scalar) -> Scalar:
        short = hinge(margin - known + score)
        return short if p == 1 else scalar.square(short)

    return formula(loss)


def multi_margin_loss(
    scores: Tensor[Float],
    targets: Tensor[Int],
    *,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor[Float] | None = None,
    reduction: Reduction = "mean",
) -> Tensor[Float]:
    """``weight[t] * sum(max(0, margin - scores[t] + scores[j])**p) / C`` over all classes j but t.

    **Shapes.** `scores` (N, C) or (C,), `targets` (N,) or (), `weight` (C,). The result is 0-d, or
    has the targets' shape with ``reduction="none"``.
    **Kinds.** Float; targets are Int.
    **Gradient.** That of the terms that are positive; 0 at the margin itself.
    **Raises.** IndexRangeError for a target that is no class, ArgumentError for a `p` that is
    neither 1 nor 2, ShapeError, KindError.

    Source: Crammer and Singer, "On the Algorithmic Implementation of Multiclass Kernel-based Vector
    Machines", JMLR 2001.

    >>> import lumus as lm
    >>> scores = lm.tensor([[0.0, 0.5, 2.0]])
    >>> lm.nn.functional.multi_margin_loss(scores, lm.tensor([1])).item()
    1.0
    """
    op = "multi_margin_loss"
    check_class_numbers(op, targets)
    check_classes(op, scores, targets, weight)
    check_reduction(op, reduction)
    if scores.ndim > 2:
        raise ShapeError(f"{op}: scores must be (N, C) or (C,), got shape {scores.shape}", op=op)
    p, margin = integer(op, "p", p), finite(op, "margin", margin)
    if p not in (1, 2):
        raise ArgumentError(f"{op}: p must be 1 or 2, got {p}", op=op)
    classes = scores.shape[-1]
    known = at_targets(op, scores, targets, scores.ndim - 1).expand_dims(-1)
    terms = elementwise_loss(_lead(p, margin), "none", scores, known)
    numbers = arange(classes, dtype=int64, device=scores.device)
    others = numbers != targets.astype(int64).expand_dims(-1)
    losses = where(others, terms, 0.0).sum(axis=-1) / float(max(classes, 1))
    if weight is not None:
        losses = losses * weight.take(targets.astype(int64))
    return reduced(losses, reduction)
