"""softmax, log_softmax, logsumexp and cross_entropy at their extremes."""

import math

import numpy as np
import pytest

import lumus as lm
from lumus.nn.functional import (
    binary_cross_entropy_with_logits,
    cross_entropy,
    nll_loss,
    scaled_dot_product_attention,
)
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


def test_softmax_of_large_logits_E1(device):
    y = constant([1000.0, 1000.0, 999.0], device).softmax()
    check(y, [0.4223187982515182, 0.4223187982515182, 0.1553624034969636])


def test_log_softmax_of_far_apart_logits_E2(device):
    x = leaf([0.0, 1000.0], device)
    y = x.log_softmax()
    check_exact(y, [-1000.0, 0.0])
    check_exact(gradients(y, x, grad=[1.0, 0.0])[0], [1.0, -1.0])


def test_softmax_of_a_partially_masked_row_E3(device):
    x = leaf([-INF, 0.0, math.log(3)], device)
    y = x.softmax()
    check(y, [0.0, 0.25, 0.75])
    check(gradients(y, x, grad=[1.0, 2.0, 3.0])[0], [0.0, -0.1875, 0.1875])


def test_log_softmax_of_a_partially_masked_row_E3(device):
    x = leaf([-INF, 0.0, math.log(3)], device)
    y = x.log_softmax()
    check(y, [-INF, math.log(0.25), math.log(0.75)])
    check(gradients(y, x, grad=[0.0, 1.0, 0.0])[0], [0.0, 0.75, -0.75])


def test_softmax_of_an_all_masked_row_is_nan_and_leaves_others_alone_E4(device):
    x = leaf([[-INF, -INF], [0.0, 0.0]], device)
    y = x.softmax()
    check(y, [[NAN, NAN], [0.5, 0.5]])
    dx = gradients(y, x, grad=[[1.0, 2.0], [1.0, 3.0]])[0]
    check(dx[1], [-0.5, 0.5])


@pytest.mark.parametrize("axis", [0, 1])
def test_masked_rows_are_nan_at_every_length_and_their_neighbours_are_not_E4(axis):
    for length in TAIL_LENGTHS:
        values = np.zeros((3, length) if axis else (length, 3))
        masked = (1, slice(None)) if axis else (slice(None), 1)
        values[masked] = -INF
        y = elements(lm.tensor(values, dtype=lm.float32).softmax(axis=axis))
        assert np.isnan(y[masked]).all()
        assert np.isfinite(np.delete(y, 1, axis=1 - axis)).all()


def test_logsumexp_of_all_minus_infinity_E5(device):
    x = leaf([-INF, -INF], device)
    y = x.logsumexp()
    assert y.item() == -INF
    check_exact(gradients(y, x)[0], [0.0, 0.0])


def test_logsumexp_keeps_infinity_and_nan_E5(device):
    x = constant([[INF, 0.0], [NAN, INF], [-INF, 2.0]], device)
    check_exact(x.logsumexp(axis=1), [INF, NAN, 2.0])


def test_softmax_family_over_an_axis_of_length_one_E7(device):
    x = leaf([[3.0], [-7.0]], device)
    y = x.softmax(axis=1)
    check_exact(y, [[1.0], [1.0]])
    check_exact(gradients(y, x, grad=5.0)[0], [[0.0], [0.0]])
    check_exact(gradients(x.log_softmax(axis=1), x)[0], [[0.0], [0.0]])


def test_softmax_family_over_an_axis_of_length_zero_E7(device):
    x = lm.zeros((2, 0), device=device, requires_grad=True)
    assert x.softmax(axis=1).shape == x.log_softmax(axis=1).shape == (2, 0)
    check_exact(x.logsumexp(axis=1), [-INF, -INF])
    check_exact(x.sum(axis=1), [0.0, 0.0])
    for result in (x.softmax(axis=1), x.log_softmax(axis=1), x.logsumexp(axis=1)):
        assert gradients(result, x)[0].shape == (2, 0)


def test_cross_entropy_of_a_confidently_wrong_logit_E8(device):
    x = leaf([[0.0, 10000.0]], device)
    loss = cross_entropy(x, constant([0], device))
    assert loss.item() == 10000
    check_exact(gradients(loss, x)[0], [[-1.0, 1.0]])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_with_every_target_ignored_is_zero_E9(device, reduction, weighted):
    x = leaf([[1.0, 2.0, 3.0], [4.0, -5.0, 600.0]], device)
    weight = constant([1.0, 2.0, 0.5], device) if weighted else None
    targets = constant([-100, -100], device)
    loss = cross_entropy(x, targets, weight=weight, ignore_index=-100, reduction=reduction)
    check_exact(loss, [0.0, 0.0] if reduction == "none" else 0.0)
    check_exact(gradients(loss, x)[0], np.zeros((2, 3)))


def test_ignored_targets_do_not_count_in_the_mean_E9(device):
    x = leaf([[0.0, math.log(3)], [NAN, 1.0]], device)
    loss = cross_entropy(x, constant([0, -100], device), ignore_index=-100)
    check(loss, math.log(4))
    check(gradients(loss, x)[0][0], [-0.75, 0.75])


def test_label_smoothing_on_a_masked_class_is_infinite_E11(device):
    logits = constant([[2.0, -INF, 2.0]], device)
    targets = constant([0], device)
    check(cross_entropy(logits, targets), math.log(2))
    assert cross_entropy(logits, targets, label_smoothing=0.1).item() == INF


def test_soft_labels_with_a_masked_class_E11(device):
    logits = leaf([2.0, -INF, 2.0], device)
    loss = cross_entropy(logits, constant([0.5, 0.0, 0.5], device))
    check(loss, 0.6931471805599453)
    check(gradients(loss, logits)[0], [0.0, 0.0, 0.0], atol=1e-8)


@pytest.mark.parametrize("loss", [cross_entropy, nll_loss])
@pytest.mark.parametrize("target", [5, 3, -1, -7])
def test_target_out_of_range_names_the_value_and_its_position_E13(device, loss, target):
    scores = lm.zeros((3, 3), device=device)
    with pytest.raises(IndexError) as caught:
        loss(scores, constant([0, target, 1], device), ignore_index=-100)
    assert f" {target} " in str(caught.value)
    assert "[1]" in str(caught.value)
    assert isinstance(caught.value, lm.errors.IndexRangeError)
    assert (caught.value.index, caught.value.position) == (target, (1,))


def test_target_that_is_ignored_is_not_out_of_range_E13(device):
    scores = lm.zeros((2, 3), device=device)
    loss = cross_entropy(scores, constant([-1, 2], device), ignore_index=-1)
    check(loss, math.log(3))


def test_binary_cross_entropy_with_logits_at_extremes_E14(device):
    x = leaf([-100.0, 100.0, 0.0], device)
    y = constant([1.0, 0.0, 0.5], device)
    loss = binary_cross_entropy_with_logits(x, y, reduction="none")
    check(loss, [100.0, 100.0, 0.6931471805599453])
    check_exact(gradients(loss, x, grad=[1.0, 1.0, 1.0])[0], [-1.0, 1.0, 0.0])
    far = binary_cross_entropy_with_logits(
        constant([-1000.0], device), constant([0.0], device), reduction="none"
    )
    check_exact(far, [0.0])


def test_softmax_of_many_equal_bfloat16_logits_E15(device):
    y = lm.zeros((512,), dtype=lm.bfloat16, device=device).softmax()
    check_exact(y, np.full(512, 2.0**-9))


def test_hessian_of_cross_entropy_E16(device):
    x = lm.tensor([[0.0, math.log(3)]], dtype=lm.float64, device=device, requires_grad=True)
    loss = cross_entropy(x, constant([0], device))
    slope = loss.backward(create_graph=True)[x]
    rows = [slope[0, column].backward(retain_graph=True)[x] for column in range(2)]
    check(lm.concat(rows), [[0.1875, -0.1875], [-0.1875, 0.1875]])


def test_attention_over_an_all_masked_row_is_zero_and_leaves_others_alone_E4(device):
    for mask in ([[False, False], [True, True]], [[-INF, -INF], [0.0, 0.0]]):
        query, rows = leaf([[1.0], [0.0]], device), leaf([[2.0], [4.0]], device)
        key = leaf([[1.0], [3.0]], device)
        y = scaled_dot_product_attention(query, key, rows, constant(mask, device))
        check_exact(y, [[0.0], [3.0]])
        by_query, by_key, by_rows = gradients(y, query, key, rows, grad=[[7.0], [2.0]])
        check(by_query, [[0.0], [2.0]])
        check_exact(by_key, [[0.0], [0.0]])
        check_exact(by_rows, [[1.0], [1.0]])


def test_masked_query_takes_nothing_from_a_gradient_that_is_not_finite_E4(device):
    query, rows = leaf([[1.0], [0.0]], device), leaf([[2.0], [4.0]], device)
    mask = constant([[False, False], [True, True]], device)
    y = scaled_dot_product_attention(query, rows, rows, mask)
    check_exact(gradients(y, rows, grad=[[NAN], [0.0]])[0], [[0.0], [0.0]])
