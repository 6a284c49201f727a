"""BCELoss: the cross-entropy of probabilities."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule, checked_buffer
from lumus.ops.loss.binary_cross_entropy import binary_cross_entropy
from lumus.ops.loss.reduction import Reduction, check_reduction


class BCELoss(LossModule):
    """`lumus.nn.functional.binary_cross_entropy` as a layer, which keeps the options.

    **Shapes.** Probabilities and target the same. The result is 0-d, or has the shape of the
    losses with ``reduction="none"``.
    **Buffers.** `weight`, if given.

    >>> import lumus as lm
    >>> lm.nn.BCELoss()(lm.tensor([1.0, 0.0]), lm.tensor([1.0, 0.0])).item()
    0.0
    """

    def __init__(
        self, *, weight: Tensor[Float] | None = None, reduction: Reduction = "mean"
    ) -> None:
        check_reduction("BCELoss", reduction)
        self.weight = checked_buffer("BCELoss", weight)
        self.reduction: Reduction = reduction

    def forward(self, probabilities: Tensor[Float], target: Tensor[Float]) -> Tensor[Float]:
        return binary_cross_entropy(
            probabilities, target, weight=self.weight, reduction=self.reduction
        )
