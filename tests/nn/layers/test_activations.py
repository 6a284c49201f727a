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
