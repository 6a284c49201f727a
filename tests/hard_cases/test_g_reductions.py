"""Broadcasting gradients and reductions."""

import numpy as np
import pytest

import lumus as lm
from lumus.nn.functional import mse_loss
from tests.hard_cases.values import check, check_exact, constant, elements, gradients, leaf

NAN = float("nan")


def test_row_broadcast_G1(device):
    a, b = lm.zeros((2, 3), device=device, requires_grad=True), leaf([0.0, 0.0, 0.0], device)
    dy = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    da, db = gradients(a + b, a, b, grad=dy)
    check_exact(da, dy)
    check_exact(db, [5.0, 7.0, 9.0])


def test_axes_of_length_one_on_both_sides_G2(device):
    a, b = leaf([[1.0], [2.0], [3.0]], device), leaf([[1.0, 0.0, -1.0, 2.0]], device)
    da, db = gradients(a * b, a, b)
    check_exact(da, [[2.0], [2.0], [2.0]])
    check_exact(db, [[6.0, 6.0, 6.0, 6.0]])


def test_scalar_times_matrix_G3(device):
    s, x = leaf(3.0, device), leaf([[1.0, 2.0], [3.0, 4.0]], device)
    ds, dx = gradients(s * x, s, x)
    check_exact(ds, 10.0)
    check_exact(dx, [[3.0, 3.0], [3.0, 3.0]])


def test_broadcasting_with_no_elements_G4(device):
    a = lm.zeros((0, 3), device=device, requires_grad=True)
    b = lm.zeros((1, 3), device=device, requires_grad=True)
    c = lm.zeros((1,), device=device, requires_grad=True)
    d = lm.zeros((0,), device=device, requires_grad=True)
    for op in (lm.add, lm.multiply, lm.maximum, lm.subtract):
        assert op(a, b).shape == (0, 3)
        assert op(c, d).shape == (0,)
        check_exact(gradients(op(a, b), b)[0], [[0.0, 0.0, 0.0]])
        check_exact(gradients(op(c, d), c)[0], [0.0])


def test_loss_refuses_shapes_that_would_broadcast_G5(device):
    prediction = lm.arange(5, dtype=lm.float32, device=device).reshape(5, 1)
    target = lm.arange(5, dtype=lm.float32, device=device)
    with pytest.raises(lm.errors.ShapeError, match=r"\(5, 1\).*\(5,\)"):
        mse_loss(prediction, target)
    assert mse_loss(prediction.reshape(5), target).item() == 0


def test_equal_leaves_are_different_leaves_G6(device):
    a, b = leaf(2.5, device), leaf(2.5, device)
    store = (a + b).backward()
    assert store[a].item() == store[b].item() == 1
    assert len(store) == 2


def test_elements_less_their_mean_G7(device):
    x = leaf([1.0, 2.0, 4.0], device)
    check(gradients(x - x.mean(), x)[0], [0.0, 0.0, 0.0], atol=1e-7)
    check(gradients(x - x.mean(), x, grad=[1.0, 0.0, 0.0])[0], [2 / 3, -1 / 3, -1 / 3])


def test_mean_over_several_axes_G8(device):
    x = lm.zeros((2, 3, 4), device=device, requires_grad=True)
    y = x.mean(axis=(0, -1))
    (dx,) = gradients(y, x, grad=[8.0, 16.0, 24.0])
    check_exact(dx, np.broadcast_to(np.array([1.0, 2.0, 3.0])[:, None], (2, 3, 4)))
    for repeated in ((0, 0), (0, -3)):
        with pytest.raises(lm.errors.ArgumentError, match="more than once"):
            x.mean(axis=repeated)


def test_reductions_of_nothing_G9(device):
    x, mask = lm.zeros((0,), device=device), lm.zeros((0,), dtype=lm.bool_, device=device)
    assert (x.sum().item(), x.prod().item()) == (0, 1)
    assert x.mean().isnan().item()
    assert mask.all().item()
    assert not mask.any().item()
    for op in ("max", "min", "argmax", "argmin"):
        with pytest.raises(lm.errors.ShapeError, match=op):
            getattr(x, op)()


def test_reductions_of_nothing_along_an_axis_G9(device):
    x = lm.zeros((3, 0), device=device)
    mask = lm.zeros((3, 0), dtype=lm.bool_, device=device)
    check_exact(x.sum(axis=1), [0.0] * 3)
    check_exact(x.prod(axis=1), [1.0] * 3)
    check_exact(x.mean(axis=1), [NAN] * 3)
    check_exact(mask.all(axis=1), [True] * 3)
    check_exact(mask.any(axis=1), [False] * 3)
    for op in ("max", "min", "argmax", "argmin"):
        with pytest.raises(lm.errors.ShapeError, match=op):
            getattr(x, op)(axis=1)
        assert getattr(x, op)(axis=0).shape == (0,)


@pytest.mark.parametrize("op", ["max", "min", "argmax", "argmin"])
def test_extremum_over_an_empty_axis_of_an_empty_result_raises_G9(device, op):
    with pytest.raises(lm.errors.ShapeError, match=op):
        getattr(lm.zeros((0, 0), device=device), op)(axis=0)


@pytest.mark.parametrize("layout", ["vector", "column"])
def test_sum_of_many_ones_is_exact_G10(layout):
    count = 17825792
    x = lm.ones((count,) if layout == "vector" else (count, 1))
    axis = 0
    assert x.sum(axis=axis).item() == count
    assert x.mean(axis=axis).item() == 1


def test_results_do_not_depend_on_the_number_of_threads_G11():
    before = lm.num_threads()
    x = lm.tensor(np.arange(3000000) - 1499999.5, dtype=lm.float32)
    generator = lm.random.Generator(3)
    rows = lm.random.normal((64, 300), generator=generator)
    weight = lm.random.normal((300, 300), generator=generator)
    found = []
    try:
        for threads in (1, 2, 3, 8):
            lm.set_num_threads(threads)
            found.append((x.sum().item(), elements(rows @ weight).tobytes()))
    finally:
        lm.set_num_threads(before)
    assert len(set(found)) == 1
    assert abs(found[0][0]) < 1


def test_variance_with_a_large_mean_G12(device):
    check(constant([10000.0, 10001.0, 10002.0], device).var(), 0.6666667)


def test_gradient_of_cumsum_runs_from_the_end_G13(device):
    x = leaf([1.0, 2.0, 3.0], device)
    y = x.cumsum(axis=0)
    check_exact(y, [1.0, 3.0, 6.0])
    check_exact(gradients(y, x, grad=[1.0, 10.0, 100.0])[0], [111.0, 110.0, 100.0])


def test_sums_of_small_integers_widen_and_their_mean_is_refused_G15(device):
    assert lm.ones((300,), dtype=lm.uint8, device=device).sum().item() == 300
    assert lm.ones((300,), dtype=lm.bool_, device=device).sum().item() == 300
    assert lm.full((300,), 100, dtype=lm.int8, device=device).sum(axis=0).item() == 30000
    for dtype in (lm.int64, lm.uint8, lm.bool_):
        with pytest.raises(lm.errors.KindError, match="mean"):
            lm.ones((3,), dtype=dtype, device=device).mean()


def test_overlapping_windows_accumulate_in_backward_G16(device):
    x = leaf([1.0, 2.0, 3.0, 4.0], device)
    windows = x[[[0, 1], [1, 2], [2, 3]]]
    assert windows.shape == (3, 2)
    check_exact(gradients(windows, x)[0], [1.0, 2.0, 2.0, 1.0])


def test_unfold_accumulates_where_windows_overlap_G16(device):
    x = leaf([1.0, 2.0, 3.0, 4.0], device)
    windows = x.unfold(0, 2)
    check_exact(windows, [[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]])
    check_exact(gradients(windows, x)[0], [1.0, 2.0, 2.0, 1.0])


def test_mean_of_float16_whose_sum_overflows_G17(device):
    assert lm.full((100,), 60000.0, dtype=lm.float16, device=device).mean().item() == 60000
