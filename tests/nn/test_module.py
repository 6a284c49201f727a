"""Modules: what they find in themselves, their state, their mode and their text."""

import copy
import math
import pickle
import textwrap
from collections import namedtuple

import numpy as np
import pytest

import lumus as lm
from lumus import nn
from lumus.errors import ArgumentError, KindError, ReadOnlyError, StateError

Pair = namedtuple("Pair", "first second")


def linear(in_features=2, out_features=2, seed=0, **options):
    return nn.Linear(in_features, out_features, generator=lm.random.Generator(seed), **options)


class Net(nn.Module):
    """One of everything that a module finds."""

    scale: nn.Parameter

    def __init__(self, seed=0):
        self.scale = nn.Parameter(lm.ones(()))
        self.body = [linear(2, 3, seed), nn.ReLU(), {"a": linear(3, 3, seed), "b": None}]
        self.pair = Pair(nn.Parameter(lm.zeros(1)), lm.zeros(2, dtype=lm.int64))
        self.mean = lm.zeros(3)
        self.name = "net"
        self.head = linear(3, 1, seed, bias=False)

    def forward(self, x: lm.Tensor[lm.Float]) -> lm.Tensor[lm.Float]:
        return self.head(self.body[2]["a"](self.body[0](x).relu())) * self.scale


NET_PARAMETERS = [
    "scale",
    "body.0.weight",
    "body.0.bias",
    "body.2.a.weight",
    "body.2.a.bias",
    "pair.0",
    "head.weight",
]


def values(module):
    return {name: one.tolist() for name, one in module.state_dict().items()}


# Contents -----------------------------------------------------------------------------------------


def test_named_parameters_are_found_in_attributes_lists_tuples_and_dicts_in_order():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == NET_PARAMETERS
    assert [id(one) for one in net.parameters()] == [id(one) for _, one in net.named_parameters()]
    assert net.parameters()[1] is net.body[0].weight


def test_named_buffers_are_the_tensors_that_are_no_parameters():
    assert [name for name, _ in Net().named_buffers()] == ["pair.1", "mean"]
    assert [one.shape for one in Net().buffers()] == [(2,), (3,)]


def test_named_modules_give_each_module_once_with_its_path():
    net = Net()
    found = dict(net.named_modules())
    assert list(found) == ["", "body.0", "body.1", "body.2.a", "head"]
    assert found[""] is net
    assert [name for name, _ in net.named_modules("net")][:2] == ["net", "net.body.0"]


def test_shared_parameter_and_shared_module_are_given_once_under_their_first_name():
    class Tied(nn.Module):
        def __init__(self):
            self.encoder = linear()
            self.again = self.encoder
            self.decoder = linear(seed=1)
            self.decoder.weight = self.encoder.weight

    tied = Tied()
    names = ["encoder.weight", "encoder.bias", "decoder.bias"]
    assert [name for name, _ in tied.named_parameters()] == names
    assert list(tied.state_dict()) == names
    assert len(list(tied.named_modules())) == 3


class SharedWeight(nn.Module):
    """Its state is called token.weight, in the other place head.weight."""

    def __init__(self):
        self.token = nn.Embedding(5, 3)
        self.blocks = nn.ModuleList([linear(), nn.Sequential(linear(seed=1))])
        self.head = nn.Linear(3, 5, bias=False)
        self.head.weight = self.token.weight


@pytest.mark.parametrize("names", [["head.weight"], ["token.weight", "head.weight"]], ids=len)
def test_shared_parameter_is_loaded_under_any_of_its_names(names):
    net, value = SharedWeight(), lm.full((5, 3), math.nan)
    state = {name: one for name, one in net.state_dict().items() if name != "token.weight"}
    net.load_state_dict({**state, **{name: value.copy() for name in names}})
    assert bool(net.token.weight.isnan().all())
    assert net.head.weight is net.token.weight


@pytest.mark.parametrize(
    "other", [lm.zeros((5, 3)), lm.ones((3, 5)), lm.ones((5, 3), dtype=lm.float64), None]
)
@pytest.mark.parametrize("strict", [True, False])
def test_shared_parameter_given_two_values_is_told_and_nothing_changes(other, strict):
    net = SharedWeight()
    before = net.token.weight.tolist()
    state = {**net.state_dict(), "token.weight": lm.ones((5, 3)), "head.weight": other}
    text = "of two values: head.weight, which is the same tensor here as token.weight"
    with pytest.raises(StateError, match=text):
        net.load_state_dict(state, strict=strict)
    assert net.token.weight.tolist() == before


def test_names_below_a_module_that_has_none_of_them_are_unexpected():
    net = SharedWeight()
    state = {
        **net.state_dict(),
        "head.weights": lm.ones((1,)),
        "blocks.1.0.weight.x": lm.ones((1,)),
    }
    with pytest.raises(StateError, match=r"unexpected: head.weights, blocks.1.0.weight.x\n"):
        net.load_state_dict(state)


def test_attribute_set_later_replaced_or_deleted_is_seen_as_it_is_now():
    net = linear()
    net.extra = nn.Parameter(lm.zeros(1))
    net.bias = None
    assert [name for name, _ in net.named_parameters()] == ["weight", "extra"]
    del net.extra
    assert [name for name, _ in net.named_parameters()] == ["weight"]


def test_containers_and_modules_that_contain_themselves_end():
    net = Net()
    net.body.append(net.body)
    net.loop = {"self": net}
    net.body[0].parent = net
    assert [name for name, _ in net.named_parameters()] == NET_PARAMETERS
    assert "..." in repr(net)
    assert net.eval().body[0].training is False


def test_result_kept_as_an_attribute_while_on_a_graph_is_no_buffer():
    class Keeps(nn.Module):
        def __init__(self):
            self.weight = nn.Parameter(lm.ones(2))

        def forward(self, x: lm.Tensor[lm.Float]) -> lm.Tensor[lm.Float]:
            self.last = x * self.weight
            return self.last

    net = Keeps()
    net(lm.ones(2))
    assert list(net.state_dict()) == ["weight"]
    assert net.buffers() == []


def test_leaf_that_requires_grad_but_is_no_parameter_is_refused_by_name():
    net = Net()
    net.body[0].gain = lm.ones(2, requires_grad=True)
    with pytest.raises(ArgumentError, match=r"Net: body\.0\.gain requires grad.*\nhint: wrap it"):
        net.parameters()


def test_two_tensors_of_one_name_are_refused_instead_of_dropped():
    net = nn.Module()
    net.tables = {1: nn.Parameter(lm.zeros(1)), "1": nn.Parameter(lm.ones(1))}
    with pytest.raises(StateError, match=r"two of its tensors are named tables\.1"):
        net.state_dict()


# Parameter ----------------------------------------------------------------------------------------


def test_parameter_is_a_leaf_on_the_memory_of_its_tensor():
    x = lm.ones(3)
    p = nn.Parameter(x)
    assert (p.requires_grad, p.is_leaf, isinstance(p, lm.Tensor)) == (True, True, True)
    assert not x.requires_grad
    x[0] = 5.0
    assert p.tolist() == [5.0, 1.0, 1.0]


def test_parameter_of_a_computed_tensor_is_a_leaf():
    w = lm.ones(2, requires_grad=True)
    p = nn.Parameter(w * 2)
    assert p.is_leaf
    grads = (p * 3).sum().backward()
    assert grads[p].tolist() == [3.0, 3.0]
    assert w not in grads


@pytest.mark.parametrize("dtype", [lm.int64, lm.uint8, lm.bool_])
def test_parameter_of_another_kind_raises(dtype):
    with pytest.raises(KindError, match=r"Parameter: needs a Float tensor.*\nhint:"):
        nn.Parameter(lm.zeros(2, dtype=dtype))


# Call and mode ------------------------------------------------------------------------------------


def test_call_passes_arguments_to_forward_and_returns_what_it_returns():
    class Echo(nn.Module):
        def forward(self, x: int, *rest: int, key: str = "k") -> tuple[int, tuple[int, ...], str]:
            return x, rest, key

    assert Echo()(1, 2, 3, key="v") == (1, (2, 3), "v")


def test_train_and_eval_reach_every_module_and_return_self():
    net = Net()
    assert all(module.training for _, module in net.named_modules())
    assert net.eval() is net
    assert not any(module.training for _, module in net.named_modules())
    net.body[1].train()
    assert [module.training for _, module in net.named_modules()] == [
        False, False, True, False, False
    ]  # fmt: skip
    net.train()
    assert all(module.training for _, module in net.named_modules())


# State --------------------------------------------------------------------------------------------


def test_state_dict_is_off_the_graph_on_the_modules_own_memory():
    net = Net()
    state = net.state_dict()
    assert list(state) == [
        "scale", "body.0.weight", "body.0.bias", "body.2.a.weight", "body.2.a.bias", "pair.0",
        "pair.1", "mean", "head.weight",
    ]  # fmt: skip
    assert not any(one.requires_grad for one in state.values())
    state["scale"].copy_(7.0)
    assert net.scale.item() == 7.0


def test_load_state_dict_copies_values_into_the_same_tensors():
    first, second = Net(1), Net(2)
    ids = [id(one) for one in second.parameters()]
    x = lm.random.normal((4, 2), generator=lm.random.Generator(9))
    assert first(x).tolist() != second(x).tolist()
    second.load_state_dict(first.state_dict())
    assert [id(one) for one in second.parameters()] == ids
    assert all(one.requires_grad for one in second.parameters())
    assert second(x).tolist() == first(x).tolist()
    with lm.no_grad():
        first.scale.zero_()
    assert second.scale.item() == 1.0


def test_load_state_dict_lists_all_that_does_not_fit_and_changes_nothing():
    net = Net()
    before = values(net)
    state = Net(5).state_dict()
    del state["scale"], state["head.weight"]
    state["tail.weight"] = lm.zeros(1)
    state["other"] = lm.zeros(1)
    state["mean"] = lm.zeros(4)
    state["pair.1"] = lm.zeros(2)
    state["pair.0"] = np.zeros(1)
    with pytest.raises(StateError) as caught:
        net.load_state_dict(state)
    assert str(caught.value) == (
        "load_state_dict: the state does not fit Net: missing: scale, head.weight; "
        "unexpected: tail.weight, other; of another shape or kind: pair.0: ndarray for float32[1], "
        "pair.1: float32[2] for int64[2], mean: float32[4] for float32[3]\n"
        "hint: nothing was changed"
    )
    assert caught.value.missing == ["scale", "head.weight"]
    assert caught.value.unexpected == ["tail.weight", "other"]
    assert [text.split(":")[0] for text in caught.value.mismatched] == ["pair.0", "pair.1", "mean"]
    assert values(net) == before


def test_load_state_dict_not_strict_takes_what_fits_by_name():
    net, state = Net(), Net(5).state_dict()
    del state["scale"]
    state["other"] = lm.zeros(1)
    with pytest.raises(StateError, match="hint: nothing was changed; strict=False accepts"):
        net.load_state_dict(state)
    net.load_state_dict(state, strict=False)
    assert values(net)["head.weight"] == values(Net(5))["head.weight"]
    state["mean"] = lm.ones(4)
    state["pair.0"] = lm.ones(1)
    with pytest.raises(StateError, match=r"mean: float32\[4\] for float32\[3\]"):
        net.load_state_dict(state, strict=False)
    assert net.pair.first.item() == 0.0


@pytest.mark.parametrize("dtype", [lm.float64, lm.float16, lm.bfloat16])
def test_load_state_dict_converts_to_the_parameters_dtype(dtype):
    net = linear()
    state = {name: one.astype(dtype) for name, one in linear(seed=3).state_dict().items()}
    net.load_state_dict(state)
    assert net.weight.dtype is lm.float32
    assert net.weight.tolist() == state["weight"].astype(lm.float32).tolist()


def test_load_state_dict_of_its_own_tensors_swapped_swaps_them():
    net = nn.Module()
    net.a, net.b = nn.Parameter(lm.tensor([1.0, 2.0])), nn.Parameter(lm.tensor([3.0, 4.0]))
    state = net.state_dict()
    net.load_state_dict({"a": state["b"], "b": state["a"]})
    assert values(net) == {"a": [3.0, 4.0], "b": [1.0, 2.0]}


def test_load_state_dict_into_a_frozen_tensor_raises_and_changes_nothing():
    array = np.zeros(2, np.float32)
    array.flags.writeable = False
    net = nn.Module()
    net.first, net.frozen = nn.Parameter(lm.zeros(2)), lm.from_numpy(array)
    with pytest.raises(ReadOnlyError, match="load_state_dict: the tensor is frozen"):
        net.load_state_dict({"first": lm.ones(2), "frozen": lm.ones(2)})
    assert net.first.tolist() == [0.0, 0.0]


def test_load_state_dict_between_forward_and_backward_is_caught():
    net = nn.Sequential(linear(seed=1), linear(seed=2))
    loss = net(lm.ones((3, 2))).sum()
    net.load_state_dict(net.state_dict())
    with pytest.raises(lm.errors.SavedTensorMutatedError, match="overwritten"):
        loss.backward()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copied_module_has_parameters_of_its_own_that_are_shared_as_before(copied):
    net = Net()
    net.twin = net.head
    net.eval()
    other = copied(net)
    assert values(other) == values(net)
    assert [name for name, _ in other.named_parameters()] == NET_PARAMETERS
    assert all(isinstance(one, nn.Parameter) for one in other.parameters())
    assert other.twin is other.head
    assert not other.training
    with lm.no_grad():
        other.scale.zero_()
    assert net.scale.item() == 1.0


# Text ---------------------------------------------------------------------------------------------


def test_repr_is_the_tree_with_the_names_of_the_state_dict():
    net = Net()
    net.block = nn.Sequential(nn.Flatten(), nn.Dropout(0.25), lambda x: x)
    assert repr(net) == textwrap.dedent("""\
        Net(
          (body.0): Linear(2, 3)
          (body.1): ReLU()
          (body.2.a): Linear(3, 3)
          (head): Linear(3, 1, bias=False)
          (block): Sequential(
            (0): Flatten()
            (1): Dropout(0.25)
          )
        )""")


def test_repr_of_a_module_without_parts_is_one_line():
    assert repr(nn.Module()) == "Module()"
    assert repr(linear(3, 4)) == "Linear(3, 4)"
