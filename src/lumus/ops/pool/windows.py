"""The windows of a pool: arguments checked and given for each axis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from lumus.core.argument import check_tensors, flag
from lumus.core.broadcast import integer
from lumus.core.kernels.pool import PoolAxis
from lumus.core.op import kind_error
from lumus.core.spec import Spec
from lumus.errors import ArgumentError, ShapeError

PerAxis = int | Sequence[int]
"""One number for all axes, or one for each."""

LAYOUTS = {
    1: "(N, C, L) or (C, L)",
    2: "(N, C, H, W) or (C, H, W)",
    3: "(N, C, D, H, W) or (C, D, H, W)",
}


def check_input(op: str, x: Any, num_axes: int) -> None:
    """Raises unless `x` is a Float tensor of planes (or lines, or volumes) with channels."""
    check_tensors(op, x)
    if x.dtype.kind != "float":
        raise kind_error(op, x.dtype, ("float",))
    if x.ndim not in (num_axes + 1, num_axes + 2):
        raise ShapeError(
            f"{op}: needs a tensor {LAYOUTS[num_axes]}, got shape {x.shape}", op=op, shape=x.shape
        )


def per_axis(op: str, name: str, value: Any, num_axes: int, least: int) -> tuple[int, ...]:
    """The argument for each axis; raises ArgumentError for what is below `least`."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        numbers = tuple(integer(op, name, one) for one in value)
        if len(numbers) != num_axes:
            raise ArgumentError(
                f"{op}: {name} must be one integer or {num_axes}, got {tuple(value)}", op=op
            )
    else:
        numbers = (integer(op, name, value),) * num_axes
    if min(numbers) < least:
        raise ArgumentError(f"{op}: {name} must be at least {least}, got {value}", op=op)
    return numbers


def pool_axes(
    op: str,
    x: Any,
    num_axes: int,
    kernel_size: PerAxis,
    stride: PerAxis | None,
    padding: PerAxis,
    dilation: PerAxis,
    ceil_mode: bool,
) -> tuple[PoolAxis, ...]:
    """The windows along the last axes of `x`; raises unless each has an element."""
    check_input(op, x, num_axes)
    window = per_axis(op, "kernel_size", kernel_size, num_axes, 1)
    step = window if stride is None else per_axis(op, "stride", stride, num_axes, 1)
    pad = per_axis(op, "padding", padding, num_axes, 0)
    spread = per_axis(op, "dilation", dilation, num_axes, 1)
    lengths = x.shape[-num_axes:]
    ceil_mode = flag(op, "ceil_mode", ceil_mode)
    return tuple(
        _axis(op, *parts, ceil_mode)
        for parts in zip(lengths, window, step, pad, spread, strict=True)
    )


@lru_cache(1 << 12)
def _axis(
    op: str, length: int, window: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> PoolAxis:
    reach = (window - 1) * dilation + 1
    if 2 * padding > reach:
        raise ArgumentError(
            f"{op}: padding of {padding} is more than half of a window that reaches over {reach}: "
            "a window could lie in the padding alone",
            op=op,
        )
    room = length + 2 * padding - reach
    count = (-(-room // stride) if ceil_mode else room // stride) + 1
    if length == 0 or count < 1:
        raise ShapeError(
            f"{op}: a window that reaches over {reach} does not fit into {length} elements with "
            f"a padding of {padding}",
            op=op,
        )
    # A last window that would begin in the padding behind is not one.
    if ceil_mode and (count - 1) * stride >= length + padding:
        count -= 1
    axis = PoolAxis(length, count, window, stride, padding, dilation)
    # One that begins inside has its first tap there; taps further apart can miss the axis.
    for number in range(min(count, -(-padding // stride))):
        if not axis.taps(number):
            raise ShapeError(
                f"{op}: window {number} along an axis of {length} has no element: padding "
                f"{padding}, dilation {dilation}, window {window}",
                op=op,
            )
    return axis


def adaptive_axes(
    op: str, x: Any, num_axes: int, output_size: int | Sequence[int | None] | None
) -> tuple[PoolAxis, ...]:
    """Windows that divide the last axes of `x` among as many outputs; None keeps a length."""
    check_input(op, x, num_axes)
    lengths = x.shape[-num_axes:]
    sizes: tuple[Any, ...] = (output_size,) * num_axes
    if isinstance(output_size, Sequence) and not isinstance(output_size, str):
        sizes = tuple(output_size)
    if len(sizes) != num_axes:
        raise ArgumentError(
            f"{op}: output_size must be one integer or {num_axes}, got {sizes}", op=op
        )
    wanted = [
        length if size is None else integer(op, "output_size", size)
        for size, length in zip(sizes, lengths, strict=True)
    ]
    if 0 in lengths:
        raise ShapeError(f"{op}: there is nothing to pool in shape {x.shape}", op=op)
    if min(wanted) < 1:
        raise ArgumentError(f"{op}: output_size must be at least 1, got {output_size}", op=op)
    return tuple(_divided(*parts) for parts in zip(lengths, wanted, strict=True))


@lru_cache(1 << 12)
def _divided(length: int, count: int) -> PoolAxis:
    if length % count == 0:
        size = length // count
        return PoolAxis(length, count, size, size, 0, 1)
    longest = max(-(-(one + 1) * length // count) - one * length // count for one in range(count))
    return PoolAxis(length, count, longest, 0, 0, 1)


def pooled(spec: Spec, axes: tuple[PoolAxis, ...]) -> Spec:
    """The spec of what has one element for each window."""
    return spec.with_shape((*spec.shape[: spec.ndim - len(axes)], *(one.count for one in axes)))


def unpooled(spec: Spec, axes: tuple[PoolAxis, ...]) -> Spec:
    """The spec of what the windows are on."""
    return spec.with_shape((*spec.shape[: spec.ndim - len(axes)], *(one.length for one in axes)))
