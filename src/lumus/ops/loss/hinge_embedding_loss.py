"""hinge_embedding_loss: distances that are to be small, or beyond a margin, as the target says."""

from __future__ import annotations

import functools
import math

from lumus.core.argument import finite
from lumus.core.kinds import Float, Int
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.nodes import Scalar
from lumus.core.tensor import Tensor
from lumus.ops.loss.elementwise_loss import Formula, elementwise_loss, formula
from lumus.ops.loss.reduction import Reduction, check_floats, check_reduction, check_shapes, signs


def hinge(x: Scalar) -> Scalar:
    """max(x, 0), flat at 0, where a maximum would be split."""
    return scalar.where(x <= 0, 0.0, x)


@functools.lru_cache(maxsize=256)
def _hinge(margin: float) -> Formula:
    return formula(
        lambda x, t: scalar.where(
            scalar.equal(t, 1), x, scalar.where(scalar.equal(t, -1), hinge(margin - x), math.nan)
        )
    )


def hinge_embedding_loss(
    distance: Tensor[Float],
    target: Tensor[Float] | Tensor[Int],
    *,
    margin: float = 1.0,
    reduction: Reduction = "mean",
) -> Tensor[Float]:
    """``distance`` where the target is 1 (alike), ``max(0, margin - distance)`` where it is -1.

    **Shapes.** Both the same. The result is 0-d, or has that shape with ``reduction="none"``.
    **Kinds.** Float; the target may be Int. One that is neither 1 nor -1 gives NaN.
    **Gradient.** 1 where the target is 1; -1 where it is -1 and the distance is below the margin,
    0 from the margin on; over the number of elements for the mean.
    **Raises.** ShapeError for shapes that differ, KindError for Int and Bool, ArgumentError.

    >>> import lumus as lm
    >>> x, t = lm.tensor([0.25, 0.25, 3.0]), lm.tensor([1.0, -1.0, -1.0])
    >>> lm.nn.functional.hinge_embedding_loss(x, t, reduction="none").tolist()
    [0.25, 0.75, 0.0]
    """
    check_floats("hinge_embedding_loss", distance)
    target = signs("hinge_embedding_loss", target, distance)
    check_shapes("hinge_embedding_loss", distance, target, ("distance", "target"))
    check_reduction("hinge_embedding_loss", reduction)
    margin = finite("hinge_embedding_loss", "margin", margin)
    return elementwise_loss(_hinge(margin), reduction, distance, target)
