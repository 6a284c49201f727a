"""MultiLabelSoftMarginLoss: the mean binary cross-entropy of each row's classes."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule, checked_buffer
from lumus.ops.loss.multilabel_soft_margin_loss import multilabel_soft_margin_loss
from lumus.ops.loss.reduction import Reduction, check_reduction


class MultiLabelSoftMarginLoss(LossModule):
    """`lumus.nn.functional.multilabel_soft_margin_loss` as a layer, which keeps the options.

    **Shapes.** Logits and target the same, (..., C). The result is 0-d, or has the shape of the
    losses with ``reduction="none"``.
    **Buffers.** `weight`, if given.

    >>> import lumus as lm
    >>> lm.nn.MultiLabelSoftMarginLoss()(lm.tensor([[100.0, -100.0]]), lm.zeros((1, 2))).item()
    50.0
    """

    def __init__(
        self, *, weight: Tensor[Float] | None = None, reduction: Reduction = "mean"
    ) -> None:
        check_reduction("MultiLabelSoftMarginLoss", reduction)
        self.weight = checked_buffer("MultiLabelSoftMarginLoss", weight)
        self.reduction: Reduction = reduction

    def forward(self, logits: Tensor[Float], target: Tensor[Float]) -> Tensor[Float]:
        return multilabel_soft_margin_loss(
            logits, target, weight=self.weight, reduction=self.reduction
        )
