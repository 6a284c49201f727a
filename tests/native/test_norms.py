"""Norms and distances against 80-bit formulas, in every layout and instruction set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lumus import _native
from tests.native.instruction_sets import check_passes, on_every_isa
from tests.native.native_arrays import DTYPES, FLOATS, layouts, native, to_numpy

TOLERANCE = {"float64": 1e-14, "float32": 4e-7, "float16": 1e-3, "bfloat16": 8e-3}
POWERS = (2.0, 1.0, 0.0, np.inf, -np.inf, 3.0, 0.5, -1.5)

Values = np.ndarray[Any, Any]


def random_values(name: str, shape: tuple[int, ...], seed: int = 0) -> Values:
    return np.random.default_rng(seed).standard_normal(shape).astype(DTYPES[name][1])


def expected(x: Values, p: float, axes: tuple[int, ...]) -> Values:
    size = np.abs(x.astype(np.longdouble))
    if np.isinf(p):
        return np.asarray((np.max if p > 0 else np.min)(size, axis=axes))
    if p == 0:
        return np.asarray((x != 0).sum(axis=axes), np.longdouble)
    with np.errstate(divide="ignore"):
        total = np.asarray((size ** np.longdouble(p)).sum(axis=axes))
        return np.asarray(total ** (1 / np.longdouble(p)))


def assert_near(found: Values, wanted: Values, name: str) -> None:
    tolerance = TOLERANCE[name]
    with np.errstate(over="ignore"):
        rounded = wanted.astype(np.float64).astype(found.dtype).astype(np.float64)
    np.testing.assert_allclose(found.astype(np.float64), rounded, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shape", [(7,), (3, 5), (40, 33), (2, 300, 20), (3, 2000)], ids=str)
@pytest.mark.parametrize("name", FLOATS)
def test_norms_over_any_axes_match_the_formula(name: str, shape: tuple[int, ...]) -> None:
    x = random_values(name, shape)
    for axes in ((0,), (len(shape) - 1,), tuple(range(len(shape)))):
        for p in POWERS:
            wanted = expected(x, p, axes)
            for laid_out in layouts(x).values():
                found = to_numpy(_native.norm(native(laid_out), p, axes, False))
                assert_near(found, wanted, name)


def test_rows_at_the_ends_of_the_range_do_not_touch_the_others() -> None:
    x = random_values("float64", (6, 50))
    x[1] *= 1e300
    x[2] *= 1e-300
    x[3] = 0
    x[4, 7] = np.nan
    x[5, 7] = np.inf
    for p in (2.0, 3.0, -1.5, 1.0):
        wanted = expected(x, p, (1,)).astype(np.float64)
        found = to_numpy(_native.norm(native(x), p, (1,), False))
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
        narrow = x[[0, 3, 4, 5]].astype(np.float32)
        found = to_numpy(_native.norm(native(narrow), p, (1,), False))
        np.testing.assert_allclose(found, wanted[[0, 3, 4, 5]], rtol=1e-6)


@pytest.mark.usefixtures("keeps_denormals")
def test_small_and_large_float32_keep_their_digits() -> None:
    x = random_values("float32", (4, 33)) * np.float32([[1e-40], [1e-25], [1e25], [1e37]])
    found = to_numpy(_native.norm(native(x), 2.0, (1,), False))
    np.testing.assert_allclose(found, expected(x, 2.0, (1,)).astype(np.float64), 3e-7, 2e-45)


@pytest.mark.parametrize("name", FLOATS)
def test_distances_are_norms_of_differences(name: str) -> None:
    for rows, others, columns in ((3, 5, 2), (64, 65, 3), (130, 1, 17)):
        x = random_values(name, (2, rows, columns))
        y = random_values(name, (2, others, columns), 1)
        wide = x.astype(np.longdouble)[:, :, None] - y.astype(np.longdouble)[:, None]
        for p in POWERS:
            wanted = expected(wide, p, (3,))
            for layout, laid_out in layouts(x).items():
                other = layouts(y)[layout]
                found = to_numpy(_native.distances(native(laid_out), native(other), p))
                assert_near(found, wanted, name)


@on_every_isa
def test_every_instruction_set_passes(isa: str) -> None:
    check_passes(isa, __file__, "float32 and not 2000 and not 300 or range or digits")
