"""Fourier transforms as the sums that they are, in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lumus.core import kernels as k
from lumus.core.kernels.kernel import Kernel
from lumus.core.spec import Spec
from lumus.devices.reference.arrays import widened
from lumus.devices.reference.scalar import Array


def _pairs(array: Array) -> Array:
    return np.stack([np.real(array), np.imag(array)], axis=-1)


def _complex(array: Array) -> Array:
    return array[..., 0] + 1j * array[..., 1]


def _summed(x: Array, axis: int, sign: int, scaling: k.Scaling) -> Array:
    """The sums of x[j] * exp(sign * 2 pi i j k / n) along an axis."""
    length = x.shape[axis]
    steps = np.outer(np.arange(length), np.arange(length)) % length
    waves = np.exp(sign * 2j * np.pi * steps / length)
    sums = np.moveaxis(np.moveaxis(x, axis, -1) @ waves, -1, axis)
    return np.asarray(sums / {"none": 1.0, "ortho": np.sqrt(length), "full": length}[scaling])


def fourier(kernel: k.Fourier, arrays: Sequence[Array], output: Spec) -> Array:
    """Axis by axis."""
    x = _complex(widened(arrays[0]))
    for axis in kernel.axes:
        x = _summed(x, axis, 1 if kernel.inverse else -1, kernel.scaling)
    return _pairs(x)


def real_fourier(kernel: k.RealFourier, arrays: Sequence[Array], output: Spec) -> Array:
    """The first half of all sums."""
    sums = _summed(widened(arrays[0]), kernel.axis, -1, kernel.scaling)
    half = np.take(sums, np.arange(output.shape[kernel.axis]), kernel.axis)
    # Of real numbers these are real, but for rounding.
    ends = [0, half.shape[kernel.axis] - 1] if arrays[0].shape[kernel.axis] % 2 == 0 else [0]
    along = np.moveaxis(half, kernel.axis, -1)
    along[..., ends] = np.real(along[..., ends])
    return _pairs(half)


def inverse_real_fourier(
    kernel: k.InverseRealFourier, arrays: Sequence[Array], output: Spec
) -> Array:
    """The sums of all terms, the missing ones put in as conjugates."""
    half = np.moveaxis(_complex(widened(arrays[0])), kernel.axis, -1)
    whole = np.zeros((*half.shape[:-1], kernel.length), half.dtype)
    for place in range(half.shape[-1]):
        mirrored = -place % kernel.length
        if mirrored == place:
            whole[..., place] = np.real(half[..., place])
        else:
            whole[..., place] = half[..., place]
            whole[..., mirrored] = np.conj(half[..., place])
    sums = np.real(_summed(whole, -1, 1, kernel.scaling))
    return np.moveaxis(sums, -1, kernel.axis)


TABLE: dict[type[Kernel], Callable[[Any, Sequence[Array], Any], Any]] = {
    k.Fourier: fourier,
    k.InverseRealFourier: inverse_real_fourier,
    k.RealFourier: real_fourier,
}
