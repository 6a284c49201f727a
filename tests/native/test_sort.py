"""Sorts by digits of lines of every length, alone and in buckets, against NumPy's stable sorts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from lumus import _native
from tests.native.instruction_sets import check_passes, on_every_isa
from tests.native.native_arrays import DTYPES, FLOATS, INTS, layouts, native, to_numpy

Values = np.ndarray[Any, Any]

# Around what is sorted by insertion, alone, and in buckets on the threads.
LENGTHS = [1, 2, 47, 48, 49, 300, 3000]
IN_BUCKETS = [131_071, 131_072, 300_001]


@pytest.fixture(autouse=True)
def keep_threads() -> Iterator[None]:
    threads = _native.num_threads()
    yield
    _native.set_num_threads(threads)


def random_values(name: str, shape: tuple[int, ...], seed: int = 0) -> Values:
    """Ties, both zeros and NaN among them."""
    random = np.random.default_rng(seed)
    if name == "bool":
        return random.random(shape) < 0.5
    if name in INTS:
        bounds = np.iinfo(DTYPES[name][1])
        wide = random.integers(bounds.min, bounds.max, shape, dtype=DTYPES[name][1], endpoint=True)
        return np.where(random.random(shape) < 0.3, wide % 5, wide)
    x = random.standard_normal(shape)
    kinds = random.integers(0, 12, shape)
    for kind, value in enumerate((0.0, -0.0, np.nan, np.inf, -1.5)):
        x = np.where(kinds == kind, value, x)
    return x.astype(DTYPES[name][1])


def order_of(x: Values, axis: int, *, descends: bool) -> Values:
    wide = x.astype(np.float64) if x.dtype.kind not in "iub" else x
    if not descends:
        return np.argsort(wide, axis=axis, kind="stable")
    turned = np.argsort(np.flip(wide, axis), axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(turned, axis)


def check(x: Values, axis: int) -> None:
    for descends in (False, True):
        order = order_of(x, axis, descends=descends)
        expected = np.take_along_axis(x, order, axis)
        found = to_numpy(_native.sort(native(x), axis, descends))
        np.testing.assert_array_equal(to_numpy(_native.argsort(native(x), axis, descends)), order)
        if x.dtype.kind not in "iub":
            found, expected = found.astype(np.float64), expected.astype(np.float64)
            is_number = ~np.isnan(expected)
            signs = np.signbit(found) != np.signbit(expected)
            assert not (signs & is_number).any()
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", [*FLOATS, *INTS, "bool"])
def test_sorts_are_those_of_numpy_at_every_length(name: str) -> None:
    for length in LENGTHS:
        check(random_values(name, (3, length)), 1)
    x = random_values(name, (60, 5))
    for laid_out in layouts(x).values():
        check(laid_out, 0)
        check(laid_out, 1)


@pytest.mark.parametrize("length", IN_BUCKETS)
@pytest.mark.parametrize("name", ["float64", "float32", "float16", "int64", "uint8"])
def test_long_lines_are_sorted_in_buckets(name: str, length: int) -> None:
    x = random_values(name, (length,))
    check(x, 0)
    check(np.repeat(x, 2)[::-2], 0)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(np.zeros(200_000, np.float32), id="equal"),
        pytest.param(np.full(200_000, -0.0), id="negative zeros"),
        pytest.param(np.arange(200_000)[::-1].astype(np.float32), id="reversed"),
        pytest.param(np.array([2**62, -(2**62)] * 100_000), id="far apart"),
        pytest.param(np.array([5, 2**40 + 5] * 100_000), id="one bit"),
        pytest.param(np.full(1000, np.nan, np.float16), id="nan"),
    ],
)
def test_lines_without_much_order(values: Values) -> None:
    check(values, 0)


def numbers(low: int, high: int, count: int, seed: int = 0) -> Values:
    return np.random.default_rng(seed).integers(low, high, count)


FEW, MANY = numbers(0, 2**8, 9000), numbers(0, 2**9, 9000, seed=1)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(numbers(-30, 30, 200_000) * 0.0, id="zeros of both signs"),
        pytest.param(np.append(numbers(0, 2**22, 300_000), 2**31), id="one bucket"),
        pytest.param(np.append(numbers(0, 2**40, 300_000), -(2**62)), id="one bucket of many bits"),
        pytest.param(np.append(numbers(0, 2, 300_000) * 2**20, -(2**40)), id="one bit in a bucket"),
        pytest.param(numbers(0, 2**13, 300_000) * 3, id="two digits"),
        pytest.param(FEW * 2**50 + MANY, id="runs"),
        pytest.param(FEW % 60 * 2**55 + MANY % 3 * 2**7, id="runs of equals"),
        pytest.param(numbers(-30, 30, 70_000).astype(np.int16), id="counted"),
        pytest.param(numbers(0, 2**31, 600_000).astype(np.int32) >> 8, id="even buckets"),
    ],
)
def test_lines_whose_keys_lie_unevenly(values: Values) -> None:
    check(values, 0)
    check(np.repeat(values, 2)[::-2], 0)


def test_neighbouring_long_columns_are_sorted_by_themselves() -> None:
    check(random_values("float32", (140_000, 2)), 0)
    check(random_values("uint8", (140_000, 2)), 0)


@pytest.mark.parametrize("name", [*FLOATS, *INTS])
@pytest.mark.parametrize("length", [1, 40, 700, 40_000])
def test_the_first_few_are_those_of_the_whole_order(length: int, name: str) -> None:
    x = random_values(name, (2, length))
    for k in sorted({0, 1, min(5, length), length // 40, length // 3, length}):
        for is_largest in (False, True):
            order = order_of(x, 1, descends=is_largest)[:, :k]
            values, positions = map(to_numpy, _native.topk(native(x), k, 1, is_largest))
            np.testing.assert_array_equal(positions, order)
            expected = np.take_along_axis(x, order, 1)
            np.testing.assert_array_equal(values.tobytes(), expected.tobytes())


def test_the_first_few_of_many_ties_are_the_first() -> None:
    x = np.ones(100_000, np.float32)
    assert to_numpy(_native.topk(native(x), 3, 0, True)[1]).tolist() == [0, 1, 2]
    rising = np.arange(100_000, dtype=np.float32)
    found = to_numpy(_native.topk(native(rising), 3, 0, True)[1])
    assert found.tolist() == [99_999, 99_998, 99_997]


@pytest.mark.parametrize("name", [*FLOATS, "int64", "uint8"])
def test_search_is_that_of_numpy(name: str) -> None:
    line = random_values(name, (1000,))
    line = line[order_of(line, 0, descends=False)]
    values = random_values(name, (40, 50), 1)
    wide = [one.astype(np.float64) if name in FLOATS else one for one in (line, values)]
    for is_right in (False, True):
        expected = np.searchsorted(*wide, "right" if is_right else "left")
        for laid_out in layouts(values).values():
            found = to_numpy(_native.searchsorted(native(line), native(laid_out), is_right))
            np.testing.assert_array_equal(found, expected)


@on_every_isa
def test_every_instruction_set_passes(isa: str) -> None:
    check_passes(isa, __file__, "float32 and not buckets or int64 and search or order or unevenly")
