"""The part of the kernel vocabulary that computes losses."""

from __future__ import annotations

from typing import Literal

from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel


@frozen
class CrossEntropy(Kernel):
    """Of (logits (rows, classes), targets (rows,)): -log softmax(logits)[target], reduced.

    Gives (result, stats, divisor): stats are the largest logit of each row and the sum of the
    exponentials that are left when it is taken out, (rows, 2) of float64 or float32; the divisor,
    float64, is what a mean divides by. Rows whose target is `ignore_index` do not count.
    """

    ignore_index: int | None
    label_smoothing: float
    reduction: Literal["mean", "sum", "none"]


@frozen
class CrossEntropyGrad(Kernel):
    """Of (grad, logits, targets, stats, divisor) the gradient of the logits."""

    ignore_index: int | None
    label_smoothing: float
    reduction: Literal["mean", "sum", "none"]


@frozen
class Ctc(Kernel):
    """Of (log-probabilities (frames, batch, classes), labels (batch, 2 * S + 1), counts of frames,
    counts of targets): minus the logarithm of the probability that a row's frames spell its labels.

    Labels are the targets with blanks between and around them, Int like the counts. Infinite where
    no path spells them.
    """


@frozen
class CtcGrad(Kernel):
    """Of (grad, and what Ctc takes) the gradient of the log-probabilities; 0 of infinite losses."""
