"""multilabel_margin_loss: the scores of all target classes must lead those of the others."""

from __future__ import annotations

from lumus.core.dtypes import int64
from lumus.core.kinds import Bool, Float, Int
from lumus.core.mode import MODE
from lumus.core.tensor import Tensor
from lumus.errors import IndexRangeError, ShapeError
from lumus.ops.create.arange import arange
from lumus.ops.elementwise.where import where
from lumus.ops.interop.checked import checked
from lumus.ops.loss.class_targets import check_class_numbers
from lumus.ops.loss.elementwise_loss import elementwise_loss, formula
from lumus.ops.loss.hinge_embedding_loss import hinge
from lumus.ops.loss.reduction import Reduction, check_floats, check_reduction, reduced

_LEAD = formula(lambda known, other: hinge(1 - known + other))


def multilabel_margin_loss(
    scores: Tensor[Float], targets: Tensor[Int], *, reduction: Reduction = "mean"
) -> Tensor[Float]:
    """``sum(max(0, 1 - scores[t] + scores[j])) / C`` over all targets t and all other classes j.

    A row of targets lists classes up to the first -1; what follows does not count.

    **Shapes.** Both (N, C) or (C,). The result is 0-d, or has the shape (N,) or () with
    ``reduction="none"``.
    **Kinds.** Float; targets are Int.
    **Gradient.** That of the terms that are positive; 0 at the margin itself.
    **Raises.** IndexRangeError for a target that is neither a class nor -1, ShapeError, KindError.

    >>> import lumus as lm
    >>> scores, targets = lm.tensor([0.5, 1.0, 0.0, 0.0]), lm.tensor([1, -1, 0, 0])
    >>> lm.nn.functional.multilabel_margin_loss(scores, targets).item()
    0.125
    """
    op = "multilabel_margin_loss"
    check_floats(op, scores)
    check_class_numbers(op, targets)
    check_reduction(op, reduction)
    if scores.ndim not in (1, 2) or targets.shape != scores.shape:
        raise ShapeError(
            f"{op}: scores and targets must have one shape (N, C) or (C,), got {scores.shape} and "
            f"{targets.shape}",
            op=op,
        )
    if scores.ndim == 1:
        losses = _losses(op, scores.expand_dims(0), targets.expand_dims(0)).squeeze(0)
    else:
        losses = _losses(op, scores, targets)
    return reduced(losses, reduction)


def _losses(op: str, scores: Tensor[Float], targets: Tensor[Int]) -> Tensor[Float]:
    classes = scores.shape[1]
    targets = targets.astype(int64)
    targets = _in_range(op, targets, classes)
    # (N, T): the targets before the first -1; the others stand for class 0, which is then unused.
    listed = (targets == -1).astype(int64).cumsum(axis=1) == 0
    numbers = where(listed, targets, 0)
    # (N, T, C): whether class c is target t of its row
    every = arange(classes, dtype=int64, device=scores.device)
    meets = (numbers.expand_dims(2) == every) & listed.expand_dims(2)
    others = ~meets.any(axis=1)
    known = scores.take_along_axis(numbers, axis=1)
    terms = elementwise_loss(_LEAD, "none", known.expand_dims(2), scores.expand_dims(1))
    counted = listed.expand_dims(2) & others.expand_dims(1)
    return where(counted, terms, 0.0).sum(axis=(1, 2)) / float(max(classes, 1))


def _in_range(op: str, targets: Tensor[Int], classes: int) -> Tensor[Int]:
    wrong: Tensor[Bool] = (targets < -1) | (targets >= classes)
    if not MODE.get().has_values:
        told = f"{op}: target {{}} is no class: there are {classes}, from 0 to {classes - 1}"
        return checked(targets, ~wrong, IndexRangeError, told, "-1 ends a row")
    if targets.size and wrong.any().item():
        place = wrong.astype(int64).argmax().item()
        row, column = divmod(place, targets.shape[1])
        number = targets[row, column].item()
        raise IndexRangeError(
            f"{op}: target {number} at position {[row, column]} is no class: there are {classes}, "
            f"from 0 to {classes - 1}; -1 ends a row",
            op=op,
            index=number,
            bound=classes,
            position=(row, column),
        )
    return targets
