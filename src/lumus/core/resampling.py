"""Axes brought to another length: for each output the elements of the input that it is made of."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lumus.core.frozen import frozen

ResampleMode = Literal["nearest", "nearest-exact", "linear", "cubic", "mean"]

Table: TypeAlias = tuple[NDArray[Any], NDArray[Any]]
"""(indices, weights), each (taps, count): a weight of 0 means no element."""

_CUBIC = -0.75
_CUBIC_ANTIALIASED = -0.5
"""The slope of the cubic kernel at 1, as image libraries have it: without antialias, and with."""


@frozen
class ResampleAxis:
    """An axis of `length` elements brought to `count`.

    Output o lies at ``(o + offset) * step - offset`` between the elements, with the step a fraction
    of two integers and the offset 1/2, or 0 with `align_corners`; ends continue with the outermost
    element. nearest takes the element at the floor of ``o * step``, nearest-exact that of
    ``(o + 1/2) * step``; linear and cubic weigh the two and four around it. mean averages the
    elements from ``floor(o * length / count)`` to ``ceil((o + 1) * length / count)``.

    With `antialias`, linear and cubic stretch their kernel by a step above one, so that it covers
    all elements between outputs, and share out a weight of one among those that there are.
    """

    length: int
    count: int
    mode: ResampleMode
    step: tuple[int, int]
    align_corners: bool
    antialias: bool = False

    def table(self) -> Table:
        """The elements of each output."""
        if self.mode == "mean":
            return _means(self.length, self.count)
        step, unit = self.step
        if self.antialias:
            return _stretched(self.mode, step / unit, self.length, self.count)
        if self.mode == "nearest":
            return _nearest([output * step // unit for output in range(self.count)], self.length)
        if self.mode == "nearest-exact":
            places = [(2 * output + 1) * step // (2 * unit) for output in range(self.count)]
            return _nearest(places, self.length)
        # In integers, so that equal distances are equal to the bit.
        if self.align_corners:
            exact = [divmod(output * step, unit) for output in range(self.count)]
        else:
            unit *= 2
            exact = [
                divmod((2 * output + 1) * step - unit // 2, unit) for output in range(self.count)
            ]
        below = np.array([place for place, _ in exact], np.int64)
        distance = np.array([rest / unit for _, rest in exact])
        weights = _linear if self.mode == "linear" else _cubic
        return _weighted(below, weights(distance), self.length)


def _nearest(places: list[int], length: int) -> Table:
    indices = np.minimum(np.array([places], np.int64), length - 1)
    return indices, np.ones(indices.shape)


def _linear(distance: NDArray[Any]) -> list[NDArray[Any]]:
    return [1 - distance, distance]


def _cubic(distance: NDArray[Any]) -> list[NDArray[Any]]:
    return [_keys(place, _CUBIC) for place in (1 + distance, distance, 1 - distance, 2 - distance)]


def _keys(x: NDArray[Any], slope: float) -> NDArray[Any]:
    """The cubic kernel of Keys (1981) at distances that are not negative."""
    near = ((slope + 2) * x - (slope + 3)) * x * x + 1
    far = ((slope * x - 5 * slope) * x + 8 * slope) * x - 4 * slope
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _stretched(mode: ResampleMode, step: float, length: int, count: int) -> Table:
    """The kernel over all elements that it covers when it is as wide as the outputs are apart."""
    stretch = max(step, 1.0)
    reach = stretch * (1 if mode == "linear" else 2)
    centers = step * (np.arange(count) + 0.5)
    begins = np.maximum((centers - reach + 0.5).astype(np.int64), 0)
    ends = np.minimum((centers + reach + 0.5).astype(np.int64), length)
    taps = np.arange(max(1, int((ends - begins).max())))[:, None]
    is_there = taps < ends - begins
    indices = np.where(is_there, begins + taps, np.minimum(begins, length - 1))
    distance = np.abs(indices + 0.5 - centers) / stretch
    if mode == "linear":
        weights = np.maximum(0.0, 1 - distance)
    else:
        weights = _keys(distance, _CUBIC_ANTIALIASED)
    weights = np.where(is_there, weights, 0.0)
    return indices, weights / weights.sum(axis=0)


def _weighted(below: NDArray[Any], weights: list[NDArray[Any]], length: int) -> Table:
    """Elements around `below`; those beyond an end are the outermost, with the sum of weights."""
    taps = np.arange(len(weights))[:, None] - (len(weights) // 2 - 1)
    indices = np.clip(below + taps, 0, length - 1)
    summed = np.array(weights)
    for tap in range(len(weights) - 1, 0, -1):
        is_same = indices[tap] == indices[tap - 1]
        summed[tap - 1] += np.where(is_same, summed[tap], 0.0)
        summed[tap][is_same] = 0.0
    return indices, summed


def _means(length: int, count: int) -> Table:
    outputs = np.arange(count)
    begins = outputs * length // count
    sizes = -(-(outputs + 1) * length // count) - begins
    taps = np.arange(sizes.max())[:, None]
    is_there = taps < sizes
    indices = np.where(is_there, begins + taps, begins)
    return indices, np.where(is_there, 1.0 / sizes, 0.0)


def transposed(table: Table, length: int) -> Table:
    """The outputs that each of the `length` elements is in: how gradients go back."""
    indices, weights = table
    taps, outputs = np.nonzero(weights)
    elements, values = indices[taps, outputs], weights[taps, outputs]
    order = np.lexsort((outputs, elements))
    elements, outputs, values = elements[order], outputs[order], values[order]
    counts = np.bincount(elements, minlength=length)
    number = np.arange(len(elements)) - (np.cumsum(counts) - counts)[elements]
    shape = (max(1, int(counts.max())), length)
    back, back_weights = np.zeros(shape, np.int64), np.zeros(shape)
    # What is absent reads the first output there is, so as to read none that is far.
    first = np.zeros(length, np.int64)
    first[elements[number == 0]] = outputs[number == 0]
    back[:] = first
    back[number, elements] = outputs
    back_weights[number, elements] = values
    return back, back_weights
