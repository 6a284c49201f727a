"""Initial values: the scale that the formulas say, the generator that was given."""

import math

import numpy as np
import pytest

import lumus as lm
from lumus.errors import ArgumentError, ShapeError
from lumus.nn import init

SHAPE = (200, 100)
GAINS = {
    "linear": 1.0,
    "sigmoid": 1.0,
    "tanh": 5 / 3,
    "relu": math.sqrt(2),
    "leaky_relu": math.sqrt(2 / (1 + 0.01**2)),
}
# name -> (standard deviation at gain 1, is it uniform)
SCHEMES = {
    "xavier_uniform": (math.sqrt(2 / 300), True),
    "xavier_normal": (math.sqrt(2 / 300), False),
    "kaiming_uniform": (math.sqrt(1 / 100), True),
    "kaiming_normal": (math.sqrt(1 / 100), False),
}


@pytest.mark.parametrize("nonlinearity", GAINS)
@pytest.mark.parametrize("name", SCHEMES)
def test_scheme_has_the_deviation_of_its_formula(name, nonlinearity):
    x = getattr(init, name)(
        SHAPE, nonlinearity=nonlinearity, generator=lm.random.Generator(1)
    ).numpy()
    std, is_uniform = SCHEMES[name]
    std *= GAINS[nonlinearity]
    assert abs(x.mean()) < 4 * std / math.sqrt(x.size)
    assert x.std() == pytest.approx(std, rel=0.02)
    if is_uniform:
        bound = std * math.sqrt(3)
        assert 0.999 * bound < np.abs(x).max() <= bound * (1 + 1e-6)
    else:
        assert np.abs(x).max() > 3 * std


@pytest.mark.parametrize("dtype", [lm.float64, lm.float32, lm.float16, lm.bfloat16])
@pytest.mark.parametrize("name", SCHEMES)
def test_scheme_repeats_with_the_generator_and_has_the_dtype(name, dtype):
    first, again, other = (
        getattr(init, name)((3, 4), dtype=dtype, generator=lm.random.Generator(seed))
        for seed in (1, 1, 2)
    )
    assert first.dtype is dtype
    assert not first.requires_grad
    assert first.tolist() == again.tolist() != other.tolist()


def test_uniform_lies_within_its_bound_and_normal_has_its_deviation():
    generator = lm.random.Generator(3)
    x = init.uniform((1000,), 0.5, generator=generator).numpy()
    assert -0.5 <= x.min() < -0.49 < 0.49 < x.max() < 0.5
    assert init.normal((2000,), 3.0, generator=generator).numpy().std() == pytest.approx(3, rel=0.1)


def test_fans_count_the_kernel_and_need_two_axes():
    assert init.fans((4, 3)) == (3, 4)
    assert init.fans((16, 3, 5, 5)) == (75, 400)
    with pytest.raises(ShapeError, match=r"at least two axes, got shape \(3,\)"):
        init.fans((3,))


def test_weight_without_elements_is_made():
    assert init.kaiming_uniform((3, 0)).shape == (3, 0)
    assert init.xavier_normal((0, 0)).shape == (0, 0)


def test_gain_of_an_unknown_nonlinearity_names_the_known_ones():
    with pytest.raises(ArgumentError, match="no gain for 'swish'; there is linear, sigmoid"):
        init.gain("swish")
    assert init.gain("leaky_relu", 1.0) == 1.0
