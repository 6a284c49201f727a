"""Pools: all taps of all windows laid out beside each other, then reduced. Resampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lumus.core import kernels as k
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.pool import PoolAxis
from lumus.core.resampling import transposed
from lumus.core.spec import Spec
from lumus.devices.reference.arrays import widened
from lumus.devices.reference.scalar import Array


def _cells(axes: Sequence[PoolAxis]) -> tuple[Array, Array]:
    """For each window and tap, both numbered in row-major order: its element, and if it has one.

    Elements are numbered in row-major order, too.
    """
    elements = np.zeros((1, 1), np.int64)
    exists = np.ones((1, 1), bool)
    for axis in axes:
        places = np.zeros((axis.count, axis.window), np.int64)
        inside = np.zeros((axis.count, axis.window), bool)
        for window in range(axis.count):
            for tap in axis.taps(window):
                places[window, tap] = axis.first(window) + tap * axis.dilation
                inside[window, tap] = True
        shape = (elements.shape[0] * axis.count, elements.shape[1] * axis.window)
        outer = elements[:, None, :, None] * axis.length
        elements = (outer + places[None, :, None, :]).reshape(shape)
        exists = (exists[:, None, :, None] & inside[None, :, None, :]).reshape(shape)
    return elements, exists


def _planes(array: Array, num_axes: int) -> Array:
    """The last axes made one, and those before them."""
    shape = array.shape[: array.ndim - num_axes]
    return array.reshape((int(np.prod(shape)), int(np.prod(array.shape[len(shape) :]))))


def max_pool(kernel: k.MaxPool, arrays: Sequence[Array], outputs: Sequence[Spec]) -> list[Array]:
    """The first maximum among the taps that exist; NumPy's argmax takes the first NaN."""
    elements, exists = _cells(kernel.axes)
    x = _planes(arrays[0], len(kernel.axes))
    taps = np.where(exists, x[:, elements], -np.inf)
    places = taps.argmax(axis=-1)
    # Where all are -inf, padding must not be the first.
    first = np.broadcast_to(exists.argmax(axis=-1), places.shape)
    places = np.where(taps.max(axis=-1) == -np.inf, first, places)
    values = np.take_along_axis(taps, places[..., None], axis=-1)
    return [values.reshape(outputs[0].shape), places.reshape(outputs[1].shape)]


def _chosen(axes: Sequence[PoolAxis], places: Array) -> Array:
    """The element that each window's place names, for all planes."""
    elements, _ = _cells(axes)
    return elements[np.arange(len(elements)), _planes(places, len(axes))]


def max_pool_grad(kernel: k.MaxPoolGrad, arrays: Sequence[Array], output: Spec) -> Array:
    """Added one by one."""
    grad, places = arrays
    num_axes = len(kernel.axes)
    result = _planes(np.zeros(output.shape, widened(grad).dtype), num_axes)
    chosen = _chosen(kernel.axes, places)
    rows = np.arange(len(chosen))[:, None]
    np.add.at(result, (rows, chosen), widened(_planes(grad, num_axes)))
    return result.reshape(output.shape)


def max_pool_take(kernel: k.MaxPoolTake, arrays: Sequence[Array], output: Spec) -> Array:
    """Read one by one."""
    x, places = arrays
    picked = np.take_along_axis(_planes(x, len(kernel.axes)), _chosen(kernel.axes, places), axis=1)
    return picked.reshape(output.shape)


def _divisors(kernel: k.MeanPool | k.MeanPoolGrad) -> Array:
    """The divisor of each window, in row-major order."""
    if kernel.divisor is not None:
        return np.array(float(kernel.divisor))
    result = np.ones(1)
    for axis in kernel.axes:
        counts = [axis.divisor(one, kernel.counts_padding) for one in range(axis.count)]
        result = np.multiply.outer(result, np.array(counts, float)).ravel()
    return result


def mean_pool(kernel: k.MeanPool, arrays: Sequence[Array], output: Spec) -> Array:
    """The sum of the taps that exist, divided."""
    elements, exists = _cells(kernel.axes)
    x = widened(_planes(arrays[0], len(kernel.axes)))
    sums = np.where(exists, x[:, elements], 0.0).sum(axis=-1)
    return np.asarray((sums / _divisors(kernel)).reshape(output.shape))


def mean_pool_grad(kernel: k.MeanPoolGrad, arrays: Sequence[Array], output: Spec) -> Array:
    """Added to each element of its window, one by one."""
    elements, exists = _cells(kernel.axes)
    grad = widened(_planes(arrays[0], len(kernel.axes))) / _divisors(kernel)
    result = _planes(np.zeros(output.shape), len(kernel.axes))
    windows, taps = np.nonzero(exists)
    rows = np.arange(len(grad))[:, None]
    np.add.at(result, (rows, elements[windows, taps]), grad[:, windows])
    return result.reshape(output.shape)


def _along(array: Array, axis: int, indices: Array, weights: Array) -> Array:
    """Each output along an axis as the sum of its weighted elements."""
    moved = np.moveaxis(array, axis, -1)
    result = np.zeros((*moved.shape[:-1], indices.shape[1]))
    for tap in range(len(indices)):
        terms = moved[..., indices[tap]] * weights[tap]
        result += np.where(weights[tap] == 0, 0.0, terms)
    return np.moveaxis(result, -1, axis)


def resample(kernel: k.Resample, arrays: Sequence[Array], output: Spec) -> Array:
    """One axis after the other."""
    result = widened(arrays[0])
    for number, axis in enumerate(kernel.axes):
        result = _along(result, number - len(kernel.axes), *axis.table())
    return result


def resample_grad(kernel: k.ResampleGrad, arrays: Sequence[Array], output: Spec) -> Array:
    """One axis after the other."""
    result = widened(arrays[0])
    for number, axis in enumerate(kernel.axes):
        table = transposed(axis.table(), axis.length)
        result = _along(result, number - len(kernel.axes), *table)
    return result


TABLE: dict[type[Kernel], Callable[[Any, Sequence[Array], Any], Any]] = {
    k.MaxPool: max_pool,
    k.MaxPoolGrad: max_pool_grad,
    k.MaxPoolTake: max_pool_take,
    k.MeanPool: mean_pool,
    k.MeanPoolGrad: mean_pool_grad,
    k.Resample: resample,
    k.ResampleGrad: resample_grad,
}
