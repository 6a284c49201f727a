"""ctc_loss: minus the log-probability that a sequence of frames spells its target."""

from __future__ import annotations

from collections.abc import Sequence

from lumus.core.argument import check_tensors, flag, integers
from lumus.core.broadcast import integer
from lumus.core.device import Device
from lumus.core.dtypes import float64, int64
from lumus.core.kinds import Bool, Float, Int
from lumus.core.mode import MODE
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, IndexRangeError, ShapeError
from lumus.ops.create.arange import arange
from lumus.ops.create.full import full, full_like, zeros
from lumus.ops.create.tensor import tensor
from lumus.ops.elementwise.where import where
from lumus.ops.interop.checked import checked
from lumus.ops.interop.lengths import checked_lengths
from lumus.ops.loss.ctc import ctc
from lumus.ops.loss.reduction import Reduction, check_floats, check_reduction
from lumus.ops.shape.concat import concat
from lumus.ops.shape.stack import stack

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
    blank = integer(op, "blank", blank)
    if not 0 <= blank < classes:
        raise ArgumentError(f"{op}: blank {blank} is no class: there are {classes}", op=op)
    targets = targets.to_device(frames.device).astype(int64)
    is_table = targets.ndim == 2 and len(targets) == batch and not is_single
    if not is_table and targets.ndim != 1:
        raise _misfit(op, targets, f"a batch of {batch}")
    longest = targets.shape[1] if is_table else targets.size
    counted = _lengths(op, "input_lengths", input_lengths, batch, num_frames, frames.device)
    lengths = _lengths(op, "target_lengths", target_lengths, batch, longest, frames.device)
    if is_single:
        rows = targets.expand_dims(0)
    else:
        rows = targets if is_table else _rows_of(op, targets, lengths)
    counts = arange(rows.shape[1], device=frames.device) < lengths.expand_dims(1)
    rows = _classes_of(op, rows, counts, blank, classes)
    losses = ctc(frames, _with_blanks(rows, blank), counted, lengths, zero_infinity=zero_infinity)
    if zero_infinity:
        losses = where(losses.isinf(), 0.0, losses)
    if reduction == "mean":
        scale = 1.0 / lengths.maximum(1).astype(float64)
        return (losses * scale.astype(losses.dtype)).mean()
    if reduction == "sum":
        return losses.sum()
    return losses.squeeze(0) if is_single else losses


def _lengths(
    op: str, name: str, given: Lengths, batch: int, most: int, device: Device
) -> Tensor[Int]:
    """The lengths as int64, one for each row, none above `most`."""
    if isinstance(given, Tensor):
        if given.dtype.kind != "int":
            raise kind_error(op, given.dtype, ("int",), what=name)
        numbers = given.to_device(device).astype(int64).reshape(given.size)
    else:
        listed = integers(op, name, [given] if isinstance(given, int) else given)
        numbers = tensor(list(listed), dtype=int64, device=device)
    if numbers.size != batch:
        raise ShapeError(f"{op}: {name} must be {batch} integers, got {numbers.size}", op=op)
    return checked_lengths(op, numbers, most, name)


def _rows_of(op: str, targets: Tensor[Int], lengths: Tensor[Int]) -> Tensor[Int]:
    """Targets that stand one after the other, a row for each; what is beyond a row's is any."""
    stops = lengths.cumsum(axis=0)
    fits = lengths.sum() == targets.size
    if not MODE.get().has_values:
        stops = checked(stops, fits, ShapeError, str(_misfit(op, targets, "their lengths")))
        longest = targets.size
    elif not fits:
        raise _misfit(op, targets, f"target lengths {lengths.tolist()}")
    else:
        longest = lengths.max().item() if lengths.size else 0
    if longest == 0:
        return zeros((lengths.size, 0), dtype=int64, device=targets.device)
    places = (stops - lengths).expand_dims(1) + arange(longest, device=targets.device)
    return targets.take(places.minimum(targets.size - 1))


def _misfit(op: str, targets: Tensor[Int], what: str) -> ShapeError:
    return ShapeError(
        f"{op}: targets of shape {targets.shape} do not fit {what}: they must be (N, S), or all of "
        "them in one axis",
        op=op,
    )


def _classes_of(
    op: str, rows: Tensor[Int], counts: Tensor[Bool], blank: int, classes: int
) -> Tensor[Int]:
    """The targets that count, each a class other than the blank, and blanks for the others."""
    is_class = ~counts | ((rows >= 0) & (rows < classes))
    is_other = ~counts | (rows != blank)
    outside = f"{op}: target {{}}{{}} is no class: there are {classes}, from 0 to {classes - 1}"
    is_blank = f"{op}: target {{}}{{}} is the blank"
    if not MODE.get().has_values:
        rows = checked(rows, is_class, IndexRangeError, outside.format("{}", ""))
        rows = checked(rows, is_other, ArgumentError, is_blank.format("{}", ""))
    elif rows.size and not (is_class & is_other).all():
        place = divmod((is_class & is_other).astype(int64).argmin().item(), rows.shape[1])
        number = rows[place].item()
        where_ = f" at position {list(place)}"
        if number == blank:
            raise ArgumentError(is_blank.format(number, where_), op=op)
        raise IndexRangeError(
            outside.format(number, where_), op=op, index=number, bound=classes, position=place
        )
    return where(counts, rows, blank)


def _with_blanks(rows: Tensor[Int], blank: int) -> Tensor[Int]:
    """(N, S) targets as (N, 2 * S + 1): with blanks around each."""
    batch, longest = rows.shape
    pairs = stack([full_like(rows, blank), rows], axis=2).reshape(batch, 2 * longest)
    last = full((batch, 1), blank, dtype=rows.dtype, device=rows.device)
    return concat([pairs, last], axis=1)
