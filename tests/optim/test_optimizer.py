"""What all optimisers share: checks before anything changes, groups, state, resuming."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest

import lumus as lm
from lumus.autograd.gradients import GradStore
from lumus.errors import ArgumentError, GradientError, ReadOnlyError, StateError

SGD, Adam, AdamW = lm.optim.SGD, lm.optim.Adam, lm.optim.AdamW
ALL = [SGD, Adam, AdamW]


def parameter(*values):
    return lm.nn.Parameter(lm.tensor(list(values)))


def grads_of(*parameters):
    """Gradients of one everywhere."""
    return sum((one.sum() for one in parameters[1:]), parameters[0].sum()).backward()


# Gradients that are there, zero, or missing -------------------------------------------------------


@pytest.mark.parametrize("kind", ALL)
def test_parameter_without_gradient_is_left_alone_and_a_zero_gradient_is_one_N9(kind):
    options = {"momentum": 0.9} if kind is SGD else {}
    missing, zero = parameter(1.0), parameter(1.0)
    optimizer = kind([missing, zero], lr=0.1, weight_decay=0.1, **options)
    optimizer.step((zero * 0.0).sum().backward())
    assert missing.item() == 1.0
    assert zero.item() < 1.0
    assert list(optimizer.state) == [1]
    assert optimizer.state[1]["step"] == 1


@pytest.mark.parametrize("kind", ALL)
def test_step_takes_the_gradients_that_it_uses_and_no_others(kind):
    p, q, other = parameter(1.0), parameter(2.0), parameter(3.0)
    grads = grads_of(p, q, other)
    kind([p, q], lr=0.1).step(grads)
    assert list(grads) == [other]


@pytest.mark.parametrize("kind", ALL)
def test_step_without_any_gradient_says_why(kind):
    p, other = parameter(1.0), parameter(2.0)
    optimizer = kind([p], lr=0.1)
    with pytest.raises(
        GradientError,
        match=r"no parameter \(of 1\) has a gradient.*\nhint: .*it is not connected",
    ):
        optimizer.step(grads_of(other))
    assert optimizer.state == {}


def test_second_step_with_the_same_store_raises():
    p = parameter(1.0)
    optimizer, grads = SGD([p], lr=0.1), grads_of(p)
    optimizer.step(grads)
    with pytest.raises(GradientError, match="its gradient was taken out"):
        optimizer.step(grads)


@pytest.mark.parametrize("wrong", [None, {}, "loss"])
def test_step_with_something_else_than_a_store_says_what_to_give(wrong):
    p = parameter(1.0)
    given = p.sum() if wrong == "loss" else wrong
    with pytest.raises(ArgumentError, match=r"SGD\.step: needs the GradStore.*\nhint: .*backward"):
        SGD([p], lr=0.1).step(given)


# All is checked before anything changes -----------------------------------------------------------


@pytest.mark.parametrize("kind", ALL)
def test_step_with_a_frozen_parameter_changes_nothing(kind):
    array = np.ones(1, np.float32)
    first, frozen = parameter(1.0), lm.nn.Parameter(lm.from_numpy(array))
    optimizer = kind([first, frozen], lr=0.1)
    frozen.data.freeze()
    grads = grads_of(first, frozen)
    with pytest.raises(ReadOnlyError, match=r"step of parameter 1: the tensor is frozen"):
        optimizer.step(grads)
    assert first.item() == 1.0
    assert len(grads) == 2
    assert optimizer.state == {}


@pytest.mark.parametrize("kind", ALL)
def test_step_with_options_out_of_range_changes_nothing(kind):
    p, q = parameter(1.0), parameter(1.0)
    optimizer = kind([{"parameters": [p]}, {"parameters": [q]}], lr=0.1)
    optimizer.groups[1].options["lr"] = -1.0
    with pytest.raises(ArgumentError, match="lr must be a number at least 0, got -1"):
        optimizer.step(grads_of(p, q))
    assert (p.item(), q.item()) == (1.0, 1.0)


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf, "0.1", None, True])
@pytest.mark.parametrize(
    ("kind", "option"),
    [(kind, option) for kind in ALL for option in ("lr", "weight_decay")]
    + [(SGD, "momentum"), (SGD, "dampening"), (Adam, "eps")],
)
def test_option_out_of_range_is_refused_by_name(kind, option, value):
    with pytest.raises(ArgumentError, match=rf"{kind.__name__}: {option} must be a number"):
        kind([parameter(1.0)], **{option: value})
    if option == "lr":
        optimizer = kind([parameter(1.0)])
        before = optimizer.lr
        with pytest.raises(ArgumentError, match="lr must be a number"):
            optimizer.lr = value
        assert optimizer.lr == before


@pytest.mark.parametrize("betas", [(1.0, 0.9), (0.9, 1.0), (-0.1, 0.9), (0.9,), (0.9, math.nan)])
def test_betas_out_of_range_are_refused(betas):
    with pytest.raises(ArgumentError, match=r"Adam: betas"):
        Adam([parameter(1.0)], betas=betas)


@pytest.mark.parametrize("options", [{}, {"momentum": 0.9, "dampening": 0.1}])
def test_nesterov_without_momentum_or_with_dampening_is_refused(options):
    with pytest.raises(ArgumentError, match="nesterov needs momentum above 0 and dampening 0"):
        SGD([parameter(1.0)], nesterov=True, **options)


# Parameters and groups ----------------------------------------------------------------------------


def test_parameter_in_two_groups_is_refused_N12():
    p = parameter(1.0)
    with pytest.raises(ArgumentError, match=r"parameter 1 \(float32\[1\]\) is given twice"):
        SGD([{"parameters": [p]}, {"parameters": [p]}], lr=0.1)
    with pytest.raises(ArgumentError, match="given twice"):
        SGD([p, p], lr=0.1)


def test_empty_group_is_allowed_and_no_parameters_at_all_are_not_N12():
    p = parameter(1.0)
    optimizer = SGD([{"parameters": []}, {"parameters": [p]}], lr=0.5)
    optimizer.step(grads_of(p))
    assert p.item() == 0.5
    with pytest.raises(ArgumentError, match="no parameters to train"):
        SGD([], lr=0.1)


def test_group_with_its_own_rate_moves_by_its_own_rate_N12():
    p, q = (lm.nn.Parameter(lm.zeros((), dtype=lm.float64)) for _ in range(2))
    optimizer = SGD([{"parameters": [p], "lr": 0.01}, {"parameters": [q]}], lr=0.1)
    optimizer.step((p + q).backward())
    assert (p.item(), q.item()) == (-0.01, -0.1)
    assert [group.options["lr"] for group in optimizer.groups] == [0.01, 0.1]
    optimizer.lr = 0.5
    assert [group.options["lr"] for group in optimizer.groups] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("group", "match"),
    [
        (
            {"parameters": [], "rate": 0.1},
            r"unknown options \['rate'\].*\nhint: options are lr, mom",
        ),
        ({"params": []}, "unknown options"),
        ({"lr": 0.1}, "no entry 'parameters'"),
    ],
)
def test_group_with_other_entries_is_refused(group, match):
    with pytest.raises(ArgumentError, match=match):
        SGD([group], lr=0.1)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: lm.nn.Linear(2, 2), r"needs parameters, got Linear\nhint: give model"),
        (lambda: lm.nn.Linear(2, 2).parameters, r"needs parameters, got method"),
        (lambda: [lm.zeros(2)], r"parameter 0 is float32\[2\], not a leaf that requires grad"),
        (lambda: [parameter(1.0) * 2], "not a leaf that requires grad"),
        (lambda: [parameter(1.0), 3.0], "parameter 1 is float, not a leaf"),
        (lambda: [{"parameters": []}, parameter(1.0)], "parameter 0 is dict, not a leaf"),
        (lambda: lm.nn.Linear(2, 2).weight, "parameter 0 is .*, not a leaf"),
        (
            lambda: [lm.nn.Parameter(lm.ones(()).broadcast_to((3,)))],
            "parameter 0 .* is broadcast: its elements overlap",
        ),
    ],
)
def test_what_is_no_list_of_leaves_is_refused(make, match):
    with pytest.raises(ArgumentError, match=match):
        SGD(make(), lr=0.1)


def test_parameters_may_come_from_a_generator():
    model = lm.nn.Linear(2, 2)
    optimizer = SGD((one for one in model.parameters()), lr=0.1)
    assert optimizer.groups[0].parameters == model.parameters() or len(optimizer.groups) == 1
    assert repr(optimizer).startswith("SGD(2 parameters, lr=0.1, momentum=0.0")


def test_gradient_accumulation_equals_the_big_batch_N19():
    w = lm.nn.Parameter(lm.tensor(2.0))
    x = lm.tensor([1.0, 3.0])
    big = ((w * x).square().mean()).backward()
    grads = GradStore()
    for one in (1.0, 3.0):
        ((w * one).square() / 2).backward(into=grads)
    assert grads[w].item() == big[w].item() == 20.0


def test_clip_scales_to_the_limit_and_leaves_small_gradients_alone_N10():
    p, q = parameter(0.0), parameter(0.0)
    grads = (3 * p + 4 * q).sum().backward()
    assert grads.clip_(1.0).item() == 5.0
    assert [grads[p].item(), grads[q].item()] == pytest.approx([0.6, 0.8], rel=1e-6)
    grads = (0.3 * p + 0.4 * q).sum().backward()
    before = [grads[p].item(), grads[q].item()]
    grads.clip_(1.0)
    assert [grads[p].item(), grads[q].item()] == before
    grads = (0.0 * p + 0.0 * q).sum().backward()
    assert grads.clip_(1.0).item() == 0.0
    assert [grads[p].item(), grads[q].item()] == [0.0, 0.0]


def test_clip_in_half_precision_scales_by_numbers_that_it_cannot_hold():
    p = lm.nn.Parameter(lm.zeros((2,), dtype=lm.float16))
    grads = (p * 60000.0).sum().backward()
    grads.clip_(1e-3)  # by 1.2e-8, which rounds to 0 in float16
    assert grads[p].tolist() == pytest.approx([7.07e-4] * 2, rel=1e-3)


def test_clip_with_overflow_infinity_nan_or_a_negative_limit_N11():
    p, q = parameter(0.0), parameter(0.0)
    grads = (p * 3e19 + q * 4e19).sum().backward()
    grads.clip_(1.0)
    assert [grads[p].item(), grads[q].item()] == pytest.approx([0.6, 0.8], rel=1e-6)
    for value in (math.inf, math.nan):
        grads = (p * value + q).sum().backward()
        with pytest.raises(GradientError, match="not finite"):
            grads.clip_(1.0)
        assert grads[q].item() == 1.0
    with pytest.raises(ArgumentError, match="max_norm must be at least 0"):
        grads.clip_(-1.0)


# State --------------------------------------------------------------------------------------------


def trained(kind, steps, state=None, values=(1.0, 2.0), **options):
    p = parameter(*values)
    optimizer = kind([p], lr=0.1, **options)
    if state is not None:
        optimizer.load_state_dict(state)
    for _ in range(steps):
        optimizer.step((p * p).sum().backward())
    return p, optimizer


RESUMED = [(SGD, {}), (SGD, {"momentum": 0.9, "nesterov": True}), (Adam, {}), (AdamW, {})]


@pytest.mark.parametrize(("kind", "options"), RESUMED)
def test_resumed_training_equals_training_that_went_on(kind, options):
    p, optimizer = trained(kind, 5, **options)
    q, resumed = trained(kind, 0, optimizer.state_dict(), p.tolist(), **options)
    for one, its in ((p, optimizer), (q, resumed)):
        for _ in range(5):
            its.step((one * one).sum().backward())
    assert q.tolist() == p.tolist()
    assert resumed.state[0]["step"] == 10


def test_loaded_state_is_a_copy_and_brings_its_options():
    p, first = trained(Adam, 3, betas=(0.5, 0.6))
    _, second = trained(Adam, 0, first.state_dict(), p.tolist())
    assert second.groups[0].options["betas"] == (0.5, 0.6)
    before = second.state[0]["m"].tolist()
    first.step((p * p).sum().backward())
    assert second.state[0]["m"].tolist() == before


def test_state_that_went_through_json_and_text_keys_loads():
    _, first = trained(AdamW, 2)
    state = first.state_dict()
    tensors = state.pop("state")
    text = json.loads(json.dumps(state))
    text["state"] = {str(place): values for place, values in tensors.items()}
    _, second = trained(AdamW, 0, text)
    assert second.groups[0].options == first.groups[0].options
    assert list(second.state) == [0]


def _broken(change):
    _, optimizer = trained(Adam, 2)
    state = optimizer.state_dict()
    change(state)
    return state


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (lambda s: s.update(optimizer="SGD"), StateError, "is of SGD, not Adam"),
        (lambda s: s.pop("optimizer"), StateError, "is of None, not Adam"),
        (lambda s: s["groups"][0].update(size=2), StateError, r"groups of \[2\].*has \[1\]"),
        (lambda s: s["groups"].append({"size": 0}), StateError, r"groups of \[1, 0\]"),
        (lambda s: s["groups"][0].pop("eps"), StateError, "a group has options"),
        (lambda s: s["groups"][0].update(rate=1), StateError, "a group has options"),
        (lambda s: s["groups"][0].update(lr=-1.0), ArgumentError, "lr must be"),
        (lambda s: s["state"].update({5: {}}), StateError, "state of parameter 5, of 1"),
        (lambda s: s["state"][0].pop("v"), StateError, "of parameter 0 lacks v"),
        (lambda s: s["state"][0].pop("step"), StateError, "of parameter 0 lacks step"),
        (lambda s: s["state"][0].update(m=lm.zeros(3)), StateError, r"m of .* float32\[3\]"),
        (
            lambda s: s["state"][0].update(v=lm.zeros(2, dtype=lm.float64)),
            StateError,
            r"v of parameter 0 is float64\[2\], not float32\[2\]",
        ),
    ],
)
def test_state_that_does_not_fit_is_refused_and_nothing_changes(change, error, match):
    state = _broken(change)
    _, optimizer = trained(Adam, 1)
    before = optimizer.state[0]["m"].tolist()
    with pytest.raises(error, match=match):
        optimizer.load_state_dict(state)
    assert optimizer.groups[0].options["lr"] == 0.1
    assert optimizer.state[0]["m"].tolist() == before
    assert optimizer.state[0]["step"] == 1


# In a new process: Adam, dropout, shuffled data, a changing rate; stopped within an epoch.
_TRAINING = """
import json, sys
import lumus as lm
from lumus import nn

mode, path = sys.argv[1:]

def train(first, last, order, generator, model, optimizer):
    batches = lm.data.Batches(x, y, batch_size=8, shuffle=True, generator=order)
    step = 0
    for epoch in range(10):
        skipped = min(len(batches), max(0, first - step))
        for images, labels in batches.skip(skipped):
            if step + skipped >= last:
                return
            optimizer.lr = 0.01 / (1 + (step + skipped) / 4)
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.step(loss.backward())
            step += 1
        step += skipped

data = lm.random.Generator(3)
x = lm.random.normal((30, 5), generator=data)
y = lm.random.integers((30,), 0, 3, generator=data)
order, generator = lm.random.Generator(1), lm.random.Generator(2)
model = nn.Sequential(
    nn.Linear(5, 16, generator=generator), nn.Tanh(), nn.Dropout(0.3, generator=generator),
    nn.Linear(16, 3, generator=generator),
)
optimizer = lm.optim.Adam(model.parameters())

if mode == "whole":
    train(0, 10, order, generator, model, optimizer)
    lm.io.save(path, model)
elif mode == "first":
    train(0, 5, order, generator, model, optimizer)
    state = optimizer.state_dict()
    tensors = {f"model.{name}": one for name, one in model.state_dict().items()}
    numbers = {}
    for place, values in state.pop("state").items():
        for name, value in values.items():
            if isinstance(value, lm.Tensor):
                tensors[f"optimizer.{place}.{name}"] = value
            else:
                numbers[f"{place}.{name}"] = value
    notes = {"optimizer": state, "numbers": numbers, "random": generator.state}
    lm.io.save(path, tensors, metadata={"notes": json.dumps(notes)})
else:
    tensors, notes = lm.io.load(path), json.loads(lm.io.load_metadata(path)["notes"])
    model.load_state_dict(
        {name[6:]: one for name, one in tensors.items() if name.startswith("model.")}
    )
    state = {**notes["optimizer"], "state": {}}
    tensors.update({"optimizer." + name: one for name, one in notes["numbers"].items()})
    for name, one in tensors.items():
        if name.startswith("optimizer."):
            _, place, slot = name.split(".")
            state["state"].setdefault(place, {})[slot] = one
    optimizer.load_state_dict(state)
    generator.state = notes["random"]
    train(5, 10, order, generator, model, optimizer)
    lm.io.save(path + ".done", model)
"""


def test_resume_in_a_new_process_is_bit_exact_N17(tmp_path):
    def run(mode, path):
        subprocess.run([sys.executable, "-c", _TRAINING, mode, str(path)], check=True, timeout=60)

    run("whole", tmp_path / "whole")
    run("first", tmp_path / "half")
    run("second", tmp_path / "half")
    whole, resumed = (tmp_path / "whole").read_bytes(), (tmp_path / "half.done").read_bytes()
    assert resumed == whole
    assert (tmp_path / "half").read_bytes() != whole
