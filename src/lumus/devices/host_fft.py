"""Fourier transforms for devices on the host: pocketfft through NumPy.

NumPy releases the interpreter lock while it computes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lumus.core import kernels as k
from lumus.core.kernels.kernel import Kernel

Array: TypeAlias = NDArray[Any]


def as_complex(array: Array) -> Array:
    """An array of (real, imaginary) pairs as one of complex numbers; a view if it is dense."""
    dense = np.ascontiguousarray(array)
    wide = np.complex64 if dense.dtype == np.float32 else np.complex128
    return dense.view(wide)[..., 0]


def _norm(scaling: k.Scaling, *, inverse: bool) -> Any:
    """NumPy's name for what the sums are divided by."""
    if scaling == "ortho":
        return "ortho"
    return "backward" if (scaling == "full") is inverse else "forward"


def fourier(kernel: k.Fourier, x: Array, out: Array | None = None) -> Array:
    """Over several axes of complex numbers."""
    transform = np.fft.ifftn if kernel.inverse else np.fft.fftn
    norm = _norm(kernel.scaling, inverse=kernel.inverse)
    return transform(as_complex(x), axes=kernel.axes, norm=norm, out=out)


def real_fourier(kernel: k.RealFourier, x: Array, out: Array | None = None) -> Array:
    """Of real numbers along an axis."""
    return np.fft.rfft(x, axis=kernel.axis, norm=_norm(kernel.scaling, inverse=False), out=out)


def inverse_real_fourier(kernel: k.InverseRealFourier, x: Array, out: Array | None = None) -> Array:
    """Back to real numbers along an axis."""
    norm = _norm(kernel.scaling, inverse=True)
    return np.fft.irfft(as_complex(x), n=kernel.length, axis=kernel.axis, norm=norm, out=out)


TABLE: dict[type[Kernel], Callable[..., Array]] = {
    k.Fourier: fourier,
    k.InverseRealFourier: inverse_real_fourier,
    k.RealFourier: real_fourier,
}
"""Each a function of the kernel, an array, and where to write the result, complex or real."""
