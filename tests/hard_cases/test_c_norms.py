"""Norms and distances at their kinks, at the ends of the range, and their second derivative."""

import numpy as np
import pytest

import lumus as lm
from lumus.testing import gradcheck
from tests.hard_cases.values import check, check_exact, constant, elements, gradients, leaf

INF = float("inf")
POWERS = (2.0, 1.0, 0.5, 3.0, -1.0, INF, -INF)


@pytest.mark.parametrize("p", POWERS)
def test_norm_at_the_zero_vector_has_gradient_zero_C1(device, p):
    x = leaf([0.0, 0.0], device)
    y = x.norm(p)
    assert y.item() == 0
    check_exact(gradients(y, x)[0], [0.0, 0.0])
    rows = leaf([[0.0, 0.0], [3.0, 4.0]], device)
    (grad,) = gradients(rows.norm(p, axis=1), rows)
    check_exact(grad[0], [0.0, 0.0])
    assert np.isfinite(grad).all()


def test_squared_norm_at_zero_has_gradient_zero_C2(device):
    x = leaf([0.0, 0.0], device)
    check_exact(gradients(x.norm() ** 2, x)[0], [0.0, 0.0])
    check_exact(gradients(x.norm() * x.norm(), x)[0], [0.0, 0.0])
    check_exact(gradients(x.norm().square(), x)[0], [0.0, 0.0])


@pytest.mark.parametrize("dtype", [lm.float64, lm.float32, lm.bfloat16])
@pytest.mark.parametrize("size", [1e19, 1e-30])
def test_norm_of_large_and_small_values_neither_overflows_nor_vanishes_C3(device, dtype, size):
    x = leaf([3 * size, -4 * size], device, dtype)
    y = x.norm()
    rtol = 1e-2 if dtype is lm.bfloat16 else 1e-6
    check(y.astype(lm.float64) / size, 5.0, rtol=rtol)
    check(gradients(y, x)[0], [0.6, -0.8], rtol=rtol)


@pytest.mark.usefixtures("keeps_denormals")
@pytest.mark.parametrize("size", [1e300, 1e-300, 5e-324])
def test_norms_at_the_ends_of_float64_C3(device, size):
    x = leaf([3 * size, -4 * size, 0.0], device, lm.float64)
    for p in (1.0, 2.0, 3.0):
        expected = (3**p + 4**p) ** (1 / p)
        check(elements(x.norm(p)) / size, expected, rtol=1e-12 if size > 1e-320 else 0.2)


def test_infinity_norm_splits_ties_by_sign_C5(device):
    x = leaf([3.0, -3.0, 1.0], device)
    y = x.norm(INF)
    assert y.item() == 3
    check_exact(gradients(y, x)[0], [0.5, -0.5, 0.0])
    least = leaf([[2.0, -2.0], [-1.0, 4.0]], device)
    check_exact(gradients(least.norm(-INF, axis=1), least)[0], [[0.5, -0.5], [-1.0, 0.0]])


def test_hessian_of_the_norm_C8(device):
    x = leaf([3.0, 4.0], device, lm.float64)
    first = x.norm().backward(create_graph=True)[x]
    rows = [first[place].backward(retain_graph=True)[x] for place in (0, 1)]
    check([elements(row) for row in rows], [[0.128, -0.096], [-0.096, 0.072]], rtol=1e-12)
    gradcheck(lambda x: x.norm(), [x], order=2)


@pytest.mark.parametrize("p", POWERS)
def test_distance_of_equal_points_has_gradient_zero_C10(device, p):
    a, b = leaf([[1.0, 2.0]], device), leaf([[1.0, 2.0]], device)
    d = lm.cdist(a, b, p)
    check_exact(d, [[0.0]])
    for grad in gradients(d, a, b):
        check_exact(grad, [[0.0, 0.0]])


def test_one_pair_of_equal_points_in_a_big_batch_leaves_the_others_alone_C10(device):
    points = np.random.default_rng(0).standard_normal((70, 3))
    x = leaf(points, device, lm.float64)
    d = lm.cdist(x, x)
    check_exact(np.diagonal(elements(d)), np.zeros(70))
    (grad,) = gradients(d, x)
    assert np.isfinite(grad).all()
    difference = points[:, None] - points[None]
    far = np.sqrt((difference**2).sum(-1))
    np.fill_diagonal(far, 1.0)
    check(grad, 2 * (difference / far[..., None]).sum(1), rtol=1e-9, atol=1e-12)


def test_distances_of_near_points_far_from_the_origin_keep_their_digits_C10(device):
    x = constant([[10000.0, 10000.0]], device)
    y = constant([[10000.0, 10000.03125]], device)
    check_exact(lm.cdist(x, y), [[0.03125]])
