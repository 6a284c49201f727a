"""L1Loss: the mean absolute error."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule
from lumus.ops.loss.l1_loss import l1_loss
from lumus.ops.loss.reduction import Reduction, check_reduction


class L1Loss(LossModule):
    """`lumus.nn.functional.l1_loss` as a layer, which keeps the options.

    **Shapes.** Prediction and target the same. The result is 0-d, or has the shape of the
    losses with ``reduction="none"``.

    >>> import lumus as lm
    >>> lm.nn.L1Loss()(lm.tensor([1.0, 3.0]), lm.zeros((2,))).item()
    2.0
    """

    def __init__(self, *, reduction: Reduction = "mean") -> None:
        check_reduction("L1Loss", reduction)
        self.reduction: Reduction = reduction

    def forward(self, prediction: Tensor[Float], target: Tensor[Float]) -> Tensor[Float]:
        return l1_loss(prediction, target, reduction=self.reduction)
