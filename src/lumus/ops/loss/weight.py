"""Weights of a loss's elements."""

from __future__ import annotations

from typing import Any

from lumus.core.broadcast import Shape
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.loss.reduction import check_floats


def checked_weight(op: str, name: str, weight: Tensor[Any], shape: Shape) -> None:
    """Raises unless `weight` is Float and broadcasts to `shape`."""
    check_floats(op, weight)
    missing = len(shape) - weight.ndim
    fits = missing >= 0 and all(
        length in (1, wanted) for length, wanted in zip(weight.shape, shape[missing:], strict=True)
    )
    if not fits:
        raise ShapeError(
            f"{op}: {name} of shape {weight.shape} does not broadcast to {shape}", op=op
        )
