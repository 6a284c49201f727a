"""triplet_margin_loss: an anchor must be nearer to its like than to its unlike, by a margin."""

from __future__ import annotations

import functools

from lumus.core.argument import finite, flag
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.ops.linalg.pairwise_distance import pairwise_distance
from lumus.ops.loss.elementwise_loss import Formula, elementwise_loss, formula
from lumus.ops.loss.hinge_embedding_loss import hinge
from lumus.ops.loss.reduction import Reduction, check_pair, check_reduction


@functools.lru_cache(maxsize=256)
def _triplet(margin: float) -> Formula:
    return formula(lambda near, far: hinge(near - far + margin))


def triplet_margin_loss(
    anchor: Tensor[Float],
    positive: Tensor[Float],
    negative: Tensor[Float],
    *,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: Reduction = "mean",
) -> Tensor[Float]:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` with `pairwise_distance` d.

    With `swap` the distance to the negative is that of the nearer one, anchor or positive.

    **Shapes.** All three (..., D). The result is 0-d, or has the shape (...) with
    ``reduction="none"``.
    **Kinds.** Float.
    **Gradient.** Those of the distances where the loss is positive, else 0.
    **Raises.** ShapeError for shapes that differ, KindError for Int and Bool, ArgumentError.

    Source: Balntas et al., "Learning local feature descriptors with triplets and shallow
    convolutional neural networks", BMVC 2016.

    >>> import lumus as lm
    >>> a, p, n = lm.tensor([[0.0, 0.0]]), lm.tensor([[0.0, 1.0]]), lm.tensor([[3.0, 4.0]])
    >>> round(lm.nn.functional.triplet_margin_loss(a, p, n, margin=5.0).item(), 4)
    1.0
    """
    op = "triplet_margin_loss"
    check_pair(op, anchor, positive, ("anchor", "positive"))
    check_pair(op, anchor, negative, ("anchor", "negative"))
    check_reduction(op, reduction)
    margin, swap = finite(op, "margin", margin), flag(op, "swap", swap)
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return elementwise_loss(_triplet(margin), reduction, near, far)
