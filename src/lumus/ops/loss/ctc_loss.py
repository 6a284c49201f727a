"""ctc_loss: minus the log-probability that a sequence of frames spells its target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lumus.core.argument import check_tensors, flag, integers
from lumus.core.broadcast import integer
from lumus.core.dtypes import int64
from lumus.core.kinds import Float, Int
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, IndexRangeError, ShapeError
from lumus.ops.create.tensor import tensor
from lumus.ops.elementwise.where import where
from lumus.ops.loss.ctc import ctc
from lumus.ops.loss.reduction import Reduction, check_floats, check_reduction

Lengths = Tensor[Int] | Sequence[int] | int


def ctc_loss(
    log_probabilities: Tensor[Float],
    targets: Tensor[Int],
    input_lengths: Lengths,
    target_lengths: Lengths,
    *,
    blank: int = 0,
    reduction: Reduction = "mean",
    zero_infinity: bool = False,
) -> Tensor[Float]:
    """Minus the log-probability of all paths that spell the target.

    A path gives each frame a class; it spells what is left when repetitions are merged and blanks
    are dropped. The sums over paths run in float64. A target that no path is long enough for has an
    infinite loss, with gradient 0; `zero_infinity` makes it 0.

    **Shapes.** `log_probabilities` (T, N, C) or (T, C); `targets` (N, S), or one after the other in
    one axis, or (S,); the lengths are N integers, or one. The result is 0-d, or has the shape (N,)
    or () with ``reduction="none"``.
    **Kinds.** Float; targets and lengths are Int.
    **Gradient.** Of each class of each frame minus the share of the paths that go through it.
    **Reduction.** The mean divides each loss by the length of its target (at least 1), then by N.
    **Raises.** IndexRangeError for a target that is no class, ArgumentError for one that is the
    blank and for lengths that do not fit, ShapeError, KindError.

    Source: Graves et al., "Connectionist Temporal Classification", ICML 2006.

    >>> import lumus as lm
    >>> frames = lm.log_softmax(lm.zeros((2, 1, 3)), axis=2)
    >>> loss = lm.nn.functional.ctc_loss(frames, lm.tensor([[1]]), [2], [1])
    >>> round(loss.exp().item(), 6)  # of nine paths three spell it: 01, 10, 11
    3.0
    """
    op = "ctc_loss"
    check_floats(op, log_probabilities)
    check_tensors(op, targets)
    if targets.dtype.kind != "int":
        raise kind_error(op, targets.dtype, ("int",), what="targets")
    check_reduction(op, reduction)
    zero_infinity = flag(op, "zero_infinity", zero_infinity)
    is_single = log_probabilities.ndim == 2
    frames = log_probabilities.expand_dims(1) if is_single else log_probabilities
    if frames.ndim != 3:
        raise ShapeError(
            f"{op}: log_probabilities must be (T, N, C) or (T, C), got shape "
            f"{log_probabilities.shape}",
            op=op,
        )
    num_frames, batch, classes = frames.shape
    counted = _lengths(op, "input_lengths", input_lengths, batch, num_frames)
    lengths = _lengths(op, "target_lengths", target_lengths, batch, targets.size)
    rows = _rows(op, targets, lengths, is_single=is_single)
    blank = integer(op, "blank", blank)
    _check_classes(op, rows, blank, classes)
    given = (_with_blanks(rows, blank), counted, lengths)
    numbers = [tensor(one, dtype=int64, device=frames.device) for one in given]
    losses = ctc(frames, *numbers, zero_infinity=zero_infinity)
    if zero_infinity:
        losses = where(losses.isinf(), 0.0, losses)
    if reduction == "mean":
        scale = tensor(1.0 / np.maximum(lengths, 1), device=frames.device).astype(losses.dtype)
        return (losses * scale).mean()
    if reduction == "sum":
        return losses.sum()
    return losses.squeeze(0) if is_single else losses


def _lengths(op: str, name: str, given: Lengths, batch: int, most: int) -> Any:
    """The lengths as NumPy integers, one for each row, none above `most`."""
    if isinstance(given, Tensor):
        if given.dtype.kind != "int":
            raise kind_error(op, given.dtype, ("int",), what=name)
        numbers: list[int] = given.reshape(given.size).tolist()
    else:
        numbers = list(integers(op, name, [given] if isinstance(given, int) else given))
    if len(numbers) != batch:
        raise ShapeError(f"{op}: {name} must be {batch} integers, got {len(numbers)}", op=op)
    for row, length in enumerate(numbers):
        if not 0 <= length <= most:
            raise ArgumentError(
                f"{op}: length {length} of row {row} is not in 0..{most}: {name}", op=op
            )
    return np.array(numbers, np.int64)


def _rows(op: str, targets: Tensor[Int], lengths: Any, *, is_single: bool) -> list[Any]:
    """The target of each row as NumPy integers."""
    numbers = targets.astype(int64).to_device("cpu").numpy()
    if targets.ndim == 2 and len(numbers) == len(lengths) and not is_single:
        if len(lengths) and lengths.max() > numbers.shape[1]:
            raise ArgumentError(
                f"{op}: targets of shape {targets.shape} have no {lengths.max()} classes in a row",
                op=op,
            )
        return [row[:length] for row, length in zip(numbers, lengths, strict=True)]
    if targets.ndim == 1 and is_single and lengths[0] <= len(numbers):
        return [numbers[: lengths[0]]]
    if targets.ndim == 1 and not is_single and lengths.sum() == len(numbers):
        return list(np.split(numbers, np.cumsum(lengths)[:-1]))
    raise ShapeError(
        f"{op}: targets of shape {targets.shape} do not fit target lengths {lengths.tolist()}: "
        "they must be (N, S), or all of them in one axis",
        op=op,
    )


def _check_classes(op: str, rows: list[Any], blank: int, classes: int) -> None:
    if not 0 <= blank < classes:
        raise ArgumentError(f"{op}: blank {blank} is no class: there are {classes}", op=op)
    for row, numbers in enumerate(rows):
        for place, number in enumerate(numbers.tolist()):
            if not 0 <= number < classes:
                raise IndexRangeError(
                    f"{op}: target {number} at position {[row, place]} is no class: there are "
                    f"{classes}, from 0 to {classes - 1}",
                    op=op,
                    index=number,
                    bound=classes,
                    position=(row, place),
                )
            if number == blank:
                raise ArgumentError(
                    f"{op}: target {number} at position {[row, place]} is the blank", op=op
                )


def _with_blanks(rows: list[Any], blank: int) -> Any:
    """Blanks with each row's target on the odd places."""
    longest = max((len(row) for row in rows), default=0)
    labels = np.full((len(rows), 2 * longest + 1), blank, np.int64)
    for number, row in enumerate(rows):
        labels[number, 1 : 2 * len(row) : 2] = row
    return labels
