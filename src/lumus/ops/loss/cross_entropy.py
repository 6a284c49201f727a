"""nll_loss and cross_entropy: the negative log-probability of target classes."""

from __future__ import annotations

from typing import Literal

from lumus.core.argument import check_tensors, real
from lumus.core.dispatch import apply
from lumus.core.dtypes import float32, int64, is_half
from lumus.core.kinds import Bool, Float, Int
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, DTypeError, IndexRangeError, ShapeError
from lumus.ops.elementwise.where import where

Reduction = Literal["mean", "sum", "none"]


def nll_loss(
    log_probabilities: Tensor[Float],
    targets: Tensor[Int],
    *,
    weight: Tensor[Float] | None = None,
    ignore_index: int | None = None,
    reduction: Reduction = "mean",
) -> Tensor[Float]:
    """The negative log-probability of each target class: ``-weight[t] * log_probabilities[...,
    t]``.

    **Shapes.** `log_probabilities` (N, C, ...) with the classes on axis 1, or (C,); `targets` (N,
    ...) or (); `weight` (C,). The result is 0-d, or has the targets' shape with
    ``reduction="none"``.
    **Kinds.** Float; targets are Int.
    **Gradient.** ``-weight[t]`` at each target, over the sum of weights for the mean; 0 elsewhere.
    **Reduction.** The mean divides by the sum of the targets' weights; with every target ignored it
    is 0 with gradient 0.
    **Raises.** IndexRangeError for a target outside [0, C) that is not `ignore_index`, ShapeError,
    KindError, ArgumentError.

    >>> import lumus as lm
    >>> p = lm.log_softmax(lm.tensor([[0.0, 0.0]]))
    >>> round(lm.nn.functional.nll_loss(p, lm.tensor([1])).item(), 4)
    0.6931
    """
    _check("nll_loss", log_probabilities, targets, weight, reduction)
    return _nll(log_probabilities, targets, weight, ignore_index, reduction, 0.0, "nll_loss")


def cross_entropy(
    logits: Tensor[Float],
    targets: Tensor[Int],
    *,
    weight: Tensor[Float] | None = None,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    reduction: Reduction = "mean",
) -> Tensor[Float]:
    """The cross-entropy of the softmax of `logits` with target classes: ``-log
    softmax(logits)[t]``.

    ``label_smoothing=s`` mixes the target, with weight ``1 - s``, with all classes evenly, each
    with ``s / C``. Computed through `log_softmax`, so a confidently wrong logit costs no digits.

    **Shapes.** `logits` (N, C, ...) with the classes on axis 1, or (C,); `targets` (N, ...) or ();
    `weight` (C,). The result is 0-d, or has the targets' shape with ``reduction="none"``.
    **Kinds.** Float; targets are Int.
    **Gradient.** ``softmax(logits) - target`` for each row, weighted like the row.
    **Reduction.** The mean divides by the sum of the targets' weights; with every target ignored it
    is 0 with gradient 0.
    **Raises.** IndexRangeError for a target outside [0, C) that is not `ignore_index`, ShapeError,
    KindError, ArgumentError.

    >>> import lumus as lm
    >>> logits = lm.tensor([[0.0, 10000.0]])
    >>> lm.nn.functional.cross_entropy(logits, lm.tensor([0])).item()
    10000.0
    """
    _check("cross_entropy", logits, targets, weight, reduction)
    label_smoothing = real("cross_entropy", "label_smoothing", label_smoothing)
    if not 0 <= label_smoothing <= 1:
        raise ArgumentError(
            f"cross_entropy: label_smoothing must be in [0, 1], got {label_smoothing}"
        )
    axis = 0 if logits.ndim == 1 else 1
    kept = _kept(targets, ignore_index)
    if kept is not None:
        # A row that does not count may hold anything: infinities there would make 0 * NaN of its
        # gradient.
        logits = where(kept.expand_dims(axis), logits, 0.0)
    log_probabilities = logits.log_softmax(axis=axis)
    return _nll(
        log_probabilities,
        targets,
        weight,
        ignore_index,
        reduction,
        label_smoothing,
        "cross_entropy",
    )


def _check(
    op: str,
    scores: Tensor[Float],
    targets: Tensor[Int],
    weight: Tensor[Float] | None,
    reduction: str,
) -> None:
    check_tensors(op, scores, targets, *(() if weight is None else (weight,)))
    if scores.dtype.kind != "float":
        raise kind_error(op, scores.dtype, ("float",), what="an input")
    if targets.dtype.kind != "int":
        raise kind_error(
            op, targets.dtype, ("int",), "they are class numbers: .astype(lumus.int64)", "targets"
        )
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError(f"{op}: reduction must be 'mean', 'sum' or 'none', got {reduction!r}")
    if scores.ndim == 0:
        raise ShapeError(f"{op}: the input needs an axis of classes, got shape ()", op=op)
    wanted = () if scores.ndim == 1 else (scores.shape[0], *scores.shape[2:])
    if targets.shape != wanted:
        raise ShapeError(
            f"{op}: input of shape {scores.shape} wants targets of shape {wanted}, got "
            f"{targets.shape}",
            op=op,
        )
    classes = scores.shape[0 if scores.ndim == 1 else 1]
    if weight is not None and weight.shape != (classes,):
        raise ShapeError(
            f"{op}: weight of shape {weight.shape} for {classes} classes; it must be ({classes},)",
            op=op,
        )
    if weight is not None and weight.dtype is not scores.dtype:
        raise DTypeError(
            f"{op}: weight is {weight.dtype.name}, the input {scores.dtype.name}",
            hint=f"convert it with .astype(lumus.{scores.dtype.name})",
            op=op,
        )


def _nll(
    log_probabilities: Tensor[Float],
    targets: Tensor[Int],
    weight: Tensor[Float] | None,
    ignore_index: int | None,
    reduction: Reduction,
    smoothing: float,
    op: str,
) -> Tensor[Float]:
    axis = 0 if log_probabilities.ndim == 1 else 1
    targets = targets.astype(int64)
    kept = _kept(targets, ignore_index)
    if kept is not None:
        targets = where(kept, targets, 0)
    losses = -_at_targets(op, log_probabilities, targets, axis)
    weights = None if weight is None else weight.take(targets)
    if weights is not None:
        losses = losses * weights
    if smoothing:
        losses = losses * (1 - smoothing) + _smoothed(log_probabilities, weight, axis, smoothing)
    if kept is not None:
        losses = where(kept, losses, 0.0)
    if reduction == "none":
        return losses
    if is_half(losses.dtype):
        # The sum that a mean divides, and the count, may be beyond half precision.
        wide_weights = None if weights is None else weights.astype(float32)
        return _reduced(losses.astype(float32), wide_weights, kept, reduction).astype(losses.dtype)
    return _reduced(losses, weights, kept, reduction)


def _reduced(
    losses: Tensor[Float],
    weights: Tensor[Float] | None,
    kept: Tensor[Bool] | None,
    reduction: Reduction,
) -> Tensor[Float]:
    total = losses.sum()
    if reduction == "sum":
        return total
    if weights is None and kept is None:
        return total / float(losses.size) if losses.size else total * float("nan")
    if weights is None:
        assert kept is not None
        count = kept.sum().maximum(1).astype(losses.dtype)
        return total / count
    if kept is not None:
        weights = where(kept, weights, 0.0)
    divisor = weights.sum()
    # With nothing to average the total is 0, and so is the mean by convention.
    return total / where(divisor == 0.0, 1.0, divisor)


def _kept(targets: Tensor[Int], ignore_index: int | None) -> Tensor[Bool] | None:
    """Which targets count; None when all do."""
    return None if ignore_index is None else targets.astype(int64) != ignore_index


def _smoothed(
    log_probabilities: Tensor[Float], weight: Tensor[Float] | None, axis: int, smoothing: float
) -> Tensor[Float]:
    """The part of the loss that is spread evenly over all classes."""
    classes = log_probabilities.shape[axis]
    weighted = log_probabilities
    if weight is not None:
        rank = log_probabilities.ndim
        shape = tuple(classes if place == axis else 1 for place in range(rank))
        weighted = log_probabilities * weight.reshape(shape)
    return -weighted.sum(axis=axis) * (smoothing / classes)


def _at_targets(
    op: str, log_probabilities: Tensor[Float], targets: Tensor[Int], axis: int
) -> Tensor[Float]:
    """The log-probability of each target; raises IndexRangeError for what is no class."""
    classes = log_probabilities.shape[axis]
    if targets.size:
        # A negative target would count from the end in an index; as a class it is a mistake.
        lowest = apply("min", targets, axes=tuple(range(targets.ndim)), keepdims=False).item()
        if lowest < 0:
            raise _no_class(op, lowest, _place(targets.argmin().item(), targets.shape), classes)
    try:
        picked = log_probabilities.take_along_axis(targets.expand_dims(axis), axis=axis)
    except IndexRangeError as error:
        position = (*error.position[:axis], *error.position[axis + 1 :])
        raise _no_class(op, error.index, position, classes) from None
    return picked.squeeze(axis)


def _place(number: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The position of an element given by its number in row-major order."""
    place: list[int] = []
    for length in reversed(shape):
        number, index = divmod(number, length)
        place.append(index)
    return tuple(reversed(place))


def _no_class(op: str, target: int, position: tuple[int, ...], classes: int) -> IndexRangeError:
    where_ = f" at position {list(position)}" if position else ""
    return IndexRangeError(
        f"{op}: target {target}{where_} is no class: there are {classes}, from 0 to {classes - 1}",
        hint="pass ignore_index= for targets that do not count",
        op=op,
        index=target,
        bound=classes,
        position=position,
    )
