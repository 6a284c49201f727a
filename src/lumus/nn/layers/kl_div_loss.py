"""KLDivLoss: the divergence of log-probabilities from a target."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule
from lumus.ops.loss.kl_div import KLReduction, kl_div
from lumus.ops.loss.reduction import check_reduction


class KLDivLoss(LossModule):
    """`lumus.nn.functional.kl_div` as a layer, which keeps the options.

    **Shapes.** Log-probabilities and target the same. The result is 0-d, or has the shape of
    the losses with ``reduction="none"``.

    >>> import lumus as lm
    >>> lm.nn.KLDivLoss()(lm.zeros((1, 2)), lm.tensor([[1.0, 0.0]])).item()
    0.0
    """

    def __init__(self, *, log_target: bool = False, reduction: KLReduction = "mean") -> None:
        check_reduction("KLDivLoss", reduction, batchmean=True)
        self.log_target = log_target
        self.reduction: KLReduction = reduction

    def forward(self, log_probabilities: Tensor[Float], target: Tensor[Float]) -> Tensor[Float]:
        return kl_div(
            log_probabilities, target, log_target=self.log_target, reduction=self.reduction
        )
