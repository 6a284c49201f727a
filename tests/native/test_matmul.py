"""Native matrix products against NumPy: ranks, layouts, dtypes, empties, NaN, infinity, threads."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy_openblas32

from lumus import _native
from tests.native.instruction_sets import check_passes, on_every_isa
from tests.native.native_arrays import BFLOAT16, DTYPES, FLOATS, INTS, native, to_numpy

AnyArray = npt.NDArray[Any]

SHAPES_2D = [
    (1, 1, 1),
    (1, 7, 5),
    (5, 7, 1),
    (2, 3, 4),
    (16, 16, 16),
    (17, 33, 65),
    (14, 384, 32),
    (15, 385, 33),
    (64, 128, 10),
    (64, 10, 128),
    (1, 800, 100),
    (1, 1024, 21),
    (2, 785, 19),
    (3, 1155, 9),
    (4, 512, 33),
    (3, 450, 45),
    (20, 1024, 300),
    (70, 800, 100),
    (200, 90, 130),
    (300, 20, 300),
]


@pytest.fixture(scope="module", autouse=True)
def blas() -> None:
    folder = Path(scipy_openblas32.get_lib_dir())
    (library,) = folder.glob("libscipy_openblas*")
    _native.load_blas(str(library))


@pytest.fixture
def threads() -> Iterator[None]:
    before = _native.num_threads()
    yield
    _native.set_num_threads(before)


def product(a: AnyArray, b: AnyArray) -> AnyArray:
    return to_numpy(_native.matmul(native(a), native(b)))


def layouts(array: AnyArray) -> Iterator[AnyArray]:
    """The same values in many layouts of the last two axes."""
    yield np.ascontiguousarray(array)
    yield np.ascontiguousarray(array.swapaxes(-1, -2)).swapaxes(-1, -2)
    yield np.ascontiguousarray(array[..., ::-1, :])[..., ::-1, :]
    yield np.ascontiguousarray(array[..., ::-1])[..., ::-1]
    rows, columns = array.shape[-2:]
    wide = np.full((*array.shape[:-2], rows, columns + 3), 77, array.dtype)
    wide[..., 1 : columns + 1] = array
    yield wide[..., 1 : columns + 1]
    sparse = np.full((*array.shape[:-2], 2 * rows, 3 * columns), 77, array.dtype)
    sparse[..., ::2, ::3] = array
    yield sparse[..., ::2, ::3]


def same_bits(x: AnyArray, y: AnyArray) -> bool:
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("rows", "depth", "columns"), SHAPES_2D)
def test_matmul_layouts_agree_bit_for_bit(dtype: str, rows: int, depth: int, columns: int) -> None:
    rng = np.random.default_rng(rows * depth + columns)
    a = rng.standard_normal((rows, depth)).astype(dtype)
    b = rng.standard_normal((depth, columns)).astype(dtype)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    first = product(a, b)
    tolerance = 4 * np.finfo(dtype).eps * (np.abs(a).astype(np.float64) @ np.abs(b)).max()
    np.testing.assert_allclose(first, expected, rtol=0, atol=tolerance)
    for left, right in itertools.product(layouts(a), layouts(b)):
        result = product(left, right)
        if not _native.needs_blas():
            assert same_bits(result, first)
        else:  # OpenBLAS sums in other orders for transposed operands
            np.testing.assert_allclose(result, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [1, 3, 4, 7, 8, 9, 23, 70])
def test_matmul_few_rows_of_every_small_depth(dtype: str, columns: int) -> None:
    rng = np.random.default_rng(columns)
    for depth in [*range(71), 384, 385, 770, 1024, 1161]:
        a = rng.standard_normal((6, depth)).astype(dtype)
        stored = rng.standard_normal((columns, depth)).astype(dtype)
        exact = a.astype(np.float64) @ stored.T.astype(np.float64)
        bound = 4 * np.finfo(dtype).eps * (np.abs(a) @ np.abs(stored.T)).astype(np.float64)
        whole = product(a, np.ascontiguousarray(stored.T))
        for rows in range(1, 6):
            result = product(a[:rows], stored.T)
            assert (np.abs(result - exact[:rows]) <= bound[:rows]).all()
            if not _native.needs_blas():
                assert same_bits(result, whole[:rows])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("depth", [16, 784, 1024])
def test_matmul_row_has_the_same_bits_in_every_batch(dtype: str, depth: int) -> None:
    if _native.needs_blas():
        pytest.skip("OpenBLAS sums in an order of its own for a single row")
    rng = np.random.default_rng(depth)
    a = rng.standard_normal((40, depth)).astype(dtype)
    weight = rng.standard_normal((50, depth)).astype(dtype)
    whole = product(a, weight.T)
    for rows in (1, 2, 3, 4, 5, 8, 15, 39):
        assert same_bits(product(a[:rows], weight.T), whole[:rows])
        assert same_bits(product(a[:rows, None], weight.T), whole[:rows, None])
    assert same_bits(product(a[0], weight.T), whole[0])
    assert same_bits(product(weight, a[0]), whole[0])
    assert same_bits(product(weight[7], a[0]), whole[0, 7])
    assert same_bits(product(weight[7:10], a[:2].T), np.ascontiguousarray(whole[:2, 7:10].T))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_matmul_few_rows_of_every_stride(dtype: str, rows: int) -> None:
    rng = np.random.default_rng(rows)
    depth, columns = 402, 21
    a = rng.standard_normal((2 * rows, 2 * depth)).astype(dtype)
    page = 4096 // a.itemsize
    wide = rng.standard_normal((columns, page)).astype(dtype)
    repeated = np.broadcast_to(wide[:1], wide.shape)
    for stored in (wide, wide[::-1], repeated, wide[:, 7:], wide[:, ::-1], wide[::2], wide[:3]):
        right = stored[:, :depth].T
        repeated_rows = np.broadcast_to(a[:1, :depth], (rows, depth))
        for left in (a[::2, ::2], a[rows:, :depth], a[rows - 1 :: -1, ::-2], repeated_rows):
            expected = product(left.copy(), right.copy())
            result = product(left, right)
            np.testing.assert_allclose(result, left.astype(np.float64) @ right, atol=1e-4)
            if not _native.needs_blas():
                assert same_bits(result, expected)


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize(("rows", "depth", "columns"), SHAPES_2D)
def test_matmul_integers_wrap_like_numpy(dtype: str, rows: int, depth: int, columns: int) -> None:
    rng = np.random.default_rng(rows + depth + columns)
    info = np.iinfo(dtype)
    a = rng.integers(info.min, info.max, (rows, depth), dtype=dtype, endpoint=True)
    b = rng.integers(info.min, info.max, (depth, columns), dtype=dtype, endpoint=True)
    with np.errstate(over="ignore"):
        expected = a @ b
    for left, right in zip(layouts(a), layouts(b), strict=True):
        np.testing.assert_array_equal(product(left, right), expected)


@pytest.mark.parametrize(("rows", "depth", "columns"), SHAPES_2D)
def test_matmul_half_types_round_once(rows: int, depth: int, columns: int) -> None:
    rng = np.random.default_rng(rows + 2 * depth + columns)
    a = rng.standard_normal((rows, depth)).astype(np.float32)
    b = rng.standard_normal((depth, columns)).astype(np.float32)

    for half, epsilon in ((np.dtype(np.float16), 2**-10), (BFLOAT16, 2**-7)):
        half_a, half_b = a.astype(half), b.astype(half)
        expected = product(half_a.astype(np.float32), half_b.astype(np.float32)).astype(half)
        for left, right in zip(layouts(half_a), layouts(half_b), strict=True):
            result = product(left, right)
            if not _native.needs_blas():
                assert same_bits(result, expected)
            else:  # OpenBLAS sums float32 in another order than our half products
                np.testing.assert_allclose(
                    result.astype(np.float64),
                    expected.astype(np.float64),
                    rtol=epsilon,
                    atol=1e-3,
                )


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int8"])
@pytest.mark.parametrize(
    ("a_shape", "b_shape"),
    [
        ((4,), (4,)),
        ((4,), (4, 3)),
        ((2, 4), (4,)),
        ((5, 2, 4), (4,)),
        ((4,), (5, 4, 3)),
        ((5, 2, 4), (4, 3)),
        ((2, 4), (5, 4, 3)),
        ((5, 2, 4), (5, 4, 3)),
        ((1, 2, 4), (5, 4, 3)),
        ((6, 1, 2, 4), (5, 4, 3)),
        ((6, 5, 2, 4), (1, 5, 4, 3)),
        ((6, 5, 1, 4), (1, 1, 4, 1)),
        ((6, 5, 2, 4), (6, 1, 4, 1)),
        ((6, 5, 1, 4), (1, 5, 4, 3)),
        ((2, 1, 3, 1, 4), (5, 1, 4, 2)),
        ((0,), (0,)),
        ((2, 0), (0, 3)),
        ((0, 4), (4, 3)),
        ((2, 4), (4, 0)),
        ((0, 2, 4), (4, 3)),
        ((5, 2, 0), (5, 0, 3)),
        ((0, 2, 4), (1, 4, 3)),
    ],
)
def test_matmul_ranks_and_batches_follow_numpy(
    dtype: str, a_shape: tuple[int, ...], b_shape: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(-3, 4, a_shape).astype(dtype)
    b = rng.integers(-3, 4, b_shape).astype(dtype)
    expected = np.asarray(a @ b)
    result = product(a, b)
    assert result.shape == expected.shape
    np.testing.assert_array_equal(result, expected)
    if a.ndim > 1 and b.ndim > 1:
        for left, right in itertools.product(layouts(a), layouts(b)):
            np.testing.assert_array_equal(product(left, right), expected)


def test_matmul_broadcast_and_permuted_batches_follow_numpy() -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(-3, 4, (4, 3, 5, 7)).astype(np.float32)
    b = rng.integers(-3, 4, (3, 4, 7, 6)).astype(np.float32)
    np.testing.assert_array_equal(product(a.transpose(1, 0, 2, 3), b), a.transpose(1, 0, 2, 3) @ b)
    weight = np.broadcast_to(b[0, 0], (4, 3, 7, 6))
    np.testing.assert_array_equal(product(a, weight), a @ weight)
    rows = np.broadcast_to(a[0, 0, :1], (5, 7))
    np.testing.assert_array_equal(product(rows, b[0, 0]), rows @ b[0, 0])
    np.testing.assert_array_equal(
        product(a.transpose(0, 2, 1, 3), b[0, 0]), a.transpose(0, 2, 1, 3) @ b[0, 0]
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_matmul_every_small_size(dtype: str) -> None:
    rng = np.random.default_rng(2)
    a = rng.integers(-8, 9, (40, 40)).astype(dtype)
    b = rng.integers(-8, 9, (40, 40)).astype(dtype)
    for size in range(1, 41):
        for rows, depth, columns in [(size, 5, 9), (9, size, 5), (5, 9, size), (size, size, size)]:
            left, right = a[:rows, :depth], b[:depth, :columns]
            np.testing.assert_array_equal(product(left, right), left @ right)
            np.testing.assert_array_equal(product(left[::-1], right), left[::-1] @ right)
            np.testing.assert_array_equal(product(right.T, left.T), right.T @ left.T)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize(("rows", "depth", "columns"), SHAPES_2D)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_matmul_zero_times_nonfinite_is_nan(
    dtype: str, rows: int, depth: int, columns: int, value: float
) -> None:
    a = np.zeros((rows, depth), dtype)
    b = np.ones((depth, columns), dtype)
    b[depth // 2, columns // 2] = value
    result = product(a, b)
    assert np.isnan(result[:, columns // 2]).all()
    assert np.isnan(result).sum() == rows
    transposed = product(b.T, a.T)
    assert np.isnan(transposed[columns // 2]).all()
    assert np.isnan(transposed).sum() == rows


def test_matmul_infinities_that_cancel_are_nan() -> None:
    a = np.array([[np.inf, 1.0, -np.inf]], np.float32)
    assert np.isnan(product(a, np.ones((3, 2), np.float32))).all()
    assert np.isposinf(product(a[:, :2], np.ones((2, 2), np.float32))).all()


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
@pytest.mark.parametrize(
    ("a_shape", "b_shape"),
    [
        ((64, 784), (784, 512)),
        ((300, 500), (500, 300)),
        ((1000, 64), (64, 70)),
        ((30, 40, 50), (30, 50, 60)),
        ((1, 3000), (3000, 1000)),
        ((1000, 3000), (3000,)),
        ((3, 3000), (3000, 500)),
    ],
)
def test_matmul_bits_do_not_depend_on_threads(
    dtype: str, a_shape: tuple[int, ...], b_shape: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(3)
    a = (rng.standard_normal(a_shape) * 50).astype(dtype)
    b = (rng.standard_normal(b_shape) * 50).astype(dtype)
    stored = np.ascontiguousarray(b.swapaxes(-1, -2)).swapaxes(-1, -2) if b.ndim > 1 else b
    results = []
    for count in (1, 2, 3, 8):
        _native.set_num_threads(count)
        results.append(product(a, b))
        results.append(product(a, stored) if not _native.needs_blas() else results[-1])
    assert all(same_bits(result, results[0]) for result in results)


# ------------------------------------------------------------------------------------ epilogues

# where(y > low, y, y * scale) of the product, one element and one for each column; in the dtype.
LEAK = [("multiply", None, (0, 1)), ("greater", None, (0, 2)), ("select", None, (4, 0, 3))]


def leak(dtype: str) -> _native.Program:
    code, half = DTYPES[dtype][0], dtype in ("float16", "bfloat16")
    computed = DTYPES["float32"][0] if half else code
    if not half:
        steps = [(name, computed, arguments) for name, _, arguments in LEAK]
        return _native.Program([code] * 3, [], steps, [5])
    casts = [("cast", computed, (place,)) for place in range(3)]
    steps = [(name, computed, tuple(3 + one for one in args)) for name, _, args in LEAK]
    return _native.Program([code] * 3, [], [*casts, *steps, ("cast", code, (8,))], [9])


def finished(
    dtype: str, a: AnyArray, b: AnyArray, *, bias: AnyArray | None = None
) -> tuple[AnyArray, AnyArray]:
    """The product with the epilogue, and the epilogue of the product that is there."""
    rng = np.random.default_rng(9)
    program, added = leak(dtype), [] if bias is None else [native(bias)]
    plain = _native.matmul_step(False, bias is not None, None)
    shape = np.matmul(np.zeros(a.shape, bool), np.zeros(b.shape, bool)).shape
    expected, found = (_native.empty(DTYPES[dtype][0], shape) for _ in range(2))
    plain.run([native(a), native(b), *added], [expected])
    columns = shape[-1]
    low = (rng.standard_normal(2 * columns) * 3).astype(a.dtype)[::2]
    scaled = [native(np.array(3).astype(a.dtype)), native(low)]
    program.run_into([expected], [expected, *scaled])
    step = _native.matmul_step(False, bias is not None, program)
    step.run([native(a), native(b), *added, *scaled], [found])
    return to_numpy(found), to_numpy(expected)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS])
@pytest.mark.parametrize(("rows", "depth", "columns"), [*SHAPES_2D, (3, 0, 5), (0, 3, 5)])
def test_an_epilogue_gives_the_bits_of_a_program_of_its_own(
    dtype: str, rows: int, depth: int, columns: int
) -> None:
    rng = np.random.default_rng(rows + columns)
    a = (rng.standard_normal((rows, depth)) * 3).astype(DTYPES[dtype][1])
    b = (rng.standard_normal((depth, columns)) * 3).astype(a.dtype)
    bias = b[0] if depth and a.dtype not in (np.dtype(name) for name in INTS) else None
    assert same_bits(*finished(dtype, a, b, bias=bias))
    turned = np.ascontiguousarray(b.T).T
    assert same_bits(*finished(dtype, a, turned, bias=bias))


@pytest.mark.parametrize(
    ("a_shape", "b_shape"),
    [
        ((4,), (4, 9)),
        ((9, 4), (4,)),
        ((3, 9, 4), (4,)),
        ((5, 4), (3, 4, 9)),
        ((4,), (3, 4, 9)),
        ((1, 4), (3, 4, 9)),
        ((3, 1, 4), (4, 9)),
        ((2, 3, 6, 4), (3, 4, 9)),
        ((2, 1, 5, 4), (3, 4, 1)),
        ((1, 5, 4), (3, 4, 1)),
        ((2, 0, 4), (4, 9)),
    ],
)
def test_an_epilogue_meets_the_columns_of_batches(
    a_shape: tuple[int, ...], b_shape: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(8)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in (a_shape, b_shape))
    assert same_bits(*finished("float32", a, b))
    if b.ndim > 1:
        # Neighbours of a batch that are neighbours in memory, as columns of one product would be.
        moved = np.moveaxis(np.ascontiguousarray(np.moveaxis(b, 0, -2)), -2, 0)
        assert same_bits(*finished("float32", a, moved))


def test_an_epilogue_sees_nan_and_both_zeros() -> None:
    a = np.array([[np.nan], [-0.0], [0.0], [np.inf], [-1]], np.float32)
    b = np.array([[1, 0, -1, -0.0]], np.float32)
    assert same_bits(*finished("float32", a, b))


@pytest.mark.usefixtures("threads")
def test_bits_of_an_epilogue_do_not_depend_on_threads() -> None:
    rng = np.random.default_rng(10)
    for a_shape, b_shape in (
        ((500, 300), (300, 500)),
        ((900, 3), (3, 700)),
        ((2, 3000), (3000, 9)),
    ):
        a, b = (rng.standard_normal(shape).astype(np.float32) for shape in (a_shape, b_shape))
        results = []
        for count in (1, 2, 8):
            _native.set_num_threads(count)
            found, expected = finished("float32", a, b)
            assert same_bits(found, expected)
            results.append(found.tobytes())
        assert len(set(results)) == 1


def test_epilogues_that_do_not_fit_are_refused() -> None:
    code, other = DTYPES["float32"][0], DTYPES["float64"][0]
    a, b, out = (np.ones((3, 3), np.float32) for _ in range(3))
    two = _native.Program([code], [], [], [0, 0])
    many = _native.Program([code] * 9, [], [], [0])
    for program in (two, many):
        with pytest.raises(ValueError, match="an epilogue has one output, and not more than 8"):
            _native.matmul_step(False, False, program)

    def run(program: _native.Program, *others: AnyArray, c: AnyArray = out) -> None:
        step = _native.matmul_step(False, False, program)
        step.run([native(a), native(b), *[native(one) for one in others]], [native(c)])

    with pytest.raises(ValueError, match="another dtype than the product"):
        run(_native.Program([other], [], [], [0]))
    add = _native.Program([code, code], [], [("add", code, (0, 1))], [2])
    with pytest.raises(ValueError, match="another dtype than the program"):
        run(add, np.ones(3))
    with pytest.raises(ValueError, match="not one element for each column"):
        run(add, np.ones((3, 3), np.float32))
    step = _native.matmul_step(False, False, _native.Program([code], [], [], [0]))
    with pytest.raises(ValueError, match="a product without axes"):
        step.run([native(a[0]), native(b[0])], [native(np.ones((), np.float32))])


@on_every_isa
def test_epilogues_on_every_instruction_set(isa: str) -> None:
    check_passes(isa, __file__, "epilogue")


def test_h8_matmul_of_noncontiguous_operands() -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)[::2, ::2]
    np.testing.assert_array_equal(product(a, a), [[16, 20], [80, 116]])
    np.testing.assert_array_equal(product(a.T, a), [[64, 80], [80, 104]])


def test_h9_half_matmul_accumulates_wider() -> None:
    a = np.ones((1, 6000), np.float16)
    assert product(a, a.T).item() == 6000


def test_h11_matmul_of_one_array_with_itself() -> None:
    a = np.arange(9, dtype=np.float64).reshape(3, 3)
    array = native(a)
    np.testing.assert_array_equal(np.asarray(_native.matmul(array, array)), a @ a)


def test_load_blas_missing_library_is_an_os_error_or_already_loaded() -> None:
    _native.load_blas("/nonexistent/library.so")  # a library is in use: the path is not looked at
    info = _native.blas_info()
    assert info is not None
    assert "OpenBLAS" in info["config"]


def test_needs_blas_only_without_fused_multiply_adds() -> None:
    assert _native.needs_blas() == (_native.isa() not in ("v3", "v4"))
