"""MSELoss: the mean squared error."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule
from lumus.ops.loss.mse_loss import mse_loss
from lumus.ops.loss.reduction import Reduction, check_reduction


class MSELoss(LossModule):
    """`lumus.nn.functional.mse_loss` as a layer, which keeps the options.

    **Shapes.** Prediction and target the same. The result is 0-d, or has the shape of the
    losses with ``reduction="none"``.

    >>> import lumus as lm
    >>> lm.nn.MSELoss()(lm.tensor([1.0, 3.0]), lm.zeros((2,))).item()
    5.0
    """

    def __init__(self, *, reduction: Reduction = "mean") -> None:
        check_reduction("MSELoss", reduction)
        self.reduction: Reduction = reduction

    def forward(self, prediction: Tensor[Float], target: Tensor[Float]) -> Tensor[Float]:
        return mse_loss(prediction, target, reduction=self.reduction)
