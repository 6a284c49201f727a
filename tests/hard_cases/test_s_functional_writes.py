"""Writes inside a differentiated computation: eagerly, the functional way (compiled ones wait)."""

import pytest

import lumus as lm
from lumus.errors import RecordedWriteError
from tests.hard_cases.values import check_exact, constant, gradients, leaf


def test_repeated_accumulation_S1(device):
    x = leaf([1.0, -3.0], device)
    y = lm.zeros((1,), device=device)
    for _ in range(3):
        y += x[1].abs()
    check_exact(gradients(y, x)[0], [0.0, -3.0])
    z = lm.zeros((1,), device=device)
    with pytest.raises(RecordedWriteError, match="add_"):
        z.add_(x[1].abs())
    check_exact(z, [0.0])


def test_slice_overwrite_S2(device):
    x, values = leaf([1.0, 2.0, 3.0, 4.0], device), leaf([10.0, 20.0], device)
    y = x.at[1:3].set(values)
    check_exact(y, [1.0, 10.0, 20.0, 4.0])
    dx, dvalues = gradients(y.sum(), x, values)
    check_exact(dx, [1.0, 0.0, 0.0, 1.0])
    check_exact(dvalues, [1.0, 1.0])


def test_broadcast_reduction_S3(device):
    z = leaf(0.0, device)
    y = (z.exp() - lm.zeros((5,), device=device)).sum() + (z.exp() - constant(0.0, device))
    assert gradients(y, z)[0] == 6


def test_variance_and_mean_of_nothing_S4(device):
    x = lm.zeros((0,), device=device)
    assert x.var().isnan()
    assert x.mean().isnan()
