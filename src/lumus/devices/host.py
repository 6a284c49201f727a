"""What the devices whose memory is the host's have in common.

Native arrays, seen by NumPy as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lumus import _native
from lumus.core.device import Data, Device, out_of_memory
from lumus.core.spec import Spec


class HostDevice(Device):
    """Memory from the native allocator; kernels are left to the subclass."""

    def allocate(self, spec: Spec) -> Data:
        try:
            return _native.empty(spec.dtype.code, spec.shape)
        except MemoryError:
            raise out_of_memory("empty", spec) from None

    def copy_in(self, array: Any, spec: Spec) -> Data:
        data = self.allocate(spec)
        if spec.size:
            np.copyto(np.asarray(data), array, casting="equiv")
        return data

    def copy_out(self, data: Data, spec: Spec) -> Any:
        return np.asarray(data)

    def full(self, spec: Spec, value: float | int | bool) -> Data:
        try:
            return _native.full(spec.dtype.code, spec.shape, value)
        except MemoryError:
            raise out_of_memory("full", spec) from None

    def synchronize(self) -> None:
        """Host kernels are done when they return."""
