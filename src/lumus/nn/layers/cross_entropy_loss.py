"""CrossEntropyLoss: the cross-entropy of the softmax of logits."""

from __future__ import annotations

from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule, checked_buffer
from lumus.ops.loss.cross_entropy import cross_entropy
from lumus.ops.loss.reduction import Reduction, check_reduction


class CrossEntropyLoss(LossModule):
    """`lumus.nn.functional.cross_entropy` as a layer, which keeps the options.

    **Shapes.** Logits (N, C, ...), targets (N, ...), or as the logits if they are shares. The
    result is 0-d, or has the shape of the losses with ``reduction="none"``.
    **Buffers.** `weight`, if given.

    >>> import lumus as lm
    >>> lm.nn.CrossEntropyLoss()(lm.tensor([[0.0, 10000.0]]), lm.tensor([0])).item()
    10000.0
    """

    def __init__(
        self,
        *,
        weight: Tensor[Float] | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        reduction: Reduction = "mean",
    ) -> None:
        check_reduction("CrossEntropyLoss", reduction)
        self.weight = checked_buffer("CrossEntropyLoss", weight)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.reduction: Reduction = reduction

    def forward(self, logits: Tensor[Float], targets: Tensor[Int] | Tensor[Float]) -> Tensor[Float]:
        return cross_entropy(
            logits,
            targets,
            weight=self.weight,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            reduction=self.reduction,
        )
