"""Errors for indices that only a kernel can find out of range, worded as the user's call."""

from __future__ import annotations

from typing import Any

from lumus.errors import IndexRangeError


def index_error(name: str, error: Any) -> IndexRangeError:
    """The user's error for a bad index that a kernel met."""
    return _out_of_range(name, *error.args[:4])


def index_error_of(op: str, axis: int, error: IndexRangeError) -> IndexRangeError:
    """The same error as the function that the user called would word it."""
    return _out_of_range(op, error.index, error.bound, error.position, axis)


def _out_of_range(
    op: str, index: int, bound: int, position: tuple[int, ...], axis: int
) -> IndexRangeError:
    where = f" (at position {list(position)} of the indices)" if position else ""
    return IndexRangeError(
        f"{op}: index {index} is out of range for axis {axis} of length {bound}{where}",
        op=op,
        index=index,
        bound=bound,
        position=tuple(position),
        axis=axis,
    )
