"""Views of an array of the host, one after the other along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lumus.core.broadcast import Shape
from lumus.core.kernels.shape import Pieces


def pieces_of(kernel: Pieces, shape: Shape) -> Callable[[Any], Any]:
    """What gives the views of an array of that shape."""
    axis, steps = kernel.axis, (1,) * len(shape)
    windows: list[tuple[Shape, Shape]] = []
    start = 0
    for size in kernel.sizes:
        starts, sizes = [0] * len(shape), list(shape)
        starts[axis], sizes[axis] = start, size
        windows.append((tuple(starts), tuple(sizes)))
        start += size
    if kernel.keepdims:
        return lambda x: tuple([x.slice(*window, steps) for window in windows])
    rest = shape[:axis] + shape[axis + 1 :]
    return lambda x: tuple([x.slice(*window, steps).reshape(rest) for window in windows])
