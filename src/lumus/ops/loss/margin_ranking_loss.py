"""margin_ranking_loss: of two scores the one that the target names must lead by a margin."""

from __future__ import annotations

import functools

from lumus.core.argument import finite
from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.ops.loss.elementwise_loss import Formula, elementwise_loss, formula
from lumus.ops.loss.hinge_embedding_loss import hinge
from lumus.ops.loss.reduction import Reduction, check_floats, check_reduction, check_shapes, signs


@functools.lru_cache(maxsize=256)
def _ranking(margin: float) -> Formula:
    return formula(lambda first, second, t: hinge(margin - t * (first - second)))


def margin_ranking_loss(
    first: Tensor[Float],
    second: Tensor[Float],
    target: Tensor[Float] | Tensor[Int],
    *,
    margin: float = 0.0,
    reduction: Reduction = "mean",
) -> Tensor[Float]:
    """``max(0, margin - target * (first - second))``.

    A target of 1 wants the first score to be the larger one, -1 the second.

    **Shapes.** All three the same. The result is 0-d, or has that shape with ``reduction="none"``.
    **Kinds.** Float; the target may be Int.
    **Gradient.** ``-target`` by the first and ``target`` by the second score where the loss is
    positive, else 0; over the number of elements for the mean.
    **Raises.** ShapeError for shapes that differ, KindError for Int and Bool, ArgumentError.

    >>> import lumus as lm
    >>> first, second = lm.tensor([3.0, 1.0]), lm.tensor([1.0, 3.0])
    >>> lm.nn.functional.margin_ranking_loss(first, second, lm.ones((2,))).item()
    1.0
    """
    op = "margin_ranking_loss"
    check_floats(op, first, second)
    target = signs(op, target, first)
    check_shapes(op, first, second, ("the first scores", "the second"))
    check_shapes(op, first, target, ("the scores", "target"))
    check_reduction(op, reduction)
    margin = finite(op, "margin", margin)
    return elementwise_loss(_ranking(margin), reduction, first, second, target)
