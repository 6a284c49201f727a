"""The autograd engine: roots, accumulation, writes in place, threads, higher orders."""

import asyncio
import gc
import threading
import time
import weakref

import numpy as np
import pytest

import lumus as lm
from lumus.errors import (
    GradientError,
    GraphFreedError,
    KindError,
    MissingGradientError,
    NonFiniteError,
    RecordedWriteError,
    SavedTensorMutatedError,
    ShapeError,
)
from tests.hard_cases.values import check, check_exact, constant, elements, gradients, leaf


def test_backward_from_a_non_scalar_M1(device):
    x = leaf([1.0, 2.0, 3.0], device)
    y = x * 2.0
    with pytest.raises(GradientError, match=r"shape \(3,\).*\n.*grad="):
        y.backward()
    with pytest.raises(ShapeError, match=r"\(2,\).*\(3,\)"):
        y.backward(constant([1.0, 10.0], device))
    dx = y.backward(constant([1.0, 10.0, 100.0], device))[x]
    check_exact(dx, [2.0, 20.0, 200.0])


def test_backward_twice_names_the_node_and_the_line_of_the_first_M2(device):
    x = leaf(3.0, device)
    y = x * x
    y.backward()
    with pytest.raises(GraphFreedError, match="multiply") as caught:
        y.backward()
    assert str(caught.value).count("test_m_autograd.py:") == 2
    assert "retain_graph=True" in str(caught.value)


def test_backward_twice_with_the_graph_retained_accumulates_M2(device):
    x = leaf(3.0, device)
    y = x * x
    store = y.backward(retain_graph=True)
    assert store[x].item() == 6
    y.backward(into=store)
    assert store[x].item() == 12


def test_gradients_do_not_share_memory_M3(device):
    a, b = leaf([1.0, 2.0], device), leaf([3.0, 4.0], device)
    y, dy = a + b, constant([1.0, 1.0], device)
    store = y.backward(dy, retain_graph=True)
    store[a].multiply_(0.0)
    check_exact(store[b], [1.0, 1.0])
    check_exact(dy, [1.0, 1.0])
    fresh = y.backward(dy)
    check_exact(fresh[a], [1.0, 1.0])
    check_exact(fresh[b], [1.0, 1.0])


def test_roots_that_are_leaves_detached_or_integers_M4(device):
    x = leaf(3.0, device)
    assert x.backward()[x].item() == 1
    with pytest.raises(GradientError, match="detached at"):
        x.detach().backward()
    with pytest.raises(KindError, match="Int"):
        constant([1, 2], device).requires_grad_()
    with pytest.raises(KindError, match="Int"):
        lm.zeros((2,), dtype=lm.int64, device=device, requires_grad=True)
    i = constant([1, 2], device)
    with pytest.raises(GradientError, match="not on a graph"):
        (i.astype(lm.float32) / 2).sum().backward()
    with pytest.raises(KindError, match="argument 0"):
        lm.grad(lambda i: (i.astype(lm.float32) / 2).sum())(i)
    store = (x * 2.0).backward()
    with pytest.raises(MissingGradientError, match="kind Int"):
        store[i]


def test_diamond_M5(device):
    x = leaf(3.0, device)
    y = x * x
    z = y + y * y
    assert z.item() == 90
    assert z.backward()[x].item() == 114


def test_repeated_doubling_takes_linear_time_M6():
    x = leaf(1.0, dtype=lm.float64)
    y = x
    for _ in range(60):
        y = y + y
    started = time.perf_counter()
    assert y.backward()[x].item() == 2**60
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize("with_backward", [True, False])
def test_chain_of_100000_nodes_builds_runs_and_dies_M7(with_backward):
    gc.collect()  # what earlier tests left must not die in the middle of this one
    before = lm.memory_stats()["live_storages"]
    x = leaf(1.0, dtype=lm.float64)
    y = x
    for _ in range(100000):
        y = y + x
    if with_backward:
        assert y.backward()[x].item() == 100001
    del x, y
    assert lm.memory_stats()["live_storages"] == before


def test_very_wide_node_M8():
    leaves = [leaf(1.0) for _ in range(20000)]
    y = lm.stack(leaves).sum()
    store = y.backward()
    assert len(store) == 20000
    assert all(store[one].item() == 1 for one in leaves[::1000])


def test_detached_branch_and_region_without_grad_M9(device):
    x = leaf(5.0, device)
    assert (x * x.detach()).backward()[x].item() == 5
    with lm.no_grad():
        w = x * x
    assert (w * x).backward()[x].item() == 25


def test_unused_leaf_has_no_gradient_M10(device):
    a, b = leaf(1.0, device), leaf(1.0, device)
    store = (b * 3.0).backward()
    store = (a * 2.0).backward()
    assert b not in store
    assert store.get(b) is None
    with pytest.raises(MissingGradientError, match="not connected"):
        store[b]


SAVING_THEIR_OUTPUT = ["sigmoid", "exp", "tanh", "sqrt", "softmax"]


@pytest.mark.parametrize("op", SAVING_THEIR_OUTPUT)
def test_overwritten_saved_output_names_both_lines_M11(device, op):
    x = leaf([0.5, 1.0, 2.0], device)
    y = getattr(x, op)()
    with pytest.raises(RecordedWriteError, match="setitem"):
        y[2] = 0.0
    with lm.no_grad():
        y[2] = 0.0
    with pytest.raises(SavedTensorMutatedError) as caught:
        y.sum().backward()
    text = str(caught.value)
    assert op in text
    assert "y = getattr(x, op)()" in text
    assert "y[2] = 0.0" in text
    assert text.count("test_m_autograd.py:") == 2


def test_sigmoid_written_by_hand_does_not_save_its_result_M11(device):
    x = leaf([0.5, -1.0, 2.0], device)
    y = 1.0 / (1.0 + (-x).exp())
    with lm.no_grad():
        y[2] = 0.0
    s = 1 / (1 + np.exp([-0.5, 1.0, -2.0]))
    check(y.sum().backward()[x], s * (1 - s))


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(lambda y: y[0:1], id="slice"),
        pytest.param(lambda y: y.T, id="transpose"),
        pytest.param(lambda y: y.reshape(-1), id="reshape"),
        pytest.param(lambda y: y.detach(), id="detach"),
    ],
)
def test_write_through_a_view_of_a_saved_tensor_M12(device, view):
    x = leaf([[0.5, 1.0], [2.0, 3.0]], device)
    y = x.exp()
    with lm.no_grad():
        view(y).zero_()
    with pytest.raises(SavedTensorMutatedError, match="overwritten by zero_"):
        y.sum().backward()


def test_write_through_a_detached_alias_outside_no_grad_M12(device):
    x = leaf([1.0, 2.0], device)
    y = x.exp()
    y.detach().zero_()
    with pytest.raises(SavedTensorMutatedError):
        y.sum().backward()


def test_write_where_nothing_is_saved_is_refused_and_has_a_functional_way_M13(device):
    x = leaf([1.0, 2.0], device)
    y = x + 1.0
    with pytest.raises(RecordedWriteError, match="multiply_"):
        y.multiply_(3.0)
    check_exact(y, [2.0, 3.0])
    check_exact(gradients((y * 3.0).sum(), x)[0], [3.0, 3.0])
    z = 2.0 * x
    with pytest.raises(RecordedWriteError, match="add_"):
        z.add_(1.0)
    check_exact(gradients((z + 1.0).sum(), x)[0], [2.0, 2.0])


def test_write_without_grad_where_nothing_is_saved_is_legal_M13(device):
    x = leaf([1.0, 2.0], device)
    y = x + 1.0
    with lm.no_grad():
        y.zero_()
    check_exact(gradients(y, x)[0], [1.0, 1.0])


def test_write_after_backward_or_where_nothing_is_saved_is_legal_M14(device):
    x = leaf([0.5, 1.0], device)
    y = x.exp()
    store = y.sum().backward()
    with lm.no_grad():
        y.zero_()
    check(store[x], np.exp([0.5, 1.0]))
    y = x * 2.0
    total = y.sum()
    with lm.no_grad():
        y.zero_()
    check_exact(total.backward()[x], [2.0, 2.0])


def test_write_to_a_leaf_raises_and_keeps_its_value_M15(device):
    x = leaf([1.0, 2.0], device)
    for write in (
        lambda: x.add_(1.0),
        lambda: x.zero_(),
        lambda: x.copy_(5.0),
        lambda: x.__setitem__(0, 5.0),
        lambda: x.__setitem__([0], 5.0),
        lambda: x[0:1].fill_(5.0),
    ):
        with pytest.raises(RecordedWriteError):
            write()
    check_exact(x, [1.0, 2.0])
    with lm.no_grad():
        x.add_(1.0)
    check_exact(x, [2.0, 3.0])
    check_exact(gradients(x * x, x)[0], [4.0, 6.0])


def test_disjoint_write_is_no_error_and_the_functional_way_is_right_M16(device):
    x = leaf([1.0, 2.0], device)
    a = x.copy()
    with pytest.raises(RecordedWriteError, match=r"at\[index\].set"):
        a[0] = a[1].sin()
    y = a.at[0].set(a[1].sin())
    check(gradients(y.sum(), x)[0], [0.0, 0.5838531634528576])


def test_write_to_other_elements_than_the_saved_ones_is_no_error_M16(device):
    x = leaf([1.0, 2.0], device)
    a = x.copy()
    y = a[1].sin()  # saves a[1]
    with lm.no_grad():
        a[0] = 7.0
    check(gradients(y, x)[0], [0.0, np.cos(2.0)])
    a = x.copy()
    y = a[1].sin()
    with lm.no_grad():
        a[1] = 7.0
    with pytest.raises(SavedTensorMutatedError):
        y.backward()


def test_update_of_a_part_reaches_the_whole_the_functional_way_M17(device):
    x = leaf([[1.0, 2.0], [3.0, 4.0]], device)
    b = x * 1.0
    with pytest.raises(RecordedWriteError):
        b[0].multiply_(10.0)
    c = b.at[0].set(b[0] * 10.0)
    check_exact(c, [[10.0, 20.0], [3.0, 4.0]])
    check_exact(gradients(c.sum(), x)[0], [[10.0, 10.0], [1.0, 1.0]])
    c = (x * 1.0).at[0].set(x[0] * 10.0)
    check_exact(gradients(c[0], x)[0], [[10.0, 10.0], [0.0, 0.0]])


def test_write_without_grad_through_a_chain_of_views_is_seen_M17(device):
    x = leaf([[1.0, 2.0], [3.0, 4.0]], device)
    b = x.exp()
    with lm.no_grad():
        b[0][1:2].multiply_(10.0)
    with pytest.raises(SavedTensorMutatedError):
        b.sum().backward()


def test_value_that_requires_grad_in_a_plain_buffer_M18(device):
    a = leaf([[1.0, 2.0], [3.0, 4.0]], device)
    buffer = lm.zeros((4, 4), device=device)
    with pytest.raises(RecordedWriteError, match="lose its gradient"):
        buffer[:2, :2] = a
    check_exact(buffer, np.zeros((4, 4)))
    filled = buffer.at[:2, :2].set(a)
    check_exact(gradients(filled.sum(), a)[0], [[1.0, 1.0], [1.0, 1.0]])
    assert filled.requires_grad


def test_derivatives_of_higher_order_M22(device):
    x = lm.tensor(2.0, dtype=lm.float64, device=device, requires_grad=True)
    first = (x**3.0).backward(create_graph=True)[x]
    second = first.backward(create_graph=True)[x]
    third = second.backward()[x]
    assert (first.item(), second.item(), third.item()) == (12, 12, 6)


def test_hessian_of_two_variables_M22(device):
    x, y = (
        lm.tensor(value, dtype=lm.float64, device=device, requires_grad=True)
        for value in (2.0, 1.0)
    )
    store = (x**2.0 * y**3.0).backward(create_graph=True)
    rows = [store[one].backward(retain_graph=True) for one in (x, y)]
    check_exact([[row[one].item() for one in (x, y)] for row in rows], [[2.0, 12.0], [12.0, 24.0]])


@pytest.mark.parametrize("kept", ["intermediate", "detached", "input", "output"])
def test_custom_function_that_saves_an_intermediate_M23(device, kept):
    """y = t * t with t = 3 x: dy/dx = 6 t."""
    saved = {"intermediates": ("t",)} if kept == "intermediate" else {}
    if kept == "output":
        saved = {"outputs": ("y", "t")}

    def forward(x):
        t = 3.0 * x
        return (t * t, t) if saved else t * t

    gradient = {
        "intermediate": lambda grad, t: 6.0 * t * grad,
        "detached": lambda grad, x: 18.0 * x.detach() * grad,
        "input": lambda grad, x: 18.0 * x * grad,
        "output": lambda grad, by_t, t: 6.0 * t * grad + 3.0 * by_t,
    }[kept]
    op = lm.custom_op(name="op", **saved)(forward)
    op.gradient(gradient)

    def function(x):
        return op(x)[0] if kept == "output" else op(x)

    x = constant(2.0, device)
    check_exact(lm.grad(function)(x), 36.0)
    if kept in ("input", "output"):
        check_exact(lm.grad(lm.grad(function))(x), 18.0)
    else:
        with pytest.raises(
            GradientError, match=r"op.* cannot be differentiated twice(.|\n)*hint: "
        ):
            lm.grad(lm.grad(function))(x)


def test_nothing_leaks_with_higher_orders_M24():
    gc.collect()
    before = lm.memory_stats()["live_storages"]
    references = []
    gc.disable()
    try:
        for _ in range(100):
            x = leaf([0.3, 0.5])
            y = x.tanh().sum()
            store = y.backward(create_graph=True)
            slope = store[x]
            references += [weakref.ref(one) for one in (x, y, y.node, slope, slope.node)]
            del x, y, store, slope
        assert all(reference() is None for reference in references)
        assert lm.memory_stats()["live_storages"] == before
    finally:
        gc.enable()


def in_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_grad_mode_is_local_to_the_thread_M25():
    x = leaf(3.0)
    with lm.no_grad():
        assert in_thread(lambda: (x * x).requires_grad)
        assert in_thread(lm.is_grad_enabled)
        assert not (x * x).requires_grad


def test_grad_mode_is_restored_after_an_exception_M25():
    for mode, inside in ((lm.no_grad, False), (lm.enable_grad, True)):
        with pytest.raises(ValueError, match="stop"):  # noqa: PT012, SIM117
            with mode():
                assert lm.is_grad_enabled() is inside
                raise ValueError("stop")
        assert lm.is_grad_enabled()


def test_decorated_generator_leaves_the_caller_alone_M26():
    seen = []

    @lm.no_grad()
    def generate():
        for number in range(2):
            seen.append(lm.is_grad_enabled())
            yield number

    for _ in generate():
        assert lm.is_grad_enabled()
    assert seen == [False, False]


def test_decorated_coroutine_leaves_other_tasks_alone_M26():
    @lm.no_grad()
    async def without():
        await asyncio.sleep(0.01)
        return lm.is_grad_enabled()

    async def plain():
        found = []
        for _ in range(5):
            found.append(lm.is_grad_enabled())
            await asyncio.sleep(0.005)
        return found

    async def both():
        return await asyncio.gather(without(), plain())

    assert asyncio.run(both()) == [False, [True] * 5]


def test_block_in_a_generator_holds_until_it_ends_as_documented_M26():
    def generate():
        with lm.no_grad():
            yield 1
        yield 2

    generator = generate()
    assert next(generator) == 1
    assert not lm.is_grad_enabled()
    assert next(generator) == 2
    assert lm.is_grad_enabled()
    assert "generator" in (lm.no_grad.__mro__[1].__doc__ or "")


@pytest.mark.parametrize(
    ("optimizer", "spelled"), [(lm.optim.SGD, "SGD.step"), (lm.optim.Adam, "Adam.step")]
)
def test_optimizer_step_between_forward_and_backward_M28(optimizer, spelled):
    w, x = leaf([1.0, 2.0]), lm.tensor([3.0, 4.0])
    first, second = (w * x).sum(), (w * w).sum()
    optimizer([w], lr=0.1).step(first.backward())
    with pytest.raises(SavedTensorMutatedError, match=rf"overwritten by\s+{spelled}") as caught:
        second.backward()
    assert "optimizer([w], lr=0.1).step(first.backward())" in str(caught.value)


def test_manual_update_between_forward_and_backward_M28(device):
    w, x = leaf([1.0, 2.0], device), constant([3.0, 4.0], device)
    first, second = (w * x).sum(), (w * w).sum()
    grads = first.backward()
    with lm.no_grad():
        w.subtract_(0.1 * grads[w])
    with pytest.raises(SavedTensorMutatedError, match=r"overwritten by\s+subtract_"):
        second.backward()


def test_failed_backward_leaves_the_store_unchanged_M29(device):
    a, b = leaf([1.0, 2.0], device), leaf([3.0, 4.0], device)
    store = (a * 2.0 + b * 3.0).sum().backward()
    before = elements(store[a]).copy(), elements(store[b]).copy()
    spoiled = b.exp()
    y = (a * 5.0).sum() + spoiled.sum()
    with lm.no_grad():
        spoiled.zero_()
    with pytest.raises(SavedTensorMutatedError):
        y.backward(into=store)
    check_exact(store[a], before[0])
    check_exact(store[b], before[1])
    assert len(store) == 2
    fresh = lm.GradStore()
    y = (a * 5.0).sum() + (spoiled := b.exp()).sum()
    with lm.no_grad():
        spoiled.zero_()
    with pytest.raises(SavedTensorMutatedError):
        y.backward(into=fresh)
    assert len(fresh) == 0


def test_gradients_of_a_batch_without_elements_M30(device):
    x = lm.zeros((0, 3), device=device)
    w = lm.ones((3, 2), device=device, requires_grad=True)
    total = (x @ w).sum()
    assert total.item() == 0
    check_exact(gradients(total, w)[0], np.zeros((3, 2)))
    mean = (x @ w).mean()
    assert mean.isnan()
    check_exact(gradients(mean, w)[0], np.zeros((3, 2)))


def test_origin_of_a_nan_is_named_in_forward_M31(device):
    x = constant([4.0, -1.0], device)
    with lm.inspect.check_finite(), pytest.raises(NonFiniteError) as caught:
        lm.log(lm.sqrt(x)).sum()
    error = caught.value
    assert (error.op, error.output, error.index, error.operands) == ("sqrt", 0, (1,), {"x": -1.0})
    assert "x[1] = -1.0" in str(error)
    assert "lm.log(lm.sqrt(x)).sum()" in str(error)


def test_origin_of_a_nan_is_named_in_backward_with_the_forward_line_M31(device):
    x = leaf([4.0, -1.0], device)
    root = lm.sqrt(x)
    loss = lm.log(root).sum()
    with lm.inspect.check_finite(), pytest.raises(NonFiniteError) as caught:
        loss.backward()
    assert "root = lm.sqrt(x)" in str(caught.value)
    y = leaf([4.0, 0.0], device)
    with lm.inspect.check_finite():
        rooted = lm.sqrt(y).sum()
        with pytest.raises(NonFiniteError) as caught:
            rooted.backward()
    error = caught.value
    assert (error.op, error.index, error.value) == ("sqrt", (1,), np.inf)
    assert "sqrt ran at" in str(error)
    assert "rooted = lm.sqrt(y).sum()" in str(error)
    assert "backward at" in str(error)
    assert "rooted.backward()" in str(error)


def test_value_that_becomes_infinite_first_is_named_M31(device):
    x = constant([1.0, 100.0], device)

    def normalised():
        large = x.exp()
        return large / large

    with lm.inspect.check_finite(), pytest.raises(NonFiniteError) as caught:
        normalised()
    assert (caught.value.op, caught.value.operands) == ("exp", {"x": 100.0})
    assert "large = x.exp()" in str(caught.value)
