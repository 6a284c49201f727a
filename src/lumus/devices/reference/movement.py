"""Elements brought elsewhere: slices filled, arrays joined, indices followed, ramps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lumus import _native
from lumus.core import kernels as k
from lumus.core.broadcast import Shape
from lumus.core.spec import Spec
from lumus.devices.reference.arrays import widened
from lumus.devices.reference.scalar import Array


def copy(kernel: k.Copy | k.Cast, arrays: Sequence[Array], output: Spec) -> Array:
    """The same elements; a cast is what writing them to the output does."""
    return arrays[0]


def concat(kernel: k.Concat, arrays: Sequence[Array], output: Spec) -> Array:
    """One after the other."""
    return np.concatenate(arrays, axis=kernel.axis)


def unslice(kernel: k.Unslice, arrays: Sequence[Array], output: Spec) -> Array:
    """Zeros with the elements in a slice."""
    result = np.zeros(kernel.shape, arrays[0].dtype)
    result[_slices(kernel.starts, arrays[0].shape, kernel.steps)] = arrays[0]
    return result


def slice_put(kernel: k.SlicePut, arrays: Sequence[Array], output: Spec) -> Array:
    """A copy with values in a slice."""
    result = arrays[0].copy()
    result[_slices(kernel.starts, kernel.sizes, kernel.steps)] = arrays[1]
    return result


def _slices(starts: Shape, sizes: Shape, steps: Shape) -> tuple[slice, ...]:
    return tuple(
        _slice(start, size, step) for start, size, step in zip(starts, sizes, steps, strict=True)
    )


def _slice(start: int, size: int, step: int) -> slice:
    if size == 0:
        return slice(0, 0)
    stop = start + size * step
    # A negative stop would count from the end; None is "down to the first".
    return slice(start, stop if stop >= 0 else None, step)


def arange(kernel: k.Arange, arrays: Sequence[Array], output: Spec) -> Array:
    """The ramp start + i * step."""
    numbers = [kernel.start + i * kernel.step for i in range(kernel.count)]
    is_int = isinstance(kernel.start, int) and isinstance(kernel.step, int)
    return np.array(numbers, np.int64 if is_int else np.float64)


def linspace(kernel: k.Linspace, arrays: Sequence[Array], output: Spec) -> Array:
    """From start to stop evenly, the last exactly stop."""
    return np.linspace(kernel.start, kernel.stop, kernel.count)


# ----------------------------------------------------------------------------------------- indices


def index(kernel: k.Index, arrays: Sequence[Array], output: Spec) -> Array:
    """The first axes picked by index arrays together."""
    x, *indices = arrays
    return np.asarray(x[_checked(indices, x.shape)])


def index_put(kernel: k.IndexPut, arrays: Sequence[Array], output: Spec) -> Array:
    """A copy with values written, or added, position by position in row-major order."""
    x, values, *indices = arrays
    places = np.broadcast_arrays(*_checked(indices, x.shape))
    result = widened(x).copy() if kernel.accumulate else x.copy()
    rows = np.broadcast_to(values, places[0].shape + x.shape[len(places) :])
    for position in np.ndindex(places[0].shape):
        place = tuple(one[position] for one in places)
        if kernel.accumulate:
            result[place] = result[place] + rows[position]
        else:
            result[place] = rows[position]
    return result


def last_writer(kernel: k.LastWriter, arrays: Sequence[Array], output: Spec) -> Array:
    """True where no later position names the same place."""
    places = np.broadcast_arrays(*_checked(arrays, kernel.shape))
    last: dict[tuple[int, ...], tuple[int, ...]] = {}
    for position in np.ndindex(places[0].shape):
        last[tuple(int(one[position]) for one in places)] = position
    result = np.zeros(places[0].shape, np.bool_)
    for position in last.values():
        result[position] = True
    return result


def take_along_axis(kernel: k.TakeAlongAxis, arrays: Sequence[Array], output: Spec) -> Array:
    """For each position the element at an index of its own."""
    x, indices = arrays
    inside = _inside(indices, x.shape[kernel.axis], kernel.axis)
    return np.take_along_axis(x, inside, kernel.axis)


def scatter_add(kernel: k.ScatterAdd, arrays: Sequence[Array], output: Spec) -> Array:
    """Each value added at an index of its own, in row-major order."""
    x, indices, values = arrays
    axis = kernel.axis
    inside = _inside(indices, x.shape[axis], axis)
    result = widened(x).copy()
    for position in np.ndindex(inside.shape):
        place = (*position[:axis], int(inside[position]), *position[axis + 1 :])
        result[place] = result[place] + values[position]
    return result


def _checked(indices: Sequence[Array], shape: Shape) -> tuple[Array, ...]:
    return tuple(_inside(one, shape[axis], axis) for axis, one in enumerate(indices))


def _inside(indices: Array, bound: int, axis: int) -> Array:
    """Indices counted from the front; raises at the first that is out of range."""
    wide = indices.astype(np.int64)
    for position in np.ndindex(wide.shape):
        value = int(wide[position])
        if not -bound <= value < bound:
            raise _native.IndexOutOfRange(value, bound, position, axis, -1)
    return np.where(wide < 0, wide + bound, wide)
