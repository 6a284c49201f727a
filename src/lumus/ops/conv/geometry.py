"""The numbers behind a convolution: strides, padding, dilation, and the sizes that they give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from lumus.core.broadcast import MAX_ELEMENTS, Shape, integer
from lumus.core.frozen import frozen
from lumus.errors import ArgumentError, ShapeError

Sizes = int | Sequence[int]
Padding = Sizes | Literal["same", "valid"]

AXES = ["one", "two", "three"]
MAX_NUMBER = 2**31 - 1


@frozen
class ConvolutionAttrs:
    """Static arguments of the convolution ops, with a number for each spatial axis.

    `padding` counts the zeros in front; behind there are as many as `size` asks for, which is the
    spatial shape of the result: output positions, input positions or taps.
    """

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    size: Shape


def numbers(op: str, name: str, value: Any, rank: int, least: int) -> tuple[int, ...]:
    """One number for each of `rank` spatial axes; a single one stands for all."""
    if value.__class__ is int and least <= value <= MAX_NUMBER:
        return (value,) * rank
    given = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
    if len(given) == 1:
        given *= rank
    result = tuple(integer(op, name, one) for one in given)
    if len(result) != rank:
        raise ArgumentError(
            f"{op}: {name} must be one integer or {AXES[rank - 1]}, got {value!r}", op=op
        )
    if not all(least <= one <= MAX_NUMBER for one in result):
        what = "positive" if least else "not negative"
        raise ArgumentError(f"{op}: {name} must be {what} (below 2**31), got {value!r}", op=op)
    return result


def positive(op: str, name: str, value: int) -> int:
    """A positive integer."""
    result = integer(op, name, value)
    if result < 1:
        raise ArgumentError(f"{op}: {name} must be positive, got {result}", op=op)
    return result


def extents(taps: Shape, dilation: Shape) -> Shape:
    """How many positions a window reaches over along each axis."""
    return tuple((count - 1) * step + 1 for count, step in zip(taps, dilation, strict=True))


def paddings(
    op: str, value: Any, taps: Shape, stride: Shape, dilation: Shape
) -> tuple[Shape, Shape]:
    """The zeros in front and behind along each axis; of an odd number one more is behind."""
    rank = len(taps)
    if not isinstance(value, str):
        both = numbers(op, "padding", value, rank, 0)
        return both, both
    if value == "valid":
        return (0,) * rank, (0,) * rank
    if value != "same":
        raise ArgumentError(
            f"{op}: padding must be integers, 'same' or 'valid', got {value!r}", op=op
        )
    if any(step != 1 for step in stride):
        raise ArgumentError(f"{op}: padding='same' needs stride 1, got {stride}", op=op)
    total = [extent - 1 for extent in extents(taps, dilation)]
    front = tuple(one // 2 for one in total)
    return front, tuple(all_ - one for all_, one in zip(total, front, strict=True))


def check_channels(
    op: str,
    x: Shape,
    weight: Shape,
    bias: Shape | None,
    rank: int,
    groups: int,
    *,
    transposed: bool,
) -> None:
    """Raises ShapeError unless ranks and channels fit; `x` is a batch."""
    spatial = ", ".join(["depth", "height", "width"][-rank:] if rank > 1 else ["length"])
    axes = f"([batch,] channels, {spatial})"
    if len(x) != rank + 2 or len(weight) != rank + 2:
        raise ShapeError(
            f"{op}: needs x of {rank + 1} or {rank + 2} axes {axes} and a weight of "
            f"{rank + 2}, got shapes {x} and {weight}",
            op=op,
            shapes=(x, weight),
        )
    first, second = weight[:2]
    channels = first if transposed else second * groups
    if x[1] != channels:
        raise ShapeError(
            f"{op}: x has {x[1]} channels, but a weight of shape {weight} with groups={groups} "
            f"takes {channels}",
            hint=f"the axes of x are {axes}",
            op=op,
            shapes=(x, weight),
        )
    if first % groups:
        raise ShapeError(
            f"{op}: the first axis of a weight of shape {weight} cannot be cut into "
            f"groups={groups} of one size",
            op=op,
            shapes=(x, weight),
        )
    if 0 in weight[2:]:
        raise ShapeError(f"{op}: a weight of shape {weight} has no taps", op=op, shapes=(x, weight))
    results = second * groups if transposed else first
    if bias is not None and bias != (results,):
        raise ShapeError(
            f"{op}: the bias must have shape {(results,)}, one number for each channel of the "
            f"result, got {bias}",
            op=op,
        )


def positions(
    op: str, input_size: Shape, taps: Shape, attrs: tuple[Shape, Shape, Shape, Shape]
) -> Shape:
    """How many windows fit along each axis; attrs are stride, front, behind and dilation."""
    stride, front, behind, dilation = attrs
    reach = extents(taps, dilation)
    padded = tuple(sum(one) for one in zip(front, input_size, behind, strict=True))
    for axis, (window, size) in enumerate(zip(reach, padded, strict=True)):
        if window > size:
            raise ShapeError(
                f"{op}: the kernel reaches over {reach} positions, the padded input has {padded}: "
                f"too few along spatial axis {axis}",
                hint="use more padding, a smaller kernel or less dilation",
                op=op,
                axis=axis,
            )
    check_reach(op, padded)
    return tuple(
        (size - window) // step + 1
        for size, window, step in zip(padded, reach, stride, strict=True)
    )


def check_reach(op: str, padded: Shape) -> None:
    """Raises ShapeError when the padded positions are more than can be counted."""
    total = 1
    for size in padded:
        total *= max(size, 1)
    if total > MAX_ELEMENTS:
        raise ShapeError(f"{op}: a padded input of {padded} positions is beyond memory", op=op)
