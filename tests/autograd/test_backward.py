"""The backward engine: order, accumulation, release, roots in the middle, higher orders."""

import gc
import weakref

import numpy as np
import pytest

import lumus as lm
from lumus import _native
from lumus.errors import GraphFreedError, SavedTensorMutatedError
from lumus.testing import gradcheck


def leaf(*values, dtype=lm.float64):
    return lm.tensor(list(values), dtype=dtype, requires_grad=True)


def test_every_use_of_a_value_contributes():
    x = leaf(3.0)
    y = x * x
    total = (y + y * y + x * y + (y - x)).sum()
    # y + y**2 + x*y + y - x with y = x**2
    assert total.backward()[x].item() == 2 * 3 + 4 * 27 + 3 * 9 + 2 * 3 - 1


def test_same_input_twice_in_one_op():
    x = leaf(2.0, 5.0)
    for op, expected in ((lm.add, [2.0, 2.0]), (lm.subtract, [0.0, 0.0]), (lm.divide, [0.0, 0.0])):
        assert op(x, x).sum().backward()[x].tolist() == expected
    assert lm.concat([x, x, x]).sum().backward()[x].tolist() == [3.0, 3.0]
    assert lm.maximum(x, x).sum().backward()[x].tolist() == [1.0, 1.0]


def test_uneven_depths_wait_for_the_longest_path():
    x = leaf(1.5)
    deep = x
    for _ in range(50):
        deep = deep * 1.01
    y = (x + deep) * x
    expected = 2 * 1.5 * (1 + 1.01**50)
    np.testing.assert_allclose(y.sum().backward()[x].item(), expected, rtol=1e-12)


def test_gradients_have_the_same_bits_every_time():
    generator = lm.random.Generator(0)
    w = lm.random.normal((40, 40), generator=generator, requires_grad=True)
    x = lm.random.normal((40, 40), generator=generator)

    def run():
        h = x
        for _ in range(5):
            h = (h @ w).tanh() + h * w
        return h.sum().backward()[w].numpy().tobytes()

    assert len({run() for _ in range(3)}) == 1


def test_unneeded_branches_are_not_visited():
    x, data = leaf(2.0), lm.tensor([3.0], dtype=lm.float64)
    with lm.no_grad():
        frozen = (data * x).exp()
    store = (frozen * x).sum().backward()
    np.testing.assert_allclose(store[x].item(), np.exp(6.0), rtol=1e-12)


def test_branch_whose_gradient_is_nothing_is_passed_over():
    # The condition of where gets no gradient, but stands in the graph's way.
    x = leaf(1.0, -2.0)
    mask = (x * 2.0) > 0
    y = lm.where(mask, x * 3.0, x * 5.0)
    assert y.sum().backward()[x].tolist() == [3.0, 5.0]


def test_root_in_the_middle_of_a_graph_leaves_the_rest_usable():
    x = leaf(2.0)
    middle = x * x
    end = middle * x
    assert middle.backward(lm.ones((1,), dtype=lm.float64), retain_graph=True)[x].item() == 4
    assert end.sum().backward()[x].item() == 12
    with pytest.raises(GraphFreedError):
        middle.sum().backward()


def test_disjoint_graphs_do_not_release_each_other():
    x = leaf(2.0)
    first, second = (x * 2.0).sum(), (x * 3.0).sum()
    assert first.backward()[x].item() == 2
    assert second.backward()[x].item() == 3


def test_retained_graph_gives_the_same_again():
    x = leaf(0.3, 0.7)
    y = (x.sin() * x.exp()).sum()
    results = [y.backward(retain_graph=True)[x].tolist() for _ in range(3)]
    assert results[0] == results[1] == results[2]
    y.backward()
    with pytest.raises(GraphFreedError):
        y.backward(retain_graph=True)


def test_saved_memory_is_released_on_the_way():
    x = lm.zeros((1000,), requires_grad=True)
    y = x.exp().sin().exp().sum()
    before = lm.memory_stats()["live_bytes"]
    store = y.backward()
    # Two saved arrays are gone (exp and sin had saved the same), one gradient has come.
    assert lm.memory_stats()["live_bytes"] == before - 2 * 4000 + 4000
    assert len(store) == 1


def test_peak_of_a_deep_backward_stays_low():
    x = lm.zeros((100000,), requires_grad=True)
    y = x
    for _ in range(20):
        y = y.exp().log1p()
    built = lm.memory_stats()["live_bytes"]
    _native.reset_peak()
    y.sum().backward()
    assert lm.memory_stats()["peak_bytes"] < built + 6 * 400000


@pytest.mark.parametrize("create_graph", [False, True])
def test_graph_without_cycles_dies_without_the_collector(create_graph):
    gc.collect()
    gc.disable()
    try:
        x = leaf(0.5, 0.7)
        y = (x.tanh().exp() / (x + 1.0)).sum()
        store = y.backward(create_graph=create_graph)
        references = [weakref.ref(one) for one in (x, y, y.node, store[x])]
        del x, y, store
        assert [reference() for reference in references] == [None] * 4
    finally:
        gc.enable()


def test_training_steps_leave_nothing_behind():
    gc.collect()
    model = lm.nn.Sequential(lm.nn.Linear(4, 8), lm.nn.Tanh(), lm.nn.Linear(8, 2))
    optimizer = lm.optim.Adam(model.parameters(), lr=0.01)
    x, targets = lm.ones((5, 4)), lm.tensor([0, 1, 0, 1, 0])

    def train(steps):
        for _ in range(steps):
            loss = lm.nn.functional.cross_entropy(model(x), targets)
            optimizer.step(loss.backward())
        del loss
        return lm.memory_stats()["live_storages"]

    gc.disable()
    try:
        assert train(10) == train(200)
    finally:
        gc.enable()


def test_failure_restores_the_mode_and_a_later_backward_works():
    x = leaf(1.0)
    spoiled = x.exp()
    with lm.no_grad():
        spoiled.zero_()
    with pytest.raises(SavedTensorMutatedError):
        spoiled.sum().backward()
    assert lm.is_grad_enabled()
    assert (x * 2.0).sum().backward()[x].item() == 2


def test_backward_under_no_grad_works():
    x = leaf(3.0)
    y = (x * x).sum()
    with lm.no_grad():
        store = y.backward()
    assert store[x].item() == 6


def test_backward_does_not_change_the_values_of_the_graph():
    x = leaf(1.0, 2.0)
    parts = [x * 2.0, x.exp(), x + x]
    before = [one.tolist() for one in parts]
    (parts[0] + parts[1] + parts[2] + parts[0]).sum().backward()
    assert [one.tolist() for one in parts] == before


def test_incoming_gradient_is_not_changed():
    x = leaf(1.0, 2.0)
    seed = lm.tensor([1.0, 10.0], dtype=lm.float64)
    y = x + x + x
    y.backward(seed)
    assert seed.tolist() == [1.0, 10.0]


def test_incoming_gradient_may_be_a_strided_view():
    x = lm.zeros((2, 3), dtype=lm.float64, requires_grad=True)
    seed = lm.arange(6.0, dtype=lm.float64).reshape(3, 2).T[:, ::-1]
    assert (x * 2.0).backward(seed)[x].tolist() == (seed * 2.0).tolist()


def test_gradient_of_a_gradient_by_the_incoming_one():
    x, seed = leaf(2.0), leaf(5.0)
    slope = (x * x * x).backward(seed, create_graph=True)[x]
    store = slope.sum().backward()
    assert store[x].item() == 5 * 6 * 2
    assert store[seed].item() == 3 * 4


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: (x.sin() * x.exp()).sum(), id="product"),
        pytest.param(lambda x: (x / (1.0 + x * x)).logsumexp(), id="quotient"),
        pytest.param(lambda x: (x @ x.T).tanh().sum(), id="matmul"),
        pytest.param(lambda x: x.softmax(axis=1).square().sum(), id="softmax"),
        pytest.param(lambda x: (x - x.mean(axis=0)).square().mean().sqrt(), id="deviation"),
        pytest.param(lambda x: x.prod(axis=1).sum(), id="prod"),
        pytest.param(lambda x: x.at[[0, 0], [1, 1]].add(x[1, :2] ** 3.0).square().sum(), id="at"),
    ],
)
def test_third_derivatives_agree_with_differences(function):
    x = lm.random.uniform((2, 3), 0.3, 1.2, dtype=lm.float64, generator=lm.random.Generator(2))
    gradcheck(function, [x], order=3)


def test_contributions_of_half_precision_are_exact_in_any_order():
    x = lm.tensor(1.0, dtype=lm.float16, requires_grad=True)
    parts = [x * 2048.0, *[x * 1.0 for _ in range(4)]]
    for order in ((0, 1, 2, 3, 4), (1, 2, 3, 4, 0), (1, 0, 3, 2, 4)):
        total = lm.stack([parts[place] for place in order]).sum()
        assert total.backward(retain_graph=True)[x].item() == 2052


def test_int_and_bool_results_are_off_the_graph():
    x = leaf(1.5, 2.5)
    for result in (x.astype(lm.int64), x.astype(lm.bool_), x > 2.0, x.argmax(), x.isnan()):
        assert not result.requires_grad
        assert result.node is None
    y = (x.astype(lm.int32).astype(lm.float64) * x).sum()
    assert y.backward()[x].tolist() == [1.0, 2.0]
