"""Kernels that bring elements elsewhere: views, pieces, windows."""

from __future__ import annotations

from typing import Literal

from lumus.core.broadcast import Shape
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel

Continuation = Literal["edge", "reflect", "symmetric", "wrap"]


@frozen
class Reshape(Kernel):
    """The same elements in row-major order under another shape: a view where strides allow."""

    shape: Shape


@frozen
class Permute(Kernel):
    """A view with the axes in another order."""

    axes: tuple[int, ...]


@frozen
class Slice(Kernel):
    """A view of `sizes` elements from `starts` by `steps` (not zero) along each axis."""

    starts: tuple[int, ...]
    sizes: Shape
    steps: tuple[int, ...]


@frozen
class Unslice(Kernel):
    """Zeros of `shape` with the input's elements from `starts` by `steps`.

    What Slice transposes to.
    """

    shape: Shape
    starts: tuple[int, ...]
    steps: tuple[int, ...]


@frozen
class SlicePut(Kernel):
    """Of (x, values): a copy of x with values in a slice of it."""

    starts: tuple[int, ...]
    sizes: Shape
    steps: tuple[int, ...]


@frozen
class BroadcastTo(Kernel):
    """A view repeated to a larger shape."""

    shape: Shape


@frozen
class Concat(Kernel):
    """The inputs one after the other along `axis`."""

    axis: int


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
