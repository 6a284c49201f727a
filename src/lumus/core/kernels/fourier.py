"""The kernels of Fourier transforms; beside those of `core.kernels`.

A complex array has a last axis of length 2, with the real and the imaginary part. float32 and
float64 alone.
"""

from __future__ import annotations

from typing import Literal

from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel

Scaling = Literal["none", "ortho", "full"]
"""What sums over n elements are divided by: 1, the root of n, n."""


@frozen
class Fourier(Kernel):
    """The sums of x[j] * exp(-2 pi i j k / n), or +, over axes of a complex array, scaled."""

    axes: tuple[int, ...]
    inverse: bool
    scaling: Scaling


@frozen
class RealFourier(Kernel):
    """Of a real array the sums for k up to n // 2: the others are their conjugates."""

    axis: int
    scaling: Scaling


@frozen
class InverseRealFourier(Kernel):
    """The `length` real sums whose terms beyond n // 2 are the conjugates of those given."""

    axis: int
    length: int
    scaling: Scaling
