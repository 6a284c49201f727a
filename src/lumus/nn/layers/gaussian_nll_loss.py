"""GaussianNLLLoss: the negative log-likelihood under normal distributions."""

from __future__ import annotations

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule
from lumus.ops.loss.gaussian_nll_loss import gaussian_nll_loss
from lumus.ops.loss.reduction import Reduction, check_reduction


class GaussianNLLLoss(LossModule):
    """`lumus.nn.functional.gaussian_nll_loss` as a layer, which keeps the options.

    **Shapes.** Prediction and target the same, the variance too or one a row. The result is
    0-d, or has the shape of the losses with ``reduction="none"``.

    >>> import lumus as lm
    >>> lm.nn.GaussianNLLLoss()(lm.tensor([2.0]), lm.zeros((1,)), lm.ones((1,))).item()
    2.0
    """

    def __init__(
        self, *, full: bool = False, eps: float = 1e-6, reduction: Reduction = "mean"
    ) -> None:
        check_reduction("GaussianNLLLoss", reduction)
        self.full = full
        self.eps = eps
        self.reduction: Reduction = reduction

    def forward(
        self, prediction: Tensor[Float], target: Tensor[Float], variance: Tensor[Float]
    ) -> Tensor[Float]:
        return gaussian_nll_loss(
            prediction, target, variance, full=self.full, eps=self.eps, reduction=self.reduction
        )
