"""MarginRankingLoss: of two scores one must lead by a margin."""

from __future__ import annotations

from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule
from lumus.ops.loss.margin_ranking_loss import margin_ranking_loss
from lumus.ops.loss.reduction import Reduction, check_reduction


class MarginRankingLoss(LossModule):
    """`lumus.nn.functional.margin_ranking_loss` as a layer, which keeps the options.

    **Shapes.** All three the same. The result is 0-d, or has the shape of the losses with
    ``reduction="none"``.

    >>> import lumus as lm
    >>> lm.nn.MarginRankingLoss()(lm.tensor([1.0]), lm.tensor([3.0]), lm.tensor([1])).item()
    2.0
    """

    def __init__(self, *, margin: float = 0.0, reduction: Reduction = "mean") -> None:
        check_reduction("MarginRankingLoss", reduction)
        self.margin = margin
        self.reduction: Reduction = reduction

    def forward(
        self, first: Tensor[Float], second: Tensor[Float], target: Tensor[Float] | Tensor[Int]
    ) -> Tensor[Float]:
        return margin_ranking_loss(
            first, second, target, margin=self.margin, reduction=self.reduction
        )
