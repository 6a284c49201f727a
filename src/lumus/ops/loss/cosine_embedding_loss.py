"""cosine_embedding_loss: vectors that must point in one direction, or in different ones."""

from __future__ import annotations

import functools
import math

from lumus.core.argument import finite
from lumus.core.kinds import Float, Int
from lumus.core.scalar import functions as scalar
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.linalg.cosine_similarity import cosine_similarity
from lumus.ops.loss.elementwise_loss import Formula, elementwise_loss, formula
from lumus.ops.loss.hinge_embedding_loss import hinge
from lumus.ops.loss.reduction import Reduction, check_pair, check_reduction, signs


@functools.lru_cache(maxsize=256)
def _cosine(margin: float) -> Formula:
    return formula(
        lambda cosine, t: scalar.where(
            scalar.equal(t, 1),
            1 - cosine,
            scalar.where(scalar.equal(t, -1), hinge(cosine - margin), math.nan),
        )
    )


def cosine_embedding_loss(
    x: Tensor[Float],
    y: Tensor[Float],
    target: Tensor[Float] | Tensor[Int],
    *,
    margin: float = 0.0,
    reduction: Reduction = "mean",
) -> Tensor[Float]:
    """``1 - cos(x, y)`` where the target is 1 (alike), ``max(0, cos(x, y) - margin)`` where it is
    -1.

    **Shapes.** `x` and `y` the same, (N, D) or (D,); `target` (N,) or (). The result is 0-d, or has
    the target's shape with ``reduction="none"``.
    **Kinds.** Float; the target may be Int. One that is neither 1 nor -1 gives NaN.
    **Gradient.** That of `cosine_similarity` where the loss is positive, else 0.
    **Raises.** ShapeError for shapes that differ, KindError for Int and Bool, ArgumentError.

    >>> import lumus as lm
    >>> x, y = lm.tensor([[1.0, 0.0], [1.0, 0.0]]), lm.tensor([[0.0, 2.0], [3.0, 0.0]])
    >>> t = lm.tensor([1.0, -1.0])
    >>> lm.nn.functional.cosine_embedding_loss(x, y, t, reduction="none").tolist()
    [1.0, 1.0]
    """
    op = "cosine_embedding_loss"
    check_pair(op, x, y, ("x", "y"))
    target = signs(op, target, x)
    check_reduction(op, reduction)
    if x.ndim not in (1, 2) or target.shape != x.shape[:-1]:
        raise ShapeError(
            f"{op}: vectors must be (N, D) or (D,) and the target (N,) or (), got {x.shape} and "
            f"{target.shape}",
            op=op,
        )
    margin = finite(op, "margin", margin)
    cosine = cosine_similarity(x, y, axis=-1)
    return elementwise_loss(_cosine(margin), reduction, cosine, target)
