"""Elementwise functions far out."""

import numpy as np
import pytest

import lumus as lm
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


def test_gelu_in_the_negative_tail_F1(device):
    check(constant([-5.25, -8.0], device).gelu(), [-3.99260427e-07, -4.97676846e-15], rtol=1e-5)


def test_gelu_at_the_infinities_F1(device):
    x = leaf([-INF, INF], device)
    y = x.gelu()
    check_exact(y, [0.0, INF])
    check_exact(gradients(y, x)[0], [0.0, 1.0])


def test_tanh_form_of_gelu_in_the_negative_tail_F3(device):
    y = lm.gelu(constant([-5.25, -8.0], device), approximate="tanh")
    check(y, [-3.95846382e-08, -3.10778294e-21], rtol=1e-5)


def test_sigmoid_at_extremes_F4(device):
    x = leaf([-1000.0, 1000.0, -88.9], device)
    last = 0.0 if device == "cpu" and lm.flushes_denormal() else 2.4616e-39
    y = x.sigmoid()
    check(y, [0.0, 1.0, last], rtol=1e-4)
    check(gradients(y, x)[0], [0.0, 0.0, last], rtol=1e-4)


@pytest.mark.usefixtures("keeps_denormals")
def test_sigmoid_at_extremes_is_denormal_where_that_is_asked_for_F4(device):
    x = leaf([-1000.0, 1000.0, -88.9], device)
    y = x.sigmoid()
    check(y, [0.0, 1.0, 2.4616e-39], rtol=1e-4)
    check(gradients(y, x)[0], [0.0, 0.0, 2.4616e-39], rtol=1e-4)


def test_logsigmoid_keeps_both_tails_F5(device):
    x = leaf([-300.0, 300.0], device, lm.float64)
    y = lm.logsigmoid(x)
    check(y, [-300.0, -5.14820022e-131], rtol=1e-8)
    check(gradients(y, x)[0], [1.0, 5.14820022e-131], rtol=1e-8)
    x = leaf([-300.0, 300.0], device)
    check_exact(lm.logsigmoid(x), [-300.0, 0.0])


def test_softplus_with_beta_does_not_overflow_F6(device):
    x = leaf([20.0, 2.0, -4.0], device)
    y = lm.softplus(x, 5.0)
    check(y, [20.0, 2.0000090798, 4.12230724e-10], rtol=3e-6)
    check(gradients(y, x)[0], [1.0, 0.9999546, 2.06115362e-09], rtol=3e-6)
    x = leaf([1e30, 200.0, -200.0], device, lm.float64)
    y = lm.softplus(x, 5.0)
    check_exact(y, [1e30, 200.0, 0.0])
    check_exact(gradients(y, x)[0], [1.0, 1.0, 0.0])


def test_tanh_at_extremes_F7(device):
    x = leaf([1000.0, -1000.0, 1e-8], device)
    y = x.tanh()
    check(y, [1.0, -1.0, 1e-8])
    check_exact(gradients(y, x)[0], [0.0, 0.0, 1.0])


def test_silu_far_below_F8(device):
    x = leaf([-1000.0, -INF], device)
    y = x.silu()
    check_exact(y, [0.0, 0.0])
    check_exact(gradients(y, x)[0], [0.0, 0.0])


def test_log1p_and_expm1_of_small_numbers_F9(device):
    x = constant([1e-10], device, lm.float64)
    check(x.log1p(), [9.9999999995e-11], rtol=1e-15)
    check(x.expm1(), [1.00000000005e-10], rtol=1e-15)


def test_erfc_keeps_its_digits_F9(device):
    check(constant([10.0], device, lm.float64).erfc(), [2.0884875837625446e-45], rtol=1e-13)


def test_gelu_keeps_the_digits_of_erfc_F9(device):
    # erfc is inside gelu: x / 2 * erfc(-x / sqrt(2)), here at the x for which that is erfc(10).
    x = -10 * np.sqrt(2)
    y = constant([x], device, lm.float64).gelu()
    check(y, [x / 2 * 2.0884875837625e-45], rtol=1e-12)


def test_entropy_at_probability_zero_F10(device):
    p = leaf([0.0, 1.0], device)
    y = -lm.xlogy(p, p).sum()
    assert y.item() == 0.0
    # The derivative -(log p + 1) is inf at 0, and -1 at 1.
    check_exact(gradients(y, p)[0], [INF, -1.0])
    check_exact(lm.xlogy(constant([0.0, 0.0], device), constant([0.0, INF], device)), [0.0, 0.0])


def test_round_takes_halves_to_even_F11(device):
    x = leaf([0.5, 1.5, 2.5, -0.5, -1.5], device)
    y = x.round()
    check_bits(y, [0.0, 2.0, 2.0, -0.0, -2.0])
    check_exact(gradients(y, x)[0], [0.0] * 5)


@pytest.mark.parametrize("dtype", [lm.float64, lm.float32, lm.float16, lm.bfloat16])
def test_round_takes_halves_to_even_in_every_dtype_F11(dtype):
    halves = np.arange(-40, 40) + 0.5
    y = lm.tensor(halves, dtype=lm.float64).astype(dtype).round()
    check_exact(elements(y).astype(np.float64), np.round(halves))
