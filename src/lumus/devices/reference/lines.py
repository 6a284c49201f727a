"""Scans along an axis, a step at a time, with floats in float64, rounded once; sorts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from lumus.core import kernels as k
from lumus.core.kernels.kernel import Kernel
from lumus.core.spec import Spec
from lumus.devices.reference.arrays import widened
from lumus.devices.reference.scalar import Array


def _first(array: Array, axis: int) -> Array:
    """The axis in front, so that `array[i]` is one step of a scan."""
    return np.moveaxis(array, axis, 0)


def scan(kernel: k.Scan, arrays: Sequence[Array], output: Spec) -> Array:
    """Each step combined with all before it."""
    steps = _first(widened(arrays[0]), kernel.axis)
    if steps.dtype.kind != "f":
        steps = steps.astype(np.int64)
    if kernel.reverse:
        steps = steps[::-1]
    accumulate = {
        "sum": np.add.accumulate,
        "prod": np.multiply.accumulate,
        "logsumexp": np.logaddexp.accumulate,
    }[kernel.kind]
    # Over no steps at all logaddexp has nothing to begin with.
    result = accumulate(steps, axis=0) if steps.size else steps
    return np.moveaxis(result[::-1] if kernel.reverse else result, 0, kernel.axis)


def running_extreme(
    kernel: k.RunningExtreme, arrays: Sequence[Array], outputs: Sequence[Spec]
) -> tuple[Array, Array]:
    """The extreme so far and where it was first; the first NaN stays."""
    steps = _first(arrays[0], kernel.axis)
    values, positions = steps.copy(), np.zeros(steps.shape, np.int64)
    for step in range(1, len(steps)):
        best, here = values[step - 1], steps[step]
        wins = here > best if kernel.kind == "max" else here < best
        wins = wins | (np.isnan(here) & ~np.isnan(best))
        values[step] = np.where(wins, here, best)
        positions[step] = np.where(wins, step, positions[step - 1])
    return np.moveaxis(values, 0, kernel.axis), np.moveaxis(positions, 0, kernel.axis)


def recurrence(kernel: k.Recurrence, arrays: Sequence[Array], output: Spec) -> Array:
    """s[i] = b[i] + a[i] * s[i-1], or from the end with the coefficient of the step before."""
    a, b = (_first(widened(one), kernel.axis) for one in arrays)
    result = b.copy()
    count = len(b)
    for step in range(1, count):
        if kernel.reverse:
            at = count - 1 - step
            result[at] = b[at] + a[at + 1] * result[at + 1]
        else:
            result[step] = b[step] + a[step] * result[step - 1]
    return np.moveaxis(result, 0, kernel.axis)


def _order(x: Array, axis: int, descending: bool) -> Array:
    """Positions in order; NumPy, too, has NaN last, and -0.0 equal to 0.0."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    # Turned round twice, equal elements keep their order.
    turned = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(turned, axis)


def sort(kernel: k.Sort, arrays: Sequence[Array], output: Spec) -> Array:
    """The elements in order."""
    (x,) = arrays
    return np.take_along_axis(x, _order(x, kernel.axis, kernel.descending), kernel.axis)


def argsort(kernel: k.Argsort, arrays: Sequence[Array], output: Spec) -> Array:
    """The positions of the elements in order."""
    return _order(arrays[0], kernel.axis, kernel.descending)


def topk(kernel: k.TopK, arrays: Sequence[Array], outputs: Sequence[Spec]) -> tuple[Array, Array]:
    """The first elements in order and their positions."""
    (x,) = arrays
    order = _order(x, kernel.axis, kernel.largest)
    positions = np.take(order, np.arange(kernel.k), axis=kernel.axis)
    return np.take_along_axis(x, positions, kernel.axis), positions


def search_sorted(kernel: k.SearchSorted, arrays: Sequence[Array], output: Spec) -> Array:
    """How many elements of its line stand before each value."""
    lines, values = arrays
    side: Literal["left", "right"] = "right" if kernel.right else "left"
    if lines.ndim == 1:
        return np.asarray(np.searchsorted(lines, values, side))
    found = np.zeros(values.shape, np.int64)
    for place in np.ndindex(values.shape[:-1]):
        found[place] = np.searchsorted(lines[place], values[place], side)
    return found


TABLE: dict[type[Kernel], Callable[[Any, Sequence[Array], Any], Any]] = {
    k.Argsort: argsort,
    k.Recurrence: recurrence,
    k.RunningExtreme: running_extreme,
    k.Scan: scan,
    k.SearchSorted: search_sorted,
    k.Sort: sort,
    k.TopK: topk,
}
