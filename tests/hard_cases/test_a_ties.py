"""Ties and kinks: max, min, clip, relu, abs, argmax."""

import numpy as np
import pytest

import lumus as lm
from tests.hard_cases.values import (
    TAIL_LENGTHS,
    check,
    check_bits,
    check_exact,
    constant,
    elements,
    gradients,
    leaf,
)

NAN = float("nan")


def test_max_three_way_tie_splits_evenly_A1(device):
    x = leaf([3.0, 1.0, 3.0, 3.0], device)
    y = x.max()
    assert y.item() == 3
    (dx,) = gradients(y, x, grad=6.0)
    check_exact(dx, [2.0, 0.0, 2.0, 2.0])


def test_max_of_more_ties_than_float32_counts_is_split_by_an_integer_A1():
    ties = 2**24 + 4
    x = lm.full((ties,), 1.0, dtype=lm.float32, requires_grad=True)
    (dx,) = gradients(x.max(), x)
    assert dx[0] == dx[-1] == np.float32(1 / ties) != np.float32(2**-24)


def test_gradient_at_argmax_goes_to_the_named_position_A2(device):
    x = leaf([[2.0, 5.0, 5.0], [7.0, 7.0, 1.0]], device)
    index = x.argmax(axis=1, keepdims=True)
    values = x.take_along_axis(index, axis=1).squeeze(1)
    check_exact(values, [5.0, 7.0])
    check_exact(index, [[1], [0]])
    (dx,) = gradients(values, x, grad=[1.0, 10.0])
    check_exact(dx, [[0.0, 1.0, 0.0], [10.0, 0.0, 0.0]])


@pytest.mark.parametrize("op", [lm.maximum, lm.minimum])
def test_maximum_of_equal_operands_splits_evenly_A3(device, op):
    a, b = leaf([1.0, 4.0], device), leaf([1.0, 2.0], device)
    y = op(a, b)
    da, db = gradients(y, a, b, grad=[8.0, 8.0])
    check_exact(da, [4.0, 8.0 if op is lm.maximum else 0.0])
    check_exact(da + db, [8.0, 8.0])


@pytest.mark.parametrize("op", [lm.maximum, lm.minimum])
def test_maximum_propagates_nan_from_either_side_A4(device, op):
    a, b = constant([NAN, 2.0, 3.0], device), constant([1.0, NAN, 3.0], device)
    check_exact(op(a, b), [NAN, NAN, 3.0])
    check_exact(op(b, a), [NAN, NAN, 3.0])


@pytest.mark.parametrize("op", [lm.maximum, lm.minimum])
@pytest.mark.parametrize("dtype", [lm.float64, lm.float32, lm.float16, lm.bfloat16])
def test_maximum_propagates_nan_at_every_length_A4(op, dtype):
    for length in TAIL_LENGTHS:
        nans, ones = lm.full((length,), NAN, dtype=dtype), lm.ones((length,), dtype=dtype)
        assert op(nans, ones).isnan().all()
        assert op(ones, nans).isnan().all()
        assert op(nans, nans).isnan().all()
        assert nans.max().isnan()


def test_clip_is_closed_at_both_bounds_A5(device):
    for clip in (
        lambda x: x.clip(-1.0, 2.0),
        lambda x: x.clip(min=-1.0).clip(max=2.0),
        lambda x: lm.clip(x, constant(-1.0, device), constant(2.0, device)),
    ):
        x = leaf([-2.0, -1.0, 0.0, 2.0, 3.0], device)
        y = clip(x)
        check_exact(y, [-1.0, -1.0, 0.0, 2.0, 2.0])
        check_exact(gradients(y, x)[0], [0.0, 1.0, 1.0, 1.0, 0.0])


def test_relu6_and_hardtanh_are_closed_like_clip_A5(device):
    x = leaf([-2.0, -1.0, 0.0, 2.0, 3.0], device)
    y = lm.hardtanh(x, -1.0, 2.0)
    check_exact(y, [-1.0, -1.0, 0.0, 2.0, 2.0])
    check_exact(gradients(y, x)[0], [0.0, 1.0, 1.0, 1.0, 0.0])
    x = leaf([-1.0, 0.0, 3.0, 6.0, 7.0], device)
    y = lm.relu6(x)
    check_exact(y, [0.0, 0.0, 3.0, 6.0, 6.0])
    check_exact(gradients(y, x)[0], [0.0, 1.0, 1.0, 1.0, 0.0])
    check_exact(gradients(lm.clip(x, 0.0, 6.0), x)[0], [0.0, 1.0, 1.0, 1.0, 0.0])


def test_relu_at_zeros_and_nan_A7(device):
    x = leaf([-0.0, 0.0, NAN, -3.0], device)
    y = x.relu()
    check_exact(y, [0.0, 0.0, NAN, 0.0])
    check_exact(gradients(y, x)[0], [0.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: x.clip(-1.0, 1.0), id="clip"),
        pytest.param(lambda x: x.relu(), id="relu"),
        pytest.param(lambda x: lm.leaky_relu(x, 0.1), id="leaky_relu"),
        pytest.param(lambda x: x.silu(), id="silu"),
        pytest.param(lm.hardtanh, id="hardtanh"),
        pytest.param(lm.elu, id="elu"),
        pytest.param(lm.hardswish, id="hardswish"),
        pytest.param(lm.softshrink, id="softshrink"),
        pytest.param(lm.softplus, id="softplus"),
        pytest.param(lm.mish, id="mish"),
        pytest.param(lambda x: x.gelu(), id="gelu"),
        pytest.param(lambda x: lm.gelu(x, approximate="tanh"), id="gelu_tanh"),
        pytest.param(lambda x: x.abs(), id="abs"),
        pytest.param(lambda x: x.tanh(), id="tanh"),
        pytest.param(lambda x: x.sigmoid(), id="sigmoid"),
        pytest.param(lambda x: x.maximum(0.0), id="maximum"),
        pytest.param(lambda x: x.max(), id="max"),
    ],
)
def test_nan_is_treated_alike_in_vector_body_and_tail_A8(function):
    for length in TAIL_LENGTHS:
        x = leaf(np.full(length, NAN))
        y = function(x)
        assert np.isnan(elements(y)).all()
        (dx,) = gradients(y, x)
        assert np.isnan(dx).all() or (dx == dx[0]).all(), f"length {length}: {dx}"


def test_abs_has_gradient_zero_at_zero_A9(device):
    x = leaf([-2.0, 0.0, 3.0], device)
    y = x.abs()
    check_exact(y, [2.0, 0.0, 3.0])
    check_exact(gradients(y, x, grad=5.0)[0], [-5.0, 0.0, 5.0])


def test_argmax_takes_the_first_of_ties_and_the_first_nan_A10(device):
    assert constant([4.0, 9.0, 9.0, 1.0], device).argmax().item() == 1
    assert constant([1.0, NAN, 3.0, NAN], device).argmax().item() == 1
    assert constant([1.0, NAN, 3.0, NAN], device).argmin().item() == 1
    for op in ("argmax", "argmin"):
        with pytest.raises(lm.errors.ShapeError, match=op):
            getattr(lm.zeros((0,), device=device), op)()


def test_argmax_takes_the_first_of_ties_and_nan_at_every_length_A10():
    for length in TAIL_LENGTHS:
        for place in {0, length // 2, length - 1}:
            values = np.zeros(length)
            values[place:] = 1
            assert lm.tensor(values, dtype=lm.float32).argmax().item() == place
            values[place:] = NAN
            assert lm.tensor(values, dtype=lm.float32).argmax().item() == place


def test_sign_of_zeros_and_nan_A9(device):
    check_exact(constant([-0.0, 0.0, -2.0, NAN], device).sign(), [0.0, 0.0, -1.0, NAN])


def test_values_at_argmax_agree_with_max_A2(device):
    x = constant([[2.0, NAN, 5.0], [7.0, 7.0, 1.0]], device)
    at_argmax = x.take_along_axis(x.argmax(axis=1, keepdims=True), axis=1).squeeze(1)
    check(at_argmax, elements(x.max(axis=1)))


@pytest.mark.parametrize("copies", [1, 40])
def test_stable_sort_with_ties_and_nan_and_its_gradient_A11(device, copies):
    x = leaf([2.0, NAN, 1.0, 2.0], device)
    y = x.sort(stable=True)
    check_exact(y, [1.0, 2.0, 2.0, NAN])
    check_exact(x.argsort(), [2, 0, 3, 1])
    check_exact(gradients(y, x, grad=[1.0, 10.0, 100.0, 1000.0])[0], [10.0, 1000.0, 1.0, 100.0])
    long = constant([2.0, NAN, 1.0, 2.0] * copies, device)
    places = np.arange(4 * copies).reshape(-1, 4)
    check_exact(long.argsort(), [*places[:, 2], *places[:, [0, 3]].ravel(), *places[:, 1]])


@pytest.mark.parametrize("copies", [1, 40])
def test_descending_stable_sort_keeps_ties_in_input_order_A12(device, copies):
    x = constant([1.0, 3.0, 3.0, 2.0] * copies, device)
    places = np.arange(4 * copies).reshape(-1, 4)
    order = [*places[:, [1, 2]].ravel(), *places[:, 3], *places[:, 0]]
    check_exact(x.argsort(descending=True, stable=True), order)
    check_exact(x.sort(descending=True), [3.0] * (2 * copies) + [2.0] * copies + [1.0] * copies)
    check_exact(x.topk(3)[1], order[:3])
    signed = constant([0.0, 1.0, -0.0, -1.0] * copies, device)
    zeros = signed.sort(descending=True)[copies : 3 * copies]
    check_bits(zeros, [0.0, -0.0] * copies)
