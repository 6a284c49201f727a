"""Normalisation: statistics, eps, running values, and gradients in both modes."""

import numpy as np
import pytest

import lumus as lm
from lumus.errors import ShapeError
from lumus.nn.functional import batch_norm, group_norm, layer_norm, rms_norm
from tests.hard_cases.values import check, check_exact, constant, elements, gradients, leaf

BATCH = [[1.0], [2.0], [3.0], [4.0]]
NORMALIZED = [[-1.3416407865], [-0.4472135955], [0.4472135955], [1.3416407865]]


def test_batch_norm_divides_by_n_to_normalise_and_n_less_1_for_the_running_variance_K1(device):
    mean, var = constant([0.0], device), constant([1.0], device)
    y = batch_norm(constant(BATCH, device), mean, var, momentum=0.1, eps=0.0)
    check(y, NORMALIZED)
    check(mean, [0.25])
    check(var, [0.9 + 0.1 * 5 / 3])


@pytest.mark.parametrize("shape", [(1, 3), (1, 3, 1, 1), (0, 3), (4, 3, 0)])
def test_batch_norm_of_fewer_than_two_values_raises_and_changes_nothing_K2(device, shape):
    layer_class = {2: lm.nn.BatchNorm1d, 3: lm.nn.BatchNorm1d, 4: lm.nn.BatchNorm2d}[len(shape)]
    layer = layer_class(3)
    with pytest.raises(ShapeError, match="more than one value a channel"):
        layer(lm.ones(shape))
    mean, var = constant([0.5, 0.5, 0.5], device), constant([2.0, 2.0, 2.0], device)
    with pytest.raises(ShapeError, match="more than one value a channel"):
        batch_norm(lm.ones(shape, device=device), mean, var)
    check_exact(mean, [0.5, 0.5, 0.5])
    check_exact(var, [2.0, 2.0, 2.0])
    assert layer.running_mean is not None
    assert layer.num_batches_tracked is not None
    check_exact(layer.running_mean, [0.0, 0.0, 0.0])
    assert layer.num_batches_tracked.item() == 0


def test_batch_norm_of_one_example_with_several_positions_is_fine_K2(device):
    y = batch_norm(constant(np.arange(8.0, dtype=np.float32).reshape(1, 2, 2, 2), device))
    check(elements(y).mean(axis=(2, 3)), [[0.0, 0.0]], atol=1e-6)


def test_batch_norm_gradient_in_training_K4(device):
    x, weight = leaf(BATCH, device), leaf([1.0], device)
    y = batch_norm(x, None, None, weight, eps=0.0)
    grad_x, grad_weight = gradients(y, x, weight, grad=[[1.0], [0.0], [0.0], [0.0]])
    check(grad_x, [[0.26832816], [-0.35777088], [-0.08944272], [0.17888544]], rtol=2e-6)
    check(grad_weight, [NORMALIZED[0][0]])
    check(grad_x.sum(), 0.0, atol=1e-7)


def test_batch_norm_gradient_in_evaluation_takes_statistics_for_constants_K4(device):
    x, weight = leaf(BATCH, device), leaf([2.0], device)
    mean, var = constant([1.0], device), constant([3.0], device)
    y = batch_norm(x, mean, var, weight, training=False, eps=1.0)
    grad_x, grad_weight = gradients(y, x, weight, grad=[[1.0], [0.0], [0.0], [2.0]])
    check_exact(grad_x, [[1.0], [0.0], [0.0], [2.0]])
    check_exact(grad_weight, [3.0])


def test_momentum_is_the_share_of_the_batch_K5(device):
    mean, var = constant([10.0], device), constant([7.0], device)
    batch_norm(constant([[0.0], [2.0]], device), mean, var, momentum=0.25)
    check(mean, [0.75 * 10 + 0.25 * 1])
    check(var, [0.75 * 7 + 0.25 * 2])


@pytest.mark.parametrize("value", [5.0, 0.1, -3e30, 1e-30])
@pytest.mark.parametrize("length", [1, 3, 16, 77, 1000, 9001])
def test_layer_norm_of_equal_elements_is_exactly_the_bias_K6(device, value, length):
    bias = np.linspace(-1, 1, length).astype(np.float32)
    x = lm.full((2, length), value, device=device)
    weight = lm.ones((length,), device=device)
    check_exact(layer_norm(x, length, weight, constant(bias, device)), np.stack([bias, bias]))


def test_layer_norm_gradient_of_equal_elements_K6(device):
    x = leaf([5.0, 5.0, 5.0], device)
    y = layer_norm(x, 3)
    check_exact(y, [0.0, 0.0, 0.0])
    check(gradients(y, x, grad=[1.0, 2.0, 3.0])[0], [-316.227766, 0.0, 316.227766])


WANTED = [-1.3415549, -0.4471850, 0.4471850, 1.3415549]


def test_layer_norm_with_a_large_mean_K7(device):
    x = constant([4096.0, 4096.25, 4096.5, 4096.75], device)
    check(layer_norm(x, 4), WANTED, atol=1e-4)


@pytest.mark.parametrize("mean", [4096.0, 1e6])
def test_every_normalisation_keeps_its_digits_beside_a_large_mean_K7(device, mean):
    steps = np.float32(mean) + np.arange(4, dtype=np.float32).reshape(4, 1) * 0.25
    wanted = np.asarray(WANTED)
    many = np.repeat(steps, 40, axis=1).reshape(4, 1, 40, 1)
    for y in (
        batch_norm(constant(steps, device)),
        batch_norm(constant(many, device)),
        layer_norm(constant(steps.T, device), 4).T,
        group_norm(constant(many.transpose(1, 0, 2, 3), device), 1),
    ):
        check(elements(y).reshape(4, -1)[:, 0], wanted, rtol=0, atol=2e-5)


def test_rms_norm_has_eps_inside_the_root_K8(device):
    x = constant([3.0, 4.0], device)
    check(rms_norm(x, 2, eps=0.0), [0.8485281, 1.1313708])
    check(rms_norm(x, 2, eps=1.0), [0.8164966, 1.0886621])


def test_rms_norm_of_zeros_K8(device):
    x = leaf([0.0, 0.0], device)
    y = rms_norm(x, 2, eps=1e-6)
    check_exact(y, [0.0, 0.0])
    check(gradients(y, x, grad=[1.0, 2.0])[0], [1000.0, 2000.0])


@pytest.mark.parametrize("scale", [1e25, 1e-25])
def test_rms_norm_of_squares_beyond_float32_K8(device, scale):
    x = constant([3.0 * scale, 4.0 * scale], device)
    check(rms_norm(x, 2, eps=0.0), [0.8485281, 1.1313708])
    check(layer_norm(x, 2, eps=0.0), [-1.0, 1.0])


def test_rms_norm_of_halves_whose_squares_overflow_K9(device):
    x = constant([300.0, 400.0], device, lm.float16)
    check_exact(rms_norm(x, 2, eps=1e-5), [0.8486328125, 1.1318359375])


def test_layer_norm_of_halves_whose_squares_overflow_K9(device):
    x = constant([-300.0, 300.0], device, lm.float16)
    check_exact(layer_norm(x, 2, eps=1e-5), [-1.0, 1.0])


@pytest.mark.parametrize("function", [rms_norm, layer_norm])
def test_zeros_in_halves_with_an_eps_below_their_range_K9(device, function):
    x = constant([0.0, 0.0], device, lm.float16)
    check_exact(function(x, 2, eps=1e-12), [0.0, 0.0])


def test_group_norm_does_not_depend_on_the_layout_J11(device):
    random = np.random.default_rng(0)
    values = random.standard_normal((2, 9, 11, 6)).astype(np.float32)  # NHWC
    across = leaf(values, device)
    contiguous = leaf(np.ascontiguousarray(values.transpose(0, 3, 1, 2)), device)
    scale, shift = leaf(random.uniform(0.5, 2.0, 6), device), leaf(random.normal(size=6), device)
    results = []
    for x in (across, contiguous):
        planes = x.permute_dims((0, 3, 1, 2)) if x is across else x
        y = group_norm(planes, 3, scale.astype(lm.float32), shift.astype(lm.float32))
        grad = np.arange(y.size).reshape(y.shape) / y.size
        results.append((elements(y), *gradients(y, x, scale, shift, grad=grad)))
    (y, dx, *rest), (plain, dplain, *plain_rest) = results
    check(y, plain, rtol=1e-5, atol=1e-5)
    check(dx.transpose(0, 3, 1, 2), dplain, rtol=1e-5, atol=1e-5)
    for one, other in zip(rest, plain_rest, strict=True):
        check(one, other, rtol=1e-5, atol=1e-5)
