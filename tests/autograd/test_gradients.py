"""GradStore: a mapping whose gradients are values of their own."""

import copy
import pickle

import numpy as np
import pytest

import lumus as lm
from lumus.errors import ArgumentError, GradientError, MissingGradientError


def leaf(*values, dtype=lm.float32):
    return lm.tensor(list(values), dtype=dtype, requires_grad=True)


def stored(**factors):
    """Leaves a, b, ... and a store with these constant gradients."""
    leaves = {name: leaf(1.0, 1.0) for name in factors}
    total = sum(((leaves[name] * factor).sum() for name, factor in factors.items()), start=0.0)
    return *leaves.values(), total.backward()


def test_store_is_a_mapping_by_identity():
    a, b, store = stored(a=2.0, b=3.0)
    twin = leaf(1.0, 1.0)
    assert len(store) == 2
    assert {id(tensor) for tensor in store} == {id(a), id(b)}
    assert {id(tensor): grad.tolist() for tensor, grad in store.items()} == {
        id(a): [2.0, 2.0],
        id(b): [3.0, 3.0],
    }
    assert a in store
    assert twin not in store
    assert "a" not in store


def test_get_gives_the_default_for_what_was_not_reached():
    a, store = stored(a=2.0)
    other = leaf(1.0)
    assert store.get(a).tolist() == [2.0, 2.0]
    assert store.get(other) is None
    assert store.get(other, "nothing") == "nothing"


def test_missing_gradient_is_a_key_error_with_its_reason():
    _, store = stored(a=2.0)
    with pytest.raises(KeyError) as caught:
        store[leaf(1.0)]
    assert isinstance(caught.value, MissingGradientError)
    assert "not connected" in caught.value.reason
    assert str(caught.value).startswith("no gradient for float32[1]: ")


def test_take_removes_and_says_so_afterwards():
    a, b, store = stored(a=2.0, b=3.0)
    assert store.take(a).tolist() == [2.0, 2.0]
    assert a not in store
    assert len(store) == 1
    with pytest.raises(MissingGradientError, match="taken out"):
        store.take(a)
    assert store[b].tolist() == [3.0, 3.0]


def test_memory_of_a_taken_gradient_goes_with_it():
    w = lm.zeros((1000,), requires_grad=True)
    store = (w * 2.0).sum().backward()
    before = lm.memory_stats()["live_bytes"]
    store.take(w)
    assert lm.memory_stats()["live_bytes"] == before - 4000


def test_replace_checks_the_tensor_and_the_gradient():
    a, store = stored(a=2.0)
    store.replace(a, lm.tensor([7.0, 8.0]))
    assert store[a].tolist() == [7.0, 8.0]
    for wrong in (lm.ones((3,)), lm.ones((2,), dtype=lm.float64)):
        with pytest.raises(ArgumentError, match="replace"):
            store.replace(a, wrong)
    for no_leaf in (lm.ones((2,)), a * 2.0):
        with pytest.raises(GradientError, match="not a leaf"):
            store.replace(no_leaf, lm.ones((2,)))
    assert store[a].tolist() == [7.0, 8.0]


def test_merge_adds_and_leaves_the_other_store_alone():
    a, b, c = leaf(1.0), leaf(1.0), leaf(1.0)
    first, second = (a * 2.0 + b * 3.0).backward(lm.ones((1,))), None
    second = (b * 10.0 + c * 20.0).backward(lm.ones((1,)))
    first.merge(second)
    assert [first[one].item() for one in (a, b, c)] == [2, 13, 20]
    first[c].multiply_(0.0)
    assert [second[one].item() for one in (b, c)] == [10, 20]
    assert a not in second


def test_merge_into_an_empty_store():
    a, store = stored(a=2.0)
    merged = lm.GradStore()
    merged.merge(store)
    assert merged[a].tolist() == [2.0, 2.0]
    with pytest.raises(MissingGradientError, match="not connected to the"):
        merged[leaf(1.0)]


def test_into_accumulates_and_returns_the_same_store():
    a = leaf(1.0, 2.0)
    store = (a * 2.0).sum().backward()
    kept = store[a]
    again = (a * a).sum().backward(into=store)
    assert again is store
    assert store[a].tolist() == [4.0, 6.0]
    assert kept.tolist() == [2.0, 2.0]


def test_into_adds_leaves_that_were_not_there():
    a, b = leaf(1.0), leaf(1.0)
    store = (a * 2.0).sum().backward()
    (b * 3.0).sum().backward(into=store)
    assert (store[a].item(), store[b].item()) == (2, 3)


@pytest.mark.parametrize("dtype", [lm.float64, lm.float32, lm.float16, lm.bfloat16])
def test_global_norm_of_mixed_sizes(dtype):
    a, b = leaf(1.0, 1.0, dtype=dtype), lm.ones((), dtype=dtype, requires_grad=True)
    store = ((a * 2.0).sum() + b * 1.0).backward()
    norm = store.global_norm()
    assert norm.shape == ()
    assert norm.dtype is (lm.float64 if dtype is lm.float64 else lm.float32)
    assert norm.item() == 3


def test_global_norm_does_not_overflow_before_the_norm_does():
    a = leaf(1.0, 1.0)
    store = (a * lm.tensor([3e38, 1e38])).sum().backward()
    np.testing.assert_allclose(store.global_norm().item(), np.hypot(3e38, 1e38), rtol=1e-6)
    tiny = (a * lm.tensor([3e-30, 4e-30])).sum().backward()
    np.testing.assert_allclose(tiny.global_norm().item(), 5e-30, rtol=1e-6)


def test_global_norm_of_gradients_without_elements():
    empty, full = lm.zeros((0,), requires_grad=True), leaf(1.0)
    store = (empty.sum() + (full * 4.0).sum()).backward()
    assert store.global_norm().item() == 4


def test_clip_keeps_the_gradients_it_was_given():
    a, store = stored(a=30.0)
    before = store[a]
    norm = store.clip_(1.0)
    np.testing.assert_allclose(norm.item(), 30 * np.sqrt(2), rtol=1e-6)
    np.testing.assert_allclose(store[a].numpy(), np.sqrt(0.5), rtol=1e-6)
    assert before.tolist() == [30.0, 30.0]


def test_clip_to_zero_makes_zeros():
    a, store = stored(a=3.0)
    store.clip_(0.0)
    assert store[a].tolist() == [0.0, 0.0]


def test_each_gradient_owns_its_memory():
    a, b, c = leaf(1.0, 2.0), leaf(3.0, 4.0), leaf(5.0, 6.0)
    seed = lm.ones((2,))
    store = (a + b - (-c)).backward(seed)
    store[a].fill_(9.0)
    assert store[b].tolist() == store[c].tolist() == seed.tolist() == [1.0, 1.0]


def test_gradient_of_a_view_owns_its_memory():
    a = lm.zeros((3, 2), requires_grad=True)
    seed = lm.ones((2, 3))
    store = a.T.backward(seed)
    store[a].fill_(9.0)
    assert seed.tolist() == [[1.0] * 3] * 2


def test_gradient_of_a_broadcast_root_can_be_written():
    a = lm.zeros((3,), requires_grad=True)
    store = a.sum().backward()
    store[a].add_(1.0)
    assert store[a].tolist() == [2.0, 2.0, 2.0]


def test_gradients_are_off_the_graph_unless_asked_for():
    a = leaf(2.0)
    assert not (a * a).sum().backward()[a].requires_grad
    assert (a * a).sum().backward(create_graph=True)[a].requires_grad


def test_store_keeps_only_leaves_that_are_alive():
    a, b = leaf(1.0), leaf(1.0)
    y = (a * 2.0 + b * 3.0).sum()
    del b
    store = y.backward()
    assert len(store) == 1
    assert store[a].item() == 2


def test_leaf_that_is_the_root_has_gradient_one():
    a = lm.tensor(5.0, requires_grad=True)
    assert a.backward()[a].item() == 1


def test_frozen_leaf_is_not_in_the_store():
    a, b = leaf(1.0), leaf(2.0)
    b.requires_grad_(False)
    store = (a * b).sum().backward()
    assert len(store) == 1
    assert "never required grad" in store.why(b)


def test_copies_of_leaves_are_leaves_of_their_own():
    a = leaf(1.0)
    twin, thawed = copy.deepcopy(a), pickle.loads(pickle.dumps(a))
    store = (a * 2.0).sum().backward()
    for other in (twin, thawed):
        assert other.requires_grad
        assert other not in store
        assert (other * 3.0).sum().backward()[other].item() == 3


def test_what_was_cut_off_is_named_when_the_values_on_the_way_are_gone() -> None:
    w, v = (lm.nn.Parameter(lm.tensor([2.0, 3.0])) for _ in range(2))
    on_the_way = w * w
    with lm.no_grad():
        silent = on_the_way.exp()
    del on_the_way
    for cut, why in (
        ((w.exp() * w).argmax().astype(lm.float32), "by argmax, which has no gradient"),
        (((w * w) > 1.0).astype(lm.float32), "which has no gradient: its result is Bool"),
        (silent, r"it was cut off: made under no_grad at .* \(op exp\)"),
        ((w * w).detach(), "it was cut off: detached at"),
    ):
        with pytest.raises(MissingGradientError, match=why):
            (cut * v).sum().backward()[w]
        with pytest.raises(MissingGradientError, match="it is not connected to the sum"):
            (v * v).sum().backward()[w]
