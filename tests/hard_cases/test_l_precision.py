"""Precision, casts, integers, bools and promotion."""

import numpy as np
import pytest

import lumus as lm
from lumus.errors import DTypeError, KindError
from tests.hard_cases.values import (
    check,
    check_bits,
    check_exact,
    constant,
    elements,
    gradients,
    leaf,
)

NAN, INF = float("nan"), float("inf")


def test_reductions_in_half_precision_L1(device):
    assert lm.ones((1536,), dtype=lm.bfloat16, device=device).sum().item() == 1536
    assert lm.ones((5000,), dtype=lm.float16, device=device).sum().item() == 5000
    assert lm.ones((50000,), dtype=lm.bfloat16, device=device).mean().item() == 1
    assert lm.full((5,), 20000.0, dtype=lm.float16, device=device).mean().item() == 20000


def test_reductions_in_half_precision_over_the_first_axis_L1(device):
    x = lm.ones((1536, 2), dtype=lm.bfloat16, device=device)
    check_exact(x.sum(axis=0), [1536.0, 1536.0])
    check_exact(x.mean(axis=0), [1.0, 1.0])


def test_float32_to_bfloat16_rounds_to_nearest_even_L2(device):
    quiet_looking = np.array([0x7F800003], np.uint32).view(np.float32)[0]
    largest = np.finfo(np.float32).max
    values = np.array([1.00390625, 1.01171875, 2.71, 0.1, largest, quiet_looking], np.float32)
    expected = [1.0, 1.015625, 2.703125, 0.10009765625, INF, NAN]
    check_exact(constant(values, device).astype(lm.bfloat16), expected)
    # The same in the tail of a vector, and the whole repeated at every place of one.
    for length in (1, 7, 37):
        repeated = np.resize(values, length)
        check_exact(constant(repeated, device).astype(lm.bfloat16), np.resize(expected, length))


def test_float32_to_float16_at_its_edges_L3(device):
    values = np.array([65519, 65520, 2**-25, 2**-25 * 1.0001, 2049, 2051], np.float32)
    expected = [65504.0, INF, 0.0, 2.0**-24, 2048.0, 2052.0]
    for length in (6, 7, 37):
        x = constant(np.resize(values, length), device).astype(lm.float16)
        check_exact(x, np.resize(expected, length))


@pytest.mark.parametrize("dtype", [lm.float64, lm.float32])
@pytest.mark.parametrize("length", [6, 37])
def test_float_to_int_saturates_and_truncates_at_every_place_L5(device, dtype, length):
    values = np.resize([NAN, INF, -INF, 3e9, -1.9, 2.5], length)
    expected = np.resize([0, 2147483647, -2147483648, 2147483647, -1, 2], length)
    check_exact(constant(values, device, lm.float64).astype(dtype).astype(lm.int32), expected)
    values, expected = np.resize([-1.0, 256.0], length), np.resize([0, 255], length)
    check_exact(constant(values, device, lm.float64).astype(dtype).astype(lm.uint8), expected)


def test_int_to_float_rounds_to_nearest_even_L6(device):
    check_exact(constant([16777217], device).astype(lm.float32), [16777216.0])
    largest = constant([2**63 - 1], device)
    check_exact(largest.astype(lm.float32), [9.223372036854775808e18])
    check_exact(constant([2**53 + 1], device).astype(lm.float64), [9007199254740992.0])
    check_exact(largest.astype(lm.float32).astype(lm.int64), [2**63 - 1])


def test_integer_division_rounds_down_L7(device):
    a, b = constant([-7, 7], device), constant([2, -2], device)
    check_exact(a // b, [-4, -4])
    check_exact(a % b, [1, -1])
    assert (constant(-7, device) // 2).item() == -4
    assert (-7 % constant(2, device)).item() == 1


@pytest.mark.parametrize("dtype", [lm.int64, lm.int32, lm.int16, lm.int8])
def test_quotient_and_remainder_give_the_dividend_L7(dtype):
    a = np.repeat(np.arange(-20, 21), 41)
    b = np.tile(np.arange(-20, 21), 41)
    a, b = a[b != 0], b[b != 0]
    x, y = lm.tensor(a).astype(dtype), lm.tensor(b).astype(dtype)
    check_exact((x // y) * y + x % y, a)
    check_exact(x // y, a // b)


def test_fmod_has_the_sign_of_the_dividend_L9(device):
    x, y = leaf([-7.5, 7.5, -3.0, 6.0], device), leaf([2.0, -2.0, 3.0, -2.0], device)
    z = lm.fmod(x, y)
    check_bits(z, [-1.5, 1.5, -0.0, 0.0])
    dx, dy = gradients(z, x, y)
    check_exact(dx, [1.0] * 4)
    check_exact(dy, [3.0, 3.0, 1.0, 3.0])
    # The quotient of these rounds to 10, but what it holds is 9 whole divisors.
    x, y = leaf([0.9999999999999999], device, lm.float64), leaf([0.1], device, lm.float64)
    for function in (lm.fmod, lm.remainder):
        check_exact(gradients(function(x, y), y)[0], [-9.0])


def test_float_remainder_has_the_sign_of_the_divisor_L9(device):
    a, b = constant([-7.5, 5.5, -3.0, 6.0], device), constant([2.0, -2.0, 3.0, -2.0], device)
    check_bits(a % b, [0.5, -0.5, 0.0, -0.0])
    x, y = leaf(7.5, device), leaf(2.0, device)
    dx, dy = gradients(x % y, x, y)
    assert (dx, dy) == (1, -3)


def test_integers_wrap_and_sums_widen_L10(device):
    assert (constant(2147483647, device, lm.int32) + 1).item() == -2147483648
    assert constant(-128, device, lm.int8).abs().item() == -128
    assert constant([127, 1], device, lm.int8).sum().item() == 128
    powers = constant([1, 2, 3, 4], device)
    check_exact(256 ** powers.astype(lm.int32), [256, 65536, 16777216, 0])
    check_exact(256**powers, [256, 65536, 16777216, 4294967296])


def test_bool_arithmetic_is_refused_with_a_hint_L11(device):
    t = constant([True, False], device)
    for refused, hint in (
        (lambda: t + t, r"\|"),
        (lambda: t - t, r"\^"),
        (lambda: 1 - t, "~"),
        (lambda: -t, "~"),
        (lambda: t * t, "&"),
        (lambda: t.mean(), "astype"),
    ):
        with pytest.raises(KindError, match=rf"hint: .*{hint}"):
            refused()
    assert lm.full((300,), True, device=device).sum().item() == 300


def test_python_numbers_take_the_tensors_dtype_L12(device):
    assert (lm.ones((2,), dtype=lm.float16, device=device) + 1e-3).dtype is lm.float16
    assert (lm.ones((2,), device=device) * 3).dtype is lm.float32
    ints = constant([7], device)
    for refused in (lambda: ints * 0.5, lambda: ints / constant([2], device), lambda: ints / 2):
        with pytest.raises(KindError, match="astype"):
            refused()
    with pytest.raises(DTypeError, match="300 does not fit into uint8"):
        constant([200], device, lm.uint8) + 300


def test_scalars_promote_like_any_tensor_L13(device):
    x = lm.ones((3,), device=device) + lm.ones((), dtype=lm.float64, device=device)
    assert x.dtype is lm.float64
    y = constant([200, 10], device, lm.uint8) + constant(5, device, lm.int8)
    assert y.dtype is lm.int16
    check_exact(y, [205, 15])


@pytest.mark.parametrize(
    "scalar", [np.float64(2.0), np.float32(2.0), np.float16(2.0), np.int64(2)], ids=repr
)
def test_numpy_scalar_on_the_left_L14(device, scalar):
    x = leaf([1.0, 2.0], device)
    number = scalar if not isinstance(scalar, np.integer) else float(scalar)
    for function, expected, slope in (
        (lambda x: number * x, [2.0, 4.0], [2.0, 2.0]),
        (lambda x: number + x, [3.0, 4.0], [1.0, 1.0]),
        (lambda x: number - x, [1.0, 0.0], [-1.0, -1.0]),
        (lambda x: number / x, [2.0, 1.0], [-2.0, -0.5]),
    ):
        y = function(x)
        assert type(y) is lm.Tensor
        assert y.dtype is lm.float32
        check_exact(y, expected)
        check_exact(gradients(y, x)[0], slope)
    ints = scalar * constant([1, 2], device) if isinstance(scalar, np.integer) else None
    assert ints is None or (ints.dtype is lm.int64 and ints.tolist() == [2, 4])


def test_numpy_scalar_of_a_narrow_int_stays_int_L14(device):
    i = constant([1, 2], device)
    for scalar in (np.int64(1), np.int8(1), np.uint8(1)):
        y = scalar + i
        assert type(y) is lm.Tensor
        assert y.dtype is lm.int64
        check_exact(y, [2, 3])


def test_numpy_array_on_the_left_is_a_tensor_of_its_dtype_L14(device):
    x = leaf([1.0, 2.0, 3.0], device)
    for array in (np.ones(3), np.ones(3, np.float32)):
        for y in (array * x, x * array, array + x, x - array):
            assert type(y) is lm.Tensor
            assert y.dtype.name == array.dtype.name
            assert gradients(y, x)[0].dtype == np.float32
    check_exact(np.ones(3, np.float32) @ x, 6.0)
    check_exact(np.ones(3) < x, [False, True, True])


def test_float64_is_honoured_L15(device):
    assert lm.zeros((2,), dtype=lm.float64, device=device).dtype is lm.float64
    x = lm.random.uniform((100,), dtype=lm.float64, device=device, generator=lm.random.Generator(0))
    assert x.dtype is lm.float64
    assert (x.astype(lm.float32).astype(lm.float64) != x).any()
    assert constant(2**40, device).dtype is lm.int64
    assert constant(2**40, device).item() == 2**40
    assert constant(0.1, device, lm.float64).item() == 0.1
    with pytest.raises(DTypeError):
        constant(2**70, device)


def test_gradient_has_the_dtype_of_its_leaf_L16(device):
    x = leaf([1.0, 2.0], device, lm.float16)
    dx = (x.astype(lm.float32) * constant([3.0, 4.0], device)).sum().backward()[x]
    assert dx.dtype is lm.float16
    check_exact(dx, [3.0, 4.0])


@pytest.mark.parametrize("dtype", [lm.float16, lm.bfloat16])
def test_contributions_in_half_precision_are_rounded_once_L16(device, dtype):
    large = 2048.0 if dtype is lm.float16 else 256.0
    x = leaf(1.0, device, dtype)
    y = x * large + x + x
    expected = large + 2
    assert elements(y.backward()[x]) == expected
    twice = leaf(1.0, device, dtype)
    products = [twice * factor for factor in (1.0, 1.0, large)]
    total = lm.stack(products).sum()
    check(total.backward()[twice], expected)
