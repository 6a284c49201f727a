"""Linear: an affine map, its gradients, its initial values, its errors."""

import numpy as np
import pytest

import lumus as lm
from lumus import nn
from lumus.errors import ArgumentError, KindError, ShapeError
from lumus.testing.gradcheck import gradcheck


def normal(shape, seed=0, dtype=lm.float32):
    return lm.random.normal(shape, dtype=dtype, generator=lm.random.Generator(seed))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch", [(), (1,), (4,), (2, 3), (0,), (2, 0, 3)])
def test_linear_is_the_affine_map_of_the_last_axis(batch, bias):
    layer = nn.Linear(3, 2, bias=bias, generator=lm.random.Generator(1))
    x = normal((*batch, 3))
    expected = x.numpy() @ layer.weight.detach().numpy().T
    if bias:
        expected = expected + layer.bias.detach().numpy()
    y = layer(x)
    assert y.shape == (*batch, 2)
    np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-5, atol=1e-6)


def test_linear_gradients_are_right_to_second_order():
    layer = nn.Linear(3, 2, dtype=lm.float64, generator=lm.random.Generator(1))
    x, w, b = normal((4, 3), dtype=lm.float64), layer.weight.detach(), layer.bias.detach()

    def loss(x, w, b):
        layer.weight, layer.bias = w, b
        return layer(x).tanh().sum()

    gradcheck(loss, [x, w, b])


def test_linear_starts_evenly_spread_over_one_over_root_inputs():
    layer = nn.Linear(100, 50, generator=lm.random.Generator(1))
    for one in (layer.weight.detach().numpy(), layer.bias.detach().numpy()):
        assert -0.1 <= one.min() < -0.09
        assert 0.09 < one.max() < 0.1


def test_linear_with_the_same_generator_seed_is_the_same():
    first, second = (nn.Linear(3, 2, generator=lm.random.Generator(4)) for _ in range(2))
    assert first.weight.tolist() == second.weight.tolist()
    assert first.bias.tolist() == second.bias.tolist()


@pytest.mark.parametrize("sizes", [(0, 2), (2, 0), (-1, 2)])
def test_linear_of_sizes_that_are_not_positive_raises(sizes):
    with pytest.raises(ArgumentError, match="sizes must be positive"):
        nn.Linear(*sizes)


@pytest.mark.parametrize("shape", [(), (2,), (3, 2)])
def test_linear_of_another_last_axis_names_both(shape):
    with pytest.raises(ShapeError) as caught:
        nn.Linear(3, 2)(lm.zeros(shape))
    assert str(caught.value) == f"Linear: the last axis must be 3, got shape {shape}"


def test_linear_of_int_input_raises():
    with pytest.raises(KindError):
        nn.Linear(3, 2)(lm.zeros((3,), dtype=lm.int64))
