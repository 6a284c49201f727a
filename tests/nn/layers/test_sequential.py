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
    assert list(model) == [model[0], model[1], model[2]]


def test_sequential_names_its_layers_by_place_in_the_order_of_use():
    model = nn.Sequential(*[nn.Linear(1, 1, bias=False) for _ in range(11)])
    assert list(model.state_dict()) == [f"{place}.weight" for place in range(11)]


def test_sequential_of_a_dict_names_its_layers_by_key():
    model = nn.Sequential({"fc": nn.Linear(2, 3), "act": nn.ReLU()})
    assert list(model.state_dict()) == ["fc.weight", "fc.bias"]
    assert model(normal((4, 2))).tolist() == model[0](normal((4, 2))).relu().tolist()
    assert repr(model) == "Sequential(\n  (fc): Linear(2, 3)\n  (act): ReLU()\n)"


def test_sequential_within_another_is_named_by_the_path_of_places():
    model = nn.Sequential(nn.Sequential(nn.Linear(1, 1, bias=False)), nn.Linear(1, 1, bias=False))
    assert list(model.state_dict()) == ["0.0.weight", "1.weight"]


def test_slice_of_a_sequential_shares_its_layers():
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    part = model[1:]
    assert isinstance(part, nn.Sequential)
    assert list(part) == [model[1], model[2]]
    assert list(part.state_dict()) == ["1.weight", "1.bias"]


def test_append_and_replacement_keep_the_names():
    model = nn.Sequential(nn.Linear(2, 2)).append(nn.Linear(2, 2, bias=False))
    assert list(model.state_dict()) == ["0.weight", "0.bias", "1.weight"]
    model[0] = nn.Tanh()
    assert list(model.state_dict()) == ["1.weight"]
    model[-1] = nn.ReLU()
    assert not model.state_dict()
    with pytest.raises(ArgumentError, match="layer 2 is 5, which cannot be called"):
        model.append(5)
    with pytest.raises(ArgumentError, match="a layer is named 1 already"):
        nn.Sequential({"1": nn.ReLU()}).append(nn.ReLU())


def test_attribute_of_a_subclass_stands_beside_the_layers():
    class Block(nn.Sequential):
        def __init__(self) -> None:
            super().__init__(nn.Linear(2, 2, bias=False))
            self.scale = nn.Parameter(lm.ones(()))

    assert list(Block().state_dict()) == ["0.weight", "scale"]


def test_sequential_of_nothing_is_the_identity():
    x = normal((2,))
    assert nn.Sequential()(x) is x


def test_sequential_of_something_that_cannot_be_called_names_its_place():
    with pytest.raises(ArgumentError, match="layer 1 is 3, which cannot be called"):
        nn.Sequential(nn.ReLU(), 3)
    with pytest.raises(ArgumentError, match="layer 0 is the class ReLU"):
        nn.Sequential(nn.ReLU)


@pytest.mark.parametrize("key", ["", "a.b", 3])
def test_key_that_cannot_be_a_name_is_told(key):
    with pytest.raises(ArgumentError, match="must be a string without dots"):
        nn.Sequential({key: nn.ReLU()})
