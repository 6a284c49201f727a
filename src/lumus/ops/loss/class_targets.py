"""Targets that are numbers of classes: their checks, and the scores that stand at them."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import check_tensors
from lumus.core.broadcast import integer
from lumus.core.dispatch import apply
from lumus.core.dtypes import int64
from lumus.core.kinds import Bool, Float, Int
from lumus.core.mode import MODE
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import DTypeError, IndexRangeError, ShapeError
from lumus.ops.interop.checked import checked


def class_axis(scores: Tensor[Float]) -> int:
    """The axis of classes: 1, or 0 of a single row."""
    return 0 if scores.ndim == 1 else 1


def check_classes(
    op: str, scores: Tensor[Any], targets: Tensor[Any], weight: Tensor[Any] | None
) -> None:
    """Raises unless scores (N, C, ...) or (C,) are Float and targets fit them."""
    check_tensors(op, scores, targets, *(() if weight is None else (weight,)))
    if scores.dtype.kind != "float":
        raise kind_error(op, scores.dtype, ("float",), what="an input")
    if targets.dtype.kind == "bool":
        raise kind_error(
            op, targets.dtype, ("int",), "they are class numbers: .astype(lumus.int64)", "targets"
        )
    if scores.ndim == 0:
        raise ShapeError(f"{op}: the input needs an axis of classes, got shape ()", op=op)
    wanted = () if scores.ndim == 1 else (scores.shape[0], *scores.shape[2:])
    if targets.dtype.kind == "float" and targets.shape == wanted:
        check_class_numbers(op, targets)
    if targets.dtype.kind == "float":
        wanted = scores.shape
    if targets.shape != wanted:
        raise ShapeError(
            f"{op}: input of shape {scores.shape} wants targets of shape {wanted}, got "
            f"{targets.shape}",
            hint=_shape_hint(scores, targets),
            op=op,
        )
    if weight is not None:
        _check_weight(op, scores, weight)


def _shape_hint(scores: Tensor[Any], targets: Tensor[Any]) -> str | None:
    """What to write for the two shapes that are given by mistake most often."""
    if scores.ndim > 2 and targets.shape == scores.shape[:-1]:
        return (
            "the classes are on axis 1: input.moveaxis(-1, 1), or make one row of each target: "
            f"input.reshape(-1, {scores.shape[-1]}) and targets.reshape(-1)"
        )
    if scores.ndim == 2 and targets.dtype.kind == "int" and targets.shape == (scores.shape[0], 1):
        return "leave out the axis of length 1: targets.squeeze(1)"
    return None


def check_class_numbers(op: str, targets: Tensor[Any]) -> None:
    """Raises KindError unless the targets are Int."""
    check_tensors(op, targets)
    if targets.dtype.kind != "int":
        raise kind_error(
            op, targets.dtype, ("int",), "they are class numbers: .astype(lumus.int64)", "targets"
        )


def _check_weight(op: str, scores: Tensor[Any], weight: Tensor[Any]) -> None:
    classes = scores.shape[class_axis(scores)]
    if weight.shape != (classes,):
        raise ShapeError(
            f"{op}: weight of shape {weight.shape} for {classes} classes; it must be ({classes},)",
            op=op,
        )
    if weight.dtype is not scores.dtype:
        raise DTypeError(
            f"{op}: weight is {weight.dtype.name}, the input {scores.dtype.name}",
            hint=f"convert it with .astype(lumus.{scores.dtype.name})",
            op=op,
        )


def checked_ignore_index(op: str, ignore_index: int | None) -> int | None:
    """The class number that does not count as a plain int, or None."""
    return None if ignore_index is None else integer(op, "ignore_index", ignore_index)


def kept_targets(targets: Tensor[Int], ignore_index: int | None) -> Tensor[Bool] | None:
    """Which targets count; None when all do."""
    return None if ignore_index is None else targets.astype(int64) != ignore_index


def at_targets(op: str, scores: Tensor[Float], targets: Tensor[Int], axis: int) -> Tensor[Float]:
    """The score of each target; raises IndexRangeError for what is no class."""
    classes = scores.shape[axis]
    if not MODE.get().has_values:
        told = f"{op}: target {{}} is no class: there are {classes}, from 0 to {classes - 1}"
        within = (targets >= 0) & (targets < classes)
        targets = checked(targets, within, IndexRangeError, told)
    elif targets.size:
        # A negative target would count from the end in an index; as a class it is a mistake.
        lowest = apply("min", targets, axes=tuple(range(targets.ndim)), keepdims=False).item()
        if lowest < 0:
            raise no_class(op, lowest, _place(targets.argmin().item(), targets.shape), classes)
    try:
        picked = scores.take_along_axis(targets.expand_dims(axis), axis=axis)
    except IndexRangeError as error:
        position = (*error.position[:axis], *error.position[axis + 1 :])
        raise no_class(op, error.index, position, classes) from None
    return picked.squeeze(axis)


def _place(number: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The position of an element given by its number in row-major order."""
    place: list[int] = []
    for length in reversed(shape):
        number, index = divmod(number, length)
        place.append(index)
    return tuple(reversed(place))


def no_class(op: str, target: int, position: tuple[int, ...], classes: int) -> IndexRangeError:
    """The error for a target that is the number of no class."""
    where_ = f" at position {list(position)}" if position else ""
    return IndexRangeError(
        f"{op}: target {target}{where_} is no class: there are {classes}, from 0 to {classes - 1}",
        hint="pass ignore_index= for targets that do not count",
        op=op,
        index=target,
        bound=classes,
        position=position,
    )
