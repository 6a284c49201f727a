"""smooth_l1_loss: the absolute error, rounded off around 0."""

from __future__ import annotations

import functools

from lumus.core.argument import not_negative
from lumus.core.kinds import Float
from lumus.core.scalar import functions as scalar
from lumus.core.tensor import Tensor
from lumus.ops.loss.elementwise_loss import Formula, elementwise_loss, formula
from lumus.ops.loss.l1_loss import ABSOLUTE
from lumus.ops.loss.reduction import Reduction, check_pair, check_reduction


@functools.lru_cache(maxsize=256)
def _smooth(beta: float) -> Formula:
    return formula(
        lambda prediction, target: scalar.where(
            abs(prediction - target) < beta,
            (prediction - target) * ((prediction - target) * (0.5 / beta)),
            abs(prediction - target) - 0.5 * beta,
        )
    )


def smooth_l1_loss(
    prediction: Tensor[Float],
    target: Tensor[Float],
    *,
    beta: float = 1.0,
    reduction: Reduction = "mean",
) -> Tensor[Float]:
    """The absolute error, squared near 0: with ``d = prediction - target`` ``d**2 / (2 * beta)`` up
    to `beta`, then ``|d| - beta / 2``.

    It is `huber_loss` over `beta`; for ``beta=0`` it is `l1_loss`.

    **Shapes.** Both the same. The result is 0-d, or has that shape with ``reduction="none"``.
    **Kinds.** Float.
    **Gradient.** ``d / beta`` cut off at +-1, over the number of elements for the mean.
    **Raises.** ArgumentError for a negative `beta`, ShapeError for shapes that differ, KindError
    for Int and Bool.

    Source: Girshick, "Fast R-CNN", ICCV 2015.

    >>> import lumus as lm
    >>> x, zero = lm.tensor([0.5, 3.0]), lm.zeros((2,))
    >>> lm.nn.functional.smooth_l1_loss(x, zero, reduction="none").tolist()
    [0.125, 2.5]
    """
    check_pair("smooth_l1_loss", prediction, target)
    check_reduction("smooth_l1_loss", reduction)
    beta = not_negative("smooth_l1_loss", "beta", beta)
    # Where 0.5 / beta would overflow in float32 the round part is too small to matter.
    made = _smooth(beta) if beta > 1e-30 else ABSOLUTE
    return elementwise_loss(made, reduction, prediction, target)
