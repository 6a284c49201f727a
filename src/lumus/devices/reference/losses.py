"""Losses from their definitions; floats in float64, rounded once at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lumus import _native
from lumus.core import kernels as k
from lumus.core.kernels.kernel import Kernel
from lumus.core.spec import Spec
from lumus.devices.reference.arrays import widened
from lumus.devices.reference.scalar import Array


def _counted(kernel: k.CrossEntropy | k.CrossEntropyGrad, targets: Array) -> Array:
    """Which rows count."""
    if kernel.ignore_index is None:
        return np.ones(targets.shape, bool)
    return np.asarray(targets.astype(np.int64) != kernel.ignore_index)


def _shares(
    kernel: k.CrossEntropy | k.CrossEntropyGrad, targets: Array, classes: int
) -> tuple[Array, Array]:
    """What each class has of each row's target, and which rows count."""
    counted = _counted(kernel, targets)
    wrong = counted & ((targets < 0) | (targets >= classes))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise _native.IndexOutOfRange(int(targets[row]), classes, (row,), 1, -1)
    shares = np.full((len(targets), classes), kernel.label_smoothing / max(classes, 1))
    rows = np.flatnonzero(counted)
    shares[rows, targets[rows]] += 1 - kernel.label_smoothing
    return shares, counted


def cross_entropy(
    kernel: k.CrossEntropy, arrays: Sequence[Array], outputs: Sequence[Spec]
) -> tuple[Array, ...]:
    """The shares of the target times minus the logarithms of the softmax."""
    logits, targets = widened(arrays[0]), arrays[1]
    shares, counted = _shares(kernel, targets, logits.shape[1])
    largest = np.max(logits, axis=1, keepdims=True, initial=-np.inf)
    sums = np.exp(logits - largest).sum(axis=1, keepdims=True)
    terms = np.where(shares == 0, 0.0, shares * (np.log(sums) - (logits - largest)))
    # A row without a softmax has no term that is 0.
    losses = np.where(np.isnan(sums[:, 0]), np.nan, terms.sum(axis=1))
    losses = np.where(counted, losses, 0.0)
    divisor = np.float64(counted.sum() if counted.any() or not len(targets) else 1)
    stats = np.concatenate([largest, sums], axis=1)
    if kernel.reduction == "none":
        return losses, stats, np.asarray(divisor)
    total = losses.sum()
    result = total / divisor if kernel.reduction == "mean" else total
    return np.asarray(result), stats, np.asarray(divisor)


def cross_entropy_grad(kernel: k.CrossEntropyGrad, arrays: Sequence[Array], output: Spec) -> Array:
    """The softmax minus the shares of the target, weighted like the row."""
    grad, logits, _, stats, divisor = map(widened, arrays)
    shares, counted = _shares(kernel, arrays[2], logits.shape[1])
    if kernel.reduction == "mean":
        grad = grad / divisor
    softmax = np.exp(logits - stats[:, :1]) / stats[:, 1:]
    weight = np.broadcast_to(grad, counted.shape)[:, None]
    return np.where(counted[:, None], weight * (softmax - shares), 0.0)


def _ctc_lines(
    logarithms: Array, labels: Array, count: int, num_targets: int
) -> tuple[Array, Array, float]:
    """Of one row: the sums over all ways to each label of each frame and over all ways from it on
    (from the next frame), and the logarithm of the whole.
    """
    width = 2 * int(num_targets) + 1
    labels = labels[:width]
    emitted = logarithms[:count, labels]
    skips = [s % 2 == 1 and s >= 3 and labels[s] != labels[s - 2] for s in range(width)]
    to, onward = np.full((2, count, width), -np.inf)
    for frame in range(count):
        before = to[frame - 1] if frame else np.where(np.arange(width) == 0, 0.0, -np.inf)
        for s in range(width):
            ways = list(before[max(s - (2 if skips[s] else 1), 0) : s + 1])
            to[frame, s] = np.logaddexp.reduce(ways) + emitted[frame, s]
    if not count:
        return to, onward, 0.0 if width == 1 else -np.inf
    onward[count - 1, max(width - 2, 0) :] = 0.0
    for frame in range(count - 2, -1, -1):
        after = onward[frame + 1] + emitted[frame + 1]
        for s in range(width):
            ways = [after[s], *after[s + 1 : s + 2]]
            if s + 2 < width and skips[s + 2]:
                ways.append(after[s + 2])
            onward[frame, s] = np.logaddexp.reduce(ways)
    return to, onward, float(np.logaddexp.reduce(to[count - 1, max(width - 2, 0) :]))


def ctc(kernel: k.Ctc, arrays: Sequence[Array], output: Spec) -> Array:
    """The sums over all ways, row by row."""
    logarithms = widened(arrays[0])
    return np.array(
        [
            -_ctc_lines(logarithms[:, row], labels, counted, targets)[2]
            for row, (labels, counted, targets) in enumerate(zip(*arrays[1:], strict=True))
        ],
        np.float64,
    )


def ctc_grad(kernel: k.CtcGrad, arrays: Sequence[Array], output: Spec) -> Array:
    """Of each class of each frame how much of the whole goes through it."""
    grads, logarithms = map(widened, arrays[:2])
    result = np.zeros(logarithms.shape)
    for row, (labels, counted, targets) in enumerate(zip(*arrays[2:], strict=True)):
        to, onward, total = _ctc_lines(logarithms[:, row], labels, counted, targets)
        if total == -np.inf:
            continue
        for frame in range(counted):
            shares = np.exp(to[frame] + onward[frame] - total)
            np.subtract.at(result[frame, row], labels[: len(shares)], grads[row] * shares)
    return result


TABLE: dict[type[Kernel], Callable[[Any, Sequence[Array], Any], Any]] = {
    k.CrossEntropy: cross_entropy,
    k.CrossEntropyGrad: cross_entropy_grad,
    k.Ctc: ctc,
    k.CtcGrad: ctc_grad,
}
