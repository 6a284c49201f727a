"""Philox: published vectors, the formulas of random.h, prefixes, threads, distributions."""

import math
from typing import Any

import numpy as np
import pytest

from lumus import _native
from tests.native.native_arrays import BFLOAT16, DTYPES, FLOATS, INTS, native, to_numpy

NumpyArray = np.ndarray[Any, Any]
MASK = 0xFFFFFFFF


def key(seed: int, counter: int = 0) -> _native.Array:
    return native(np.array([seed, counter], np.int64))


def philox(seed: int, counter: int, count: int) -> NumpyArray:
    """The words of the stream, from the definition."""
    words = []
    for block in range((count + 3) // 4):
        number = counter + block
        c = [number >> shift & MASK for shift in (0, 32, 64, 96)]
        k = [seed & MASK, seed >> 32 & MASK]
        for _ in range(10):
            first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [second >> 32 ^ c[1] ^ k[0], second & MASK, first >> 32 ^ c[3] ^ k[1], first & MASK]
            k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
        words += c
    return np.array(words[:count], np.uint64)


@pytest.mark.parametrize(
    ("seed", "counter", "expected"),
    [
        (0, 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        (2**64 - 1, 2**128 - 1, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            0x299F31D0A4093822,
            0x0370734413198A2E85A308D3243F6A88,
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_published_vectors(seed: int, counter: int, expected: list[int]) -> None:
    assert to_numpy(_native.random_bits(seed, counter, 4)).tolist() == expected


@pytest.mark.parametrize("counter", [0, 5, 2**32 - 7, 2**40])
def test_stream_of_blocks(counter: int) -> None:
    got = to_numpy(_native.random_bits(12345678901, counter, 1200))
    assert np.array_equal(got.astype(np.uint64), philox(12345678901, counter, 1200))


def wide(words: NumpyArray) -> NumpyArray:
    return words[::2] | words[1::2] << np.uint64(32)


def test_uniform_is_its_formula() -> None:
    words = philox(3, 9, 2000)
    for dtype, shift in (("float32", 8), ("float16", 21), ("bfloat16", 24)):
        code, numpy_dtype = DTYPES[dtype]
        got = to_numpy(_native.random_uniform(key(3, 9), code, (50, 40)))
        want = ((words >> np.uint64(shift)) * 2.0 ** (shift - 32)).astype(numpy_dtype)
        assert np.array_equal(got.reshape(-1), want)
    got = to_numpy(_native.random_uniform(key(3, 9), DTYPES["float64"][0], (1000,)))
    assert np.array_equal(got, (wide(words) >> np.uint64(11)) * 2.0**-53)


@pytest.mark.parametrize("dtype", FLOATS)
def test_r5_uniform_never_reaches_one(dtype: str) -> None:
    got = to_numpy(_native.random_uniform(key(1), DTYPES[dtype][0], (2_000_000,)))
    values = got.astype(np.float64)
    assert values.min() >= 0
    assert values.max() < 1
    assert abs(values.mean() + (2.0**-9 if dtype == "bfloat16" else 0) - 0.5) < 1e-3
    assert abs(values.var() - 1 / 12) < 1e-3


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_is_its_formula(dtype: str) -> None:
    code, numpy_dtype = DTYPES[dtype]
    got = to_numpy(_native.random_normal(key(-5, 2**33), code, (4000,)))
    words = philox(2**64 - 5, 2**33, 8000)
    if dtype == "float64":
        x, y = wide(words)[::2], wide(words)[1::2]
        unit = 1 - (x >> np.uint64(12)) * 2.0**-52
        t = (y >> np.uint64(12)) * 2.0**-52 - 0.5
    else:
        x, y = words[:4000:2], words[1:4000:2]
        unit = ((x >> np.uint64(1)) + 0.5) * 2.0**-31
        t = (y >> np.uint64(9)) * 2.0**-23 - 0.5
    radius = np.sqrt(-2 * np.log(unit.astype(np.longdouble)))
    angle = ((y & np.uint64(3)) + t.astype(np.longdouble)) * np.longdouble(
        "1.5707963267948966192313"
    )
    want = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)
    tolerance = {"float64": 1e-15, "float32": 5e-7, "float16": 6e-4, "bfloat16": 5e-3}[dtype]
    assert got.dtype == numpy_dtype
    assert np.abs(got.astype(np.float64) - want).max() < tolerance * 8


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_has_the_moments_and_tails_of_the_normal_distribution(dtype: str) -> None:
    count = 2_000_000
    got = to_numpy(_native.random_normal(key(11), DTYPES[dtype][0], (count,))).astype(np.float64)
    assert np.isfinite(got).all()
    assert abs(got.mean()) < 3e-3
    assert abs(got.var() - 1) < 6e-3
    assert abs((got**3).mean()) < 1.2e-2
    assert abs((got**4).mean() - 3) < 4e-2
    for bound in (1.0, 2.0, 3.0, 4.0):
        expected = math.erfc(bound / math.sqrt(2)) * count
        slack = 0.02 * expected if DTYPES[dtype][1] == BFLOAT16 else 0.0
        assert abs((np.abs(got) > bound).sum() - expected) < 5 * math.sqrt(expected) + slack + 2
    assert abs(np.corrcoef(got[::2], got[1::2])[0, 1]) < 4e-3


@pytest.mark.parametrize("probability", [0.0, 1e-3, 0.25, 0.5, 0.9, 1.0])
def test_bernoulli_is_its_formula(probability: float) -> None:
    got = to_numpy(_native.random_bernoulli(key(4, 1), probability, (1003,)))
    assert got.dtype == np.bool_
    assert np.array_equal(got, philox(4, 1, 1003) < probability * 2**32)


@pytest.mark.parametrize("dtype", INTS)
def test_integers_are_their_formula(dtype: str) -> None:
    code, numpy_dtype = DTYPES[dtype]
    bounds = np.iinfo(numpy_dtype)
    numbers = wide(philox(8, 3, 1400)).tolist()
    for low, high in ((0, 10), (5, 6), (bounds.min, bounds.max + 1), (bounds.min, 3)):
        got = to_numpy(_native.random_integers(key(8, 3), low, high, code, (700,)))
        want = [low + (number * (high - low) >> 64) for number in numbers]
        assert got.dtype == numpy_dtype
        assert got.tolist() == want


def draws(length: int) -> list[NumpyArray]:
    shape = (length,)
    return [
        *(to_numpy(_native.random_uniform(key(6, 2), DTYPES[name][0], shape)) for name in FLOATS),
        *(to_numpy(_native.random_normal(key(6, 2), DTYPES[name][0], shape)) for name in FLOATS),
        to_numpy(_native.random_bernoulli(key(6, 2), 0.3, shape)),
        to_numpy(_native.random_integers(key(6, 2), -9, 1000, DTYPES["int64"][0], shape)),
    ]


def test_r4_an_element_depends_on_its_place_alone() -> None:
    whole = draws(100_003)
    for length in [*range(71), 511, 512, 513, 16383, 16385, 65536]:
        for prefix, all_of_it in zip(draws(length), whole, strict=True):
            assert prefix.tobytes() == all_of_it[:length].tobytes()


def test_r4_same_bits_for_any_number_of_threads() -> None:
    before = _native.num_threads()
    try:
        results = []
        for count in (1, 2, 3, 8):
            _native.set_num_threads(count)
            results.append([values.tobytes() for values in draws(200_001)])
    finally:
        _native.set_num_threads(before)
    assert all(result == results[0] for result in results)


def test_counters_and_seeds_give_different_numbers() -> None:
    base = to_numpy(_native.random_uniform(key(1, 0), 1, (64,)))
    later = to_numpy(_native.random_uniform(key(1, 16), 1, (64,)))
    other = to_numpy(_native.random_uniform(key(2, 0), 1, (64,)))
    assert not np.intersect1d(base, later).size
    assert not np.intersect1d(base, other).size
    longer = to_numpy(_native.random_uniform(key(1, 0), 1, (128,)))
    assert np.array_equal(longer[64:], later)


def test_empty_and_scalar_shapes() -> None:
    assert _native.random_uniform(key(1), 1, (0, 3)).shape == (0, 3)
    assert _native.random_normal(key(1), 1, ()).shape == ()
    backwards = native(np.array([7, 5], np.int64)).slice((1,), (2,), (-1,))
    assert _native.random_uniform(backwards, 1, ()).item() == (
        _native.random_uniform(key(5, 7), 1, ()).item()
    )
