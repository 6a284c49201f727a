"""Compiled functions as objects: what they take, tell, refuse, share and free."""

import copy
import gc
import pickle
import queue
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import (
    ArgumentError,
    TraceError,
)
from tests.compile.training import X

F = lm.nn.functional


@pytest.mark.parametrize(
    "read",
    [
        lambda t: t.item(),
        lambda t: bool(t > 1),
        lambda t: float(t),
        lambda t: repr(t),
        lambda t: np.asarray(t),
        lambda t: t.tolist(),
        lambda t: t[t > 0],
    ],
)
def test_reading_a_value_names_the_line(read: Callable[[Any], Any]) -> None:
    def function(x: Any) -> Any:
        return read(x * 2.0)

    with pytest.raises(TraceError, match=r"test_function\.py:\d+"):
        lm.compile(function)(lm.ones((1,)))


def test_a_kept_value_says_so() -> None:
    kept: queue.SimpleQueue[Any] = queue.SimpleQueue()  # whose items nobody can look at
    lm.compile(lambda x: kept.put(x + 1.0))(lm.ones((1,)))
    with pytest.raises(TraceError, match="kept from when it was traced"):
        kept.get() + 1.0


def test_compiled_functions_nest() -> None:
    inner = lm.compile(lambda x: x * 2.0)
    outer = lm.compile(lambda x: inner(x) + 1.0)
    assert outer(lm.ones((2,))).tolist() == [3.0, 3.0]
    assert inner.cache_info().variants == ()


def test_modules_and_methods_compile() -> None:
    class Net:
        def __init__(self) -> None:
            self.layer = lm.nn.Linear(4, 2)

        @lm.compile
        def forward(self, x: Any) -> Any:
            return self.layer(x)

    one, other = Net(), Net()
    assert one.forward(X).tolist() == one.layer(X).tolist()
    assert other.forward(X).tolist() == other.layer(X).tolist()
    layer = lm.nn.Linear(4, 2)
    assert lm.compile(layer)(X).tolist() == layer(X).tolist()


def test_random_numbers_are_new_and_equal_to_eager() -> None:
    def draw() -> Any:
        return lm.random.normal((3,)) + lm.random.uniform((3,)), lm.random.integers((4,), 0, 9)

    compiled = lm.compile(draw)
    lm.random.seed(4)
    eager = [[one.tolist() for one in draw()] for _ in range(3)]
    lm.random.seed(4)
    assert [[one.tolist() for one in compiled()] for _ in range(3)] == eager
    assert eager[0] != eager[1]


def test_two_threads_call_one_function() -> None:
    compiled = lm.compile(lambda x: (x @ x + 1.0).tanh().sum())
    inputs = [lm.random.normal((40, 40)) for _ in range(8)]
    expected = [(x @ x + 1.0).tanh().sum().item() for x in inputs]
    found: dict[int, list[float]] = {}

    def work(number: int) -> None:
        found[number] = [compiled(x).item() for _ in range(20) for x in inputs]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert all(found[number] == expected * 20 for number in range(4))


def test_a_collected_function_frees_its_arena() -> None:
    def make() -> None:
        weight = lm.random.normal((256, 256))
        compiled = lm.compile(lambda x: ((x @ weight).tanh() @ weight).exp().sum())
        compiled(lm.random.normal((256, 256)))

    make()
    gc.collect()
    before = lm.memory_stats()["live_bytes"]
    make()
    gc.collect()
    assert lm.memory_stats()["live_bytes"] == before


def test_custom_ops_are_called_back() -> None:
    calls: list[int] = []

    @lm.custom_op
    def cube(x: lm.Tensor[lm.Float]) -> Any:
        calls.append(1)
        return x.numpy() ** 3

    @cube.gradient
    def _(grad: Any, x: Any) -> Any:
        return grad * 3.0 * x * x

    compiled = lm.compile(lambda x: lm.value_and_grad(lambda v: cube(v).sum())(x))
    for _ in range(2):
        value, slope = compiled(lm.tensor([1.0, 2.0]))
        assert (value.item(), slope.tolist()) == (9.0, [3.0, 12.0])
    assert len(calls) == 3  # once on ones, to learn the result's spec
    assert "called back" in compiled.explain(lm.tensor([1.0, 2.0]))


def test_a_compiled_method_knows_its_owner() -> None:
    class Scale:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        @lm.compile
        def apply(self, x: Any) -> Any:
            return x * self.factor

    two, three = Scale(2.0), Scale(3.0)
    x = lm.ones((2,))
    for _ in range(2):
        assert two.apply(x).tolist() == [2.0, 2.0]
        assert three.apply(x).tolist() == [3.0, 3.0]
    assert len(two.apply.cache_info().variants) == 2
    assert "x * 2.0" in str(two.apply.optimised(x))
    assert two.apply.program(x).equations[0].op == "multiply"
    assert "1 kernel\n" in three.apply.explain(x)
    two.factor = 5.0
    assert two.apply(x).tolist() == [5.0, 5.0]


@lm.compile
def halved(x: Any) -> Any:
    return x / 2.0


def doubled(x: Any) -> Any:
    return x * 2.0


def test_compiled_functions_are_pickled_by_name_or_function() -> None:
    halved(lm.ones((1,)))
    assert pickle.loads(pickle.dumps(halved)) is halved
    again = pickle.loads(pickle.dumps(lm.compile(doubled, max_variants=1)))
    assert again(lm.ones((1,))).item() == 2.0
    with pytest.raises(TraceError, match="2th time"):
        again(lm.ones((2,)))


def test_a_copied_object_has_a_compiled_method_of_its_own() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.w = lm.nn.Parameter(lm.ones((2,)))
            self.step = lm.compile(self.product)
            self.halved = halved

        def product(self, x: Any) -> Any:
            return self.w * x

    trainer = Trainer()
    trainer.step(lm.ones((2,)))
    other = copy.deepcopy(trainer)
    other.w.detach().fill_(5.0)
    assert other.step(lm.ones((2,))).tolist() == [5.0, 5.0]
    assert trainer.step(lm.ones((2,))).tolist() == [1.0, 1.0]
    assert other.halved is copy.copy(halved) is halved


def test_a_traced_tensor_is_not_given_to_other_libraries() -> None:
    with pytest.raises(TraceError, match="is read at"):
        lm.compile(lambda x: np.from_dlpack(x))(lm.ones((1,)))


def test_a_check_of_values_belongs_around_the_call() -> None:
    @lm.compile
    def logarithm(x: Any) -> Any:
        with lm.inspect.check_finite():
            return x.log()

    with pytest.raises(TraceError, match="put it around"):
        logarithm(lm.tensor([-1.0]))


def test_a_call_from_within_its_own_callback_is_told_and_changes_nothing() -> None:
    x = lm.tensor([1.0, 2.0])
    state = {"calls_itself": False}

    @lm.custom_op
    def twice(x: Any) -> Any:
        return step(x) if state["calls_itself"] else x * 2

    @lm.compile
    def step(x: Any) -> Any:
        return twice(x + 1)

    assert step(x).tolist() == [4.0, 6.0]
    state["calls_itself"] = True
    with pytest.raises(lm.errors.TraceError, match="called from within itself") as caught:
        step(x)
    assert "step.function" in str(caught.value)
    state["calls_itself"] = False
    assert step(x).tolist() == [4.0, 6.0]


def test_what_a_custom_op_keeps_stays_as_it_was() -> None:
    kept: list[Any] = []

    @lm.custom_op
    def keep(x: lm.Tensor[lm.Float]) -> Any:
        kept.append(x)
        return x.copy()

    compiled = lm.compile(lambda x: (keep(lm.exp(x)) * 3.0).tanh() * lm.sin(x))
    compiled(lm.zeros((100,)))
    compiled(lm.ones((100,)))
    assert kept[-2].tolist() == [1.0] * 100
    assert kept[-1].tolist() == lm.exp(lm.ones((100,))).tolist()


def test_what_cannot_be_compiled_is_told_at_once() -> None:
    def pieces(x: Any) -> Any:
        yield x * 2.0

    async def later(x: Any) -> Any:
        return x * 2.0

    for function in (pieces, later):
        with pytest.raises(ArgumentError, match="generator or coroutine"):
            lm.compile(function)
    with pytest.raises(
        ArgumentError, match="dynamic names 'y', which is no parameter; there are: x"
    ):
        lm.compile(lambda x: x, dynamic={"x": 0, "y": 0})
    lm.compile(lambda *xs: xs[0], dynamic={"args[0]": 0})
    for wrong in (True, ["x"], {0: 0}, "x"):
        with pytest.raises(ArgumentError, match="dynamic must name arguments"):
            lm.compile(lambda x: x, dynamic=wrong)


def test_text_of_a_compiled_function() -> None:
    compiled = lm.compile(lm.nn.Linear(4, 2))
    assert repr(compiled) == "<compiled Linear: 0 variants>"
    compiled(X)
    assert repr(compiled) == "<compiled Linear: 1 variant>"
