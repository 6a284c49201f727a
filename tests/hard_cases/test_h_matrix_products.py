"""Matrix products: ranks, batches, empty axes, layouts, precision."""

import numpy as np
import pytest

import lumus as lm
from tests.hard_cases.values import (
    TAIL_LENGTHS,
    check,
    check_exact,
    constant,
    elements,
    gradients,
    leaf,
)

NAN, INF = float("nan"), float("inf")


def test_vector_by_vector_H1(device):
    u, v = leaf([1.0, 2.0, 3.0], device), leaf([4.0, 5.0, 6.0], device)
    y = u @ v
    check_exact(y, 32.0)
    du, dv = gradients(y, u, v)
    check_exact(du, [4.0, 5.0, 6.0])
    check_exact(dv, [1.0, 2.0, 3.0])
    nothing = lm.zeros((0,), device=device)
    check_exact(nothing @ nothing, 0.0)


def test_matrix_by_vector_H2(device):
    a, v = leaf([[1.0, 2.0], [3.0, 4.0]], device), leaf([5.0, 6.0], device)
    y = a @ v
    check_exact(y, [17.0, 39.0])
    da, dv = gradients(y, a, v, grad=[1.0, 10.0])
    check_exact(da, [[5.0, 6.0], [50.0, 60.0]])
    check_exact(dv, [31.0, 42.0])


def test_vector_by_stack_and_stack_by_vector_H3(device):
    u, b = lm.ones((2,), device=device, requires_grad=True), lm.ones((3, 2, 4), device=device)
    c, w = lm.ones((2, 2, 3), device=device), lm.ones((3,), device=device, requires_grad=True)
    check_exact(u @ b, np.full((3, 4), 2.0))
    check_exact(c @ w, np.full((2, 2), 3.0))
    check_exact(gradients(u @ b, u)[0], [12.0, 12.0])
    check_exact(gradients(c @ w, w)[0], [4.0, 4.0, 4.0])


def test_batches_broadcast_H4(device):
    a = lm.ones((2, 1, 2, 3), device=device, requires_grad=True)
    b = lm.ones((4, 3, 1), device=device, requires_grad=True)
    y = a @ b
    check_exact(y, np.full((2, 4, 2, 1), 3.0))
    da, db = gradients(y, a, b)
    check_exact(da, np.full((2, 1, 2, 3), 4.0))
    check_exact(db, np.full((4, 3, 1), 4.0))


def test_inner_axis_of_length_zero_gives_zeros_H5(device):
    for _ in range(3):
        lm.full((2, 3), 7.0, device=device)  # memory that is freed and may come back
        a = lm.zeros((2, 0), device=device, requires_grad=True)
        b = lm.zeros((0, 3), device=device, requires_grad=True)
        y = a @ b
        check_exact(y, np.zeros((2, 3)))
        da, db = gradients(y, a, b)
        assert (da.shape, db.shape) == ((2, 0), (0, 3))
        assert (lm.zeros((2, 0, 0), device=device) @ lm.zeros((0, 0), device=device)).shape == (
            2,
            0,
            0,
        )


def test_zeros_are_not_skipped_H7(device):
    y = constant([[0.0, 1.0]], device) @ constant([[NAN], [2.0]], device)
    check_exact(y, [[NAN]])
    check_exact(constant([[0.0]], device) @ constant([[INF]], device), [[NAN]])
    for size in TAIL_LENGTHS:
        y = lm.zeros((size, size), device=device) @ lm.full((size, size), NAN, device=device)
        assert y.isnan().all()


@pytest.mark.parametrize("dtype", [lm.float64, lm.float32, lm.float16, lm.int64])
def test_operands_that_are_not_contiguous_H8(device, dtype):
    a = lm.arange(12, device=device).astype(dtype).reshape(3, 4)[::2, ::2]
    dense = a.copy()
    check_exact(a, [[0, 2], [8, 10]])
    check_exact(a @ a, [[16, 20], [80, 116]])
    check_exact(a.T @ a, [[64, 80], [80, 104]])
    check_exact(a @ a, elements(dense @ dense))
    check_exact(a.T @ a, elements(dense.T @ dense))


def test_layouts_give_the_same_bits_H8():
    x = lm.random.normal((96, 80), generator=lm.random.Generator(1))
    for view in (x[::2, ::2], x[::-1, :40], x.T[::2, 3:43], x[:, ::-2]):
        dense = view.copy()
        check_exact(view @ dense.T, elements(dense @ dense.T))
        check_exact(dense.T @ view, elements(dense.T @ dense))


@pytest.mark.parametrize("dtype", [lm.float16, lm.bfloat16])
def test_half_precision_accumulates_wider_H9(device, dtype):
    count = 6000 if dtype is lm.float16 else 512
    y = lm.ones((1, count), dtype=dtype, device=device) @ lm.ones(
        (count, 1), dtype=dtype, device=device
    )
    check_exact(y, [[float(count)]])


def test_same_tensor_on_both_sides_H11(device):
    x = leaf([[1.0, 2.0], [3.0, 4.0]], device)
    check(gradients((x @ x).sum(), x)[0], [[7.0, 11.0], [9.0, 13.0]])
