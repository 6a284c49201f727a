"""Copies and casts: every layout, every pair of dtypes, every length around the vector width."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumus import _native
from tests.native.native_arrays import BFLOAT16, CODES, DTYPES, layouts, native, to_numpy

NumpyArray = np.ndarray[Any, Any]
SIZES = {1: "uint8", 2: "int16", 4: "float32", 8: "float64"}


def numbered(shape: tuple[int, ...], dtype: str) -> NumpyArray:
    size = math.prod(shape)
    return (np.arange(size) * 7 % 251).astype(DTYPES[dtype][1]).reshape(shape)


def misaligned(array: NumpyArray) -> NumpyArray:
    memory = np.zeros(array.nbytes + 1, np.uint8)
    result = memory[1:].view(array.dtype).reshape(array.shape)
    result[...] = array
    return result


def assert_same(actual: NumpyArray, expected: NumpyArray) -> None:
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    assert actual.tobytes() == np.ascontiguousarray(expected).tobytes()


# ------------------------------------------------------------------------------------ copies


@pytest.mark.parametrize("dtype", SIZES.values())
@pytest.mark.parametrize("length", range(71))
def test_copy_of_any_length_and_stride(dtype: str, length: int) -> None:
    for name, array in layouts(numbered((length,), dtype)).items():
        assert_same(to_numpy(_native.copy(native(array))), array), name


@pytest.mark.parametrize("dtype", SIZES.values())
@pytest.mark.parametrize("shape", [(3, 5), (16, 16), (17, 70), (64, 64), (65, 129), (200, 33)])
def test_copy_of_transposed_matrix(dtype: str, shape: tuple[int, int]) -> None:
    array = numbered(shape, dtype)
    for matrix in (array, misaligned(array), array[::-1], array[:, ::-1], array[::2, ::3]):
        assert_same(to_numpy(_native.copy(native(matrix.T))), matrix.T)


@pytest.mark.parametrize("dtype", SIZES.values())
def test_copy_of_every_axis_order(dtype: str) -> None:
    array = numbered((6, 5, 70, 4), dtype)
    for axes in itertools.permutations(range(4)):
        assert_same(to_numpy(_native.copy(native(array.transpose(axes)))), array.transpose(axes))


@pytest.mark.parametrize("dtype", SIZES.values())
def test_large_transposed_copy_streams_every_cell(dtype: str) -> None:
    rows = 9 * 2**20 // 1024 // DTYPES[dtype][1].itemsize
    for columns in (1024, 1000):
        array = np.random.default_rng(0).integers(0, 100, (rows, columns)).astype(DTYPES[dtype][1])
        assert_same(to_numpy(_native.copy(native(array.T))), array.T)
        assert_same(to_numpy(_native.copy(native(array))), array)


def test_copy_of_misaligned_large_memory() -> None:
    array = misaligned(np.random.default_rng(0).standard_normal(2**20 + 3).astype(np.float32))
    assert_same(to_numpy(_native.copy(native(array))), array)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1), (1, 4, 1)])
def test_copy_of_scalar_and_empty_shapes(shape: tuple[int, ...]) -> None:
    array = numbered(shape, "float32")
    assert_same(to_numpy(_native.copy(native(array))), array)


def test_copy_of_broadcast_array() -> None:
    row = numbered((5,), "float32")
    assert_same(to_numpy(_native.copy(native(row).broadcast((7, 5)))), np.broadcast_to(row, (7, 5)))
    column = native(row).reshape((5, 1)).broadcast((5, 90))
    assert_same(to_numpy(_native.copy(column)), np.broadcast_to(row[:, None], (5, 90)))


@st.composite
def windows(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[slice, ...], tuple[int, ...]]:
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=5)))
    slices = tuple(
        slice(draw(st.integers(0, 2)), None, draw(st.sampled_from([1, 2, 3])))
        if draw(st.booleans())
        else slice(None, None, draw(st.sampled_from([-1, -2])))
        for _ in shape
    )
    return shape, slices, tuple(draw(st.permutations(range(len(shape)))))


@given(source=windows(), target=windows(), dtype=st.sampled_from(sorted(SIZES.values())))
def test_copy_into_any_window(
    source: tuple[tuple[int, ...], tuple[slice, ...], tuple[int, ...]],
    target: tuple[tuple[int, ...], tuple[slice, ...], tuple[int, ...]],
    dtype: str,
) -> None:
    shape, slices, axes = source
    array = numbered(shape, dtype)[slices].transpose(axes)
    # A target of the same shape: reorder and pad its axes as the second window says.
    order = sorted(range(array.ndim), key=lambda axis: (target[2] * 5)[axis])
    memory = np.zeros([2 * array.shape[axis] + 1 for axis in order], array.dtype)
    steps = tuple(slice(0, 2 * array.shape[axis], 2) for axis in order)
    window = memory[steps].transpose([order.index(axis) for axis in range(array.ndim)])
    _native.copy_into(native(window), native(array))
    assert np.array_equal(window, array)
    expected = np.zeros_like(memory)
    expected[steps].transpose([order.index(axis) for axis in range(array.ndim)])[...] = array
    assert np.array_equal(memory, expected)


def test_copy_into_broadcasts_source() -> None:
    target = np.zeros((4, 3), np.float32)
    _native.copy_into(native(target.T), native(np.array([1, 2, 3, 4], np.float32)))
    assert np.array_equal(target, np.repeat([[1.0], [2.0], [3.0], [4.0]], 3, axis=1))


def test_i3_copy_into_overlapping_memory() -> None:
    memory = native(np.arange(8, dtype=np.float32))
    tail = memory.slice((1,), (7,), (1,))
    head = memory.slice((0,), (7,), (1,))
    _native.copy_into(tail, head)
    assert to_numpy(memory).tolist() == [0, 0, 1, 2, 3, 4, 5, 6]
    _native.copy_into(memory, memory.slice((7,), (8,), (-1,)))
    assert to_numpy(memory).tolist() == [6, 5, 4, 3, 2, 1, 0, 0]
    square = native(np.arange(9.0).reshape(3, 3))
    _native.copy_into(square, square.permute((1, 0)))
    assert np.array_equal(to_numpy(square), np.arange(9.0).reshape(3, 3).T)


# ------------------------------------------------------------------------------------ casts

SPECIAL_FLOATS = [
    0.0, -0.0, 1.0, -1.9, 2.5, 0.1, -127.5, -128.9, 127.9, 128.0, 255.9, 256.0, -0.9, 1e-3, 3e9,
    2.0**31, -(2.0**31), 2.0**31 - 1, 2.0**53 + 2, 2.0**63, -(2.0**63), 1e19, -1e19, 65503.0,
    65504.0, 65519.0, 65519.99, 65520.0, 6e-8, 2.9802322387695312e-08,
    2.98023223876953125e-08 * 1.0000001,
    1.0009765625 * 0.5, 1 + 2**-11, 1 + 2**-11 + 2**-30, 1 + 2**-11 - 2**-40, 1 + 2**-8 + 2**-40,
    1 + 2**-8, 1 + 3 * 2**-8, 3.3961775e38, 3.4e38, 1e-40, 1e-45, 1e300, 1e-300,
    math.inf, -math.inf, math.nan,
]  # fmt: skip
SPECIAL_INTS = [
    0, 1, -1, 2, 127, 128, -128, -129, 255, 256, 257, 32767, 32768, 65535, 65519, 65520, 2**24 + 1,
    2**31 - 1, -(2**31), 2**31, 2**40, 2**53 + 1, 2**62 + 2**54, 2**62 + 2**54 + 1,
    -(2**62) - 2**54 - 1, 2**63 - 1, -(2**63), 2**24 + 2**16 + 1, -(2**24) - 2**16,
    384 * 2**20 + 1, 385 * 2**20,
]  # fmt: skip


def round_to_bfloat16(value: float | int) -> float:
    """The nearest bfloat16, ties to even, from the exact value."""
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value) or value == 0):
        return value
    exact = Fraction(value)
    exponent = max(math.frexp(float(abs(exact)))[1] - 8, -133)
    unit = Fraction(2) ** exponent
    rounded = Fraction(round(exact / unit)) * unit  # round() of a Fraction is half to even
    if abs(rounded) >= Fraction(2) ** 128:
        return math.copysign(math.inf, value)
    return math.copysign(float(rounded), value)


def expected_cast(array: NumpyArray, to: str) -> NumpyArray:
    dtype = DTYPES[to][1]
    is_real = array.dtype.kind == "f" or array.dtype == BFLOAT16
    if to == "bool":
        return (array.astype(np.float64) if array.dtype == BFLOAT16 else array) != 0
    if dtype == BFLOAT16:
        values = array.astype(np.float64) if is_real else array
        rounded = [round_to_bfloat16(value) for value in values.reshape(-1).tolist()]
        return np.array(rounded, np.float32).astype(dtype).reshape(array.shape)
    if is_real and dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        saturated = [
            0 if math.isnan(value) else max(bounds.min, min(bounds.max, value))
            for value in array.astype(np.float64).reshape(-1).tolist()
        ]
        return np.array([int(value) for value in saturated], dtype).reshape(array.shape)
    with np.errstate(over="ignore"):
        return array.astype(dtype)


def values_of(dtype: str) -> NumpyArray:
    numpy_dtype = DTYPES[dtype][1]
    if dtype == "bool":
        return np.array([False, True, True])
    if numpy_dtype.kind in "iu":
        return np.array(SPECIAL_INTS).astype(numpy_dtype)
    with np.errstate(over="ignore", under="ignore"):
        return np.array(SPECIAL_FLOATS).astype(numpy_dtype)


@pytest.mark.usefixtures("keeps_denormals")
@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
def test_l5_cast_of_every_pair_at_every_position(source: str, target: str) -> None:
    values = values_of(source)
    expected = expected_cast(values, target)
    for shift in range(0, 70, 23):
        array = np.resize(np.roll(values, shift), 300)
        want = np.resize(np.roll(expected, shift), 300)
        for name, laid_out in layouts(array).items():
            got = to_numpy(_native.cast(native(laid_out), DTYPES[target][0]))
            assert got.dtype == want.dtype
            assert np.array_equal(
                got.astype(np.float64),
                want.astype(np.float64),
                equal_nan=want.dtype.kind not in "iub",
            ), name
            if want.dtype.kind == "f":
                real = ~np.isnan(want)
                assert np.array_equal(np.signbit(got[real]), np.signbit(want[real])), name
            if want.dtype.kind in "iu":
                assert np.array_equal(got, want), name


@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
def test_cast_of_strided_and_transposed_layouts(source: str, target: str) -> None:
    array = numbered((70, 9, 65), source)
    if source == "bool" or target == "bool":
        array = (numbered((70, 9, 65), "uint8") % 2).astype(DTYPES[source][1])
    for view in (
        array.transpose(2, 1, 0),
        array.transpose(0, 2, 1),
        array[::2, ::-1, 1:],
        array[..., ::3].transpose(1, 2, 0),
        misaligned(array).T,
    ):
        got = to_numpy(_native.cast(native(view), DTYPES[target][0]))
        assert np.array_equal(
            got.astype(np.float64), expected_cast(view, target).astype(np.float64)
        )


@pytest.mark.parametrize("length", range(71))
def test_cast_agrees_at_every_length(length: int) -> None:
    array = np.resize(values_of("float32"), length)
    for target in DTYPES:
        whole = to_numpy(
            _native.cast(native(np.resize(values_of("float32"), 71)), DTYPES[target][0])
        )
        got = to_numpy(_native.cast(native(array), DTYPES[target][0]))
        assert got.tobytes() == whole[:length].tobytes()


def test_every_float16_survives_float32_and_back() -> None:
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    wide = to_numpy(_native.cast(native(halves), DTYPES["float32"][0]))
    with np.errstate(invalid="ignore"):
        assert np.array_equal(wide, halves.astype(np.float32), equal_nan=True)
    back = to_numpy(_native.cast(native(wide), DTYPES["float16"][0]))
    assert np.array_equal(back[~np.isnan(halves)], halves[~np.isnan(halves)])
    assert np.isnan(back[np.isnan(halves)]).all()


@given(st.lists(st.floats(width=32), min_size=1, max_size=50))
def test_float32_to_halves_rounds_to_nearest_even(values: list[float]) -> None:
    array = np.array(values, np.float32)
    for target in ("float16", "bfloat16"):
        got = to_numpy(_native.cast(native(array), DTYPES[target][0]))
        with np.errstate(over="ignore"):
            want = array.astype(DTYPES[target][1])
        assert np.array_equal(got.astype(np.float32), want.astype(np.float32), equal_nan=True)


# What is below the normal numbers of bfloat16 is zero unless the user asks for it.
NORMAL = st.floats().filter(lambda x: x == 0 or not abs(x) < 2.0**-126)


@given(st.lists(NORMAL, min_size=1, max_size=50))
def test_float64_to_halves_rounds_once(values: list[float]) -> None:
    array = np.array(values, np.float64)
    for target in ("float16", "bfloat16"):
        got = to_numpy(_native.cast(native(array), DTYPES[target][0]))
        assert np.array_equal(
            got.astype(np.float32), expected_cast(array, target).astype(np.float32), equal_nan=True
        )


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=50))
def test_int64_to_halves_rounds_once(values: list[int]) -> None:
    array = np.array(values, np.int64)
    for target in ("float16", "bfloat16"):
        got = to_numpy(_native.cast(native(array), DTYPES[target][0]))
        assert np.array_equal(
            got.astype(np.float32), expected_cast(array, target).astype(np.float32)
        )


# ------------------------------------------------------------------------- fill, join, ramps


@pytest.mark.parametrize("dtype", DTYPES)
def test_full_and_fill_of_every_dtype(dtype: str) -> None:
    code, numpy_dtype = DTYPES[dtype]
    for value in (1, 0, True, 1.0):
        array = _native.full(code, (3, 37), value)
        assert np.array_equal(to_numpy(array), np.full((3, 37), value, numpy_dtype))
    memory = np.zeros((5, 40), numpy_dtype)
    _native.fill(native(memory[1::2, ::-3]), 1)
    expected = np.zeros((5, 40), numpy_dtype)
    expected[1::2, ::-3] = 1
    assert np.array_equal(memory, expected)


def test_full_rounds_and_saturates_like_a_cast() -> None:
    assert to_numpy(_native.full(DTYPES["float16"][0], (2,), 1 + 2**-11)).tolist() == [1.0, 1.0]
    assert to_numpy(_native.full(DTYPES["int64"][0], (1,), 2**63 - 1)).tolist() == [2**63 - 1]
    assert to_numpy(_native.full(DTYPES["float64"][0], (), 2**70)).tolist() == 2.0**70
    assert math.isnan(to_numpy(_native.full(DTYPES["float32"][0], (1,), math.nan))[0])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_concat_of_any_layouts(axis: int) -> None:
    base = numbered((4, 5, 6), "float32")
    parts = [base, base[:, ::-1], np.asfortranarray(base), base.take([], axis), base[..., ::1]]
    joined = to_numpy(_native.concat([native(part) for part in parts], axis))
    assert_same(joined, np.concatenate(parts, axis))


def test_i21_arange_and_linspace() -> None:
    code = DTYPES["float32"][0]
    assert_same(
        to_numpy(_native.arange(code, 0.6, 0.1, 4)),
        (0.6 + np.arange(4) * 0.1).astype(np.float32),
    )
    exact = to_numpy(_native.arange(DTYPES["int64"][0], 16777216, 1, 4))
    assert exact.tolist() == [16777216, 16777217, 16777218, 16777219]
    assert to_numpy(_native.arange(DTYPES["int8"][0], 5, -2, 4)).tolist() == [5, 3, 1, -1]
    assert to_numpy(_native.arange(code, 0, 1, 0)).shape == (0,)
    line = to_numpy(_native.linspace(code, 0, 0.7, 8))
    assert line[-1] == np.float32(0.7)
    assert_same(line, np.linspace(0, 0.7, 8).astype(np.float32))
    assert to_numpy(_native.linspace(code, 3, 9, 1)).tolist() == [3]
    assert to_numpy(_native.linspace(code, 3, 9, 0)).tolist() == []


@pytest.mark.parametrize("count", [*range(71), 1000, 40000])
def test_arange_of_any_length(count: int) -> None:
    for dtype in ("float64", "float32", "int32", "int64"):
        got = to_numpy(_native.arange(DTYPES[dtype][0], 3, 2, count))
        assert_same(got, np.arange(3, 3 + 2 * count, 2).astype(DTYPES[dtype][1]))


# ------------------------------------------------------------------------------------ threads


def test_same_bits_for_any_number_of_threads() -> None:
    array = np.random.default_rng(1).standard_normal((700, 900))
    before = _native.num_threads()
    results = []
    try:
        for count in (1, 2, 3, 8):
            _native.set_num_threads(count)
            results.append(
                [
                    to_numpy(_native.cast(native(array.T), CODES[BFLOAT16])).tobytes(),
                    to_numpy(_native.copy(native(array.T))).tobytes(),
                    to_numpy(_native.arange(1, 0.1, 0.3, 200_001)).tobytes(),
                ]
            )
    finally:
        _native.set_num_threads(before)
    assert all(result == results[0] for result in results)
