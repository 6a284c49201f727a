"""MultiLabelMarginLoss: the scores of all targets must lead the others."""

from __future__ import annotations

from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule
from lumus.ops.loss.multilabel_margin_loss import multilabel_margin_loss
from lumus.ops.loss.reduction import Reduction, check_reduction


class MultiLabelMarginLoss(LossModule):
    """`lumus.nn.functional.multilabel_margin_loss` as a layer, which keeps the options.

    **Shapes.** Scores and targets the same, (N, C) or (C,). The result is 0-d, or has the shape
    of the losses with ``reduction="none"``.

    >>> import lumus as lm
    >>> scores, targets = lm.tensor([0.5, 1.0, 0.0, 0.0]), lm.tensor([1, -1, 0, 0])
    >>> lm.nn.MultiLabelMarginLoss()(scores, targets).item()
    0.125
    """

    def __init__(self, *, reduction: Reduction = "mean") -> None:
        check_reduction("MultiLabelMarginLoss", reduction)
        self.reduction: Reduction = reduction

    def forward(self, scores: Tensor[Float], targets: Tensor[Int]) -> Tensor[Float]:
        return multilabel_margin_loss(scores, targets, reduction=self.reduction)
