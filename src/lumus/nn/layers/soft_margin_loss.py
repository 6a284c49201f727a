"""SoftMarginLoss: the logistic loss of targets that are 1 or -1."""

from __future__ import annotations

from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule
from lumus.ops.loss.reduction import Reduction, check_reduction
from lumus.ops.loss.soft_margin_loss import soft_margin_loss


class SoftMarginLoss(LossModule):
    """`lumus.nn.functional.soft_margin_loss` as a layer, which keeps the options.

    **Shapes.** Prediction and target the same. The result is 0-d, or has the shape of the
    losses with ``reduction="none"``.

    >>> import lumus as lm
    >>> lm.nn.SoftMarginLoss()(lm.tensor([-100.0]), lm.tensor([1])).item()
    100.0
    """

    def __init__(self, *, reduction: Reduction = "mean") -> None:
        check_reduction("SoftMarginLoss", reduction)
        self.reduction: Reduction = reduction

    def forward(
        self, prediction: Tensor[Float], target: Tensor[Float] | Tensor[Int]
    ) -> Tensor[Float]:
        return soft_margin_loss(prediction, target, reduction=self.reduction)
