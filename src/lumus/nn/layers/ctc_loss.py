"""CTCLoss: frames that must spell a target."""

from __future__ import annotations

from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.nn.layers.loss import LossModule
from lumus.ops.loss.ctc_loss import Lengths, ctc_loss
from lumus.ops.loss.reduction import Reduction, check_reduction


class CTCLoss(LossModule):
    """`lumus.nn.functional.ctc_loss` as a layer, which keeps the options.

    **Shapes.** Log-probabilities (T, N, C) or (T, C), targets (N, S) or one after the other, N
    lengths of each. The result is 0-d, or has the shape of the losses with
    ``reduction="none"``.

    >>> import lumus as lm
    >>> lm.nn.CTCLoss()(lm.zeros((1, 1, 2)), lm.tensor([[1]]), [1], [1]).item()
    0.0
    """

    def __init__(
        self, *, blank: int = 0, zero_infinity: bool = False, reduction: Reduction = "mean"
    ) -> None:
        check_reduction("CTCLoss", reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity
        self.reduction: Reduction = reduction

    def forward(
        self,
        log_probabilities: Tensor[Float],
        targets: Tensor[Int],
        input_lengths: Lengths,
        target_lengths: Lengths,
    ) -> Tensor[Float]:
        return ctc_loss(
            log_probabilities,
            targets,
            input_lengths,
            target_lengths,
            blank=self.blank,
            zero_infinity=self.zero_infinity,
            reduction=self.reduction,
        )
