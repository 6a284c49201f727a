"""NLLLoss: the negative log-probability of target classes."""

from __future__ import annotations

from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule, checked_buffer
from lumus.ops.loss.nll_loss import nll_loss
from lumus.ops.loss.reduction import Reduction, check_reduction


class NLLLoss(LossModule):
    """`lumus.nn.functional.nll_loss` as a layer, which keeps the options.

    **Shapes.** Log-probabilities (N, C, ...), targets (N, ...). The result is 0-d, or has the
    shape of the losses with ``reduction="none"``.
    **Buffers.** `weight`, if given.

    >>> import lumus as lm
    >>> lm.nn.NLLLoss()(lm.tensor([[-1.0, -2.0]]), lm.tensor([1])).item()
    2.0
    """

    def __init__(
        self,
        *,
        weight: Tensor[Float] | None = None,
        ignore_index: int | None = None,
        reduction: Reduction = "mean",
    ) -> None:
        check_reduction("NLLLoss", reduction)
        self.weight = checked_buffer("NLLLoss", weight)
        self.ignore_index = ignore_index
        self.reduction: Reduction = reduction

    def forward(self, log_probabilities: Tensor[Float], targets: Tensor[Int]) -> Tensor[Float]:
        return nll_loss(
            log_probabilities,
            targets,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )
