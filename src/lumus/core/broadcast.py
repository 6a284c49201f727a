"""NumPy's broadcasting and axis rules, on shapes alone."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any, cast

from lumus.errors import ArgumentError, ShapeError

Shape = tuple[int, ...]

MAX_AXES = 16
MAX_ELEMENTS = 2**60 - 1
"""So that a size in bytes, of eight each, fits into the signed 64 bits that kernels count with."""


def broadcast_shapes(op: str, *shapes: Shape) -> Shape:
    """The shape that all broadcast to; raises ShapeError naming `op` and the shapes."""
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    rank = max(len(shape) for shape in shapes)
    result = [1] * rank
    for shape in shapes:
        offset = rank - len(shape)
        for axis, length in enumerate(shape, offset):
            if length != 1 and result[axis] not in (1, length):
                *others, last = map(str, shapes)
                listed = f"{', '.join(others)} and {last}"
                raise ShapeError(
                    f"{op}: shapes {listed} do not broadcast: axis {axis - rank} is "
                    f"{result[axis]} in one and {length} in another",
                    op=op,
                    shapes=shapes,
                    axis=axis - rank,
                )
            if length != 1:
                result[axis] = length
    return tuple(result)


def broadcasts_to(shape: Shape, target: Shape) -> bool:
    """Whether a tensor of `shape` can be repeated to `target`."""
    offset = len(target) - len(shape)
    return offset >= 0 and all(
        length in (1, target[axis]) for axis, length in enumerate(shape, offset)
    )


def reduced_axes(shape: Shape, broadcast: Shape) -> tuple[int, ...]:
    """The axes of `broadcast` along which `shape` was repeated."""
    offset = len(broadcast) - len(shape)
    repeated = [
        axis
        for axis, length in enumerate(broadcast)
        if axis < offset or (shape[axis - offset] == 1 and length != 1)
    ]
    return tuple(repeated)


def inverse_order(order: Sequence[int]) -> tuple[int, ...]:
    """The order of axes that undoes `order`."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def integer(op: str, name: str, value: Any) -> int:
    """The argument `name` as a Python int: NumPy's ints and 0-d Int tensors are welcome.

    Anything else raises ArgumentError.
    """
    if value.__class__ is int:
        return value
    try:
        return whole(value)
    except TypeError:
        raise ArgumentError(f"{op}: {name} must be an integer, got {value!r}", op=op) from None


def whole(value: Any) -> int:
    """A Python int for what counts as one; TypeError for anything else, truth values included."""
    if isinstance(value, bool):
        raise TypeError(value)
    return int(operator.index(value))


_INT = {int}


def are_ints(values: object) -> bool:
    """Whether it is a tuple of Python ints alone.

    What is worked out for it may then be kept by it: True and 1.0, which equal 1, are not among
    them.
    """
    return values.__class__ is tuple and set(map(type, cast("tuple[object, ...]", values))) <= _INT


def listed(one_or_more: Any) -> Iterable[Any]:
    """An iterable as it is, anything else as the only one.

    A tensor of no axes is a number that iterates in name only.
    """
    if isinstance(one_or_more, Iterable) and getattr(one_or_more, "ndim", True):
        return one_or_more
    return (one_or_more,)


def normalize_axis(op: str, axis: int, ndim: int) -> int:
    """`axis` counted from the front; raises ArgumentError outside [-ndim, ndim)."""
    index = integer(op, "axis", axis)
    if not -ndim <= index < ndim:
        raise ArgumentError(
            f"{op}: axis {index} is out of range for a tensor of {ndim} "
            f"{'axis' if ndim == 1 else 'axes'}",
            op=op,
            axis=index,
        )
    return index + ndim if index < 0 else index


def normalize_axes(op: str, axis: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Several axes, counted from the front and sorted.

    None means all. Repeats raise ArgumentError.
    """
    if axis is None:
        return tuple(range(ndim))
    if axis.__class__ is int:
        return (normalize_axis(op, cast("int", axis), ndim),)
    normalized = [normalize_axis(op, one, ndim) for one in listed(axis)]
    if len(set(normalized)) != len(normalized):
        raise ArgumentError(f"{op}: axis={axis} names an axis more than once", op=op, axis=axis)
    return tuple(sorted(normalized))


def lengths_of(op: str, shape: int | Iterable[int]) -> tuple[int, ...]:
    """Python ints, of any sign; a single one stands for a tuple of one."""
    try:
        return tuple([whole(length) for length in listed(shape)])
    except TypeError:
        raise ShapeError(f"{op}: a shape consists of integers, got {shape!r}", op=op) from None


def normalize_shape(op: str, shape: int | Iterable[int]) -> Shape:
    """A shape as a tuple of non-negative ints; a single int is a shape of one axis."""
    result = lengths_of(op, shape)
    check_shape(op, result)
    return result


def check_shape(op: str, shape: Shape) -> None:
    """Raises ShapeError for a shape that no tensor can have."""
    if any(length < 0 for length in shape):
        raise ShapeError(f"{op}: lengths cannot be negative, got {shape}", op=op, shape=shape)
    if len(shape) > MAX_AXES:
        raise ShapeError(f"{op}: at most {MAX_AXES} axes, got {len(shape)}", op=op, shape=shape)
    # Lengths of 0 do not count: the strides of the other axes must fit, too.
    if math.prod([length for length in shape if length > 1]) > MAX_ELEMENTS:
        raise ShapeError(
            f"{op}: a tensor of shape {shape} is beyond what memory can address", op=op, shape=shape
        )


def reduced_shape(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """The shape after reducing over `axes` (counted from the front)."""
    if keepdims:
        return tuple(1 if axis in axes else length for axis, length in enumerate(shape))
    return tuple(length for axis, length in enumerate(shape) if axis not in axes)
