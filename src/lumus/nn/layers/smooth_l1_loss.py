"""SmoothL1Loss: the absolute error, squared near 0."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule
from lumus.ops.loss.reduction import Reduction, check_reduction
from lumus.ops.loss.smooth_l1_loss import smooth_l1_loss


class SmoothL1Loss(LossModule):
    """`lumus.nn.functional.smooth_l1_loss` as a layer, which keeps the options.

    **Shapes.** Prediction and target the same. The result is 0-d, or has the shape of the
    losses with ``reduction="none"``.

    >>> import lumus as lm
    >>> lm.nn.SmoothL1Loss()(lm.tensor([0.5]), lm.zeros((1,))).item()
    0.125
    """

    def __init__(self, *, beta: float = 1.0, reduction: Reduction = "mean") -> None:
        check_reduction("SmoothL1Loss", reduction)
        self.beta = beta
        self.reduction: Reduction = reduction

    def forward(self, prediction: Tensor[Float], target: Tensor[Float]) -> Tensor[Float]:
        return smooth_l1_loss(prediction, target, beta=self.beta, reduction=self.reduction)
