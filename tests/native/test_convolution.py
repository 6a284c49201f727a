"""The native convolutions against sums over taps in NumPy: every way that they are computed."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from lumus import _native
from tests.native.native_arrays import DTYPES, native, to_numpy

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Shape:
    """A convolution: lengths of x, taps, and channels of one group."""

    batch: int
    channels: int
    results: int
    size: tuple[int, ...]
    taps: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int = 1

    @property
    def positions(self) -> tuple[int, ...]:
        parts = zip(self.size, self.taps, self.stride, self.padding, self.dilation, strict=True)
        return tuple(
            (size + 2 * zeros - spread * (taps - 1) - 1) // step + 1
            for size, taps, step, zeros, spread in parts
        )

    @property
    def x(self) -> tuple[int, ...]:
        return (self.batch, self.groups * self.channels, *self.size)

    @property
    def weight(self) -> tuple[int, ...]:
        return (self.groups * self.results, self.channels, *self.taps)

    @property
    def y(self) -> tuple[int, ...]:
        return (self.batch, self.groups * self.results, *self.positions)

    def bound(self) -> Bound:
        return Bound(self)

    def __str__(self) -> str:
        return (
            f"{self.batch}x{self.groups}x{self.channels}-{self.results} {self.size} "
            f"k{self.taps} s{self.stride} p{self.padding} d{self.dilation}"
        )


class Bound:
    """The steps of a convolution, called with arrays."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.steps = _native.Convolution(
            shape.size, shape.positions, shape.taps, shape.stride, shape.padding, shape.dilation,
            shape.groups,
        )  # fmt: skip

    def forward(self, x: _native.Array, weight: _native.Array, *bias: _native.Array) -> Any:
        step = self.steps.forward_step(bool(bias))
        return _native.StepRun(step, [(x.dtype, self.shape.y)])(x, weight, *bias)

    def transpose(self, y: _native.Array, weight: _native.Array, *bias: _native.Array) -> Any:
        step = self.steps.transpose_step(bool(bias))
        return _native.StepRun(step, [(y.dtype, self.shape.x)])(y, weight, *bias)

    def weight(self, x: _native.Array, y: _native.Array) -> Any:
        step = self.steps.weight_step()
        return _native.StepRun(step, [(x.dtype, self.shape.weight)])(x, y)


def square(batch, channels, results, size, taps, stride=1, padding=0, dilation=1, groups=1):
    two = [(one, one) for one in (size, taps, stride, padding, dilation)]
    return Shape(batch, channels, results, *two, groups)


SHAPES = [
    # Many bands, pictures with some left over, several panels of channels, long chains.
    square(2, 3, 20, 41, 3, padding=1),
    square(5, 4, 17, 7, 3, padding=1),
    square(1, 60, 33, 6, 3, padding=2),
    square(2, 16, 70, 9, 3, stride=2, padding=1),
    square(3, 5, 18, 12, 4, stride=3, padding=5, dilation=2),
    square(1, 2, 40, 20, 5, stride=2, padding=2, groups=3),
    square(2, 7, 24, 10, 1, stride=2),
    square(40, 3, 18, 4, 2),
    Shape(2, 3, 20, (5, 6, 7), (3, 1, 2), (2, 1, 1), (1, 0, 1), (1, 2, 3)),
    Shape(1, 2, 20, (700,), (9,), (1,), (4,), (1,)),
    # Pointwise: a run of points that is no whole panel.
    square(2, 9, 20, 29, 1),
    square(3, 5, 6, 3, 1, groups=2),
    # One channel in a group and few: depthwise, strides, several bands and pictures.
    square(2, 1, 1, 57, 3, padding=1, groups=5),
    square(2, 1, 1, 30, 3, stride=2, padding=1, groups=3),
    square(1, 1, 2, 33, 5, stride=3, padding=2, dilation=2, groups=2),
    square(3, 1, 6, 28, 5, padding=2),
    square(2, 6, 5, 19, 5, padding=4),
    square(1, 2, 3, 150, 3, padding=1),
    Shape(2, 1, 1, (4, 5, 40), (3, 3, 3), (1, 2, 2), (1, 1, 1), (1, 1, 1), 4),
    Shape(1, 1, 1, (9000,), (7,), (2,), (3,), (1,), 3),
    Shape(2, 2, 2, (500,), (3,), (1,), (2,), (2,)),
    # Results as wide as their sources, where points follow each other across the ends of rows;
    # the same with points that see nothing; rows of points; taps that follow each other.
    square(3, 16, 16, 16, 3, padding=1),
    square(2, 5, 7, 31, 5, padding=2),
    square(2, 3, 40, 45, 3, padding=1),
    square(4, 2, 3, 12, 3, padding=2, dilation=2),
    square(2, 3, 5, 9, 7, padding=3),
    Shape(2, 3, 4, (3, 9, 17), (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1)),
    Shape(1, 2, 3, (2, 30), (2, 5), (1, 1), (6, 2), (1, 1)),
    square(3, 4, 9, 20, 3),
    square(2, 6, 16, 14, 5),
]


def taps_of(shape: Shape) -> Any:
    """Each tap with the slices of positions and of x at which it sees something."""
    for tap in itertools.product(*map(range, shape.taps)):
        at, seen = [], []
        for axis, place in enumerate(tap):
            shift = place * shape.dilation[axis] - shape.padding[axis]
            inside = [
                p
                for p in range(shape.positions[axis])
                if 0 <= p * shape.stride[axis] + shift < shape.size[axis]
            ]
            first, last = (inside[0], inside[-1]) if inside else (0, -1)
            at.append(slice(first, last + 1))
            start = first * shape.stride[axis] + shift
            seen.append(
                slice(start, start + (last - first) * shape.stride[axis] + 1, shape.stride[axis])
                if inside
                else slice(0, 0)
            )
        yield (..., *tap), (..., *at), (..., *seen)


def grouped(array: Array, groups: int, axis: int) -> Array:
    return array.reshape(*array.shape[:axis], groups, -1, *array.shape[axis + 1 :])


def expected(shape: Shape, x: Array, weight: Array, y: Array) -> tuple[Array, Array, Array]:
    """(the convolution of x, the transposed one of y, the gradient of the weight by both)."""
    xs, ys = grouped(x, shape.groups, 1), grouped(y, shape.groups, 1)
    ws = grouped(weight, shape.groups, 0)
    forward, back, by_weight = np.zeros_like(ys), np.zeros_like(xs), np.zeros_like(ws)
    for tap, at, seen in taps_of(shape):
        forward[at] += np.einsum("ngi...,goi->ngo...", xs[seen], ws[tap])
        back[seen] += np.einsum("ngo...,goi->ngi...", ys[at], ws[tap])
        points = [one.reshape(*one.shape[:3], -1) for one in (xs[seen], ys[at])]
        by_weight[tap] = np.einsum("ngip,ngop->goi", *points)
    return forward.reshape(y.shape), back.reshape(x.shape), by_weight.reshape(weight.shape)


def arrays_of(shape: Shape) -> tuple[Array, Array, Array]:
    random = np.random.default_rng(1)
    return tuple(random.uniform(-1, 1, one) for one in (shape.x, shape.weight, shape.y))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_way_gives_the_sums_over_taps(shape: Shape, dtype: str) -> None:
    x, weight, y = (one.astype(dtype) for one in arrays_of(shape))
    wide = [one.astype(np.float64) for one in (x, weight, y)]
    forward, back, by_weight = expected(shape, *wide)
    bias = np.arange(1.0, y.shape[1] + 1).astype(dtype)
    x_bias = np.arange(1.0, x.shape[1] + 1).astype(dtype)
    bound = shape.bound()
    tolerance = 1e-12 if dtype == "float64" else 3e-5

    def check(got: _native.Array, want: Array, more: Array | None = None) -> None:
        if more is not None:
            want = want + more.reshape(-1, *[1] * len(shape.size))
        np.testing.assert_allclose(to_numpy(got), want, rtol=tolerance, atol=tolerance * 10)

    check(bound.forward(native(x), native(weight)), forward)
    check(bound.forward(native(x), native(weight), native(bias)), forward, bias)
    check(bound.transpose(native(y), native(weight)), back)
    check(bound.transpose(native(y), native(weight), native(x_bias)), back, x_bias)
    check(bound.weight(native(x), native(y)), by_weight)


def random_shape(random: np.random.Generator) -> Shape:
    rank = int(random.integers(1, 4))
    taps = tuple(int(one) for one in random.choice([1, 2, 3, 5], rank))
    dilation = tuple(int(one) for one in random.choice([1, 1, 1, 2], rank))
    padding = tuple(int(random.integers(0, 2 * one)) for one in taps)
    if random.random() < 0.5:  # as wide as the source
        padding = tuple(far * (one - 1) // 2 for one, far in zip(taps, dilation, strict=True))
    return Shape(
        int(random.integers(1, 5)),
        int(random.integers(1, 8)),
        int(random.integers(1, 36)),
        tuple(int(random.integers(10, 12 if rank == 3 else 40)) for _ in taps),
        taps,
        tuple(int(one) for one in random.choice([1, 1, 1, 2], rank)),
        padding,
        dilation,
        int(random.choice([1, 1, 2])),
    )


@pytest.mark.parametrize("seed", range(8))
def test_any_shape_gives_the_sums_exactly(seed: int) -> None:
    random = np.random.default_rng(seed)
    for _ in range(12):
        shape = random_shape(random)
        # Whole numbers, whose sums float32 holds exactly.
        x, weight, y = (np.round(8 * one) for one in arrays_of(shape))
        forward, back, by_weight = expected(shape, x, weight, y)
        bound = shape.bound()
        x, weight, y = (native(one.astype(np.float32)) for one in (x, weight, y))
        for got, want in (
            (bound.forward(x, weight), forward),
            (bound.transpose(y, weight), back),
            (bound.weight(x, y), by_weight),
        ):
            np.testing.assert_array_equal(to_numpy(got), want, err_msg=str(shape))


def channels_last(array: Array) -> Array:
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)


def flipped(array: Array) -> Array:
    axes = tuple(range(2, array.ndim))
    return np.flip(np.ascontiguousarray(np.flip(array, axes)), axes)


def spaced(array: Array) -> Array:
    return np.repeat(array, 2, axis=-1)[..., ::2]


@pytest.mark.parametrize("layout", [channels_last, flipped, spaced])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_layout_changes_no_bit(shape: Shape, layout: Any) -> None:
    x, weight, y = (one.astype(np.float32) for one in arrays_of(shape))
    bound = shape.bound()
    if shape.taps == (1, 1) and shape.stride == (1, 1):
        # A product of matrices where points lie one after the other, and gathered elsewhere.
        same = np.testing.assert_allclose
    else:
        same = np.testing.assert_array_equal
    for run, first, second in (
        (bound.forward, x, weight),
        (bound.transpose, y, weight),
        (bound.weight, x, y),
    ):
        dense = to_numpy(run(native(first), native(second)))
        other = to_numpy(run(native(layout(first)), native(layout(second))))
        if same is np.testing.assert_allclose:
            same(other, dense, rtol=1e-5, atol=1e-5)
        else:
            same(other, dense)


def test_a_part_of_a_picture_whose_rows_are_as_far_apart_as_those_of_the_result() -> None:
    # Points beside the part see nothing, and none of what lies there in memory.
    shape = square(2, 3, 5, 40, 2, padding=3)
    x, weight, y = arrays_of(shape)
    whole = np.full((2, 3, 40, 45), np.nan)
    whole[..., :40] = x
    forward, _, by_weight = expected(shape, x, weight, y)
    bound = shape.bound()
    got = to_numpy(bound.forward(native(whole[..., :40]), native(weight)))
    np.testing.assert_allclose(got, forward, rtol=1e-12, atol=1e-12)
    got = to_numpy(bound.weight(native(whole[..., :40]), native(y)))
    np.testing.assert_allclose(got, by_weight, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_what_does_not_exist_is_not_multiplied_with_infinities(shape: Shape) -> None:
    x, weight, y = arrays_of(shape)
    bound = shape.bound()
    with np.errstate(invalid="ignore"):
        ones = np.ones_like(x)
        infinite = np.full_like(weight, np.inf)
        forward, back, _ = expected(shape, ones, infinite, np.ones_like(y))
        *_, by_weight = expected(shape, ones, weight, np.full_like(y, np.inf))
    got = to_numpy(bound.forward(native(ones), native(infinite)))
    np.testing.assert_array_equal(got, forward)
    got = to_numpy(bound.transpose(native(np.ones_like(y)), native(infinite)))
    np.testing.assert_array_equal(got, back)
    got = to_numpy(bound.weight(native(ones), native(np.full_like(y, np.inf))))
    np.testing.assert_array_equal(got, by_weight)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_add_up_in_float32_and_round_once(dtype: str) -> None:
    shape = square(1, 64, 2, 12, 3)
    code = DTYPES[dtype][1]
    # Multiples of 1/8, whose sums float32 holds exactly.
    x, weight, _ = (np.round(8 * one) / 8 for one in arrays_of(shape))
    forward, _, _ = expected(shape, x, weight, np.zeros((1, 2, *shape.positions)))
    got = to_numpy(shape.bound().forward(native(x.astype(code)), native(weight.astype(code))))
    np.testing.assert_array_equal(got.astype(np.float64), forward.astype(code).astype(np.float64))
