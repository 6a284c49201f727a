"""softmax, log_softmax, their gradients, and logsumexp against float64 formulas."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from lumus import _native
from tests.native.instruction_sets import check_passes, on_every_isa
from tests.native.native_arrays import DTYPES, FLOATS, layouts, native, to_numpy

# Relative to the largest value of a row.
TOLERANCE = {"float64": 1e-14, "float32": 4e-7, "float16": 1e-3, "bfloat16": 8e-3}
SHAPES = [
    (7,),
    (3, 5),
    (40, 33),
    (1, 6),
    (6, 1),
    (2, 3, 70),
    (2, 70, 3),
    (70, 2, 3),
    (3, 300, 20),
    (5, 1100),
    (900, 90),
]

Values = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def keep_threads() -> Iterator[None]:
    threads = _native.num_threads()
    yield
    _native.set_num_threads(threads)


def softmax(x: Values, axis: int) -> Values:
    exps = np.exp(x - np.max(x, axis=axis, keepdims=True))
    result: Values = exps / exps.sum(axis=axis, keepdims=True)
    return result


def log_softmax(x: Values, axis: int) -> Values:
    shifted = x - np.max(x, axis=axis, keepdims=True)
    result: Values = shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return result


def softmax_grad(grad: Values, y: Values, axis: int) -> Values:
    result: Values = y * (grad - (grad * y).sum(axis=axis, keepdims=True))
    return result


def log_softmax_grad(grad: Values, y: Values, axis: int) -> Values:
    result: Values = grad - np.exp(y) * grad.sum(axis=axis, keepdims=True)
    return result


def random_values(name: str, shape: tuple[int, ...], seed: int = 0) -> Values:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * 3).astype(DTYPES[name][1])


def assert_near(found: Values, expected: Values, name: str) -> None:
    assert found.shape == expected.shape
    scale = max(1.0, float(np.max(np.abs(expected), initial=0)))
    np.testing.assert_allclose(
        found.astype(np.float64), expected, rtol=TOLERANCE[name], atol=scale * TOLERANCE[name]
    )


def forward(function: Callable[..., _native.Array], x: Values, axis: int) -> Values:
    return to_numpy(function(native(x), axis))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", FLOATS)
def test_softmax_and_its_logarithm_match_the_formula(name: str, shape: tuple[int, ...]) -> None:
    values = random_values(name, shape)
    wide = values.astype(np.float64)
    for axis in range(len(shape)):
        for laid_out in layouts(values).values():
            assert_near(forward(_native.softmax, laid_out, axis), softmax(wide, axis), name)
            assert_near(forward(_native.log_softmax, laid_out, axis), log_softmax(wide, axis), name)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", FLOATS)
def test_gradients_match_the_formula(name: str, shape: tuple[int, ...]) -> None:
    grad = random_values(name, shape, 1)
    for axis in range(len(shape)):
        x = random_values(name, shape).astype(np.float64)
        y = softmax(x, axis).astype(grad.dtype)
        log_y = log_softmax(x, axis).astype(grad.dtype)
        wide = grad.astype(np.float64), y.astype(np.float64), log_y.astype(np.float64)
        expected = softmax_grad(wide[0], wide[1], axis)
        expected_log = log_softmax_grad(wide[0], wide[2], axis)
        for layout in layouts(grad):
            g, p, q = (native(layouts(values)[layout]) for values in (grad, y, log_y))
            assert_near(to_numpy(_native.softmax_grad(g, p, axis)), expected, name)
            assert_near(to_numpy(_native.log_softmax_grad(g, q, axis)), expected_log, name)


@pytest.mark.parametrize("name", FLOATS)
def test_every_length_agrees_in_vector_and_tail(name: str) -> None:
    for length in range(71):
        values = random_values(name, (2, length))
        wide = values.astype(np.float64)
        if length == 0:
            assert forward(_native.softmax, values, 1).shape == (2, 0)
            assert forward(_native.log_softmax, values, 0).shape == (2, 0)
            continue
        assert_near(forward(_native.softmax, values, 1), softmax(wide, 1), name)
        assert_near(forward(_native.softmax, values, 0), softmax(wide, 0), name)
        assert_near(forward(_native.log_softmax, values, 1), log_softmax(wide, 1), name)
        found = forward(_native.softmax, values, 0)
        alone = forward(_native.softmax, np.ascontiguousarray(values[:, -1:]), 0)
        np.testing.assert_array_equal(found[:, -1:], alone)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("function", [_native.softmax, _native.log_softmax])
def test_rows_that_have_no_softmax_are_nan_and_alone(
    function: Callable[..., _native.Array], name: str
) -> None:
    for length in (1, 5, 16, 17, 40):
        for special in (np.nan, np.inf):
            for position in range(length):
                values = np.zeros((3, length), DTYPES[name][1])
                values[1, position] = special
                found = forward(function, values, 1)
                assert np.isnan(found[1]).all()
                assert not np.isnan(found[[0, 2]]).any()
                columns = forward(function, np.ascontiguousarray(values.T), 0)
                np.testing.assert_array_equal(np.isnan(columns.T), np.isnan(found))
        values = np.zeros((3, length), DTYPES[name][1])
        values[1] = -np.inf
        assert np.isnan(forward(function, values, 1)).all(axis=1).tolist() == [False, True, False]


def test_masked_entries_get_nothing() -> None:
    values = np.array([[0, -np.inf, 0, -np.inf]], np.float32)
    assert forward(_native.softmax, values, 1).tolist() == [[0.5, 0, 0.5, 0]]
    assert forward(_native.log_softmax, values, 1)[0, 1] == -np.inf


def test_large_values_do_not_overflow() -> None:
    values = np.array([[1e30, 1e30, -1e30], [88, 89, 1000]], np.float32)
    assert forward(_native.softmax, values, 1).tolist() == [[0.5, 0.5, 0], [0, 0, 1]]


def test_a_long_row_sums_to_one() -> None:
    values = random_values("float32", (1, 1_000_000))
    total = forward(_native.softmax, values, 1).astype(np.float64).sum()
    assert abs(total - 1) < 1e-7
    columns = forward(_native.softmax, values.reshape(500_000, 2), 0)
    np.testing.assert_allclose(columns.astype(np.float64).sum(axis=0), 1, rtol=1e-7)


# ---- logsumexp --------------------------------------------------------------------------------


def logsumexp(x: Values, axes: tuple[int, ...], *, keepdims: bool = False) -> Values:
    return to_numpy(_native.logsumexp(native(x), axes, keepdims))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", FLOATS)
def test_logsumexp_over_any_axes_matches_the_formula(name: str, shape: tuple[int, ...]) -> None:
    values = random_values(name, shape)
    wide = values.astype(np.float64)
    rank = len(shape)
    for count in range(rank + 1):
        for axes in itertools.combinations(range(rank), count):
            expected = np.asarray(np.log(np.exp(wide).sum(axis=axes)))
            for laid_out in layouts(values).values():
                assert_near(logsumexp(laid_out, axes), expected, name)
            kept = logsumexp(values, axes, keepdims=True)
            assert kept.shape == wide.sum(axis=axes, keepdims=True).shape


@pytest.mark.parametrize("name", FLOATS)
def test_logsumexp_of_special_rows(name: str) -> None:
    inf = np.inf
    rows = [[-inf] * 20, [0] * 19 + [np.nan], [inf] + [-inf] * 19, [-inf] * 19 + [3]]
    values = np.array(rows, DTYPES[name][1])
    for found in (logsumexp(values, (1,)), logsumexp(np.ascontiguousarray(values.T), (0,))):
        np.testing.assert_array_equal(found.astype(np.float64), [-inf, np.nan, inf, 3])
    assert logsumexp(np.zeros((0, 2), DTYPES[name][1]), (0,)).tolist() == [-inf, -inf]
    assert logsumexp(np.zeros((0, 2), DTYPES[name][1]), (1,)).shape == (0,)


# ---- threads and instruction sets -------------------------------------------------------------


@pytest.mark.parametrize("shape", [(300, 400), (3, 50_000), (50_000, 3), (20, 300, 33)], ids=str)
@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_bits_do_not_depend_on_the_number_of_threads(name: str, shape: tuple[int, ...]) -> None:
    values = native(random_values(name, shape))
    for axis in range(len(shape)):
        results = []
        for threads in (1, 2, 3, 8):
            _native.set_num_threads(threads)
            y = _native.softmax(values, axis)
            outputs = (
                y,
                _native.log_softmax(values, axis),
                _native.softmax_grad(values, y, axis),
                _native.log_softmax_grad(values, y, axis),
                _native.logsumexp(values, (axis,), False),
            )
            results.append([np.asarray(output).tobytes() for output in outputs])
        assert all(result == results[0] for result in results)


@on_every_isa
def test_every_instruction_set_passes(isa: str) -> None:
    check_passes(isa, __file__, "formula and not 00 or every_length or special")
