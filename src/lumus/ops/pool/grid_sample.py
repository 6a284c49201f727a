"""grid_sample: pictures read at any points, between their elements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal

from lumus.core.argument import check_tensors, flag
from lumus.core.dtypes import float32, int64, is_half
from lumus.core.kinds import Bool, Float, Int
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, DTypeError, ShapeError
from lumus.ops.elementwise.where import where

SampleMode = Literal["bilinear", "nearest", "bicubic"]
PaddingMode = Literal["zeros", "border", "reflection"]


def grid_sample(
    x: Tensor[Float],
    grid: Tensor[Float],
    mode: SampleMode = "bilinear",
    padding_mode: PaddingMode = "zeros",
    align_corners: bool = False,
) -> Tensor[Float]:
    """`x` read at the points of `grid`, between its elements.

    A point holds one coordinate for each axis, the last axis first, from -1 to 1: the centres of
    the outermost elements with ``align_corners``, else their outer edges. ``bilinear`` weighs the
    neighbours along each axis by their distance, ``nearest`` takes the nearest (of two the even
    one), ``bicubic`` fits cubics with the slope -0.75. Beyond the edges are ``zeros``, the
    outermost elements (``border``), or the mirror image (``reflection``). A coordinate that is NaN
    is far outside.

    **Shapes.** `x` (N, C, H, W) and `grid` (N, H', W', 2) give (N, C, H', W'); `x` (N, C, D, H, W)
    and `grid` (N, D', H', W', 3) give (N, C, D', H', W').
    **Kinds.** Float, both of one dtype; half types compute in float32.
    **Gradient.** By `x`: `grad`, added with its weights to the elements read. By `grid`: that of
    the weights; ``nearest`` has none.
    **Raises.** ShapeError for shapes that do not fit, ArgumentError for another mode, and for
    ``bicubic`` on volumes; DTypeError, KindError.

    >>> import lumus as lm
    >>> x = lm.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> lm.nn.functional.grid_sample(x, lm.zeros((1, 1, 1, 2))).tolist()
    [[[[2.5]]]]
    """
    _check(x, grid, mode, padding_mode)
    aligned = flag("grid_sample", "align_corners", align_corners)
    dtype = x.dtype
    if is_half(dtype):
        x, grid = x.astype(float32), grid.astype(float32)
    lengths = x.shape[2:]
    points = math.prod(grid.shape[1:-1])
    axes = [
        _weighted(
            grid[..., -1 - axis].reshape((x.shape[0], points)), length, mode, padding_mode, aligned
        )
        for axis, length in enumerate(lengths)
    ]
    flat = x.reshape((*x.shape[:2], math.prod(lengths)))
    total = None
    for taps in itertools.product(*axes):
        term = _read(flat, lengths, taps)
        total = term if total is None else total + term
    assert total is not None
    return total.reshape((*x.shape[:2], *grid.shape[1:-1])).astype(dtype)


Tap = tuple[Tensor[Int], "Tensor[Bool] | None", "Tensor[Float] | None"]
"""For each point an element of an axis, whether it is there (None: always) and its weight."""


def _read(flat: Tensor[Float], lengths: tuple[int, ...], taps: Sequence[Tap]) -> Tensor[Float]:
    """The elements at one tap of each axis, by their weight."""
    place = is_there = weight = None
    for length, (index, inside, share) in zip(lengths, taps, strict=True):
        place = index if place is None else place * length + index
        if inside is not None:
            is_there = inside if is_there is None else is_there & inside
        if share is not None:
            weight = share if weight is None else weight * share
    assert place is not None
    shape = (*flat.shape[:2], place.shape[1])
    read = flat.take_along_axis(place.expand_dims(1).broadcast_to(shape), axis=2)
    if weight is not None:
        read = read * weight.expand_dims(1)
    # What stands at the edge does not matter where nothing is read.
    return read if is_there is None else where(is_there.expand_dims(1), read, 0.0)


def _weighted(
    coordinate: Tensor[Float], length: int, mode: str, padding_mode: str, aligned: bool
) -> list[Tap]:
    """The elements of one axis that each point is made of."""
    if aligned:
        place = (coordinate + 1.0) * ((length - 1) / 2)
    else:
        place = ((coordinate + 1.0) * length - 1.0) / 2.0
    # Further out all is the same; infinities would leave NaN in the weights.
    far = 4.0 * length + 8.0
    place = where(place.isnan(), -far, place)
    if padding_mode == "zeros":
        place = place.clip(-far, far)
    elif mode != "bicubic":
        place = _inside(place, length, padding_mode, aligned)
    if mode == "nearest":
        return [_tap(place.detach().round(), length, padding_mode, aligned, None)]
    below = place.detach().floor()
    distance = place - below
    weights = [1.0 - distance, distance] if mode == "bilinear" else _cubic(distance)
    first = 1.0 - len(weights) // 2
    return [
        _tap(below + (first + number), length, padding_mode, aligned, weight)
        for number, weight in enumerate(weights)
    ]


def _tap(
    place: Tensor[Float],
    length: int,
    padding_mode: str,
    aligned: bool,
    weight: Tensor[Float] | None,
) -> Tap:
    inside = None
    if padding_mode == "zeros":
        inside = (place >= 0.0) & (place <= length - 1.0)
    else:
        place = _inside(place, length, padding_mode, aligned)
    return place.clip(0.0, length - 1.0).astype(int64), inside, weight


def _inside(place: Tensor[Float], length: int, padding_mode: str, aligned: bool) -> Tensor[Float]:
    """Places on the axis for those beyond its ends."""
    if padding_mode == "reflection":
        low, high = (0.0, length - 1.0) if aligned else (-0.5, length - 0.5)
        if high == low:
            return place * 0.0
        period = 2 * (high - low)
        # Within one period from the low end, then back from its middle.
        far = (place - low) % period
        place = low + where(far > high - low, period - far, far)
    return place.clip(0.0, length - 1.0)


def _cubic(distance: Tensor[Float]) -> list[Tensor[Float]]:
    """Keys's weights of the four elements around a point, with the slope -0.75."""

    def near(x: Tensor[Float]) -> Tensor[Float]:
        return (1.25 * x - 2.25) * x * x + 1.0

    def far(x: Tensor[Float]) -> Tensor[Float]:
        return ((-0.75 * x + 3.75) * x - 6.0) * x + 3.0

    rest = 1.0 - distance
    return [far(distance + 1.0), near(distance), near(rest), far(rest + 1.0)]


def _check(x: Any, grid: Any, mode: str, padding_mode: str) -> None:
    check_tensors("grid_sample", x, grid)
    for what, one in (("an input", x), ("a grid", grid)):
        if one.dtype.kind != "float":
            raise kind_error("grid_sample", one.dtype, ("float",), what=what)
    if x.dtype is not grid.dtype:
        raise DTypeError(
            f"grid_sample: the input is {x.dtype.name}, the grid {grid.dtype.name}",
            hint=f"convert one, for example with .astype(lumus.{x.dtype.name})",
        )
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ArgumentError(
            f"grid_sample: mode must be 'bilinear', 'nearest' or 'bicubic', got {mode!r}"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ArgumentError(
            "grid_sample: padding_mode must be 'zeros', 'border' or 'reflection', got "
            f"{padding_mode!r}"
        )
    if (
        x.ndim not in (4, 5)
        or grid.ndim != x.ndim
        or grid.shape[0] != x.shape[0]
        or grid.shape[-1] != x.ndim - 2
    ):
        raise ShapeError(
            f"grid_sample: shapes {x.shape} and {grid.shape} do not fit: (N, C, H, W) and "
            "(N, H', W', 2), or (N, C, D, H, W) and (N, D', H', W', 3)"
        )
    if 0 in x.shape[2:]:
        raise ShapeError(f"grid_sample: there is nothing to read in shape {x.shape}")
    if mode == "bicubic" and x.ndim == 5:
        raise ArgumentError("grid_sample: 'bicubic' is for pictures, not for volumes")
