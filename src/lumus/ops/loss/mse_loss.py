"""mse_loss: the mean squared error."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.scalar import functions as scalar
from lumus.core.tensor import Tensor
from lumus.ops.loss.elementwise_loss import elementwise_loss, formula
from lumus.ops.loss.reduction import Reduction, check_pair, check_reduction

_SQUARE = formula(lambda prediction, target: scalar.square(prediction - target))


def mse_loss(
    prediction: Tensor[Float], target: Tensor[Float], *, reduction: Reduction = "mean"
) -> Tensor[Float]:
    """The squared error ``(prediction - target)**2``, averaged over all elements.

    **Shapes.** Both the same: no broadcasting, which would hide a mistake. The result is 0-d, or
    has that shape with ``reduction="none"``.
    **Kinds.** Float.
    **Gradient.** ``2 * (prediction - target)``, over the number of elements for the mean.
    **Raises.** ShapeError for shapes that differ, KindError for Int and Bool, ArgumentError.

    >>> import lumus as lm
    >>> lm.nn.functional.mse_loss(lm.tensor([1.0, 3.0]), lm.tensor([0.0, 0.0])).item()
    5.0
    """
    check_pair("mse_loss", prediction, target)
    check_reduction("mse_loss", reduction)
    return elementwise_loss(_SQUARE, reduction, prediction, target)
