"""Optimisers, clipping, resuming."""

import subprocess
import sys

import numpy as np
import pytest

import lumus as lm
from lumus.errors import ArgumentError, GradientError
from lumus.optim import SGD, Adam, AdamW
from tests.hard_cases.values import check, check_exact, elements, gradients, leaf

NAN, INF = float("nan"), float("inf")


def stepped(optimizer_class, start, grads, **options):
    """The parameter (float64) after each step with the given gradients."""
    p = leaf(start, dtype=lm.float64)
    optimizer = optimizer_class([p], **options)
    found = []
    for grad in grads:
        optimizer.step((p * grad).sum().backward())
        found.append(p.item())
    return found


@pytest.mark.parametrize(("grad", "expected"), [(0.5, -0.099999998), (1e-8, -0.05)])
def test_adam_first_step_N1(grad, expected):
    check(stepped(Adam, 0.0, [grad], lr=0.1), [expected], rtol=1e-12)


def test_adam_three_steps_N2():
    found = stepped(Adam, 0.0, [1.0, -2.0, 3.0], lr=0.1)
    check(found, [-0.099999999, -0.06338964652792518, -0.0977137543982702], rtol=1e-12)


def test_adam_counts_steps_for_each_parameter_N2():
    a, b = leaf(0.0, dtype=lm.float64), leaf(0.0, dtype=lm.float64)
    optimizer = Adam([a, b], lr=0.1)
    optimizer.step((a * 1.0).backward())
    optimizer.step((b * 1.0).backward())
    assert a.item() == b.item() != 0


def test_adamw_decays_apart_from_the_gradient_N3():
    check(stepped(AdamW, 2.0, [0.0], lr=0.1, weight_decay=0.3), [1.94], rtol=1e-12)
    check(stepped(Adam, 2.0, [0.0], lr=0.1, weight_decay=0.3), [1.9000000017], rtol=1e-10)


def test_adamw_decays_the_old_parameter_N4():
    check(stepped(AdamW, 1.0, [1.0], lr=0.1, weight_decay=0.1), [0.890000001], rtol=1e-12)


def test_sgd_momentum_starts_with_the_gradient_N6():
    found = stepped(SGD, 0.0, [2.0, 2.0], lr=0.1, momentum=0.9, dampening=0.5)
    check(found, [-0.2, -0.48], rtol=1e-12)


def test_sgd_weight_decay_enters_the_buffer_N7():
    found = stepped(SGD, 1.0, [1.0, 1.0], lr=0.1, momentum=0.9, weight_decay=0.1)
    check(found, [0.89, 0.6821], rtol=1e-12)
    check(stepped(SGD, 1.0, [1.0], lr=0.1, weight_decay=0.1), [0.89], rtol=1e-12)


def test_nesterov_N8():
    found = stepped(SGD, 0.0, [1.0, 1.0], lr=0.1, momentum=0.9, nesterov=True)
    check(found, [-0.19, -0.461], rtol=1e-12)


def test_missing_gradient_leaves_the_parameter_and_zero_does_not_N9():
    missing, zero = leaf([1.0]), leaf([1.0])
    optimizer = AdamW([missing, zero], lr=0.1, weight_decay=0.1)
    optimizer.step((zero * 0.0).sum().backward())
    assert missing.tolist() == [1.0]
    check(zero, [0.99])
    assert set(optimizer.state) == {1}
    assert optimizer.state[1]["step"] == 1


def test_clipping_by_the_global_norm_N10():
    a, b = leaf([1.0]), leaf([1.0])
    store = (a * 3.0 + b * 4.0).sum().backward()
    assert store.clip_(1.0).item() == 5
    check(store[a], [0.6])
    check(store[b], [0.8])
    zeros = (a * 0.0 + b * 0.0).sum().backward()
    assert zeros.clip_(1.0).item() == 0
    check_exact(zeros[a], [0.0])
    below = (a * 0.3 + b * 0.4).sum().backward()
    before = elements(below[a]).tobytes(), elements(below[b]).tobytes()
    check(below.clip_(0.75), np.float32(0.5))
    assert (elements(below[a]).tobytes(), elements(below[b]).tobytes()) == before


def test_clipping_what_overflows_N11():
    a = leaf([1.0, 1.0])
    store = (a * lm.tensor([3e19, 4e19])).sum().backward()
    check(store.clip_(1.0), np.float32(5e19))
    check(store[a], [0.6, 0.8])


@pytest.mark.parametrize("bad", [INF, -INF, NAN])
def test_clipping_what_is_not_finite_raises_and_changes_nothing_N11(bad):
    a, b = leaf([1.0, 1.0]), leaf([1.0, 1.0, 1.0])
    store = ((a * lm.tensor([bad, 1.0])).sum() + (b * 2.0).sum()).backward()
    with pytest.raises(GradientError, match=r"not finite in float32\[2\]"):
        store.clip_(1.0)
    check_exact(store[a], [bad, 1.0])
    check_exact(store[b], [2.0, 2.0, 2.0])


@pytest.mark.parametrize("limit", [-1.0, NAN])
def test_clipping_to_a_limit_that_is_none_raises_N11(limit):
    a = leaf([1.0])
    store = (a * 3.0).sum().backward()
    with pytest.raises(ArgumentError, match="max_norm"):
        store.clip_(limit)
    check_exact(store[a], [3.0])


def test_parameter_groups_N12():
    a, b = leaf(1.0, dtype=lm.float64), leaf(1.0, dtype=lm.float64)
    with pytest.raises(ArgumentError, match="twice"):
        SGD([{"parameters": [a]}, {"parameters": [b, a]}], lr=0.1)
    optimizer = SGD([{"parameters": [a], "lr": 0.01}, {"parameters": [b]}], lr=0.1)
    optimizer.step((a + b).backward())
    check((1 - b.item()) / (1 - a.item()), 10.0, rtol=1e-12)


RESUME = """
import sys
import lumus as lm

def make():
    model = lm.nn.Sequential(
        lm.nn.Linear(4, 8, generator=lm.random.Generator(1)), lm.nn.Dropout(0.25), lm.nn.Tanh(),
        lm.nn.Linear(8, 1, generator=lm.random.Generator(2)),
    )
    return model, lm.optim.Adam(model.parameters(), lr=0.01)

def train(model, optimizer, data, targets, steps, generator):
    done = 0
    while done < steps:
        for x, y in lm.data.Batches(data, targets, batch_size=4, shuffle=True, generator=generator):
            optimizer.step(lm.nn.functional.mse_loss(model(x), y).backward())
            done += 1

source = lm.random.Generator(3)
data = lm.random.normal((20, 4), generator=source)
targets = lm.random.normal((20, 1), generator=source)
"""


def test_resumed_training_has_the_same_bits_N17(tmp_path):
    whole = RESUME + (
        "model, optimizer = make(); lm.random.seed(5); shuffle = lm.random.Generator(7)\n"
        "train(model, optimizer, data, targets, 10, shuffle)\n"
    )
    first = RESUME + (
        "import pickle\n"
        "model, optimizer = make(); lm.random.seed(5); shuffle = lm.random.Generator(7)\n"
        "train(model, optimizer, data, targets, 5, shuffle)\n"
        "lm.io.save(sys.argv[1] + '/model', model)\n"
        "state = optimizer.state_dict(), shuffle, lm.random.default_generator.state\n"
        "open(sys.argv[1] + '/state', 'wb').write(pickle.dumps(state))\n"
    )
    second = RESUME + (
        "import pickle\n"
        "model, optimizer = make()\n"
        "lm.io.load_module(sys.argv[1] + '/model', model)\n"
        "kept = pickle.loads(open(sys.argv[1] + '/state', 'rb').read())\n"
        "state, shuffle, lm.random.default_generator.state = kept\n"
        "optimizer.load_state_dict(state)\n"
        "train(model, optimizer, data, targets, 5, shuffle)\n"
    )
    show = "print([p.numpy().tobytes().hex() for p in model.state_dict().values()])\n"

    def run(program):
        command = [sys.executable, "-c", program, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    uninterrupted = run(whole + show)
    run(first)
    assert run(second + show) == uninterrupted


def test_accumulated_gradient_is_that_of_the_whole_batch_N19(device):
    w, x = leaf(2.0, device), lm.tensor([1.0, 3.0], device=device)
    assert gradients((w * x).square().mean(), w)[0] == 20
    store = lm.GradStore()
    for part in (x[:1], x[1:]):
        store = ((w * part).square().mean() / 2.0).backward(into=store)
    assert store[w].item() == 20
