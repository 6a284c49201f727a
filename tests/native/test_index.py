"""Gather and scatter against NumPy: layouts, duplicates, bounds, fixed order of sums."""

import itertools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumus import _native
from tests.native.native_arrays import DTYPES, layouts, native, to_numpy

NumpyArray = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(7)


def indices_into(bound: int, shape: tuple[int, ...]) -> NumpyArray:
    return RANDOM.integers(-bound, bound, shape)


def same_for_all_thread_counts(run: Callable[[], NumpyArray]) -> NumpyArray:
    before = _native.num_threads()
    try:
        results = []
        for count in (1, 2, 3, 8):
            _native.set_num_threads(count)
            results.append(run())
    finally:
        _native.set_num_threads(before)
    assert all(result.tobytes() == results[0].tobytes() for result in results)
    return results[0]


# ------------------------------------------------------------------------------------ reading


@pytest.mark.parametrize("dtype", DTYPES)
def test_index_of_first_axis(dtype: str) -> None:
    base = (np.arange(11 * 37) % 100).reshape(11, 37).astype(DTYPES[dtype][1])
    where = indices_into(11, (5, 6))
    for array in layouts(base).values():
        assert np.array_equal(to_numpy(_native.index(native(array), [native(where)])), base[where])


@pytest.mark.parametrize("length", range(71))
def test_index_of_any_length(length: int) -> None:
    base = np.arange(50, dtype=np.float32)
    where = indices_into(50, (length,))
    for positions in layouts(where).values():
        assert np.array_equal(
            to_numpy(_native.index(native(base), [native(positions)])), base[where]
        )
    matrix = np.arange(7 * length, dtype=np.float32).reshape(7, length)
    rows = indices_into(7, (9,))
    assert np.array_equal(to_numpy(_native.index(native(matrix), [native(rows)])), matrix[rows])


def test_index_with_several_broadcast_arrays() -> None:
    base = np.arange(4 * 5 * 6 * 3).reshape(4, 5, 6, 3)
    first, second, third = indices_into(4, (7, 1)), indices_into(5, (2,)), indices_into(6, (7, 2))
    for array in (base, base[::-1, :, ::-1], np.asfortranarray(base)):
        got = _native.index(native(array), [native(first), native(second), native(third)])
        assert np.array_equal(to_numpy(got), array[first, second, third])
        got = _native.index(native(array), [native(np.array(2)), native(second)])
        assert np.array_equal(to_numpy(got), array[2, second])
    assert np.array_equal(to_numpy(_native.index(native(base), [])), base)


@pytest.mark.parametrize("shape", [(300, 70), (40, 5000), (3, 100_000)])
def test_index_of_other_axis_reads_strided_blocks(shape: tuple[int, int]) -> None:
    base = RANDOM.standard_normal(shape).astype(np.float32)
    where = indices_into(shape[1], (333,))
    got = _native.index(native(base.T), [native(where)])
    assert np.array_equal(to_numpy(got), base.T[where])


def test_i14_empty_index() -> None:
    base = np.arange(6.0).reshape(3, 2)
    empty = np.zeros((0,), np.int64)
    assert to_numpy(_native.index(native(base), [native(empty)])).shape == (0, 2)
    nothing = _native.index(native(np.zeros((3, 0))), [native(np.array([1, 2]))])
    assert nothing.shape == (2, 0)
    assert to_numpy(_native.index_put(native(base), [native(empty)], native(np.array(1.0)), True))[
        0
    ].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("shape", [(0,), (0, 2), (2, 0), (2, 0, 3), (0, 0)])
def test_indices_of_no_elements_pick_and_add_nothing(shape: tuple[int, ...]) -> None:
    nothing = np.zeros(shape, np.int64)
    picked = _native.index(native(np.arange(4.0)), [native(nothing)])
    assert to_numpy(picked).shape == shape
    for axis in range(len(shape)):
        lengths = [3 if place == axis else length for place, length in enumerate(shape)]
        base = np.ones(lengths)
        along = _native.take_along_axis(native(base), native(nothing), axis)
        assert to_numpy(along).shape == shape
        added = _native.scatter_add(native(base), native(nothing), native(np.ones(shape)), axis)
        assert np.array_equal(to_numpy(added), base)


def test_i16_row_beyond_float32_integers() -> None:
    tall = np.zeros((16777218, 1), np.uint8)
    tall[16777217] = 9
    got = _native.index(native(tall), [native(np.array([16777217, -1, 16777216]))])
    assert to_numpy(got).tolist() == [[9], [9], [0]]


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "int8"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_take_along_axis_of_any_layout(dtype: str, axis: int) -> None:
    base = (np.arange(6 * 7 * 8) % 100).reshape(6, 7, 8).astype(DTYPES[dtype][1])
    shape = [6, 7, 8]
    shape[axis] = 5
    where = indices_into(base.shape[axis], tuple(shape))
    expected = np.take_along_axis(base, where, axis)
    for array, positions in itertools.product(layouts(base).values(), layouts(where).values()):
        got = _native.take_along_axis(native(array), native(positions), axis)
        assert np.array_equal(to_numpy(got), expected)


def test_take_along_axis_broadcasts_and_takes_single_columns() -> None:
    base = RANDOM.standard_normal((1000, 10))
    labels = indices_into(10, (1000, 1))
    got = _native.take_along_axis(native(base), native(labels), 1)
    assert np.array_equal(to_numpy(got), np.take_along_axis(base, labels, 1))
    row = indices_into(10, (1, 4))
    got = _native.take_along_axis(native(base), native(row), 1)
    assert np.array_equal(to_numpy(got), np.take_along_axis(base, row, 1))
    got = _native.take_along_axis(native(base[:1]), native(labels), 1)
    assert np.array_equal(to_numpy(got), np.take_along_axis(base[:1], labels, 1))


# ------------------------------------------------------------------------------------ writing


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put_of_every_dtype(dtype: str, accumulate: bool) -> None:
    numpy_dtype = DTYPES[dtype][1]
    base = (np.arange(5 * 9) % 2).reshape(5, 9).astype(numpy_dtype)
    where = np.array([0, 3, -2, 4])
    values = (np.arange(4 * 9) % 2).reshape(4, 9).astype(numpy_dtype)
    for array in layouts(base).values():
        expected = base.copy()
        if accumulate and dtype == "bool":
            np.logical_or.at(expected, where, values)
        elif accumulate:
            np.add.at(expected, where, values)
        else:
            expected[where] = values
        got = _native.index_put(native(array), [native(where)], native(values), accumulate)
        assert np.array_equal(to_numpy(got), expected)
        assert np.array_equal(array, base)
        window = array.copy(order="K")
        strided = np.zeros((10, 18), numpy_dtype)[::2, ::-2]
        strided[...] = base
        for target in (window, strided):
            _native.index_put_into(native(target), [native(where)], native(values), accumulate)
            assert np.array_equal(target, expected)


def test_i8_last_of_equal_indices_wins() -> None:
    base = np.zeros((4, 3))
    where = np.array([1, 1, 3, 1])
    got = _native.index_put(
        native(base), [native(where)], native(np.arange(12.0).reshape(4, 3)), False
    )
    assert to_numpy(got)[1].tolist() == [9, 10, 11]
    last = _native.last_writer((4,), [native(where)])
    assert to_numpy(last).tolist() == [False, False, True, True]


@pytest.mark.parametrize("prefix", [(3, 4), (3000, 4000)])
def test_last_writer_with_several_arrays(prefix: tuple[int, int]) -> None:
    first, second = RANDOM.integers(0, 3, (6, 1)), RANDOM.integers(-4, 4, (5,))
    got = to_numpy(_native.last_writer(prefix, [native(first), native(second)]))
    seen: dict[tuple[int, int], tuple[int, int]] = {}
    for place in np.ndindex(6, 5):
        seen[int(first[place[0], 0]), int(second[place[1]]) % prefix[1]] = place
    assert sorted(seen.values()) == sorted(map(tuple, np.argwhere(got).tolist()))


@pytest.mark.parametrize("width", [1, 3, 8, 40, 257, 3000])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bfloat16"])
def test_accumulation_has_one_order_for_all_thread_counts(width: int, dtype: str) -> None:
    numpy_dtype = DTYPES[dtype][1]
    count = 400_000 // width
    where = RANDOM.integers(0, 17, (count,))
    values = (RANDOM.standard_normal((count, width)) * 100).astype(numpy_dtype)
    base = np.ones((17, width), numpy_dtype)
    got = same_for_all_thread_counts(
        lambda: to_numpy(_native.index_put(native(base), [native(where)], native(values), True))
    )
    wide = np.float32 if dtype == "bfloat16" else numpy_dtype
    expected = base.astype(wide)
    np.add.at(expected, where, values.astype(wide))
    assert np.array_equal(got, expected.astype(numpy_dtype))


def test_index_put_broadcasts_values() -> None:
    base = np.zeros((4, 5, 3), np.float32)
    first, second = np.array([[0], [2]]), np.array([1, 4, -1])
    for values in (
        np.float32(2.0).reshape(()),
        np.arange(3, dtype=np.float32),
        np.arange(2, dtype=np.float32).reshape(2, 1, 1),
        np.arange(9, dtype=np.float32).reshape(3, 3),
    ):
        expected = base.copy()
        expected[first, second] = values
        got = _native.index_put(
            native(base), [native(first), native(second)], native(values), False
        )
        assert np.array_equal(to_numpy(got), expected)
        expected = base.copy()
        np.add.at(expected, (first, second), values)
        got = _native.index_put(native(base), [native(first), native(second)], native(values), True)
        assert np.array_equal(to_numpy(got), expected)


def test_index_put_into_reads_overlapping_values_first() -> None:
    memory = native(np.arange(6.0))
    where = native(np.array([1, 2, 3, 4, 5]))
    _native.index_put_into(memory, [where], memory.slice((0,), (5,), (1,)), False)
    assert to_numpy(memory).tolist() == [0, 0, 1, 2, 3, 4]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_i19_halves_accumulate_in_float32(dtype: str) -> None:
    numpy_dtype = DTYPES[dtype][1]
    zeros, ones = np.zeros(3, numpy_dtype), np.ones(1000, numpy_dtype)
    where = np.full(1000, 1)
    for got in (
        _native.index_put(native(zeros), [native(where)], native(ones), True),
        _native.scatter_add(native(zeros), native(where), native(ones), 0),
    ):
        assert to_numpy(got).astype(np.float32).tolist() == [0, 1000, 0]
    _native.index_put_into(native(zeros), [native(where)], native(ones), True)
    assert zeros.astype(np.float32).tolist() == [0, 1000, 0]


def test_i11_scatter_add_with_duplicates() -> None:
    got = _native.scatter_add(
        native(np.zeros(3)), native(np.array([0, 2, 0])), native(np.array([1.0, 2.0, 4.0])), 0
    )
    assert to_numpy(got).tolist() == [5, 0, 2]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_scatter_add_of_any_layout(dtype: str, axis: int) -> None:
    numpy_dtype = DTYPES[dtype][1]
    base = (np.arange(4 * 5 * 6) % 2).reshape(4, 5, 6).astype(numpy_dtype)
    shape = [3, 5, 6]
    shape[axis] = 9
    where = indices_into(base.shape[axis], tuple(shape))
    values = (np.arange(where.size) % 2).reshape(shape).astype(numpy_dtype)
    expected = base.copy()
    for place in np.ndindex(*shape):
        target = list(place)
        target[axis] = where[place]
        old = expected[tuple(target)]
        expected[tuple(target)] = (old | values[place]) if dtype == "bool" else old + values[place]
    for array, positions, terms in zip(
        layouts(base).values(), layouts(where).values(), layouts(values).values(), strict=True
    ):
        got = _native.scatter_add(native(array), native(positions), native(terms), axis)
        assert np.array_equal(to_numpy(got), expected)


@pytest.mark.parametrize("shape", [(100_000, 3), (3, 100_000), (500, 500), (200_000, 1)])
@pytest.mark.parametrize("axis", [0, 1])
def test_scatter_add_is_the_same_for_all_thread_counts(shape: tuple[int, int], axis: int) -> None:
    values = RANDOM.standard_normal(shape).astype(np.float32)
    base = np.zeros((5, shape[1]) if axis == 0 else (shape[0], 5), np.float32)
    where = RANDOM.integers(0, 5, shape)
    got = same_for_all_thread_counts(
        lambda: to_numpy(_native.scatter_add(native(base), native(where), native(values), axis))
    )
    expected = base.copy()
    rows, columns = np.indices(shape)
    np.add.at(expected, (where, columns) if axis == 0 else (rows, where), values)
    assert np.array_equal(got, expected)


# ------------------------------------------------------------------------------------ bounds


def test_i7_out_of_range_index_names_value_bound_position_and_axis() -> None:
    base = np.arange(12.0).reshape(3, 4)
    for bad in (4, -5, 2**40, -(2**63), 2**63 - 1):
        where = np.array([[0, 1], [-4, bad]])
        with pytest.raises(_native.IndexOutOfRange) as caught:
            _native.index(native(base), [native(np.array([0, 2])), native(where)])
        assert caught.value.args == (bad, 4, (1, 1), 1, -1)
        assert isinstance(caught.value, IndexError)
        with pytest.raises(_native.IndexOutOfRange) as caught:
            _native.take_along_axis(native(base), native(where), 1)
        assert caught.value.args == (bad, 4, (1, 1), 1, -1)
        with pytest.raises(_native.IndexOutOfRange) as caught:
            _native.scatter_add(native(base), native(where), native(np.ones((2, 2))), 1)
        assert caught.value.args == (bad, 4, (1, 1), 1, -1)
        with pytest.raises(_native.IndexOutOfRange):
            _native.last_writer((3, 4), [native(np.array([0])), native(where)])


def test_nothing_is_written_when_an_index_is_out_of_range() -> None:
    base = np.zeros((100_000, 2), np.float32)
    where = np.arange(100_000)
    where[-1] = 100_000
    for accumulate in (False, True):
        with pytest.raises(_native.IndexOutOfRange) as caught:
            _native.index_put_into(
                native(base), [native(where)], native(np.ones(2, np.float32)), accumulate
            )
        assert caught.value.args == (100_000, 100_000, (99_999,), 0, -1)
        assert not base.any()


def test_index_into_empty_axis_raises() -> None:
    with pytest.raises(_native.IndexOutOfRange):
        _native.index(native(np.zeros((0, 2))), [native(np.array([0]))])


# ------------------------------------------------------------------------------------ masks


@given(st.lists(st.booleans(), max_size=80))
def test_nonzero_of_any_length(values: list[bool]) -> None:
    mask = np.array(values, np.bool_)
    (got,) = _native.nonzero(native(mask))
    assert np.array_equal(to_numpy(got), np.flatnonzero(mask))


@pytest.mark.parametrize("density", [0.0, 0.001, 0.5, 1.0])
@pytest.mark.parametrize("shape", [(7, 9, 11), (300, 701), (3, 100_003), (100_003, 3), (4, 0, 3)])
def test_nonzero_of_any_shape(shape: tuple[int, ...], density: float) -> None:
    mask = RANDOM.random(shape) < density
    for array in (mask, np.asfortranarray(mask), mask[::-1]):
        got = _native.nonzero(native(array))
        assert len(got) == len(shape)
        for ours, theirs in zip(got, np.nonzero(array), strict=True):
            assert np.array_equal(to_numpy(ours), theirs)


def test_nonzero_counts_nan_as_true() -> None:
    (got,) = _native.nonzero(native(np.array([0.0, np.nan, -0.0, 2.0], ml_dtypes.bfloat16)))
    assert to_numpy(got).tolist() == [1, 3]
