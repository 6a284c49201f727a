"""l1_loss: the mean absolute error."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.ops.loss.elementwise_loss import elementwise_loss, formula
from lumus.ops.loss.reduction import Reduction, check_pair, check_reduction

ABSOLUTE = formula(lambda prediction, target: abs(prediction - target))


def l1_loss(
    prediction: Tensor[Float], target: Tensor[Float], *, reduction: Reduction = "mean"
) -> Tensor[Float]:
    """The absolute error ``|prediction - target|``, averaged over all elements.

    **Shapes.** Both the same. The result is 0-d, or has that shape with ``reduction="none"``.
    **Kinds.** Float.
    **Gradient.** The sign of ``prediction - target``, 0 where they are equal, over the number of
    elements for the mean.
    **Raises.** ShapeError for shapes that differ, KindError for Int and Bool, ArgumentError.

    >>> import lumus as lm
    >>> lm.nn.functional.l1_loss(lm.tensor([1.0, 3.0]), lm.tensor([0.0, 0.0])).item()
    2.0
    """
    check_pair("l1_loss", prediction, target)
    check_reduction("l1_loss", reduction)
    return elementwise_loss(ABSOLUTE, reduction, prediction, target)
