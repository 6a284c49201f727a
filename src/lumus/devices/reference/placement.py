"""Elements brought elsewhere along axes, as NumPy does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lumus.core import kernels as k
from lumus.core.kernels.kernel import Kernel
from lumus.core.spec import Spec
from lumus.devices.pieces import pieces_of
from lumus.devices.reference.arrays import widened
from lumus.devices.reference.scalar import Array


def roll(kernel: k.Roll, arrays: Sequence[Array], output: Spec) -> Array:
    """Moved along each axis."""
    if not output.ndim:
        return arrays[0]  # which NumPy does not roll
    return np.roll(arrays[0], kernel.shifts, tuple(range(output.ndim)))


def pad(kernel: k.Pad, arrays: Sequence[Array], output: Spec) -> Array:
    """Continued beyond its ends."""
    ends = list(zip(kernel.before, kernel.after, strict=True))
    return np.pad(arrays[0], ends, mode=kernel.mode)


def pad_grad(kernel: k.PadGrad, arrays: Sequence[Array], output: Spec) -> Array:
    """Each element added where padding the indices says that it came from."""
    places = [
        np.pad(np.arange(length), (low, high), mode=kernel.mode)
        for length, low, high in zip(output.shape, kernel.before, kernel.after, strict=True)
    ]
    grad = widened(arrays[0])
    result = np.zeros(output.shape, grad.dtype)
    np.add.at(result, np.ix_(*places), grad)
    return result


def windows_grad(kernel: k.WindowsGrad, arrays: Sequence[Array], output: Spec) -> Array:
    """Each window added where it stood."""
    grad = np.moveaxis(widened(arrays[0]), kernel.axis, 0)
    result = np.zeros(output.shape, grad.dtype)
    along = np.moveaxis(result, kernel.axis, -1)
    for number, window in enumerate(grad):
        start = number * kernel.step
        along[..., start : start + window.shape[-1]] += window
    return result


TABLE: dict[type[Kernel], Callable[[Any, Sequence[Array], Spec], Array]] = {
    k.Pad: pad,
    k.PadGrad: pad_grad,
    k.Roll: roll,
    k.WindowsGrad: windows_grad,
}
VIEWS: dict[type[Kernel], Callable[[Any, Any], Any]] = {
    k.Pieces: lambda kernel, x: pieces_of(kernel, x.shape)(x),
    k.Windows: lambda kernel, x: x.windows(kernel.axis, kernel.size, kernel.step),
}
