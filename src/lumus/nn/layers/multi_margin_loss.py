"""MultiMarginLoss: the target's score must lead all others."""

from __future__ import annotations

from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule, checked_buffer
from lumus.ops.loss.multi_margin_loss import multi_margin_loss
from lumus.ops.loss.reduction import Reduction, check_reduction


class MultiMarginLoss(LossModule):
    """`lumus.nn.functional.multi_margin_loss` as a layer, which keeps the options.

    **Shapes.** Scores (N, C) or (C,), targets (N,) or (). The result is 0-d, or has the shape
    of the losses with ``reduction="none"``.
    **Buffers.** `weight`, if given.

    >>> import lumus as lm
    >>> lm.nn.MultiMarginLoss()(lm.tensor([[0.0, 0.5, 2.0]]), lm.tensor([1])).item()
    1.0
    """

    def __init__(
        self,
        *,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor[Float] | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        check_reduction("MultiMarginLoss", reduction)
        self.p = p
        self.margin = margin
        self.weight = checked_buffer("MultiMarginLoss", weight)
        self.reduction: Reduction = reduction

    def forward(self, scores: Tensor[Float], targets: Tensor[Int]) -> Tensor[Float]:
        return multi_margin_loss(
            scores,
            targets,
            p=self.p,
            margin=self.margin,
            weight=self.weight,
            reduction=self.reduction,
        )
