"""Scans over lengths that are cut in pieces, in every layout, thread count and instruction set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from lumus import _native
from tests.native.instruction_sets import check_passes, on_every_isa
from tests.native.native_arrays import DTYPES, FLOATS, layouts, native, to_numpy

TOLERANCE = {"float64": 1e-13, "float32": 2e-7, "float16": 1e-3, "bfloat16": 8e-3}
SHAPES = [(7,), (300,), (3, 5), (5, 300), (300, 20), (2, 70, 3), (2, 9, 40)]

Values = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def keep_threads() -> Iterator[None]:
    threads = _native.num_threads()
    yield
    _native.set_num_threads(threads)


def random_values(name: str, shape: tuple[int, ...], seed: int = 0) -> Values:
    return np.random.default_rng(seed).standard_normal(shape).astype(DTYPES[name][1])


def scan(kind: str, x: Values, axis: int, *, reverse: bool = False) -> Values:
    return to_numpy(_native.scan(kind, native(x), axis, reverse))


def expected(kind: str, x: Values, axis: int) -> Values:
    wide = x.astype(np.longdouble)
    if kind == "logsumexp":
        return np.log(np.cumsum(np.exp(wide), axis=axis))
    return (np.cumsum if kind == "sum" else np.cumprod)(wide, axis=axis)


def assert_near(found: Values, wanted: Values, name: str) -> None:
    scale = max(1.0, float(np.max(np.abs(wanted), initial=0)))
    tolerance = TOLERANCE[name]
    np.testing.assert_allclose(
        found.astype(np.float64), wanted.astype(np.float64), rtol=tolerance, atol=scale * tolerance
    )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("kind", ["sum", "prod", "logsumexp"])
def test_scans_match_the_formula(kind: str, name: str, shape: tuple[int, ...]) -> None:
    x = random_values(name, shape)
    for axis in range(len(shape)):
        wanted = expected(kind, x, axis)
        from_the_end = np.flip(expected(kind, np.flip(x, axis), axis), axis)
        for laid_out in layouts(x).values():
            assert_near(scan(kind, laid_out, axis), wanted, name)
            assert_near(scan(kind, laid_out, axis, reverse=True), from_the_end, name)


def test_running_log_sums_of_far_apart_elements_stay_exact() -> None:
    x = np.full((1, 700), -np.inf)
    x[0, [3, 300, 301, 650]] = (-900.0, 800.0, 800.0, 900.0)
    found = scan("logsumexp", x, 1)[0]
    assert (found[:3] == -np.inf).all()
    assert (found[3:300] == -900).all()
    np.testing.assert_allclose(found[301:650], 800 + np.log(2), rtol=1e-15)
    assert (found[650:] == 900).all()
    np.testing.assert_array_equal(scan("logsumexp", np.repeat(x.T, 20, 1), 0).T[7], found)


def test_product_with_a_zero_before_an_overflow_is_zero() -> None:
    x = np.array([0.0, *[1e300] * 20])
    assert not scan("prod", x, 0).any()


@pytest.mark.parametrize("length", [131072, 200_001])
@pytest.mark.parametrize("name", ["float32", "bfloat16", "int32", "bool"])
def test_a_long_line_in_pieces_is_the_sum_and_the_same_for_any_number_of_threads(
    name: str, length: int
) -> None:
    random = np.random.default_rng(3)
    x = random.integers(0, 2, length).astype(np.float64)
    if name in FLOATS:
        x = random.standard_normal(length)
    x = x.astype(DTYPES[name][1])
    found = []
    for threads in (1, 2, 3):
        _native.set_num_threads(threads)
        found.append((scan("sum", x, 0).tobytes(), scan("sum", x, 0, reverse=True).tobytes()))
    assert found[0] == found[1] == found[2]
    if name in FLOATS:
        assert_near(scan("sum", x, 0), expected("sum", x, 0), name)
    else:
        np.testing.assert_array_equal(scan("sum", x, 0), np.cumsum(x, dtype=np.int64))


def test_sums_and_products_of_ints_wrap() -> None:
    x = np.full(20, 2**62)
    np.testing.assert_array_equal(scan("sum", x, 0), np.cumsum(x))
    np.testing.assert_array_equal(scan("prod", np.full(70, 3), 0), np.cumprod(np.full(70, 3)))


@pytest.mark.parametrize("shape", [(1000,), (3, 600), (600, 33)], ids=str)
def test_recurrence_undoes_itself(shape: tuple[int, ...]) -> None:
    """From s = recurrence(a, b) follows b: s[i] - a[i] s[i-1]."""
    a, b = random_values("float64", shape) * 0.9, random_values("float64", shape, 1)
    for axis in range(len(shape)):
        s, first = (np.moveaxis(one, axis, 0) for one in (_recurred(a, b, axis), b))
        steps = np.moveaxis(a, axis, 0)
        np.testing.assert_allclose(s[1:] - steps[1:] * s[:-1], first[1:], atol=1e-10)
        back = np.moveaxis(_recurred(a, b, axis, reverse=True), axis, 0)
        np.testing.assert_allclose(back[:-1] - steps[1:] * back[1:], first[:-1], atol=1e-10)


def _recurred(a: Values, b: Values, axis: int, *, reverse: bool = False) -> Values:
    return to_numpy(_native.recurrence(native(a), native(b), axis, reverse))


@pytest.mark.parametrize("name", [*FLOATS, "int64", "int8"])
def test_running_maxima_and_their_positions(name: str) -> None:
    for shape, axis in (((1000,), 0), ((3, 600), 1), ((600, 33), 0)):
        x = (random_values("float64", shape) * 20).astype(DTYPES[name][1])
        values, positions = map(to_numpy, _native.running_extreme("max", native(x), axis))
        np.testing.assert_array_equal(values, np.maximum.accumulate(x, axis=axis))
        np.testing.assert_array_equal(np.take_along_axis(x, positions, axis), values)
        assert (np.diff(positions, axis=axis) >= 0).all()
        is_new = np.diff(positions, axis=axis) > 0
        np.testing.assert_array_equal(is_new, np.diff(values.astype(np.float64), axis=axis) > 0)


@pytest.mark.parametrize("name", ["float32", "float64", "int32", "uint8"])
@pytest.mark.parametrize("which", ["max", "min"])
def test_first_of_equal_extremes_counts_and_the_first_nan_stays(which: str, name: str) -> None:
    random = np.random.default_rng(5)
    for length in (1, 2, 31, 64, 100, 700):
        x = random.integers(0, 9, length).astype(DTYPES[name][1])
        x[length // 2 :] = np.sort(x[length // 2 :])[:: 1 if which == "max" else -1]
        if name.startswith("float"):
            x = np.where(random.random(length) < 0.5, -x, x)
            x[random.random(length) < 0.02] = np.nan
        best, want = 0, []
        for i, value in enumerate(x):
            is_beyond = value > x[best] if which == "max" else value < x[best]
            if is_beyond or (np.isnan(value) and not np.isnan(x[best])):
                best = i
            want.append(best)
        values, positions = map(to_numpy, _native.running_extreme(which, native(x), 0))
        np.testing.assert_array_equal(positions, want)
        np.testing.assert_array_equal(values, x[want])
        np.testing.assert_array_equal(np.signbit(values), np.signbit(x[want]))


@on_every_isa
def test_every_instruction_set_passes(isa: str) -> None:
    check_passes(isa, __file__, "float32 or log_sums or int32 or recurrence or equal_extremes")
