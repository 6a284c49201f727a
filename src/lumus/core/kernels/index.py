"""Kernels that read and write at indices."""

from __future__ import annotations

from lumus.core.broadcast import Shape
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel


@frozen
class TakeAlongAxis(Kernel):
    """Of (x, indices): x at the index given for each position, along `axis`."""

    axis: int


@frozen
class ScatterAdd(Kernel):
    """Of (x, indices, values): x with each value added at its index along `axis`."""

    axis: int


@frozen
class Index(Kernel):
    """Of (x, indices...): the first axes of x indexed by the index arrays broadcast together."""


@frozen
class IndexPut(Kernel):
    """Of (x, values, indices...): a copy of x with values written there; the last write wins."""

    accumulate: bool


@frozen
class LastWriter(Kernel):
    """Of (indices...): True where a position is the last to write its index into `shape`."""

    shape: Shape
