"""Sequential: modules and functions in order."""

import pytest

import lumus as lm
from lumus import nn
from lumus.errors import ArgumentError


def normal(shape, seed=0, dtype=lm.float32):
    return lm.random.normal(shape, dtype=dtype, generator=lm.random.Generator(seed))


def test_sequential_applies_modules_and_functions_in_order():
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), lambda x: x + 1)
    x = normal((4, 2))
    assert model(x).tolist() == (model[0](x).tanh() + 1).tolist()
    assert len(model) == 3
    assert list(model) == model.layers
    assert [name for name, _ in model.named_parameters()] == ["layers.0.weight", "layers.0.bias"]


def test_sequential_of_nothing_is_the_identity():
    x = normal((2,))
    assert nn.Sequential()(x) is x


def test_sequential_of_something_that_cannot_be_called_names_its_place():
    with pytest.raises(ArgumentError, match="layer 1 is 3, which cannot be called"):
        nn.Sequential(nn.ReLU(), 3)
