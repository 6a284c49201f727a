"""HingeEmbeddingLoss: distances, small or beyond a margin."""

from __future__ import annotations

from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule
from lumus.ops.loss.hinge_embedding_loss import hinge_embedding_loss
from lumus.ops.loss.reduction import Reduction, check_reduction


class HingeEmbeddingLoss(LossModule):
    """`lumus.nn.functional.hinge_embedding_loss` as a layer, which keeps the options.

    **Shapes.** Distances and target the same. The result is 0-d, or has the shape of the losses
    with ``reduction="none"``.

    >>> import lumus as lm
    >>> lm.nn.HingeEmbeddingLoss()(lm.tensor([0.25]), lm.tensor([-1])).item()
    0.75
    """

    def __init__(self, *, margin: float = 1.0, reduction: Reduction = "mean") -> None:
        check_reduction("HingeEmbeddingLoss", reduction)
        self.margin = margin
        self.reduction: Reduction = reduction

    def forward(
        self, distance: Tensor[Float], target: Tensor[Float] | Tensor[Int]
    ) -> Tensor[Float]:
        return hinge_embedding_loss(distance, target, margin=self.margin, reduction=self.reduction)
