"""Native arrays from NumPy ones and back, for the tests of kernels; bfloat16 through ml_dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from lumus import _native

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES: dict[str, tuple[int, np.dtype[Any]]] = {
    "float64": (0, np.dtype(np.float64)),
    "float32": (1, np.dtype(np.float32)),
    "float16": (2, np.dtype(np.float16)),
    "bfloat16": (3, BFLOAT16),
    "int64": (4, np.dtype(np.int64)),
    "int32": (5, np.dtype(np.int32)),
    "int16": (6, np.dtype(np.int16)),
    "int8": (7, np.dtype(np.int8)),
    "uint8": (8, np.dtype(np.uint8)),
    "bool": (9, np.dtype(np.bool_)),
}
CODES = {dtype: code for code, dtype in DTYPES.values()}
FLOATS = ("float64", "float32", "float16", "bfloat16")
INTS = ("int64", "int32", "int16", "int8", "uint8")


def native(array: np.ndarray[Any, Any]) -> _native.Array:
    """A native array on the memory of `array`, with its strides."""
    low, high = np.lib.array_utils.byte_bounds(array)
    address = array.__array_interface__["data"][0]
    return _native.from_buffer(
        address,
        address - low,
        high - address,
        CODES[array.dtype],
        array.shape,
        tuple(stride // array.itemsize for stride in array.strides),
        False,
        array,
    )


def to_numpy(array: _native.Array) -> np.ndarray[Any, Any]:
    result: np.ndarray[Any, Any] = np.asarray(array)
    return result.view(BFLOAT16) if array.dtype == CODES[BFLOAT16] else result


def layouts(array: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """The same values laid out in memory in different ways."""
    if array.ndim == 0:
        return {"contiguous": array}
    result = {"contiguous": np.ascontiguousarray(array)}
    spaced = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
    spaced[..., ::2] = array
    result["spaced"] = spaced[..., ::2]
    result["flipped"] = np.ascontiguousarray(array[..., ::-1])[..., ::-1]
    result["flipped_first"] = np.ascontiguousarray(array[::-1])[::-1]
    result["transposed"] = np.ascontiguousarray(array.T).T
    return result
