"""PoissonNLLLoss: the negative log-likelihood of counts."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule
from lumus.ops.loss.poisson_nll_loss import poisson_nll_loss
from lumus.ops.loss.reduction import Reduction, check_reduction


class PoissonNLLLoss(LossModule):
    """`lumus.nn.functional.poisson_nll_loss` as a layer, which keeps the options.

    **Shapes.** Prediction and target the same. The result is 0-d, or has the shape of the
    losses with ``reduction="none"``.

    >>> import lumus as lm
    >>> lm.nn.PoissonNLLLoss()(lm.tensor([0.0]), lm.tensor([2.0])).item()
    1.0
    """

    def __init__(
        self,
        *,
        log_input: bool = True,
        full: bool = False,
        eps: float = 1e-8,
        reduction: Reduction = "mean",
    ) -> None:
        check_reduction("PoissonNLLLoss", reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps
        self.reduction: Reduction = reduction

    def forward(self, prediction: Tensor[Float], target: Tensor[Float]) -> Tensor[Float]:
        return poisson_nll_loss(
            prediction,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )
