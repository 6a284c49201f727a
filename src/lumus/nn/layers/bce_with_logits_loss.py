"""BCEWithLogitsLoss: the cross-entropy of the sigmoid of logits."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule, checked_buffer
from lumus.ops.loss.binary_cross_entropy_with_logits import binary_cross_entropy_with_logits
from lumus.ops.loss.reduction import Reduction, check_reduction


class BCEWithLogitsLoss(LossModule):
    """`lumus.nn.functional.binary_cross_entropy_with_logits` as a layer, which keeps the options.

    **Shapes.** Logits and target the same. The result is 0-d, or has the shape of the losses
    with ``reduction="none"``.
    **Buffers.** `weight` and `pos_weight`, if given.

    >>> import lumus as lm
    >>> lm.nn.BCEWithLogitsLoss()(lm.tensor([100.0, -100.0]), lm.tensor([0.0, 0.0])).item()
    50.0
    """

    def __init__(
        self,
        *,
        weight: Tensor[Float] | None = None,
        pos_weight: Tensor[Float] | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        check_reduction("BCEWithLogitsLoss", reduction)
        self.weight = checked_buffer("BCEWithLogitsLoss", weight)
        self.pos_weight = checked_buffer("BCEWithLogitsLoss", pos_weight)
        self.reduction: Reduction = reduction

    def forward(self, logits: Tensor[Float], target: Tensor[Float]) -> Tensor[Float]:
        return binary_cross_entropy_with_logits(
            logits, target, weight=self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )
