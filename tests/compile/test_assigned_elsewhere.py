"""State that a compiled function changes out of sight: refused, or done as eager execution does."""

import copy
import dataclasses
import functools
import itertools
import random
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import TraceError

X = lm.tensor([1.0, 2.0, 3.0])
FACTOR = 2.0
GENERATOR = np.random.default_rng(0)
TWISTER = np.random.Generator(np.random.MT19937(0))
OLD = np.random.RandomState(0)
OWN = random.Random(0)


def refused(function: Callable[..., Any], told: str, *given: Any) -> None:
    with pytest.raises(TraceError, match=told):
        lm.compile(function)(*given or (X,))


# Random numbers and iterators ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: x * random.random(),
        lambda x: x * float(np.random.rand()),  # noqa: NPY002
        lambda x: x * float(GENERATOR.normal()),
        lambda x: x * OWN.choice([1.0, 2.0]),
        lambda x: x * float(TWISTER.normal()),
        lambda x: x * float(OLD.normal()),
    ],
)
def test_random_numbers_of_others_are_refused_and_not_used_up(draw: Callable[..., Any]) -> None:
    states = (random.getstate(), OWN.getstate(), GENERATOR.bit_generator.state)
    refused(draw, "draws random numbers of .*\n.*lumus.random")
    assert states == (random.getstate(), OWN.getstate(), GENERATOR.bit_generator.state)


def test_random_numbers_from_a_seed_inside_are_the_same_at_each_call() -> None:
    def function(x: Any) -> Any:
        return x * random.Random(5).random() + float(np.random.default_rng(3).normal())

    compiled = lm.compile(function)
    assert compiled(X).tolist() == compiled(X).tolist() == function(X).tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda: iter([1.0, 2.0]),
        lambda: itertools.count(1.0),
        lambda: (float(one) for one in range(3)),
        lambda: zip([1.0], [2.0], strict=True),
        lambda: iter(lm.data.Batches(X.reshape(3, 1), X, batch_size=1)),
    ],
)
def test_iterators_from_outside_are_refused(make: Callable[[], Any]) -> None:
    iterator, again = make(), make()
    refused(lambda x: (next(iterator), x)[1], "uses the iterator iterator")
    assert repr(next(iterator)) == repr(next(again))


# Caches -------------------------------------------------------------------------------------------


def test_a_cached_function_keeps_no_tensor_of_the_trace() -> None:
    @functools.lru_cache
    def positions(length: int) -> Any:
        return lm.arange(length).astype(lm.float32)

    compiled = lm.compile(lambda x: x + positions(x.shape[0]))
    assert compiled(X).tolist() == [1.0, 3.0, 5.0]
    assert positions(3).tolist() == [0.0, 1.0, 2.0]
    assert compiled(X).tolist() == [1.0, 3.0, 5.0]


# Errors that the function catches -----------------------------------------------------------------


def test_an_error_that_the_function_catches_ends_the_trace_all_the_same() -> None:
    def by_value(x: Any) -> Any:
        try:
            return x * float(x.sum())
        except Exception:
            return x

    def by_mask(x: Any) -> Any:
        try:
            return x[x > 1.0]
        except TraceError:
            return x

    refused(by_value, "the value of .* is read")
    refused(by_mask, "depends on values")


def test_an_error_of_the_second_look_is_told_as_what_it_comes_from() -> None:
    state = types.SimpleNamespace(built=False)

    def function(x: Any) -> Any:
        if state.built:
            raise RuntimeError("built twice")
        state.built = True
        return x * 2.0

    refused(function, "changes state.built")
    assert not state.built


# Results ------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Result:
    loss: Any
    name: str = ""


def test_objects_that_hold_tensors_are_no_results() -> None:
    refused(lambda x: Result(x.sum()), "returns an object of Result .*\n.*namedtuple")
    refused(lambda x: {"a": [Result([x * 2.0])]}, "returns an object of Result")
    kept = Result(None, "plain")
    assert lm.compile(lambda _: kept)(X) is kept


# Optimisers ---------------------------------------------------------------------------------------

OPTIMIZERS: list[Callable[[Any], Any]] = [
    lambda given: lm.optim.Adam(given, lr=0.1),
    lambda given: lm.optim.AdamW(given, lr=0.1),
    lambda given: lm.optim.SGD(given, lr=0.1, momentum=0.9, dampening=0.5),
]


def beside(make: Callable[[], Any], times: int = 4) -> None:
    """That a step and its compiled twin do the same; `make` gives a step and what it changes."""
    (eager, seen), (function, seen_too) = make(), make()
    compiled = lm.compile(function)
    for _ in range(times):
        assert compiled().tolist() == eager().tolist()
        assert seen_too() == seen()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_several_steps_in_one_call(optimizer: Callable[[Any], Any]) -> None:
    def make() -> Any:
        w, v = lm.nn.Parameter(lm.ones((2,))), lm.nn.Parameter(lm.ones(()))
        opt = optimizer([w, v])

        def step() -> Any:
            for number in range(3):
                loss = (w * w).sum() + (v * v if number % 2 else 0.0)
                opt.step(loss.backward())
            return w * 1.0

        counts = lambda: {place: state["step"] for place, state in opt.state.items()}  # noqa: E731
        return step, lambda: (w.tolist(), v.item(), counts())

    beside(make)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_optimizer_made_inside_begins_anew_at_each_call(
    optimizer: Callable[[Any], Any],
) -> None:
    def make() -> Any:
        w = lm.nn.Parameter(lm.ones((2,)))

        def step() -> Any:
            opt = optimizer([w])
            for rate in (0.1, 0.2):
                opt.lr = rate
                opt.step((w * w).sum().backward())
            return w * 1.0

        return step, w.tolist

    beside(make)


def test_an_inner_loop_on_a_copy_of_the_model() -> None:
    def make() -> Any:
        lm.random.seed(0)
        model = lm.nn.Linear(3, 1)

        def step() -> Any:
            inner = copy.deepcopy(model)
            opt = lm.optim.Adam(inner.parameters(), lr=0.1)
            for _ in range(2):
                opt.step((inner(X) ** 2.0).sum().backward())
            return inner(X)

        return step, model.weight.tolist

    beside(make)


def test_state_is_not_loaded_inside() -> None:
    w = lm.nn.Parameter(lm.ones((2,)))
    opt = lm.optim.SGD([w], lr=0.1)
    saved = opt.state_dict()
    refused(lambda _: opt.load_state_dict(saved), "load_state_dict is called at .*:\\d+")


class Clipping(lm.optim.SGD):
    """An optimiser with a setting and a count of its own."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, lr=0.5)
        self.limit = 1.0
        self.num_steps = 0

    def step(self, grads: Any) -> None:
        grads.clip_(self.limit)
        super().step(grads)


class Counting(Clipping):
    def step(self, grads: Any) -> None:
        self.num_steps += 1
        super().step(grads)


def test_attributes_of_an_optimizer_of_ones_own() -> None:
    w = lm.nn.Parameter(lm.tensor([3.0, 4.0]))
    opt = Clipping([w])
    compiled = lm.compile(lambda: opt.step((w * w).sum().backward()))
    compiled()
    assert w.tolist() == pytest.approx([2.7, 3.6])
    opt.limit = 0.0
    before = w.tolist()
    compiled()
    assert w.tolist() == before
    counting = Counting([w])
    refused(lambda _: counting.step((w * w).sum().backward()), r"num_steps at .* \(0 -> 1\)")
    assert (counting.num_steps, dict(counting.state)) == (0, {})
    extra = lm.nn.Parameter(X)
    refused(lambda x: (opt.groups[0].parameters.append(extra), x)[1], "which is an input")
    assert len(opt.groups[0].parameters) == 1


# Arguments ----------------------------------------------------------------------------------------


def test_an_argument_that_is_written_and_shares_memory_with_what_is_read() -> None:
    outside = lm.ones((4,))

    @lm.compile
    def step(x: Any) -> Any:
        x.add_(1.0)
        return (x + outside[:2]).exp()

    with pytest.raises(
        TraceError, match=r"argument 0 of step .*, which the function writes, shares"
    ):
        step(outside[1:3])
    assert outside.tolist() == [1.0] * 4
    apart = lm.zeros((2,))
    assert step(apart).tolist() == (lm.full((2,), 2.0)).exp().tolist()


def test_parts_of_one_array_that_do_not_overlap() -> None:
    whole = lm.ones((4,))

    @lm.compile
    def step(x: Any, y: Any) -> Any:
        x.add_(y)
        return x * 1.0

    assert step(whole[:2], whole[2:]).tolist() == [2.0, 2.0]
    assert whole.tolist() == [2.0, 2.0, 1.0, 1.0]
    with pytest.raises(TraceError, match=r"argument 0 .*shares memory with argument 1"):
        step(whole[:2], whole[1:3])


def test_a_list_among_the_arguments_that_is_reached_from_outside_or_kept() -> None:
    held = [1.0]
    state = types.SimpleNamespace(kept=None)

    def write(x: Any, given: Any) -> Any:
        held[0] = 9.0
        return x * given[0]

    def keep(x: Any, given: Any) -> Any:
        state.kept = given
        return x

    refused(write, "a container among its arguments", X, held)
    refused(keep, "state.kept", X, held)
    assert (held, state.kept) == ([1.0], None)


# What the code reaches ----------------------------------------------------------------------------


class Base(lm.nn.Module):
    def forward(self, x: Any) -> Any:
        return x * FACTOR


class Derived(Base):
    def forward(self, x: Any) -> Any:
        return super().forward(x) + 1.0


class Backed:
    """Attributes in a dict of its own."""

    def __init__(self) -> None:
        self.__dict__["data"] = {"factor": 2.0}

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["data"][name]
        except KeyError:
            raise AttributeError(name) from None


class Answering:
    def __getattr__(self, name: str) -> Any:
        return 0.0


class Whole(int):
    """A number with an attribute."""


def reached() -> list[tuple[Callable[[Any], Any], Callable[[], Any]]]:
    """Functions, and changes that they must notice."""
    answering, backed, late, whole = Answering(), Backed(), types.SimpleNamespace(), Whole(3)
    answering.factor = 2.0  # type: ignore[attr-defined]
    whole.factor = 2.0  # type: ignore[attr-defined]
    slope = lm.grad(lambda w: (w * w * FACTOR).sum())

    class Later:
        pass

    later = Later()
    return [
        (Derived(), lambda: globals().update(FACTOR=5.0)),
        (lambda x: slope(x), lambda: globals().update(FACTOR=5.0)),
        (lambda x: x * getattr(late, "factor", 1.0) * late.factor
         if hasattr(late, "factor") else x, lambda: setattr(late, "factor", 5.0)),
        (lambda x: x * (later.factor if hasattr(later, "factor") else 1.0),
         lambda: setattr(Later, "factor", 5.0)),
        (lambda x: x * backed.factor, lambda: backed.__dict__["data"].update(factor=5.0)),
        (lambda x: x * answering.factor, lambda: setattr(answering, "factor", 5.0)),
        (lambda x: x * whole.factor, lambda: setattr(whole, "factor", 5.0)),
        (lambda x: x * (SPARE if "SPARE" in globals() else 1.0),  # noqa: F821
         lambda: globals().update(SPARE=5.0)),
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(8))
def test_what_the_code_reaches_is_noticed(number: int) -> None:
    try:
        function, change = reached()[number]
        compiled = lm.compile(function)
        assert compiled(X).tolist() == function(X).tolist()
        change()
        assert compiled(X).tolist() == function(X).tolist()
    finally:
        globals().update(FACTOR=2.0)
        globals().pop("SPARE", None)


class Blank:
    """A class that gets an attribute."""


def with_attribute(x: Any) -> Any:
    with_attribute.count = getattr(with_attribute, "count", 0) + 1  # type: ignore[attr-defined]
    return x * float(with_attribute.count)  # type: ignore[attr-defined]


def test_new_attributes_of_classes_and_functions_are_refused_and_taken_away() -> None:
    def count(x: Any) -> Any:
        Blank.count = getattr(Blank, "count", 0) + 1  # type: ignore[attr-defined]
        return x * float(Blank.count)  # type: ignore[attr-defined]

    refused(count, "Blank.count")
    refused(with_attribute, "with_attribute.count")
    assert not hasattr(Blank, "count")
    assert not hasattr(with_attribute, "count")


def test_lists_of_modules_that_are_changed_inside() -> None:
    layers = lm.nn.ModuleList([lm.nn.Identity(), lm.nn.ReLU()])
    first, second = layers

    def swap(x: Any) -> Any:
        layers[0], layers[1] = layers[1], layers[0]
        return layers[0](x * -1.0)

    def grow(x: Any) -> Any:
        layers.append(lm.nn.ReLU())
        return layers[-1](x)

    refused(swap, "_items")
    refused(grow, "_items")
    assert list(layers) == [first, second]


def test_large_containers_that_are_changed_are_refused_and_put_back() -> None:
    many = [float(one) for one in range(2000)]

    def function(x: Any) -> Any:
        many[0] = 5.0
        return x

    refused(function, "changes many")
    assert many[0] == 0.0


def test_sets_keep_their_order_and_classes_of_their_own_their_items() -> None:
    numbers = set(range(100))
    numbers -= set(range(100)) - {1, 64}
    order = list(numbers)

    class Bag(dict[str, int]):
        def __init__(self, size: int) -> None:
            super().__init__(a=2)
            self.size = size

        def copy(self) -> Any:
            raise AssertionError

    bag = Bag(1)
    compiled = lm.compile(lambda x: x * float(len(numbers) * bag["a"] * bag.size))
    assert compiled(X).tolist() == (X * 4.0).tolist()
    assert list(numbers) == order
    assert bag == {"a": 2}
    bag.size = 3
    assert compiled(X).tolist() == (X * 12.0).tolist()
