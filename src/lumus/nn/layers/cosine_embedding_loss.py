"""CosineEmbeddingLoss: vectors of one direction, or of different ones."""

from __future__ import annotations

from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule
from lumus.ops.loss.cosine_embedding_loss import cosine_embedding_loss
from lumus.ops.loss.reduction import Reduction, check_reduction


class CosineEmbeddingLoss(LossModule):
    """`lumus.nn.functional.cosine_embedding_loss` as a layer, which keeps the options.

    **Shapes.** Vectors (N, D) or (D,), target (N,) or (). The result is 0-d, or has the shape
    of the losses with ``reduction="none"``.

    >>> import lumus as lm
    >>> x, y = lm.tensor([1.0, 0.0]), lm.tensor([0.0, 2.0])
    >>> lm.nn.CosineEmbeddingLoss()(x, y, lm.tensor(1)).item()
    1.0
    """

    def __init__(self, *, margin: float = 0.0, reduction: Reduction = "mean") -> None:
        check_reduction("CosineEmbeddingLoss", reduction)
        self.margin = margin
        self.reduction: Reduction = reduction

    def forward(
        self, x: Tensor[Float], y: Tensor[Float], target: Tensor[Float] | Tensor[Int]
    ) -> Tensor[Float]:
        return cosine_embedding_loss(x, y, target, margin=self.margin, reduction=self.reduction)
