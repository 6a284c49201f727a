"""What sort and argsort share: their arguments."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import axis_of, flag
from lumus.core.frozen import frozen
from lumus.core.tensor import Tensor


@frozen
class OrderAttrs:
    """The axis, counted from the front, and whether the greatest comes first."""

    axis: int
    descending: bool


def order_axis(op: str, x: Tensor[Any], axis: int, stable: bool) -> int:
    """The axis, counted from the front. Every order is stable, so `stable` is only checked."""
    flag(op, "stable", stable)
    return axis_of(op, x, axis)
