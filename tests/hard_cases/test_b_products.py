"""Products, powers and roots at zero."""

import numpy as np
import pytest

import lumus as lm
from lumus.testing import gradcheck
from tests.hard_cases.values import check, check_bits, check_exact, constant, gradients, leaf

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("values", "product", "expected"),
    [
        pytest.param([2.0, 0.0, 5.0, 3.0], 0.0, [0.0, 30.0, 0.0, 0.0], id="one zero"),
        pytest.param([2.0, 4.0], 8.0, [4.0, 2.0], id="none"),
    ],
)
def test_prod_with_one_zero_has_its_gradient_at_the_zero_B1(device, values, product, expected):
    x = leaf(values, device)
    y = x.prod()
    assert y.item() == product
    check_exact(gradients(y, x)[0], expected)


def test_prod_with_two_zeros_has_gradient_zero_B2(device):
    x = leaf([0.0, 4.0, 0.0], device)
    check_exact(gradients(x.prod(), x)[0], [0.0, 0.0, 0.0])


def test_prod_counts_zeros_in_each_row_B3(device):
    x = leaf([[1.0, 2.0, 3.0], [0.0, 2.0, 3.0], [0.0, 0.0, 3.0]], device)
    y = x.prod(axis=1)
    check_exact(y, [6.0, 0.0, 0.0])
    check_exact(gradients(y, x)[0], [[6.0, 3.0, 2.0], [6.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


def test_prod_with_zeros_differentiates_twice_B2():
    x = lm.tensor([2.0, 0.0, 5.0, 0.0], dtype=lm.float64)
    gradcheck(lambda x: x.prod(), [x], order=2)


@pytest.mark.parametrize(("shape", "axis", "product"), [((0,), None, 1.0), ((2, 0), 1, [1.0, 1.0])])
def test_prod_of_nothing_is_one_B6(device, shape, axis, product):
    x = lm.zeros(shape, device=device, requires_grad=True)
    y = x.prod(axis=axis)
    check_exact(y, product)
    check_exact(gradients(y, x)[0], np.zeros(shape))


def test_cumprod_with_a_zero_in_the_middle_has_its_gradient_there_B7(device):
    x = leaf([2.0, 0.0, 3.0, 4.0], device)
    y = x.cumprod()
    check_exact(y, [2.0, 0.0, 0.0, 0.0])
    check_exact(gradients(y, x)[0], [1.0, 32.0, 0.0, 0.0])
    for zeros in ((0,), (3,), (0, 2), (1, 2, 3)):
        values = np.array([1.5, -2.0, 0.5, 3.0])
        values[list(zeros)] = 0.0
        gradcheck(lambda x: x.cumprod(), [leaf(values, device, lm.float64)], order=2)


@pytest.mark.parametrize("per_element", [True, False])
def test_power_of_zero_by_constant_exponents_B9(device, per_element):
    exponents = [0.0, 1.0, 2.0, 0.5, -1.0]
    values, slopes = [1.0, 0.0, 0.0, 0.0, INF], [0.0, 1.0, 0.0, INF, -INF]
    x = leaf([0.0] * 5, device)
    if per_element:
        y = x ** constant(exponents, device)
        check_exact(y, values)
        check_exact(gradients(y, x)[0], slopes)
        return
    for exponent, value, slope in zip(exponents, values, slopes, strict=True):
        y = x**exponent
        check_exact(y, [value] * 5)
        check_exact(gradients(y, x)[0], [slope] * 5)


def test_power_of_zero_by_its_exponent_has_gradient_zero_B10(device):
    p = leaf([2.0, 0.0, 0.5], device)
    y = constant([0.0, 0.0, 0.0], device) ** p
    check_exact(y, [0.0, 1.0, 0.0])
    check_exact(gradients(y, p)[0], [0.0, 0.0, 0.0])


def test_power_of_a_negative_base_B11(device):
    x = leaf([-2.0], device)
    y = x**3.0
    check_exact(y, [-8.0])
    check_exact(gradients(y, x)[0], [12.0])
    check_exact(constant([-8.0], device) ** (1 / 3), [NAN])


def test_integer_powers_wrap_and_refuse_negative_exponents_B12(device):
    zero, two, three = (constant(number, device) for number in (0, 2, 3))
    assert (zero**0).item() == 1
    assert (three**40).item() == -6289078614652622815
    with pytest.raises(lm.errors.ArgumentError, match=r"pow: .*-1"):
        two**-1


def test_integer_power_by_a_negative_tensor_is_never_a_silent_zero_B12(device):
    with pytest.raises(lm.errors.ArgumentError, match="pow"):
        constant([2, 2], device) ** constant([3, -1], device)


def test_root_of_zero_has_an_infinite_derivative_B14(device):
    x = leaf([0.0, 4.0], device)
    check_exact(gradients(x.sqrt(), x)[0], [INF, 0.25])
    check_bits(constant([-0.0], device).sqrt(), [-0.0])
    check(constant([-1.0], device).sqrt(), [NAN])
