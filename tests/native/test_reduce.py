"""Reductions and positions of extrema against NumPy: kinds, dtypes, axes, layouts, lengths."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from lumus import _native
from tests.native.instruction_sets import check_passes, on_every_isa
from tests.native.native_arrays import CODES, DTYPES, FLOATS, INTS, layouts, native, to_numpy

KINDS = ("sum", "mean", "prod", "max", "min", "any", "all")
TOLERANCE = {"float64": 1e-13, "float32": 2e-7, "float16": 2**-11, "bfloat16": 2**-8}
SHAPES = [(1,), (5,), (3, 4), (17, 33), (1, 7), (3, 200), (200, 3), (4, 5, 6), (2, 3, 4, 5)]

Values = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def keep_threads() -> Iterator[None]:
    threads = _native.num_threads()
    yield
    _native.set_num_threads(threads)


def reduce(
    kind: str, values: Values, axes: tuple[int, ...], *, keepdims: bool = False, out: str = ""
) -> Values:
    name = out or result_dtype(kind, values)
    reduction = _native.Reduction(
        kind, None, CODES[values.dtype], DTYPES[name][0], axes, values.ndim, keepdims
    )
    return to_numpy(reduction.run1(native(values)))


def result_dtype(kind: str, values: Values) -> str:
    if kind in ("any", "all"):
        return "bool"
    if kind in ("sum", "prod") and values.dtype.name not in FLOATS:
        return "int64"
    return values.dtype.name


def wide(values: Values) -> Values:
    return values.astype(np.float64 if values.dtype.name in FLOATS else np.int64)


def random_values(name: str, shape: tuple[int, ...]) -> Values:
    rng = np.random.default_rng(len(shape) + sum(shape))
    if name in FLOATS:
        return rng.uniform(0.5, 2, shape).astype(DTYPES[name][1])
    high = 2 if name == "bool" else 100
    return rng.integers(0, high, shape).astype(DTYPES[name][1])


def subsets(rank: int) -> Iterator[tuple[int, ...]]:
    for count in range(rank + 1):
        yield from itertools.combinations(range(rank), count)


def assert_close(found: Values, expected: Values, name: str) -> None:
    assert found.shape == expected.shape
    tolerance = TOLERANCE.get(name, 0)
    with np.errstate(over="ignore"):
        rounded = expected.astype(found.dtype)
    np.testing.assert_allclose(wide(found), wide(rounded), rtol=tolerance)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", DTYPES)
def test_reduction_of_any_axes_and_layout_matches_numpy(name: str, shape: tuple[int, ...]) -> None:
    values = random_values(name, shape)
    kinds = [kind for kind in KINDS if kind != "mean" or name in FLOATS]
    for kind, axes in itertools.product(kinds, subsets(len(shape))):
        expected = np.asarray(getattr(np, kind)(wide(values), axis=axes))
        for laid_out in layouts(values).values():
            found = reduce(kind, laid_out, axes)
            assert_close(found, expected, result_dtype(kind, values))
            kept = reduce(kind, laid_out, axes, keepdims=True)
            assert kept.shape == getattr(np, kind)(wide(values), axis=axes, keepdims=True).shape
            np.testing.assert_array_equal(kept.ravel(), found.ravel())


@pytest.mark.parametrize("name", DTYPES)
def test_reduction_of_every_length_agrees_in_vector_and_tail(name: str) -> None:
    for length in range(71):
        values = random_values(name, (2, length))
        for kind in ("sum", "max", "min", "any", "all"):
            if length == 0 and kind in ("max", "min"):
                continue
            expected = np.asarray(getattr(np, kind)(wide(values), axis=1))
            assert_close(reduce(kind, values, (1,)), expected, result_dtype(kind, values))
            columns = np.ascontiguousarray(values.T)
            expected = np.asarray(getattr(np, kind)(wide(columns[:, :1]), axis=0))
            assert_close(reduce(kind, columns[:, :1], (0,)), expected, result_dtype(kind, values))
            if length:
                expected = np.asarray(getattr(np, kind)(wide(values), axis=0))
                assert_close(reduce(kind, values, (0,)), expected, result_dtype(kind, values))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("kind", ["max", "min", "sum", "mean", "prod"])
def test_nan_at_any_position_reaches_the_result(kind: str, name: str) -> None:
    for length in range(1, 71):
        for position in range(length):
            values = np.ones((2, length), DTYPES[name][1])
            values[0, position] = np.nan
            assert np.isnan(reduce(kind, values, (1,))[0])
            assert not np.isnan(reduce(kind, values, (1,))[1])
            both = reduce(kind, values, (0,))
            assert [i for i in range(length) if np.isnan(both[i])] == [position]


@pytest.mark.parametrize("name", FLOATS)
def test_extrema_of_infinities_and_zeros(name: str) -> None:
    values = np.array([[-np.inf] * 40, [np.inf] * 40, [-0.0, 0.0] * 20], DTYPES[name][1])
    assert reduce("max", values, (1,)).tolist() == [-np.inf, np.inf, 0]
    assert reduce("min", values, (1,)).tolist() == [-np.inf, np.inf, 0]


def test_extrema_of_integer_limits() -> None:
    for name in INTS:
        limits = np.iinfo(DTYPES[name][1])
        for length in (1, 16, 17, 100):
            for limit in (limits.min, limits.max):
                values = np.full((3, length), limit, DTYPES[name][1])
                assert reduce("max", values, (1,)).tolist() == [limit] * 3
                assert reduce("min", values, (0,)).tolist() == [limit] * length


@pytest.mark.parametrize("name", DTYPES)
def test_reduction_of_nothing_is_the_identity(name: str) -> None:
    empty = np.zeros((2, 0, 3), DTYPES[name][1])
    assert reduce("sum", empty, (1,)).tolist() == [[0] * 3] * 2
    assert not np.signbit(wide(reduce("sum", empty, (1,)))).any()
    assert reduce("prod", empty, (1,)).tolist() == [[1] * 3] * 2
    assert reduce("any", empty, (1,)).tolist() == [[False] * 3] * 2
    assert reduce("all", empty, (1,)).tolist() == [[True] * 3] * 2
    assert reduce("sum", empty, (0,)).shape == (0, 3)
    if name in FLOATS:
        assert np.isnan(reduce("mean", empty, (1,))).all()


def test_no_axes_converts_and_zero_dimensional_works() -> None:
    values = np.array([[1.5, -2], [np.nan, 0]], np.float32)
    np.testing.assert_array_equal(reduce("sum", values, ()), values)
    np.testing.assert_array_equal(reduce("any", values, ()), [[True, True], [True, False]])
    assert reduce("sum", np.array(7, np.int8), ()) == 7


def test_integer_sums_and_products_wrap_in_int64() -> None:
    assert reduce("sum", np.full(300, 127, np.int8), (0,)) == 300 * 127
    assert reduce("prod", np.full(40, 3, np.int8), (0,)) == -6289078614652622815
    largest = np.array([2**63 - 1, 1], np.int64)
    assert reduce("sum", largest, (0,)) == -(2**63)


def test_half_sums_accumulate_wide_and_round_once() -> None:
    assert reduce("sum", np.full(4096, 1, np.float16), (0,)) == 4096
    bfloat16 = DTYPES["bfloat16"][1]
    assert reduce("sum", np.full(1000, 1, bfloat16), (0,)).astype(np.float32) == 1000
    assert reduce("mean", np.full(100000, 60000, np.float16), (0,)) == 60000
    # 2048 + 1 + 2^-24: rounding to float32 first would lose the last term and then round to 2048.
    values = np.array([2048, 1, 2**-24], np.float16)
    assert reduce("sum", values, (0,)) == 2050


def test_float32_products_keep_the_range_between() -> None:
    values = np.array([1e30, 1e30, 1e-30, 1e-30], np.float32)
    np.testing.assert_allclose(reduce("prod", values, (0,)), 1, rtol=1e-6)


@pytest.mark.slow
def test_sum_of_a_hundred_million_ones_is_exact_in_every_layout() -> None:
    count = 10**8
    ones = np.ones(count, np.float32)
    assert reduce("sum", ones, (0,)) == count
    assert reduce("sum", ones.reshape(count, 1), (0,)) == count
    assert reduce("sum", ones.reshape(10**4, 10**4).T, (0, 1)) == count
    assert reduce("sum", ones.reshape(count // 2, 2), (0,)).tolist() == [count // 2] * 2
    assert reduce("sum", np.broadcast_to(ones[:1], (count,)), (0,)) == count
    del ones
    assert reduce("sum", np.ones(2 * count, np.float32)[::2], (0,)) == count


def test_long_sums_are_accurate() -> None:
    values = np.random.default_rng(0).uniform(0, 1, 3_000_001)
    exact = np.sum(values.astype(np.longdouble))
    assert abs(reduce("sum", values, (0,)) - exact) <= exact * 4e-16
    single = values.astype(np.float32)
    exact = np.sum(single.astype(np.float64))
    assert abs(reduce("sum", single, (0,)) - exact) <= exact * 1.2e-7


THREAD_SHAPES = [(300_000,), (3, 150_000), (300_001, 3), (5000, 130), (130, 5000), (64, 70, 130)]


@pytest.mark.parametrize("shape", THREAD_SHAPES, ids=str)
@pytest.mark.parametrize("name", ["float64", "float32", "bfloat16", "int32"])
def test_bits_do_not_depend_on_the_number_of_threads(name: str, shape: tuple[int, ...]) -> None:
    values = random_values(name, shape)
    for kind, axes in itertools.product(("sum", "max"), subsets(len(shape))):
        _native.set_num_threads(1)
        alone = reduce(kind, values, axes)
        expected = np.asarray(getattr(np, kind)(wide(values), axis=axes))
        assert_close(alone, expected, result_dtype(kind, values))
        for threads in (2, 3, 8):
            _native.set_num_threads(threads)
            assert reduce(kind, values, axes).tobytes() == alone.tobytes()


# ---- arg_reduce -------------------------------------------------------------------------------


def arg_reduce(kind: str, values: Values, axis: int | None, *, keepdims: bool = False) -> Values:
    return to_numpy(_native.arg_reduce(kind, native(values), axis, keepdims))


@pytest.mark.parametrize("name", DTYPES)
def test_arg_reduce_matches_numpy(name: str) -> None:
    for shape in [*SHAPES, (3, 1, 5000), (5000, 3), (70, 300)]:
        # Few distinct values: most extrema are tied, and the first must win.
        values = np.random.default_rng(1).integers(0, 5, shape).astype(DTYPES[name][1])
        for kind, axis in itertools.product(("max", "min"), (None, *range(len(shape)))):
            numpy_function = np.argmax if kind == "max" else np.argmin
            expected = numpy_function(wide(values), axis=axis)
            for laid_out in layouts(values).values():
                found = arg_reduce(kind, laid_out, axis)
                np.testing.assert_array_equal(found, expected)
                kept = arg_reduce(kind, laid_out, axis, keepdims=True)
                assert kept.shape == numpy_function(wide(values), axis=axis, keepdims=True).shape


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("kind", ["max", "min"])
def test_arg_reduce_first_nan_wins(kind: str, name: str) -> None:
    for length in range(2, 71):
        values = np.arange(2 * length).reshape(2, length).astype(DTYPES[name][1])
        for position in range(length):
            with_nan = values.copy()
            with_nan[0, position:] = np.nan
            assert arg_reduce(kind, with_nan, 1)[0] == position
            assert arg_reduce(kind, np.ascontiguousarray(with_nan.T), 0)[0] == position
            assert arg_reduce(kind, with_nan, None) == position


def test_arg_reduce_of_a_million_values_for_all_threads() -> None:
    values = np.random.default_rng(2).standard_normal(1_000_003).astype(np.float32)
    for threads in (1, 2, 3, 8):
        _native.set_num_threads(threads)
        assert arg_reduce("max", values, None) == np.argmax(values)
        assert arg_reduce("min", values, 0) == np.argmin(values)
        tied = np.zeros_like(values)
        assert arg_reduce("max", tied, None) == 0
        tied[[700_000, 900_000]] = np.nan
        assert arg_reduce("max", tied, None) == 700_000


def test_arg_reduce_of_infinities_gives_the_first() -> None:
    values = np.full((3, 50), -np.inf, np.float32)
    assert arg_reduce("max", values, 1).tolist() == [0] * 3
    assert arg_reduce("max", values, 0).tolist() == [0] * 50


# ---- instruction sets -------------------------------------------------------------------------


@on_every_isa
def test_every_instruction_set_passes(isa: str) -> None:
    check_passes(isa, __file__, "matches_numpy or every_length or first_nan or nan_at or threads")


# ---- with a program in front ------------------------------------------------------------------


def program(inputs: list[str], instructions: list[tuple[str, str, tuple[int, ...]]]) -> Any:
    codes = [DTYPES[name][0] for name in inputs]
    steps = [(opcode, DTYPES[name][0], args) for opcode, name, args in instructions]
    return _native.Program(codes, [], steps, [len(inputs) + len(steps) - 1])


@pytest.mark.parametrize("shape", [(70,), (5, 6), (40, 1, 33), (3, 200), (200, 3), (64, 40, 50)])
def test_program_and_reduction_equal_the_two_apart(shape: tuple[int, ...]) -> None:
    a, c = random_values("float32", shape), random_values("float32", shape)
    b = random_values("float32", shape[-1:])
    multiply_add = program(
        ["float32"] * 3, [("multiply", "float32", (0, 1)), ("add", "float32", (3, 2))]
    )
    for kind, axes in itertools.product(("sum", "mean", "prod", "max", "any"), subsets(len(shape))):
        out = "bool" if kind == "any" else "float32"
        reduction = _native.Reduction(
            kind, multiply_add, 1, DTYPES[out][0], axes, len(shape), False
        )
        for x, y in zip(layouts(a).values(), layouts(c).values(), strict=True):
            arrays = [native(x), native(b), native(y)]
            found = to_numpy(reduction.run(arrays))
            values = multiply_add.run(arrays)
            apart = _native.Reduction(kind, None, 1, DTYPES[out][0], axes, len(shape), False)
            np.testing.assert_array_equal(found, to_numpy(apart.run1(values)))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("shape", [(3000,), (7, 2100), (20, 3, 100), (13, 2, 700), (200, 65)])
def test_computed_sums_have_the_bits_of_sums_of_an_array(
    shape: tuple[int, ...], dtype: str
) -> None:
    code = DTYPES[dtype][0]
    x = native(random_values(dtype, shape))
    others = [random_values(dtype, shape), random_values(dtype, shape[-1:])]
    wide = "float32" if dtype == "float16" else dtype
    casts = [("cast", wide, (0,)), ("cast", wide, (1,)), ("multiply", wide, (2, 3))]
    product = program([dtype] * 2, [*casts, ("cast", dtype, (4,))])
    for other, axes in itertools.product(map(native, others), subsets(len(shape))):
        computed = _native.Reduction("sum", product, code, code, axes, len(shape), False)
        apart = _native.Reduction("sum", None, code, code, axes, len(shape), False)
        found = to_numpy(computed.run([x, other]))
        expected = to_numpy(apart.run1(product.run([x, other])))
        np.testing.assert_array_equal(found, expected)


def test_program_of_another_dtype_than_the_accumulator() -> None:
    x = random_values("float32", (30, 50))
    y = random_values("float32", (50,))
    greater = program(["float32", "float32"], [("greater", "float32", (0, 1))])
    for axes in subsets(2):
        count = _native.Reduction("sum", greater, 9, 4, axes, 2, False).run([native(x), native(y)])
        np.testing.assert_array_equal(to_numpy(count), (x > y).sum(axis=axes))
    square = program(["int32"], [("square", "int32", (0,))])
    values = random_values("int32", (30, 50))
    found = _native.Reduction("sum", square, 5, 4, (0,), 2, False).run1(native(values))
    np.testing.assert_array_equal(to_numpy(found), (values**2).sum(axis=0))


def test_program_of_empty_arrays() -> None:
    square = program(["float32"], [("square", "float32", (0,))])
    reduction = _native.Reduction("sum", square, 1, 1, (0,), 2, False)
    assert to_numpy(reduction.run1(native(np.zeros((0, 3), np.float32)))).tolist() == [0, 0, 0]
