"""What may be given to pad for how far: one number, a pair, a pair for each axis, a dict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from lumus.core.argument import axis_of
from lumus.core.broadcast import integer, listed
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError


def ends_of(x: Tensor[Any], pad_width: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The widths before and after each axis."""
    if isinstance(pad_width, Mapping):
        pairs = [(0, 0)] * x.ndim
        for axis, width in cast("Mapping[Any, Any]", pad_width).items():
            pairs[axis_of("pad", x, axis)] = _pair(list(listed(width)))
    else:
        given = list(listed(pad_width))
        if all(isinstance(one, Iterable) and getattr(one, "ndim", True) for one in given):
            pairs = [_pair(list(one)) for one in given]
        else:
            pairs = [_pair(given)]
        pairs = pairs * x.ndim if len(pairs) == 1 else pairs
    if len(pairs) != x.ndim:
        raise ShapeError(
            f"pad: {len(pairs)} pairs of widths for {x.ndim} axes, shape {x.shape}", op="pad"
        )
    if any(width < 0 for pair in pairs for width in pair):
        raise ArgumentError(
            f"pad: widths cannot be negative, got {pad_width}",
            hint="to cut off, use a slice or .narrow(...)",
            op="pad",
        )
    return tuple([low for low, _ in pairs]), tuple([high for _, high in pairs])


def _pair(widths: Sequence[Any]) -> tuple[int, int]:
    if len(widths) not in (1, 2):
        raise ShapeError(
            f"pad: the widths of an axis are one number or (before, after), got {tuple(widths)}",
            op="pad",
        )
    return integer("pad", "a width", widths[0]), integer("pad", "a width", widths[-1])
