"""Pools: overlapping windows, ties, padding, windows that overhang."""

import math

import numpy as np
import pytest

import lumus as lm
from lumus.errors import ArgumentError
from lumus.nn import functional
from tests.hard_cases.values import TAIL_LENGTHS, check, check_exact, elements, gradients, leaf

NAN, INF = math.nan, math.inf


def test_max_pool_does_not_depend_on_the_layout_J11(device):
    random = np.random.default_rng(0)
    values = random.standard_normal((2, 9, 11, 5)).astype(np.float32)  # NHWC
    across = leaf(values, device)
    contiguous = leaf(np.ascontiguousarray(values.transpose(0, 3, 1, 2)), device)
    results = []
    for x in (across, contiguous):
        planes = x.permute_dims((0, 3, 1, 2)) if x is across else x
        y = functional.max_pool2d(planes, 3, 2, 1)
        results.append((elements(y), gradients(y, x, grad=np.arange(y.size).reshape(y.shape))[0]))
    check_exact(results[0][0], results[1][0])
    check_exact(results[0][1].transpose(0, 3, 1, 2), results[1][1])


def test_overlapping_windows_accumulate_J12(device):
    x = leaf([[1.0, 3.0, 2.0, 5.0, 4.0]], device)
    y = functional.max_pool1d(x, 3, 1)
    check_exact(y, [[3.0, 5.0, 5.0]])
    check_exact(gradients(y, x, grad=[[1.0, 10.0, 100.0]])[0], [[0.0, 1.0, 0.0, 110.0, 0.0]])


def test_first_of_a_tie_is_the_maximum_J13(device):
    x = leaf([[2.0, 2.0, 1.0, 2.0]], device)
    y = functional.max_pool1d(x, 2)
    check_exact(y, [[2.0, 2.0]])
    check_exact(gradients(y, x)[0], [[1.0, 0.0, 0.0, 1.0]])
    equal = leaf([[[3.0, 3.0], [3.0, 3.0]]], device)
    check_exact(
        gradients(functional.max_pool2d(equal, 2), equal, grad=7.0)[0], [[[7.0, 0.0], [0.0, 0.0]]]
    )


@pytest.mark.parametrize("dtype", [lm.float64, lm.float32, lm.float16, lm.bfloat16])
@pytest.mark.parametrize(
    "arguments", [(2, 2), (2, 1), (3, 2, 1), (3, 1, 1), (5, 3, 2), ((4, 2), 3, (2, 1)), (7, 7, 3)]
)
def test_each_window_passes_on_its_gradient_to_the_first_of_equals_J13(device, dtype, arguments):
    x = leaf(np.zeros((1, 2, 19, 37)), device, dtype)
    y, indices = functional.max_pool2d(x, *arguments, return_indices=True)
    grad = np.random.default_rng(0).integers(1, 5, y.shape)
    want = np.zeros((2, 19 * 37))
    for plane in range(2):
        np.add.at(want[plane], elements(indices)[0, plane].ravel(), grad[0, plane].ravel())
    check_exact(gradients(y, x, grad=grad)[0].reshape(2, -1), want)
    assert gradients(functional.max_pool2d(x, *arguments), x, grad=grad)[0].sum() == grad.sum()


def test_nan_stays_and_nothing_but_minus_infinity_has_a_valid_place_J14(device):
    for values, expected, first in (
        ([[NAN, 1.0, 2.0, 3.0]], [[NAN, 3.0]], [[0, 3]]),
        ([[NAN, NAN]], [[NAN]], [[0]]),
        ([[-INF, -INF]], [[-INF]], [[0]]),
    ):
        x = leaf(values, device)
        y, indices = functional.max_pool1d(x, 2, return_indices=True)
        check_exact(y, expected)
        check_exact(indices, first)
        want = np.zeros_like(values)
        want[0, first[0]] = 1
        check_exact(gradients(y, x)[0], want)


@pytest.mark.parametrize("special", [NAN, -INF])
def test_special_values_at_every_place_of_a_row_J14(special):
    # In the padding -inf must not be the place, in vectors and behind them.
    for length in TAIL_LENGTHS:
        values = np.full((1, 2, length), special, np.float32)
        y, indices = functional.max_pool2d(
            lm.tensor(values), (2, 3), 1, (1, 1), return_indices=True
        )
        assert np.array_equal(elements(y), np.full((1, 3, length), special), equal_nan=True)
        first = np.maximum(np.arange(length) - 1, 0)
        check_exact(indices, [[first, first, first + length]])


def test_padding_is_never_the_maximum_J15(device):
    check_exact(functional.max_pool1d(leaf([[-5.0, -3.0]], device), 3, 1, 1), [[-3.0, -3.0]])


def test_last_window_must_begin_before_the_padding_J16(device):
    x = leaf([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]], device)
    check_exact(functional.max_pool1d(x, 2, 2, 1, ceil_mode=True), [[1.0, 3.0, 5.0, 7.0]])
    y = functional.avg_pool1d(x, 2, 2, 1, ceil_mode=True, count_include_pad=False)
    check_exact(y, [[1.0, 2.5, 4.5, 6.5]])


def test_divisor_counts_the_padding_or_does_not_J17(device):
    x = leaf([[2.0, 4.0, 6.0]], device)
    check_exact(functional.avg_pool1d(x, 3, 1, 1), np.float32([[2.0, 4.0, 10 / 3]]))
    check_exact(functional.avg_pool1d(x, 3, 1, 1, count_include_pad=False), [[3.0, 4.0, 5.0]])


@pytest.mark.parametrize("counts_padding", [True, False])
def test_divisor_does_not_count_what_overhangs_J18(device, counts_padding):
    x = leaf([[2.0, 4.0, 6.0, 8.0, 10.0]], device)
    y = functional.avg_pool1d(x, 2, 2, ceil_mode=True, count_include_pad=counts_padding)
    check_exact(y, [[3.0, 7.0, 10.0]])
    check(gradients(y, x)[0], [[0.5, 0.5, 0.5, 0.5, 1.0]])


def test_window_in_the_padding_alone_is_refused_J19(device):
    x = leaf([[[1.0]]], device)
    for pool in (functional.max_pool2d, functional.avg_pool2d):
        with pytest.raises(ArgumentError, match="padding of 3 is more than half of a window"):
            pool(x, 3, padding=3)
    # Half of the reach is not enough where taps are far apart.
    with pytest.raises(lm.errors.ShapeError, match="window 0 along an axis of 1 has no element"):
        functional.max_pool1d(leaf([[1.0]], device), 2, padding=2, dilation=3)
