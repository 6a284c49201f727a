"""Native arrays as NumPy arrays of the numbers that they hold, and back."""

from __future__ import annotations

import numpy as np

from lumus import _native
from lumus.core.spec import Spec
from lumus.devices.reference.scalar import Array, converted


def numbers(data: _native.Array, spec: Spec) -> Array:
    """The elements; bfloat16, which NumPy does not have, as the float32 of the same value."""
    array: Array = np.asarray(data)
    if spec.dtype.name == "bfloat16":
        return np.asarray(array.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return array


def widened(array: Array) -> Array:
    """Floats as float64, for sums that are rounded once; ints and bools as they are."""
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def write(data: _native.Array, spec: Spec, array: Array) -> None:
    """Overwrites the elements, each converted to the dtype with one rounding."""
    if not spec.size:
        return
    values = converted(np.asarray(array), spec.dtype)
    if spec.dtype.name == "bfloat16":
        values = (np.ascontiguousarray(values).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
        values = values.reshape(np.shape(array))
    np.asarray(data)[...] = values


def stored(array: Array, spec: Spec) -> _native.Array:
    """A fresh native array with these elements, converted to the dtype of `spec`."""
    data = _native.empty(spec.dtype.code, spec.shape)
    write(data, spec, np.broadcast_to(array, spec.shape))
    return data
