"""huber_loss: squared for small errors, linear for large ones."""

from __future__ import annotations

import functools

from lumus.core.argument import positive
from lumus.core.kinds import Float
from lumus.core.scalar import functions as scalar
from lumus.core.tensor import Tensor
from lumus.ops.loss.elementwise_loss import Formula, elementwise_loss, formula
from lumus.ops.loss.reduction import Reduction, check_pair, check_reduction


@functools.lru_cache(maxsize=256)
def _huber(delta: float) -> Formula:
    return formula(
        lambda prediction, target: scalar.where(
            abs(prediction - target) <= delta,
            0.5 * scalar.square(prediction - target),
            delta * (abs(prediction - target) - 0.5 * delta),
        )
    )


def huber_loss(
    prediction: Tensor[Float],
    target: Tensor[Float],
    *,
    delta: float = 1.0,
    reduction: Reduction = "mean",
) -> Tensor[Float]:
    """The Huber loss: with ``d = prediction - target`` ``d**2 / 2`` up to `delta`, then
    ``delta * (|d| - delta / 2)``.

    **Shapes.** Both the same. The result is 0-d, or has that shape with ``reduction="none"``.
    **Kinds.** Float.
    **Gradient.** d cut off at ``+-delta``, over the number of elements for the mean.
    **Raises.** ArgumentError for a `delta` that is not positive, ShapeError for shapes that differ,
    KindError for Int and Bool.

    Source: Huber, "Robust Estimation of a Location Parameter", 1964.

    >>> import lumus as lm
    >>> x, zero = lm.tensor([0.5, 3.0]), lm.zeros((2,))
    >>> lm.nn.functional.huber_loss(x, zero, reduction="none").tolist()
    [0.125, 2.5]
    """
    check_pair("huber_loss", prediction, target)
    check_reduction("huber_loss", reduction)
    delta = positive("huber_loss", "delta", delta)
    return elementwise_loss(_huber(delta), reduction, prediction, target)
