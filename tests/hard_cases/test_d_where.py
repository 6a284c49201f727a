"""where, masks, and values that are not finite in the branch that was not selected."""

import numpy as np
import pytest

import lumus as lm
from tests.hard_cases.values import TAIL_LENGTHS, check, check_exact, constant, gradients, leaf

NAN = float("nan")


def test_where_with_an_infinite_derivative_in_the_unselected_branch_D1(device):
    x = leaf([0.0, -4.0, 9.0], device)
    y = lm.where(x > 0, x.sqrt(), x)
    check_exact(y, [0.0, -4.0, 3.0])
    check(gradients(y, x)[0], [1.0, 1.0, 1 / 6])


def test_where_around_the_argument_as_well_is_exact_D1(device):
    x = leaf([0.0, -4.0, 9.0], device)
    mask = x > 0
    y = lm.where(mask, lm.where(mask, x, 1.0).sqrt(), x)
    check_exact(y, [0.0, -4.0, 3.0])
    check(gradients(y, x)[0], [1.0, 1.0, 1 / 6])


def test_where_with_an_overflow_in_the_unselected_branch_D2(device):
    x = leaf([200.0], device)
    y = lm.where(x <= 0, x.exp(), 1 + x)
    check_exact(y, [201.0])
    check_exact(gradients(y, x)[0], [1.0])


@pytest.mark.parametrize(
    ("function", "at"),
    [
        pytest.param(lambda x: x.exp(), 1000.0, id="exp"),
        pytest.param(lambda x: x.expm1(), 1000.0, id="expm1"),
        pytest.param(lambda x: x.sqrt(), 0.0, id="sqrt"),
        pytest.param(lambda x: x.sqrt(), -1.0, id="sqrt of a negative number"),
        pytest.param(lambda x: x.rsqrt(), 0.0, id="rsqrt"),
        pytest.param(lambda x: x.reciprocal(), 0.0, id="reciprocal"),
        pytest.param(lambda x: x.log(), 0.0, id="log"),
        pytest.param(lambda x: x.log1p(), -1.0, id="log1p"),
        pytest.param(lambda x: 1.0 / x, 0.0, id="divide"),
        pytest.param(lambda x: x**0.5, 0.0, id="pow"),
        pytest.param(lambda x: 2.0**x, 3000.0, id="pow by the exponent"),
    ],
)
def test_what_where_did_not_select_contributes_exactly_zero_D2(device, function, at):
    x = leaf([at, at], device)
    y = lm.where(constant([False, False], device), function(x), 3 * x)
    check_exact(gradients(y, x)[0], [3.0, 3.0])


def test_a_product_with_an_infinity_in_the_unselected_branch_is_right_with_its_argument_selected_D2(
    device,
):
    x = leaf([0.0, 1.0], device)
    mask = x > 0
    y = lm.where(mask, x * lm.where(mask, x, 1.0).log(), 0.0)
    check_exact(y, [0.0, 0.0])
    check_exact(gradients(y, x)[0], [0.0, 1.0])


def test_a_gradient_of_zero_still_differentiates_again_D2():
    # grad = 2 * (exp(x) - 1) is 0 at x = 0, the second derivative 2 * exp(x)**2 is not.
    def squared_error(x):
        return (x.exp() - 1.0).square()

    x = lm.tensor(0.0, dtype=lm.float64)
    assert lm.grad(squared_error)(x).item() == 0
    assert lm.grad(lm.grad(squared_error))(x).item() == 2


def test_where_with_a_literal_nan_D3(device):
    x = leaf([1.0, 2.0], device)
    y = lm.where(constant([True, False], device), x, NAN)
    check_exact(y, [1.0, NAN])
    check_exact(gradients(y, x)[0], [1.0, 0.0])


def test_where_broadcasts_three_ways_D4(device):
    a, b = leaf([10.0, 20.0, 30.0], device), leaf(5.0, device)
    y = lm.where(constant([[True], [False]], device), a, b)
    check_exact(y, [[10.0, 20.0, 30.0], [5.0, 5.0, 5.0]])
    da, db = gradients(y, a, b, grad=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    check_exact(da, [1.0, 2.0, 3.0])
    check_exact(db, 15.0)


def test_masking_by_a_product_keeps_nan_and_by_selection_drops_it_D5(device):
    x = leaf([NAN, 1.0], device)
    mask = constant([0.0, 1.0], device)
    check((x * mask).sum(), NAN)
    y = lm.where(mask > 0, x, 0.0).sum()
    assert y.item() == 1
    check_exact(gradients(y, x)[0], [0.0, 1.0])


def test_comparisons_with_nan_are_false_but_for_not_equal_D6(device):
    x = constant([NAN, 1.0, NAN], device)
    check_exact(x != x, [True, False, True])  # noqa: PLR0124
    check_exact(x == x, [False, True, False])  # noqa: PLR0124
    check_exact(x.isnan(), [True, False, True])
    check_exact(x < 1.0, [False, False, False])
    check(x.max(), NAN)


@pytest.mark.parametrize("dtype", [lm.float64, lm.float32, lm.float16, lm.bfloat16])
def test_comparisons_with_nan_at_every_length_D6(dtype):
    for length in TAIL_LENGTHS:
        x = lm.tensor(np.full(length, NAN), dtype=lm.float64).astype(dtype)
        assert (x != x).all()  # noqa: PLR0124
        assert not (x == x).any()  # noqa: PLR0124
        assert not ((x < 1.0) | (x >= 1.0)).any()
        assert x.isnan().all()
