"""max_unpool1d, max_unpool2d, max_unpool3d: maxima brought back to where they were."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lumus.core.argument import check_tensors
from lumus.core.broadcast import integer
from lumus.core.kinds import Float, Int
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.ops.create.arange import arange
from lumus.ops.create.full import zeros
from lumus.ops.pool.windows import PerAxis, check_input, per_axis


def _unpooled(
    num_axes: int,
    x: Tensor[Float],
    indices: Tensor[Int],
    kernel_size: PerAxis,
    stride: PerAxis | None,
    padding: PerAxis,
    output_size: Sequence[int] | None,
) -> Tensor[Float]:
    op = f"max_unpool{num_axes}d"
    check_input(op, x, num_axes)
    check_tensors(op, indices)
    if indices.dtype.kind != "int":
        raise kind_error(op, indices.dtype, ("int",), what="indices")
    if indices.shape != x.shape:
        raise ShapeError(f"{op}: indices of shape {indices.shape} for an input of {x.shape}", op=op)
    window = per_axis(op, "kernel_size", kernel_size, num_axes, 1)
    step = window if stride is None else per_axis(op, "stride", stride, num_axes, 1)
    pad = per_axis(op, "padding", padding, num_axes, 0)
    lengths = tuple(
        (count - 1) * s - 2 * p + k
        for count, k, s, p in zip(x.shape[-num_axes:], window, step, pad, strict=True)
    )
    if output_size is not None:
        lengths = _wanted(op, output_size, lengths, step)
    if min(lengths) < 1:
        raise ShapeError(f"{op}: nothing is left of {x.shape} without a padding of {pad}", op=op)
    leading = x.shape[: x.ndim - num_axes]
    planes, count = math.prod(leading), math.prod(x.shape[-num_axes:])
    rows: Tensor[Int] = arange(planes, device=x.device).reshape((planes, 1))
    empty: Tensor[Float] = zeros((planes, math.prod(lengths)), dtype=x.dtype, device=x.device)
    filled = empty.at[rows, indices.reshape((planes, count))].set(x.reshape((planes, count)))
    return filled.reshape((*leading, *lengths))


def _wanted(
    op: str, output_size: Any, lengths: tuple[int, ...], step: tuple[int, ...]
) -> tuple[int, ...]:
    """The last lengths of `output_size`, each less than a stride away from the usual one."""
    if not isinstance(output_size, Sequence) or len(output_size) < len(lengths):
        raise ArgumentError(
            f"{op}: output_size must end with {len(lengths)} lengths, got {output_size!r}", op=op
        )
    wanted = tuple(integer(op, "output_size", length) for length in output_size[-len(lengths) :])
    for length, usual, s in zip(wanted, lengths, step, strict=True):
        if abs(length - usual) >= s:
            raise ArgumentError(
                f"{op}: output_size {wanted} must be less than a stride of {step} from {lengths}",
                op=op,
            )
    return wanted


def max_unpool1d(
    x: Tensor[Float],
    indices: Tensor[Int],
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor[Float]:
    """Zeros with each element of `x` at its index along the last axis; see `max_unpool2d`.

    **Shapes.** `x` and `indices` (N, C, L) or (C, L) give
    ``(L - 1) * stride - 2 * padding + kernel_size`` as the last axis, or that of `output_size`.
    **Kinds.** Float; the indices are Int.
    **Gradient.** `grad`, read at the indices; of elements with the same index the last has it.
    **Raises.** IndexRangeError for an index outside the output, ShapeError, KindError, and
    ArgumentError for an `output_size` a stride or more away from the usual one.

    >>> import lumus as lm
    >>> lm.nn.functional.max_unpool1d(lm.tensor([[3.0, 4.0]]), lm.tensor([[1, 2]]), 2).tolist()
    [[0.0, 3.0, 4.0, 0.0]]
    """
    return _unpooled(1, x, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    x: Tensor[Float],
    indices: Tensor[Int],
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor[Float]:
    """Zeros with each element of `x` at its index: what `max_pool2d` left, where it was.

    The indices are those that ``max_pool2d(..., return_indices=True)`` gives with the same
    arguments. Inputs of different sizes pool to the same: `output_size`, whose last two lengths
    count, says which it was.

    **Shapes.** `x` and `indices` (N, C, H, W) or (C, H, W) give
    ``(length - 1) * stride - 2 * padding + kernel_size`` for each of the last two axes.
    **Kinds.** Float; the indices are Int.
    **Gradient.** `grad`, read at the indices; of elements with the same index the last has it.
    **Raises.** IndexRangeError for an index outside the output, ShapeError, KindError, and
    ArgumentError for an `output_size` a stride or more away from the usual one.

    >>> import lumus as lm
    >>> y, indices = lm.nn.functional.max_pool2d(lm.tensor([[[1.0, 5.0], [2.0, 3.0]]]), 2,
    ...     return_indices=True)
    >>> lm.nn.functional.max_unpool2d(y, indices, 2).tolist()
    [[[0.0, 5.0], [0.0, 0.0]]]
    """
    return _unpooled(2, x, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    x: Tensor[Float],
    indices: Tensor[Int],
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor[Float]:
    """Zeros with each element of `x` at its index over the last three axes; see `max_unpool2d`.

    **Shapes.** `x` and `indices` (N, C, D, H, W) or (C, D, H, W) give
    ``(length - 1) * stride - 2 * padding + kernel_size`` for each of the last three axes.
    **Kinds.** Float; the indices are Int.
    **Gradient.** `grad`, read at the indices; of elements with the same index the last has it.
    **Raises.** IndexRangeError for an index outside the output, ShapeError, KindError, and
    ArgumentError for an `output_size` a stride or more away from the usual one.

    >>> import lumus as lm
    >>> x, indices = lm.ones((1, 1, 1, 1)), lm.full((1, 1, 1, 1), 3)
    >>> lm.nn.functional.max_unpool3d(x, indices, (1, 2, 2)).tolist()
    [[[[0.0, 0.0], [0.0, 1.0]]]]
    """
    return _unpooled(3, x, indices, kernel_size, stride, padding, output_size)
