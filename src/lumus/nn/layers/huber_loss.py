"""HuberLoss: squared for small errors, linear for large ones."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule
from lumus.ops.loss.huber_loss import huber_loss
from lumus.ops.loss.reduction import Reduction, check_reduction


class HuberLoss(LossModule):
    """`lumus.nn.functional.huber_loss` as a layer, which keeps the options.

    **Shapes.** Prediction and target the same. The result is 0-d, or has the shape of the
    losses with ``reduction="none"``.

    >>> import lumus as lm
    >>> lm.nn.HuberLoss()(lm.tensor([3.0]), lm.zeros((1,))).item()
    2.5
    """

    def __init__(self, *, delta: float = 1.0, reduction: Reduction = "mean") -> None:
        check_reduction("HuberLoss", reduction)
        self.delta = delta
        self.reduction: Reduction = reduction

    def forward(self, prediction: Tensor[Float], target: Tensor[Float]) -> Tensor[Float]:
        return huber_loss(prediction, target, delta=self.delta, reduction=self.reduction)
