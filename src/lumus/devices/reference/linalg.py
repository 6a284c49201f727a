"""Linear algebra in float64, rounded once at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lumus.core.kernels.kernel import Kernel
from lumus.devices import host_linalg
from lumus.devices.reference.arrays import widened
from lumus.devices.reference.scalar import Array


def compute(kernel: Kernel, arrays: Sequence[Array], output: Any) -> Any:
    """NumPy's function of the kernel, in float64."""
    return host_linalg.TABLE[type(kernel)](kernel, *map(widened, arrays))


TABLE: dict[type[Kernel], Callable[[Any, Sequence[Array], Any], Any]] = dict.fromkeys(
    host_linalg.TABLE, compute
)
