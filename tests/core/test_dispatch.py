"""`apply`: its native way and the Python one agree, and odd uses are told, not crashed on."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest

import lumus as lm
from lumus import _native
from lumus.core.dispatch import apply, apply_any
from lumus.core.mode import MODE, Mode
from lumus.core.plan import PLANS


def same(one: Any, other: Any) -> bool:
    return one.spec is other.spec and one.tolist() == other.tolist()


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", ["add", "multiply", "maximum"])
def test_apply_of_two_inputs_agrees_with_the_python_way(name: str, requires_grad: bool) -> None:
    x = lm.tensor([1.0, -2.0], requires_grad=requires_grad)
    y = lm.tensor([[3.0], [0.5]])
    fast, slow = apply(name, x, y), apply_any(name, x, y)
    assert same(fast, slow)
    assert fast.requires_grad == slow.requires_grad == requires_grad
    if requires_grad:
        assert fast.node.op == slow.node.op == name
        assert fast.sum().backward()[x].tolist() == slow.sum().backward()[x].tolist()


def test_apply_of_one_and_three_inputs_and_attrs_agrees_with_the_python_way() -> None:
    x = lm.tensor([[1.0, -2.0]])
    assert same(apply("tanh", x), apply_any("tanh", x))
    assert same(
        apply("sum", x, axes=(1,), keepdims=True), apply_any("sum", x, axes=(1,), keepdims=True)
    )
    mask = x > 0
    assert same(apply("where", mask, x, x), apply_any("where", mask, x, x))


def test_apply_keeps_signatures_apart() -> None:
    for _ in range(2):
        assert apply("add", lm.ones(2), lm.ones(2)).tolist() == [2.0, 2.0]
        assert apply("subtract", lm.ones(2), lm.ones(2)).tolist() == [0.0, 0.0]
        assert apply("add", lm.ones(2), lm.ones(2, dtype=lm.float64)).dtype is lm.float64
        assert apply("negative", lm.ones(2)).tolist() == [-1.0, -1.0]
        assert apply("add", lm.ones((2, 1)), lm.ones(3)).shape == (2, 3)


def test_apply_of_many_signatures_forgets_and_finds_again() -> None:
    for turn in range(2):
        for length in range(9000):
            if turn == 0 or length % 97 == 0:
                x = lm.empty((length, 0))
                assert apply("negative", x).shape == (length, 0)
    _native.forget_plans()
    assert apply("negative", lm.ones(1)).tolist() == [-1.0]


def test_apply_of_what_is_no_tensor_is_told() -> None:
    for wrong in (None, 1.0, "x", object(), lm.Tensor.__new__(lm.Tensor)):
        with pytest.raises((TypeError, AttributeError, lm.errors.LumusError)):
            apply("add", lm.ones(1), wrong)
        with pytest.raises((TypeError, AttributeError, lm.errors.LumusError)):
            apply("negative", wrong)
    with pytest.raises(TypeError):
        apply()


def test_apply_of_a_bad_index_is_told_as_the_users_mistake() -> None:
    for _ in range(2):
        with pytest.raises(lm.errors.IndexRangeError):
            apply("index", lm.ones(2), lm.tensor([5]))


def test_apply_leaves_no_references_behind() -> None:
    x, y = lm.ones(3, requires_grad=True), lm.ones(3)
    apply("multiply", x, y)
    before = [sys.getrefcount(one) for one in (x, y, x.spec, MODE.get())]
    for _ in range(100):
        apply("multiply", x, y)
    gc.collect()
    assert [sys.getrefcount(one) for one in (x, y, x.spec, MODE.get())] == before


def test_apply_under_an_interpreter_goes_through_it() -> None:
    seen = []

    class Noting:
        def run(self, plan: Any, inputs: tuple[Any, ...]) -> Any:
            seen.append(plan.name)
            return plan.run(*[tensor.data for tensor in inputs])

        def run_into(self, plan: Any, outputs: Any, inputs: Any) -> None:
            raise AssertionError

    token = MODE.set(Mode(records=True, notes_cuts=True, interpreter=Noting()))
    try:
        apply("add", lm.ones(2), lm.ones(2))
    finally:
        MODE.reset(token)
    assert seen == ["add"]
    assert any(key[0] == "add" for key in PLANS)
