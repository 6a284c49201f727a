"""What is known of a tensor without its values: shape, dtype, device.

Equal specs are one object.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from lumus.core.broadcast import check_shape
from lumus.core.dtypes import DType

if TYPE_CHECKING:
    from lumus.core.device import Device


class Spec:
    """Shape, dtype and device of a tensor.

    Made by `spec_of`, which returns the same object for equal specs, so that comparing is ``is``
    and the hash is that of identity: every cache of dispatch is keyed by specs.
    """

    __slots__ = ("__weakref__", "device", "dtype", "ndim", "shape", "size")

    def __init__(self, shape: tuple[int, ...], dtype: DType[Any], device: Device) -> None:
        check_shape("shape", shape)
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self.ndim = len(shape)
        self.size = math.prod(shape)

    @property
    def nbytes(self) -> int:
        """Bytes that a dense array of this spec takes."""
        return self.size * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"{self.dtype.name}{list(self.shape)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (spec_of, (self.shape, self.dtype, self.device))

    def with_shape(self, shape: tuple[int, ...]) -> Spec:
        """The same dtype and device with another shape."""
        return spec_of(shape, self.dtype, self.device)

    def with_dtype(self, dtype: DType[Any]) -> Spec:
        """The same shape and device with another dtype."""
        return spec_of(self.shape, dtype, self.device)


_specs: WeakValueDictionary[tuple[tuple[int, ...], int, int], Spec] = WeakValueDictionary()


def spec_of(shape: tuple[int, ...], dtype: DType[Any], device: Device) -> Spec:
    """The one Spec with these parts."""
    key = (shape, dtype.code, id(device))
    spec = _specs.get(key)
    if spec is None:
        # NumPy's ints are equal to Python's, so the first spec of a shape would lend them to all.
        lengths = tuple([operator.index(length) for length in shape])
        spec = _specs.setdefault(key, Spec(lengths, dtype, device))
    return spec
