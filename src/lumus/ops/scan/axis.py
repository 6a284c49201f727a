"""What all scans share: their axis, and the elements one step earlier."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import axis_of
from lumus.core.constant import constant
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError


@frozen
class ScanAttrs:
    """The axis, counted from the front."""

    axis: int


@frozen
class DirectedAttrs:
    """The axis, counted from the front, and whether to run from its end."""

    axis: int
    reverse: bool


def scan_axis(op: str, x: Tensor[Any], axis: int | None) -> int:
    """The axis, counted from the front; the only one if it is not named."""
    if axis is not None:
        return axis_of(op, x, axis)
    if isinstance(x, Tensor) and x.ndim > 1:
        raise ArgumentError(
            f"{op}: a tensor of {x.ndim} axes needs to be told which: axis=...",
            hint=f"for all elements in row-major order: x.reshape(-1).{op}()",
            op=op,
        )
    return axis_of(op, x, 0)


def one_before(x: Tensor[Float], axis: int, first: float) -> Tensor[Float]:
    """The elements moved on by one step, with `first` at the beginning."""
    length = x.shape[axis]
    if not length:
        return x
    shape = tuple(1 if place == axis else size for place, size in enumerate(x.shape))
    beginning = constant(first, x.dtype, x.device, "scan").broadcast_to(shape)
    return apply("concat", beginning, x.narrow(axis, 0, length - 1), axis=axis)
