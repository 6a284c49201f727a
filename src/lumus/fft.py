"""Fourier transforms: the array API's `fft`, on tensors of (real, imaginary) pairs.

lumus has no complex dtype. A complex tensor is a Float tensor with a last axis of length 2, of
which index 0 is the real part and index 1 the imaginary one, in float32 or float64: what
``torch.view_as_real`` gives, and NumPy's ``z.view(float).reshape(*z.shape, 2)``. Axes are always
those of the tensor, so that -2 is the last one of a complex tensor that can be transformed.
"""

from lumus.ops.fft.fft import fft, fftn, ifft, ifftn
from lumus.ops.fft.fftfreq import fftfreq, rfftfreq
from lumus.ops.fft.fftshift import fftshift, ifftshift
from lumus.ops.fft.hfft import hfft, ihfft
from lumus.ops.fft.rfft import irfft, irfftn, rfft, rfftn

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]
