"""Convolutions: strides, groups, tails, empty batches, layouts."""

import numpy as np
import pytest

import lumus as lm
from lumus.errors import ArgumentError, ShapeError
from lumus.nn import functional
from tests.hard_cases.values import check, check_exact, elements, gradients, leaf


def line(values, device):
    """A batch of one with one channel (or an output by an input channel of weights)."""
    return leaf([[values]], device)


def test_stride_padding_and_dilation_together_J1(device):
    x, w = line([1.0, 2, 3, 4, 5, 6, 7], device), line([2.0, 1, -1], device)
    y = functional.conv1d(x, w, stride=2, padding=1, dilation=2)
    check_exact(y, [[[-2.0, 2, 14]]])
    dx, dw = gradients(y, x, w, grad=[[[1.0, 10, 100]]])
    check_exact(dx, [[[0.0, 21, 0, 209, 0, 90, 0]]])
    check_exact(dw, [[[420.0, 642, 64]]])


def test_groups_read_their_own_channels_J2(device):
    x = leaf(np.arange(1.0, 5).reshape(1, 4, 1, 1) * np.ones((1, 4, 2, 2)), device)
    w = leaf(np.arange(1.0, 7).reshape(6, 1, 1, 1) * np.ones((6, 2, 1, 1)), device)
    y = functional.conv2d(x, w, groups=2)
    planes = np.array([3.0, 6, 9, 28, 35, 42]).reshape(1, 6, 1, 1)
    check_exact(y, planes * np.ones((1, 6, 2, 2)))


def test_depthwise_with_a_channel_multiplier_J3(device):
    x = leaf(np.array([1.0, 10, 100]).reshape(1, 3, 1, 1), device)
    w = leaf(np.arange(1.0, 7).reshape(6, 1, 1, 1), device)
    y = functional.conv2d(x, w, groups=3)
    check_exact(y.reshape(-1), [1.0, 2, 30, 40, 500, 600])


def test_kernel_larger_than_the_padded_input_raises_J4(device):
    w = leaf(np.arange(1.0, 10).reshape(1, 1, 3, 3), device)
    with pytest.raises(ShapeError, match=r"\(3, 3\) positions, the padded input has \(2, 2\)"):
        functional.conv2d(leaf(np.zeros((1, 1, 2, 2)), device), w)
    check_exact(functional.conv2d(leaf([[[[5.0]]]], device), w, padding=1), [[[[25.0]]]])


def test_tail_that_a_stride_leaves_has_gradients_J5(device):
    x, w = line([1.0, 2, 3, 4, 5, 6], device), line([1.0, 2, 4], device)
    y = functional.conv1d(x, w, stride=2)
    check_exact(y, [[[17.0, 31]]])
    dx, dw = gradients(y, x, w)
    check_exact(dx, [[[1.0, 2, 5, 2, 4, 0]]])
    check_exact(dw, [[[4.0, 6, 8]]])


def test_output_padding_holds_real_sums_J6(device):
    x, w = line([1.0, 2], device), line([1.0, 1, 1], device)
    y = functional.conv_transpose1d(x, w, stride=2, padding=1, output_padding=1)
    check_exact(y, [[[1.0, 3, 2, 2]]])
    with pytest.raises(ArgumentError, match="output_padding must be less than stride or dilation"):
        functional.conv_transpose1d(x, w, stride=2, output_padding=2)


def test_transposed_kernel_of_one_with_stride_has_strided_gradients_J8(device):
    x, w = line([4.0, 10], device), line([-0.5], device)
    y = functional.conv_transpose1d(x, w, stride=2)
    check_exact(y, [[[-2.0, 0, -5]]])
    dx, dw = gradients(y, x, w, grad=[[[2.0, 7, 3]]])
    check_exact(dx, [[[-1.0, -1.5]]])
    check_exact(dw, [[[38.0]]])


def test_same_padding_of_an_even_kernel_has_its_extra_zero_behind_J9(device):
    y = functional.conv1d(line([1.0] * 5, device), line([1.0] * 4, device), padding="same")
    check_exact(y, [[[3.0, 4, 4, 3, 2]]])


def test_batch_of_none_has_zero_weight_gradients_J10(device):
    x, w = leaf(np.zeros((0, 3, 8, 8)), device), leaf(np.ones((4, 3, 3, 3)), device)
    b = leaf(np.ones(4), device)
    y = functional.conv2d(x, w, b, padding=1)
    assert y.shape == (0, 4, 8, 8)
    dx, dw, db = gradients(y, x, w, b)
    check_exact(dx, np.zeros((0, 3, 8, 8)))
    check_exact(dw, np.zeros((4, 3, 3, 3)))
    check_exact(db, np.zeros(4))


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("kernel", [1, 3])
def test_layout_changes_neither_result_nor_gradients_J11(device, kernel, groups):
    random = np.random.default_rng(0)
    pictures = random.uniform(-1, 1, (2, 9, 8, 6))
    w = leaf(random.uniform(-1, 1, (12, 6 // groups, kernel, kernel)), device, dtype=lm.float32)
    incoming = random.uniform(-1, 1, (2, 12, 5, 4))
    found = []
    for dense in (False, True):
        last = lm.tensor(pictures, dtype=lm.float32, device=device)
        x = last.permute_dims((0, 3, 1, 2))
        x = (x.copy() if dense else x).requires_grad_()
        y = functional.conv2d(x, w, stride=2, padding=kernel // 2, groups=groups)
        found.append([elements(y), *gradients(y, x, w, grad=incoming)])
    for one, other in zip(*found, strict=True):
        check(one, other, rtol=1e-5, atol=1e-5)
