"""TripletMarginLoss: an anchor nearer to its like than to its unlike."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule
from lumus.ops.loss.reduction import Reduction, check_reduction
from lumus.ops.loss.triplet_margin_loss import triplet_margin_loss


class TripletMarginLoss(LossModule):
    """`lumus.nn.functional.triplet_margin_loss` as a layer, which keeps the options.

    **Shapes.** All three (..., D). The result is 0-d, or has the shape of the losses with
    ``reduction="none"``.

    >>> import lumus as lm
    >>> lm.nn.TripletMarginLoss()(lm.tensor([0.0]), lm.tensor([0.0]), lm.tensor([5.0])).item()
    0.0
    """

    def __init__(
        self,
        *,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        reduction: Reduction = "mean",
    ) -> None:
        check_reduction("TripletMarginLoss", reduction)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap
        self.reduction: Reduction = reduction

    def forward(
        self, anchor: Tensor[Float], positive: Tensor[Float], negative: Tensor[Float]
    ) -> Tensor[Float]:
        return triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )
