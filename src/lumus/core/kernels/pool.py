"""The kernels of pooling and resampling; beside those of `core.kernels`."""

from __future__ import annotations

from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.resampling import ResampleAxis


@frozen
class PoolAxis:
    """Windows along an axis of `length` elements.

    Tap k of window o is the element at ``o * stride - padding + k * dilation``; where the axis has
    none, it is padding. With `stride` 0 the windows divide the axis among them: window o goes from
    ``floor(o * length / count)`` to ``ceil((o + 1) * length / count)``, and the longest has
    `window` taps. Each window has an element.
    """

    length: int
    count: int
    window: int
    stride: int
    padding: int
    dilation: int

    def first(self, window: int) -> int:
        """Where a window begins; negative in the padding."""
        if self.stride == 0:
            return window * self.length // self.count
        return window * self.stride - self.padding

    def taps(self, window: int) -> range:
        """The taps of a window that are elements."""
        first = self.first(window)
        if self.stride == 0:
            return range(-(-(window + 1) * self.length // self.count) - first)
        begin = max(0, -(first // self.dilation))
        end = min(self.window, -((first - self.length) // self.dilation))
        return range(begin, end)

    def divisor(self, window: int, counts_padding: bool) -> int:
        """The taps of a window, with those in the padding, as far as it goes, or without."""
        if not counts_padding:
            return len(self.taps(window))
        first = self.first(window)
        return min(first + self.window, self.length + self.padding) - first


@frozen
class MaxPool(Kernel):
    """The first maximum of each window of the last axes, NaN above all; and its place.

    The place is the number of the tap in row-major order, in windows of the largest size.
    """

    axes: tuple[PoolAxis, ...]


@frozen
class MaxPoolGrad(Kernel):
    """Of (grad, places): each element of grad added to the element that its place names."""

    axes: tuple[PoolAxis, ...]


@frozen
class MaxPoolTake(Kernel):
    """Of (x, places): the element of x that each place names."""

    axes: tuple[PoolAxis, ...]


@frozen
class MeanPool(Kernel):
    """The sum of each window of the last axes over its divisor; evenly spaced, without dilation.

    The divisor counts the taps, those in the padding with `counts_padding`, unless it is given.
    """

    axes: tuple[PoolAxis, ...]
    counts_padding: bool
    divisor: int | None


@frozen
class MeanPoolGrad(Kernel):
    """Each element of grad, over the divisor of its window, added to all elements of the window."""

    axes: tuple[PoolAxis, ...]
    counts_padding: bool
    divisor: int | None


@frozen
class Resample(Kernel):
    """The last axes brought to another length, each by its table of weighted elements."""

    axes: tuple[ResampleAxis, ...]


@frozen
class ResampleGrad(Kernel):
    """What Resample transposes to."""

    axes: tuple[ResampleAxis, ...]
