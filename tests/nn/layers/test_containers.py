"""ModuleList, ModuleDict, ParameterList, ParameterDict: names, contents, what they refuse."""

import copy
import pickle

import pytest

import lumus as lm
from lumus import nn
from lumus.errors import ArgumentError, KindError


def linear(size=1):
    return nn.Linear(size, size, bias=False)


class Net(nn.Module):
    def __init__(self) -> None:
        self.blocks = nn.ModuleList([linear(), nn.Sequential(linear(), nn.ReLU())])
        self.heads = nn.ModuleDict({"a": linear(), "b": linear()})
        self.scales = nn.ParameterList([lm.ones(2), lm.zeros(3)])
        self.named = nn.ParameterDict({"x": lm.ones(())})


NAMES = [
    "blocks.0.weight", "blocks.1.0.weight", "heads.a.weight", "heads.b.weight", "scales.0",
    "scales.1", "named.x",
]  # fmt: skip


def test_names_are_paths_of_places_and_keys():
    assert list(Net().state_dict()) == NAMES
    assert [name for name, _ in Net().named_parameters()] == NAMES


def test_train_and_eval_reach_the_items():
    net = Net().eval()
    assert not net.blocks[1][1].training
    assert net.train().heads["b"].training


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copy_has_items_of_its_own(copied):
    net = Net()
    other = copied(net)
    assert list(other.state_dict()) == NAMES
    assert other.blocks[0] is not net.blocks[0]
    assert isinstance(other.scales[0], nn.Parameter)


def test_state_goes_from_one_to_another():
    one, other = Net(), Net()
    other.load_state_dict(one.state_dict())
    for name, value in one.state_dict().items():
        assert value.tolist() == other.state_dict()[name].tolist()


def test_module_list_is_a_list():
    first, second, third = linear(), linear(), linear()
    modules = nn.ModuleList([first])
    modules.append(third)
    modules.insert(1, second)
    assert list(modules) == [first, second, third]
    assert modules[-1] is third
    assert list(modules[:2]) == [first, second]
    assert isinstance(modules[:2], nn.ModuleList)
    modules += [linear()]
    assert len(modules) == 4
    assert second in modules
    del modules[0]
    assert modules.pop() not in (second, third)
    modules[0] = first
    assert list(modules) == [first, third]
    modules[:] = [second]
    assert list(modules) == [second]


def test_module_dict_is_a_dict_but_for_equality():
    heads = nn.ModuleDict([("a", linear())])
    heads["b"] = linear()
    heads.update({"c": linear()})
    assert list(heads) == ["a", "b", "c"]
    assert "b" in heads
    assert heads.pop("a") not in list(heads.values())
    del heads["b"]
    assert [key for key, _ in heads.items()] == ["c"]
    assert heads != nn.ModuleDict(heads)
    assert len({heads, heads}) == 1


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: nn.ModuleList([linear, linear()]), "ModuleList: items must be modules, got func"),
        (lambda: nn.ModuleList([nn.ReLU]), "ModuleList: ReLU is a class, not a module"),
        (lambda: nn.ModuleDict({"a": 1}), "ModuleDict: items must be modules, got int"),
        (lambda: nn.ModuleDict({"a.b": linear()}), "ModuleDict: a key must be .*'a.b'"),
        (lambda: nn.ModuleDict({"": linear()}), "ModuleDict: a key must be"),
        (lambda: nn.ParameterDict({3: lm.ones(1)}), "ParameterDict: a key must be .* got 3"),
        (lambda: nn.ParameterList([[1.0]]), "Parameter: expected a tensor"),
    ],
)
def test_what_cannot_be_an_item_is_told(make, match):
    with pytest.raises(ArgumentError, match=match):
        make()


def test_parameters_are_float():
    with pytest.raises(KindError, match="Parameter: needs a Float tensor"):
        nn.ParameterList([lm.ones(2, dtype=lm.int64)])


def test_refused_item_leaves_the_list_as_it_was():
    modules = nn.ModuleList([linear()])
    with pytest.raises(ArgumentError, match="items must be modules"):
        modules[0] = 3
    assert len(list(modules.parameters())) == 1


def test_repr_shows_items_by_name():
    assert repr(nn.ModuleList([linear()])) == "ModuleList(\n  (0): Linear(1, 1, bias=False)\n)"
    assert repr(nn.ParameterList([lm.ones(2)])) == "ParameterList(float32[2])"
    assert repr(nn.ParameterDict({"x": lm.ones(2)})) == "ParameterDict(x: float32[2])"


def test_identity_is_its_input():
    x = lm.ones(3)
    assert nn.Identity()(x) is x
