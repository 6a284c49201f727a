"""The kernels that bring elements elsewhere along axes; beside those of `core.kernels`."""

from __future__ import annotations

from typing import Literal

from lumus.core.frozen import frozen
from lumus.core.kernels import Kernel

Continuation = Literal["edge", "reflect", "symmetric", "wrap"]


@frozen
class Roll(Kernel):
    """The element at index i goes to ``(i + shift) % length`` along each axis.

    Shifts are below the lengths; along an axis without elements they are 0.
    """

    shifts: tuple[int, ...]


@frozen
class Pad(Kernel):
    """The input continued at the ends of each axis, never further than it reaches.

    By its outermost element (edge), its mirror image with that element once (reflect) or twice
    (symmetric), or from its other end (wrap).
    """

    mode: Continuation
    before: tuple[int, ...]
    after: tuple[int, ...]


@frozen
class PadGrad(Kernel):
    """Each element of a padded array added to the one that Pad took it from."""

    mode: Continuation
    before: tuple[int, ...]
    after: tuple[int, ...]


@frozen
class Windows(Kernel):
    """A read-only view: every `step`-th window of `size` elements along `axis`.

    The axis counts the windows, a new last axis their elements.
    """

    axis: int
    size: int
    step: int


@frozen
class WindowsGrad(Kernel):
    """Windows added up where they stand on an axis of `length`."""

    axis: int
    length: int
    step: int


@frozen
class Pieces(Kernel):
    """Views one after the other along `axis`; without `keepdims`, of length 1, they lack it."""

    axis: int
    sizes: tuple[int, ...]
    keepdims: bool
