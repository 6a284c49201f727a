"""Lowering: where values lie, what is written in place, what is copied."""

from typing import Any

import numpy as np

import lumus as lm
from lumus.compile.lower_cpu import Lowered, lower
from lumus.trace.program import Program


def lowered(function: Any, *args: Any) -> tuple[Program, Lowered]:
    compiled = lm.compile(function)
    program = compiled.optimised(*args)
    layouts = {var: tuple(one.data.strides) for var, one in zip(program.inputs, args, strict=True)}
    return program, lower(program, layouts)


def hows(plan: Lowered) -> list[str]:
    return [f"{row.equation.op}: {row.how}" for row in plan.rows]


def test_an_update_is_computed_where_it_is_written() -> None:
    w = lm.ones((1000,))

    def update(x: Any) -> None:
        w.add_(x)

    _, plan = lowered(update, lm.ones((1000,)))
    assert hows(plan) == ["add: step"]
    assert plan.memory.arena_bytes == 0


def test_a_value_read_after_its_update_is_copied_at_the_end() -> None:
    w = lm.tensor([1.0, 2.0, 3.0])

    def update(x: Any) -> Any:
        old = w.copy()
        w.add_(x)
        return (old * w).sum(), old.flip()

    compiled = lm.compile(update)
    x = lm.ones((3,))
    for _ in range(3):
        before = np.array(w.numpy())
        total, old = compiled(x)
        assert w.tolist() == (before + 1).tolist()
        assert total.item() == float((before * (before + 1)).sum())
        assert old.tolist() == before[::-1].tolist()


def test_a_write_through_a_view_of_the_old_value() -> None:
    w = lm.tensor([1.0, 2.0, 3.0, 4.0])

    def turn() -> None:
        w.copy_(w.flip() + w)

    compiled = lm.compile(turn)
    compiled()
    assert w.tolist() == [5.0] * 4
    w.copy_(lm.tensor([1.0, 2.0, 3.0, 5.0]))
    compiled()
    assert w.tolist() == [6.0, 5.0, 5.0, 6.0]


def test_targets_of_any_layout() -> None:
    base = lm.zeros((3, 4))
    turned = base.permute_dims(1, 0)
    square = lm.zeros((4, 4))[::-1]

    def update(x: Any) -> None:
        turned.copy_((x * 2.0).permute_dims(1, 0))
        square.copy_(x.permute_dims(1, 0) @ x)

    x = lm.random.normal((3, 4))
    compiled = lm.compile(update)
    for _ in range(2):
        base.zero_()
        compiled(x)
        assert base.tolist() == (x * 2.0).tolist()
        assert square.tolist() == (x.permute_dims(1, 0) @ x).tolist()


def test_chains_take_turns_in_few_places() -> None:
    def chain(x: Any) -> Any:
        for _ in range(20):
            x = (x @ x).tanh()
        return x.sum()

    _, plan = lowered(chain, lm.ones((16, 16)))
    assert plan.memory.arena_bytes <= 3 * 16 * 16 * 4
    assert plan.memory.naive_bytes >= plan.memory.arena_bytes


def test_views_run_nothing() -> None:
    def shapes(x: Any) -> Any:
        return x.reshape(6, 4).permute_dims(1, 0)[::-1, 1:3].expand_dims(0) + 1.0

    x = lm.arange(24.0).reshape(2, 3, 4)
    program, plan = lowered(shapes, x)
    assert [row.how for row in plan.rows].count("step") == 1
    assert len(plan.rows) == len(program.equations)
    (result,) = plan.executable.run([x.data])
    assert np.asarray(result).tolist() == shapes(x).tolist()


def test_a_reshape_that_strides_do_not_allow_is_a_copy() -> None:
    def shapes(x: Any) -> Any:
        return x.permute_dims(1, 0).reshape(6)

    x = lm.arange(6.0).reshape(2, 3)
    assert lm.compile(shapes)(x).tolist() == shapes(x).tolist()


def test_results_that_are_alike_are_apart() -> None:
    compiled = lm.compile(lambda x: (x + 1.0, x + 1.0, (x + 1.0).reshape(2, 1)))
    one, other, third = compiled(lm.ones((2,)))
    one.zero_()
    assert other.tolist() == [2.0, 2.0]
    assert third.tolist() == [[2.0], [2.0]]


def test_callbacks_and_steps_mix() -> None:
    def mixed(x: Any) -> Any:
        y = lm.linalg.solve(x @ x + lm.eye(3), x) * 2.0
        turned = lm.linalg.inv(y + lm.eye(3) * 9.0).permute_dims(1, 0)
        return turned.reshape(9), (turned + 1.0).sum(), turned

    x = lm.random.normal((3, 3))
    compiled = lm.compile(mixed)
    for _ in range(2):
        for got, want in zip(compiled(x), mixed(x), strict=True):
            assert got.tolist() == want.tolist()
    assert "called back" in compiled.explain(x)
    before = lm.memory_stats()["live_bytes"]
    for _ in range(50):
        compiled(x)
    assert lm.memory_stats()["live_bytes"] == before


def test_arguments_of_other_layouts_have_plans_of_their_own() -> None:
    compiled = lm.compile(lambda x: (x * 2.0).sum(axis=0))
    x = lm.random.normal((4, 6))
    for one in (x, x[::-1], x.permute_dims(1, 0), x[:, ::2], x[1:2].broadcast_to((4, 6))):
        for _ in range(2):
            assert compiled(one).tolist() == (one * 2.0).sum(axis=0).tolist()


def test_a_cache_is_filled_where_it_lies() -> None:
    cache = lm.zeros((64, 1000))
    table = lm.zeros((50, 8))

    def fill(x: Any, row: Any, ids: Any) -> None:
        cache[3:4] = x
        table.copy_(table.at[ids].add(row))

    args = lm.ones((1, 1000)), lm.ones((2, 8)), lm.tensor([4, 4])
    program, plan = lowered(fill, *args)
    # First what may raise: an error leaves both as they were.
    assert hows(plan) == ["index_put: step", "copy: step", "slice_put: step"]
    assert plan.memory.arena_bytes == 4032  # of the copy of x, whose layout passes do not know
    compiled = lm.compile(fill)
    for _ in range(2):
        compiled(*args)
    assert cache.sum().item() == 1000.0
    assert table[4].tolist() == [4.0] * 8
    assert table.sum().item() == 32.0
    assert len(program.writes) == 2


def test_a_reshaped_copy_does_not_take_over_what_it_copies() -> None:
    def turned(x: Any) -> Any:
        y = x * 2.0
        return y.permute_dims(1, 0).reshape(6) + y.reshape(6)

    x = lm.arange(6.0).reshape(2, 3)
    assert lm.compile(turned)(x).tolist() == turned(x).tolist()


def heads_joined(stacked: Any) -> Any:
    """(2, batch, heads, time, width) -> (batch, time, 2 * heads * width)."""
    _, batch, heads, time, width = stacked.shape
    return stacked.permute_dims((1, 3, 0, 2, 4)).reshape(batch, time, 2 * heads * width)


def test_what_is_transposed_and_reshaped_is_computed_where_it_goes() -> None:
    x, w = lm.random.normal((2, 3, 5, 4)), lm.random.normal((24, 7))

    def joined(x: Any, w: Any) -> Any:
        return heads_joined(lm.stack([x, x * 2.0])) @ w

    _, plan = lowered(joined, x, w)
    assert "reshape: step" not in hows(plan)
    assert lm.compile(joined)(x, w).tolist() == joined(x, w).tolist()


def test_what_lies_transposed_is_read_as_it_is() -> None:
    x, w = lm.random.normal((2, 3, 5, 4)), lm.random.normal((24, 7))

    def joined(x: Any, w: Any) -> Any:
        stacked = lm.stack([x, x * 2.0])
        doubled = stacked + stacked.exp()
        return heads_joined(stacked) @ w, doubled.sum(), (doubled * 0.5).flip()

    for now, then in zip(lm.compile(joined)(x, w), joined(x, w), strict=True):
        assert now.tolist() == then.tolist()


def test_a_transposed_result_is_dense() -> None:
    x = lm.random.normal((2, 3, 5, 4))

    def joined(x: Any) -> Any:
        stacked = lm.stack([x, x * 2.0])
        return heads_joined(stacked), stacked

    together, stacked = lm.compile(joined)(x)
    assert stacked.data.is_contiguous
    assert together.tolist() == joined(x)[0].tolist()


def test_attention_between_projections_copies_nothing() -> None:
    w = lm.random.normal((8, 24), requires_grad=True)

    def step(x: Any) -> Any:
        batch, time, width = x.shape
        q, k, v = (x @ w).reshape(batch, time, 3, 2, 4).permute_dims((2, 0, 3, 1, 4)).unstack()
        mixed = lm.nn.functional.scaled_dot_product_attention(q, k, v)
        y = mixed.permute_dims((0, 2, 1, 3)).reshape(batch, time, width)
        return (y @ w[:, :8]).square().sum().backward()[w]

    x = lm.random.normal((3, 5, 8))
    _, plan = lowered(step, x)
    assert "reshape: step" not in hows(plan)
    assert lm.compile(step)(x).tolist() == step(x).tolist()
