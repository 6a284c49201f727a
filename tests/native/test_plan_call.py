"""Calls of plans: numbers from Python, writes, results and errors, and which calls come to them."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus import _native
from lumus.core.mode import MODE
from lumus.optim.optimizer import settles
from tests.native.native_arrays import CODES

F32 = CODES[np.dtype(np.float32)]
X = lm.tensor([1.0, 2.0, 3.0])
ADD = _native.Program([F32, F32], [], [("add", F32, (0, 1))], [2]).step()


class Rate:
    """A source of one number, which counts what it is asked."""

    def __init__(self, rate: float) -> None:
        self.rate: Any = rate
        self.asked = self.committed = 0

    def values(self) -> tuple[float, ...]:
        self.asked += 1
        return (self.rate,)

    def commit(self) -> None:
        self.committed += 1


def failing(error: BaseException) -> Any:
    def fail(*_: Any) -> Any:
        raise error

    return fail


def plan_call(
    source: Any = None,
    *,
    told: Any = None,
    only: bool = True,
    writes: _native.Writes | None = None,
    callback: Any = None,
) -> _native.PlanCall:
    """Of a plan that adds the number of a source to its argument."""
    number = _native.empty(F32, (1,))
    slots = [("input", F32, (3,), (1,)), ("bound",), ("fresh", F32, (3,))]
    before: list[Any] = [("call", callback, [0], [], [])] if callback else []
    made = _native.Executable(
        _native.Arena(), 0, slots, [*before, ("step", ADD, [0, 1], [2])], [2], [(1, number)]
    )
    return _native.PlanCall(
        made,
        [(number, source or Rate(1.0))],
        writes,
        (X.spec, None) if only else None,
        lambda tensors, data: (tensors, [lm.core.construct.new_tensor(data[0], X.spec)]),
        told or (lambda error, data: AssertionError(error, data)),
        _native.Uses(),
    )


def test_numbers_are_asked_for_before_each_run_and_committed_after() -> None:
    rate = Rate(0.5)
    call = plan_call(rate)
    assert call.run((X,)).tolist() == [1.5, 2.5, 3.5]
    rate.rate = 2.0
    assert call.run([X]).tolist() == [3.0, 4.0, 5.0]
    assert (rate.asked, rate.committed) == (2, 2)


def test_a_function_of_several_results_makes_them_itself() -> None:
    tensors, (result,) = plan_call(only=False).run((X,))
    assert tensors[0] is X
    assert result.tolist() == [2.0, 3.0, 4.0]


def test_data_may_be_others_than_the_tensors_have() -> None:
    assert plan_call().run((X,), [(X * 2.0).data]).tolist() == [3.0, 5.0, 7.0]


@pytest.mark.parametrize("numbers", [(), (1.0, 2.0), [1.0], None])
def test_other_numbers_than_there_is_place_for_are_refused(numbers: Any) -> None:
    source = Rate(0.0)
    source.values = lambda: numbers  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="numbers of a call"):
        plan_call(source).run((X,))
    assert source.committed == 0


def test_an_error_of_a_source_or_callback_comes_out_and_commits_nothing() -> None:
    for error in (KeyError("source"), KeyboardInterrupt()):
        source = Rate(0.0)
        source.values = failing(error)  # type: ignore[method-assign]
        with pytest.raises(type(error)) as raised:
            plan_call(source).run((X,))
        assert raised.value is error
        source = Rate(0.0)
        with pytest.raises(type(error)) as raised:
            plan_call(source, callback=failing(error)).run((X,))
        assert raised.value is error
        assert (source.asked, source.committed) == (1, 0)


@pytest.mark.parametrize("error", [MemoryError(), _native.IndexOutOfRange(3, 2, (0,), 0)])
def test_errors_of_native_code_are_told_in_other_words(error: BaseException) -> None:
    asked: list[Any] = []

    def told(*given: Any) -> Exception:
        asked.append(given)
        return ArithmeticError("told")

    call = plan_call(told=told, callback=failing(error))
    with pytest.raises(ArithmeticError, match="told"):
        call.run((X,))
    ((raised, (data,)),) = asked
    assert raised is error
    assert data is X.data


def test_arguments_in_memory_that_is_written_are_told_before_anything_runs() -> None:
    rate, x = Rate(0.5), lm.zeros((6,))
    apart, first, second = x[:3], x[1:4], x[3:]
    writes = _native.Writes([(second.data, "step", None)], [])
    call = plan_call(rate, writes=writes, told=lambda error, _: ValueError(f"it is {error}"))
    with pytest.raises(ValueError, match="it is None"):
        call.run((first,))
    assert (rate.asked, second.data.version) == (0, 0)
    call.run((X,))
    call.run((apart,))
    assert (rate.asked, second.data.version) == (2, 2)


def test_arguments_must_be_tensors() -> None:
    call: Any = plan_call()
    for given in ((1.0,), X, (X, X), (), (lm.zeros((2,)),)):
        with pytest.raises((TypeError, ValueError)):
            call.run(given)
    with pytest.raises(TypeError):
        call.run((X,), (X.data,))
    with pytest.raises(TypeError):
        call.seen = 1


def test_uses_say_which_ran_last() -> None:
    uses, other = _native.Uses(), _native.Uses()
    assert (uses.count, other.count) == (0, 0)
    assert uses.last < other.last


# --------------------------------------------------------------------------------- steps


class Optimizer:
    def numbers(self, step: int, options: dict[str, float]) -> tuple[float, ...]:
        return (step * options["lr"],)


class Group:
    def __init__(self, **options: float) -> None:
        self.options = options


def test_steps_are_counted_in_all_states() -> None:
    numbers = _native.StepNumbers(Optimizer(), group := Group(lr=0.5), 0)
    states = [{"step": 3}, {"step": 3}]
    numbers.states.extend(states)
    assert numbers.agree()
    assert numbers.values() == (2.0,)
    group.options = {"lr": 1.0}
    assert numbers.values() == (4.0,)
    numbers.commit()
    assert states == [{"step": 4}, {"step": 4}]
    states[1]["step"] = 9
    assert not numbers.agree()


class Settling(Optimizer):
    def __init__(self) -> None:
        self.asked = 0

    @settles(at=2)
    def numbers(self, step: int, options: dict[str, float]) -> tuple[float, ...]:
        self.asked += 1
        return (options["lr"] * (2.0 if step == 1 else 1.0),)


def test_numbers_that_have_settled_are_asked_for_again_when_something_has_changed() -> None:
    optimizer, group, state = Settling(), Group(lr=1.0), {"step": 0}
    numbers = _native.StepNumbers(optimizer, group, 0)
    numbers.states.append(state)
    call = plan_call(numbers)
    ones = lm.ones((3,))

    def rates(count: int) -> list[float]:
        return [call.run((ones,)).tolist()[0] - 1.0 for _ in range(count)]

    assert rates(3) == [2.0, 1.0, 1.0]
    assert optimizer.asked == 3  # nothing says that the options stay
    call.seen = _native.Snapshot()
    assert rates(3) == [1.0, 1.0, 1.0]
    assert optimizer.asked == 4
    group.options = {"lr": 5.0}
    call.seen = _native.Snapshot()
    assert rates(2) == [5.0, 5.0]
    assert optimizer.asked == 5
    state["step"] = 0
    assert rates(3) == [10.0, 5.0, 5.0]
    assert optimizer.asked == 7


def test_numbers_are_asked_for_again_after_an_error() -> None:
    source, optimizer = Rate(0.0), Settling()
    numbers = _native.StepNumbers(optimizer, Group(lr=1.0), 0)
    numbers.states.append({"step": 4})
    call = plan_call(numbers)
    call.seen = _native.Snapshot()
    call.run((X,))
    numbers.states[0]["step"] = source  # no number
    with pytest.raises(TypeError):
        call.run((X,))
    numbers.states[0]["step"] = 4
    call.run((X,))
    assert optimizer.asked == 2


def test_states_without_a_count_are_errors() -> None:
    numbers = _native.StepNumbers(Optimizer(), Group(lr=0.5), 0)
    with pytest.raises(IndexError, match="no parameter"):
        numbers.values()
    numbers.states.append({})
    for ask in (numbers.values, numbers.commit, numbers.agree):
        with pytest.raises(KeyError, match="step"):
            ask()


# --------------------------------------------------------------------------------- called


class Function(_native.Called):
    def __init__(self, calls: _native.CallTable) -> None:
        super().__init__(calls)
        self.missed: list[Any] = []

    def _missed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        self.missed.append((args, kwargs))
        return "missed"


def called() -> tuple[Any, _native.PlanCall, _native.CallTable]:
    calls, call = _native.CallTable(), plan_call()
    calls.put((X,), {}, True, "target", call)
    return Function(calls), call, calls


def test_calls_of_a_kind_go_to_its_plan_while_what_it_has_seen_stands() -> None:
    function, call, _ = called()
    assert function(X) == "missed"  # nothing has been seen yet
    call.seen = _native.Snapshot()
    assert function(X).tolist() == [2.0, 3.0, 4.0]
    call.seen = None
    assert function(X) == "missed"
    assert function.missed == [((X,), {})] * 2


def test_other_calls_and_those_that_are_not_run_at_once_are_missed() -> None:
    function, call, calls = called()
    call.seen = _native.Snapshot()
    assert function(X, 1, name=2) == "missed"
    assert function() == "missed"
    assert function.missed == [((X, 1), {"name": 2}), ((), {})]
    token = MODE.set(MODE.get().deriving())
    try:
        assert function(X) == "missed"
    finally:
        MODE.reset(token)
    with lm.no_grad():
        assert function(X) == "missed"  # it was put in for calls that record
    calls.put((), {"x": X}, True, "target", call)
    assert function(x=X).tolist() == [2.0, 3.0, 4.0]


def test_an_error_of_a_call_comes_out() -> None:
    calls = _native.CallTable()
    call = plan_call(callback=failing(KeyError("inside")))
    call.seen = _native.Snapshot()
    calls.put((X,), {}, True, "target", call)
    function: Any = Function(calls)
    with pytest.raises(KeyError, match="inside"):
        function(X)
    function = Function.__new__(Function)
    with pytest.raises(TypeError):
        function(X)


def test_a_cycle_through_a_call_is_collected() -> None:
    def made() -> weakref.ref[Function]:
        calls = _native.CallTable()
        function = Function(calls)
        call = plan_call(told=lambda *_: function, callback=lambda *_: function)
        calls.put((X,), {"f": function}, True, function, call)
        call.seen = _native.Snapshot()
        call.seen.add_attribute(function, "missed")
        return weakref.ref(function)

    gone = made()
    gc.collect()
    assert gone() is None
