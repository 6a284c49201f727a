"""Compiled functions against eager ones, on each device."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.nn.functional import layer_norm
from tests.hard_cases.values import check_exact, constant


@pytest.fixture(params=["eager", "compiled"])
def run(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    """What a function is run by: itself, or its compiled form."""
    return lm.compile if request.param == "compiled" else lambda function: function


def test_repeated_accumulation_S1(device, run):
    def total(x):
        y = lm.zeros((1,), device=device)
        for _ in range(3):
            y += x[1].abs()
        return y.sum()

    slope = run(lm.grad(total))
    for _ in range(2):
        check_exact(slope(constant([1.0, -3.0], device)), [0.0, -3.0])

    @run
    def written(x):
        y = lm.zeros((1,), device=device)
        for _ in range(3):
            y.add_(x[1].abs())
        return y

    for _ in range(2):
        check_exact(written(constant([1.0, -3.0], device)), [9.0])


def test_slice_overwrite_S2(device, run):
    def total(x, values):
        return x.at[1:3].set(values).sum()

    slope = run(lm.grad(total, (0, 1)))
    x, values = constant([1.0, 2.0, 3.0, 4.0], device), constant([10.0, 20.0], device)
    dx, dvalues = slope(x, values)
    check_exact(dx, [1.0, 0.0, 0.0, 1.0])
    check_exact(dvalues, [1.0, 1.0])

    @run
    def written(x, values):
        y = x.copy()
        y[1:3] = values
        return y

    check_exact(written(x, values), [1.0, 10.0, 20.0, 4.0])
    check_exact(x, [1.0, 2.0, 3.0, 4.0])


def test_broadcast_reduction_S3(device, run):
    @run
    def slope(z):
        return lm.grad(lambda z: (z.exp() - lm.zeros((5,), device=device)).sum() + z.exp())(z)

    assert slope(constant(0.0, device)).item() == 6


def test_variance_and_mean_of_nothing_S4(device, run):
    var, mean = run(lambda x: (x.var(), x.mean()))(lm.zeros((0,), device=device))
    assert var.isnan()
    assert mean.isnan()


def test_python_values_and_shapes_are_guarded_S5(device):
    @lm.compile
    def times(x, n):
        total = x
        for _ in range(n - 1):
            total = total + x
        return total

    for _ in range(2):
        for n in (2, 3, 2):
            for size in (3, 4, 1, 0):
                check_exact(times(lm.ones((size,), device=device), n), [float(n)] * size)
    variants = times.cache_info().variants
    assert len(variants) == 8  # each pair once
    assert "x: float32[3] -> float32[4]" in str(times.cache_info())
    assert [one.num_calls for one in variants] == [4, 4, 4, 4, 2, 2, 2, 2]


def test_equal_constants_and_random_calls_stay_apart_S6(device, run):
    @run
    def slopes():
        a = lm.tensor(2.0, device=device, requires_grad=True)
        b = lm.tensor(2.0, device=device, requires_grad=True)
        grads = (a + b).backward()
        return grads[a], grads[b]

    assert [one.item() for one in slopes()] == [1.0, 1.0]

    @run
    def draws():
        return lm.random.normal((4,), device=device), lm.random.normal((4,), device=device)

    lm.random.seed(3)
    first, second = draws()
    third, fourth = draws()
    seen = [one.tolist() for one in (first, second, third, fourth)]
    assert len({tuple(one) for one in seen}) == 4
    lm.random.seed(3)
    assert [lm.random.normal((4,), device=device).tolist() for _ in range(4)] == seen


def test_shared_scale_of_two_norms_S7(device, run):
    x = lm.tensor([[1.0, 2.0, 4.0]], dtype=lm.float64, device=device)

    def total(s):
        inner = layer_norm(x, (3,)) * (1.0 + s)
        return ((layer_norm(inner, (3,)) * (1.0 + s)) * x).sum()

    s = lm.tensor(0.5, dtype=lm.float64, device=device)
    slope = run(lm.grad(total))(s).item()
    step = 1e-6
    near = (total(s + step).item() - total(s - step).item()) / (2 * step)
    np.testing.assert_allclose(slope, near, rtol=1e-6)
