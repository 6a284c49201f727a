"""Activations as layers, against their formulas."""

import math

import numpy as np
import pytest
import scipy.special

import lumus as lm
from lumus import nn


def normal(shape, seed=0, dtype=lm.float32):
    return lm.random.normal(shape, dtype=dtype, generator=lm.random.Generator(seed))


SHAPES = [(), (0,), (3,), (2, 3)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("layer", "formula"),
    [
        (nn.ReLU(), lambda x: np.maximum(x, 0)),
        (nn.Tanh(), np.tanh),
        (nn.Sigmoid(), scipy.special.expit),
        (nn.SiLU(), lambda x: x * scipy.special.expit(x)),
        (nn.ReLU6(), lambda x: np.clip(x, 0, 6)),
        (nn.Hardtanh(-0.5, 2.0), lambda x: np.clip(x, -0.5, 2.0)),
        (nn.Hardsigmoid(), lambda x: np.clip(x + 3, 0, 6) / 6),
        (nn.Hardswish(), lambda x: x * np.clip(x + 3, 0, 6) / 6),
        (nn.Softsign(), lambda x: x / (1 + abs(x))),
        (nn.Softplus(2.0), lambda x: np.log1p(np.exp(2 * x)) / 2),
        (nn.Softshrink(0.25), lambda x: np.sign(x) * np.maximum(abs(x) - 0.25, 0)),
        (nn.LogSigmoid(), scipy.special.log_expit),
        (nn.LeakyReLU(0.2), lambda x: np.where(x > 0, x, 0.2 * x)),
        (nn.ELU(0.5), lambda x: np.where(x > 0, x, 0.5 * np.expm1(x))),
        (nn.CELU(0.5), lambda x: np.where(x > 0, x, 0.5 * np.expm1(2 * x))),
        (
            nn.SELU(),
            lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
        ),
        (nn.Mish(), lambda x: x * np.tanh(np.log1p(np.exp(x)))),
        (nn.GELU(), lambda x: x * scipy.special.ndtr(x)),
        (
            nn.GELU("tanh"),
            lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        ),
    ],
    ids=lambda one: repr(one) if isinstance(one, nn.Module) else "",
)
def test_activation_is_its_formula(layer, formula, shape):
    x = normal(shape, dtype=lm.float64)
    np.testing.assert_allclose(layer(x).numpy(), formula(x.numpy()), rtol=1e-13, atol=1e-300)
    assert layer.parameters() == []


def test_softmax_and_its_logarithm_run_along_their_axis():
    x = normal((2, 3, 4), dtype=lm.float64)
    for axis in (0, 1, -1):
        want = scipy.special.softmax(x.numpy(), axis=axis)
        np.testing.assert_allclose(nn.Softmax(axis)(x).numpy(), want, rtol=1e-13)
        np.testing.assert_allclose(nn.LogSoftmax(axis)(x).numpy(), np.log(want), rtol=1e-12)
    assert repr(nn.Softmax(1)) == "Softmax(axis=1)"


def test_prelu_has_one_weight_or_one_for_each_channel():
    x = normal((2, 3, 4))
    for count, slopes in ((1, [0.5]), (3, [0.5, -1.0, 2.0])):
        layer = nn.PReLU(count, 0.5)
        assert layer.weight.tolist() == [0.5] * count
        layer.load_state_dict({"weight": lm.tensor(slopes)})
        slope = np.array(slopes, np.float32).reshape(count, 1)
        want = np.where(x.numpy() > 0, x.numpy(), slope * x.numpy())
        np.testing.assert_array_equal(layer(x).detach().numpy(), want)
        grads = layer(x).sum().backward()
        below = np.minimum(x.numpy(), 0)
        want = below.sum((0, 2)) if count == 3 else below.sum(keepdims=True)[0, 0]
        np.testing.assert_allclose(grads[layer.weight].numpy(), want, rtol=1e-5)


def test_prelu_tells_a_wrong_number_of_channels():
    for shape in ((3,), (2, 4), ()):
        with pytest.raises(lm.errors.ShapeError, match="PReLU: axis 1 must have 3 channels"):
            nn.PReLU(3)(lm.zeros(shape))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: nn.CELU(0.0), "CELU: alpha must be positive, got 0.0"),
        (lambda: nn.ELU(math.nan), "ELU: alpha must be finite, got nan"),
        (lambda: nn.Softplus(-1.0), "Softplus: beta must be positive, got -1.0"),
        (lambda: nn.Softshrink(-0.5), "Softshrink: lambd cannot be negative, got -0.5"),
        (lambda: nn.Hardtanh(2.0, 1.0), "Hardtanh: min_val must not exceed max_val, got 2.0"),
        (lambda: nn.PReLU(0), "PReLU: num_parameters must be positive, got 0"),
    ],
)
def test_bad_parameters_are_told_when_the_layer_is_made(make, told):
    with pytest.raises(lm.errors.ArgumentError, match=told):
        make()
