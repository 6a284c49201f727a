"""Executables: slots of every kind, steps and callbacks, what goes wrong, threads and memory."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lumus import _native
from tests.native.native_arrays import CODES, native, to_numpy

F32 = CODES[np.dtype(np.float32)]
I64 = CODES[np.dtype(np.int64)]

Values = np.ndarray[Any, Any]
Array = _native.Array


def binary(opcode: str) -> _native.Step:
    return _native.Program([F32, F32], [], [(opcode, F32, (0, 1))], [2]).step()


ADD, MULTIPLY = binary("add"), binary("multiply")
X = np.arange(6, dtype=np.float32)


def dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    return _native.empty(F32, shape).strides


def made_input(shape: tuple[int, ...] = (6,)) -> tuple[Any, ...]:
    return ("input", F32, shape, dense(shape))


def executable(
    slots: list[tuple[Any, ...]],
    instructions: list[tuple[Any, ...]],
    results: list[int],
    bound: list[tuple[int, Array]] | None = None,
    arena_bytes: int = 256,
    arena: _native.Arena | None = None,
) -> _native.Executable:
    return _native.Executable(
        arena or _native.Arena(), arena_bytes, slots, instructions, results, bound or []
    )


def run(made: _native.Executable, *arguments: Values) -> list[Values]:
    return [to_numpy(one) for one in made.run([native(argument) for argument in arguments])]


# --------------------------------------------------------------------------------------- slots


def test_steps_pass_values_through_the_arena_to_fresh_results() -> None:
    slots = [made_input(), ("planned", F32, (6,), 0), ("planned", F32, (6,), 64)]
    slots.append(("fresh", F32, (6,)))
    steps = [("step", ADD, [0, 0], [1]), ("step", MULTIPLY, [1, 0], [2])]
    made = executable(slots, [*steps, ("step", ADD, [2, 1], [3])], [3])
    (first,) = run(made, X)
    (second,) = run(made, X + 1)
    np.testing.assert_array_equal(first, 2 * X * X + 2 * X)
    np.testing.assert_array_equal(second, 2 * (X + 1) ** 2 + 2 * (X + 1))
    assert (made.arena_bytes, made.num_instructions) == (256, 3)
    assert made.address(2) - made.address(1) == 64
    assert made.address(1) % 64 == 0


def test_bound_array_is_read_and_written_where_it_is() -> None:
    weight = native(X.copy())
    slots = [made_input(), ("bound",)]
    made = executable(slots, [("step", ADD, [1, 0], [1])], [1], [(1, weight)])
    argument = native(X)
    (result,) = made.run([argument])
    made.run([argument])
    np.testing.assert_array_equal(to_numpy(weight), 3 * X)
    assert result is weight


def test_result_may_be_the_argument_itself() -> None:
    argument = native(X)
    assert executable([made_input()], [], [0, 0]).run([argument]) == [argument, argument]


def test_view_follows_an_input_that_is_bound_anew() -> None:
    slots = [
        made_input((2, 3)),
        ("view", 0, F32, 2, (3, 1), (-1, 3)),
        ("view", 1, F32, 0, (3,), (-1,)),
    ]
    slots.append(("fresh", F32, (3,)))
    made = executable(slots, [("step", ADD, [2, 2], [3])], [3, 2])
    for values in (X.reshape(2, 3), X.reshape(2, 3) + 7):
        doubled, flipped = run(made, values)
        np.testing.assert_array_equal(doubled, 2 * values[0, ::-1])
        np.testing.assert_array_equal(flipped, values[0, ::-1])


def test_view_on_the_arena_on_a_bound_array_and_on_a_fresh_one_are_written_through() -> None:
    weight = native(X.copy())
    slots = [made_input((3,)), ("planned", F32, (6,), 8), ("bound",), ("fresh", F32, (6,))]
    slots += [("view", base, F32, 1, (3,), (2,)) for base in (1, 2, 3)]
    fill = _native.copy_step()
    steps: list[tuple[Any, ...]] = [("step", fill, [2], [1]), ("step", fill, [1], [3])]
    steps += [("step", MULTIPLY, [slot, 0], [slot]) for slot in (4, 5, 6)]
    made = executable(slots, [*steps, ("step", ADD, [1, 3], [3])], [3], [(2, weight)])
    (result,) = run(made, np.array([10, 20, 30], np.float32))
    np.testing.assert_array_equal(to_numpy(weight), [0, 10, 2, 60, 4, 150])
    np.testing.assert_array_equal(result, 2 * np.array([0, 10, 2, 60, 4, 150], np.float32))


def test_result_that_is_a_view_shares_the_memory_of_what_it_is_on() -> None:
    slots = [made_input(), ("fresh", F32, (6,)), ("view", 1, F32, 5, (6,), (-1,))]
    whole, flipped = executable(slots, [("step", ADD, [0, 0], [1])], [1, 2]).run([native(X)])
    np.testing.assert_array_equal(to_numpy(flipped), 2 * X[::-1])
    assert whole.storage_id == flipped.storage_id


def test_input_of_any_strides_is_taken_as_it_was_declared() -> None:
    spaced = np.arange(12, dtype=np.float32)[::-2]
    made = executable(
        [("input", F32, (6,), (-2,)), ("fresh", F32, (6,))], [("step", ADD, [0, 0], [1])], [1]
    )
    np.testing.assert_array_equal(run(made, spaced)[0], 2 * spaced)


def test_empty_and_scalar_slots() -> None:
    slots = [made_input(()), made_input((0, 3)), ("planned", F32, (), 0)]
    slots += [("planned", F32, (0, 3), 256), ("fresh", F32, (0, 3)), ("fresh", F32, ())]
    steps = [("step", ADD, [0, 0], [2]), ("step", ADD, [1, 2], [3]), ("step", ADD, [3, 2], [4])]
    made = executable(slots, [*steps, ("step", ADD, [2, 2], [5])], [4, 5])
    empty, scalar = run(made, np.array(3, np.float32), np.zeros((0, 3), np.float32))
    assert (empty.shape, scalar.shape, float(scalar)) == ((0, 3), (), 12.0)


# ----------------------------------------------------------------------------------- callbacks


def doubled(array: Array) -> Array:
    return native(2 * to_numpy(array))


def test_callback_gives_a_dynamic_slot_and_a_copy() -> None:
    def both(array: Array) -> tuple[Array, Array]:
        return doubled(array), native(to_numpy(array) + 1)

    slots = [made_input(), ("planned", F32, (6,), 0), ("dynamic", F32), ("planned", F32, (6,), 64)]
    slots.append(("fresh", F32, (6,)))
    instructions = [
        ("step", ADD, [0, 0], [1]),
        ("call", both, [1], [2, 3], []),
        ("step", MULTIPLY, [2, 3], [4]),
        ("free", [2]),
    ]
    (result,) = run(executable(slots, instructions, [4]), X)
    np.testing.assert_array_equal(result, 4 * X * (2 * X + 1))


def test_dynamic_slot_may_have_any_shape_and_be_a_result() -> None:
    slots = [made_input(), ("dynamic", F32)]
    made = executable(slots, [("call", lambda x: native(to_numpy(x)[::2]), [0], [1], [])], [1])
    np.testing.assert_array_equal(run(made, X)[0], X[::2])


def test_dynamic_slot_is_released_after_its_last_use() -> None:
    held: list[weakref.ref[Values]] = []

    def observed(array: Array) -> Array:
        values = 2 * to_numpy(array)
        held.append(weakref.ref(values))
        return native(values)

    def is_gone(outputs: list[Array], inputs: list[Array]) -> None:
        assert held[-1]() is None

    slots = [made_input(), ("dynamic", F32), ("fresh", F32, (6,))]
    before: list[tuple[Any, ...]] = [("call", observed, [0], [1], []), ("step", ADD, [1, 1], [2])]
    after = ("into", is_gone, [], [])
    np.testing.assert_array_equal(
        run(executable(slots, [*before, ("free", [1]), after], [2]), X), [4 * X]
    )
    again = ("call", lambda x: x, [1], [2], [1])
    np.testing.assert_array_equal(run(executable(slots, [*before, again, after], [2]), X), [2 * X])
    run(executable(slots, before, [2]), X)
    is_gone([], [])


def test_callback_result_that_is_a_view_on_its_argument_is_copied() -> None:
    slots = [made_input(), ("planned", F32, (6,), 0), ("dynamic", F32), ("fresh", F32, (6,))]
    instructions = [
        ("step", ADD, [0, 0], [1]),
        ("call", lambda x: x.slice((5,), (6,), (-1,)), [1], [2], []),
        ("step", MULTIPLY, [0, 0], [1]),  # the memory of the argument is used again
        ("step", ADD, [2, 1], [3]),
    ]
    (result,) = run(executable(slots, instructions, [3]), X)
    np.testing.assert_array_equal(result, 2 * X[::-1] + X * X)


def test_view_on_a_dynamic_slot_sees_it_in_row_major_order() -> None:
    slots = [
        made_input((2, 3)),
        ("dynamic", F32),
        ("view", 1, F32, 0, (6,), (1,)),
        ("fresh", F32, (6,)),
    ]
    instructions = [
        ("call", lambda x: native(to_numpy(x).copy().T), [0], [1], []),
        ("step", ADD, [2, 2], [3]),
    ]
    made = executable(slots, instructions, [3])
    np.testing.assert_array_equal(run(made, X.reshape(2, 3))[0], 2 * X.reshape(2, 3).T.ravel())


def test_callback_writes_into_its_outputs() -> None:
    def into(outputs: list[Array], inputs: list[Array]) -> None:
        to_numpy(outputs[0])[...] = to_numpy(inputs[0]) * 3
        to_numpy(outputs[1])[...] = 7

    slots = [made_input(), ("planned", F32, (6,), 0), ("fresh", F32, (6,))]
    slots += [("view", 2, F32, 0, (2,), (1,)), ("view", 2, F32, 2, (4,), (1,))]
    instructions = [("into", into, [0], [1, 3]), ("step", _native.copy_step(), [1], [2])]
    made = executable(slots, [*instructions, ("into", into, [0], [2, 3])], [2])
    np.testing.assert_array_equal(run(made, X)[0], [7, 7, 6, 9, 12, 15])


# -------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("argument", "problem"),
    [
        (np.zeros(5, np.float32), "argument 0 has another dtype, shape or strides"),
        (np.zeros(6, np.float64), "argument 0 has another dtype, shape or strides"),
        (np.zeros(12, np.float32)[::2], "argument 0 has another dtype, shape or strides"),
        (np.zeros((1, 6), np.float32), "argument 0 has another dtype, shape or strides"),
    ],
)
def test_argument_of_another_layout_is_refused(argument: Values, problem: str) -> None:
    made = executable([made_input(), ("fresh", F32, (6,))], [("step", ADD, [0, 0], [1])], [1])
    with pytest.raises(ValueError, match=problem):
        made.run([native(argument)])
    with pytest.raises(ValueError, match="takes 1 arguments, got 2"):
        made.run([native(X), native(X)])
    with pytest.raises(TypeError):
        made.run([X])  # type: ignore[list-item]
    np.testing.assert_array_equal(run(made, X)[0], 2 * X)


@pytest.mark.parametrize(
    ("slots", "instructions", "results", "problem"),
    [
        ([("planned", F32, (6,), 240)], [], [], "does not lie in the arena"),
        ([("planned", F32, (6,), -8)], [], [], "does not lie in the arena"),
        ([("planned", F32, (6,), 2)], [], [], "does not lie in the arena"),
        ([("view", 0, F32, 0, (6,), (1,))], [], [], "a view on a later slot"),
        ([made_input(), ("view", 0, I64, 0, (2,), (1,))], [], [], "another dtype"),
        ([made_input(), ("view", 0, F32, 1, (6,), (1,))], [], [], "reaches beyond"),
        ([made_input(), ("view", 0, F32, 4, (6,), (-1,))], [], [], "reaches beyond"),
        ([("bound",)], [], [], "without an array"),
        ([("other",)], [], [], "kind of slot"),
        ([made_input()], [("other",)], [], "kind of instruction"),
        ([made_input()], [], [1], "number of a slot"),
        ([made_input()], [("step", ADD, [0, 1], [0])], [], "number of a slot"),
        ([made_input()], [("step", ADD, [0], [0])], [], "takes 2 inputs and 1 outputs"),
        ([made_input(), made_input((4,))], [("step", ADD, [0, 0], [1])], [], "broadcast"),
        ([("planned", F32, (6,), 0)], [], [0], "lies in the arena"),
        ([("planned", F32, (6,), 0), ("view", 0, F32, 0, (2,), (1,))], [], [1], "in the arena"),
        ([("dynamic", F32)], [], [0], "where it is not set"),
        ([made_input(), ("dynamic", F32)], [("step", ADD, [1, 0], [0])], [], "not set"),
        ([made_input()], [("free", [0])], [], "only dynamic slots"),
        (
            [made_input(), ("dynamic", F32)],
            [("call", doubled, [0], [1], [1]), ("step", ADD, [1, 0], [0])],
            [],
            "not set",
        ),
    ],
)
def test_description_that_does_not_fit_together_is_refused(
    slots: list[Any], instructions: list[Any], results: list[int], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        executable(slots, instructions, results)


def test_array_for_a_slot_that_is_not_bound_is_refused() -> None:
    with pytest.raises(ValueError, match="not a bound one"):
        executable([made_input()], [], [], [(0, native(X))])


@pytest.mark.parametrize(
    ("callback", "error", "problem"),
    [
        (lambda x: 3, TypeError, "not a native array"),
        (lambda x: (x, x), ValueError, "number of results"),
        (lambda x: native(X.astype(np.float64)), ValueError, "another dtype or shape"),
        (lambda x: native(X[:2]), ValueError, "another dtype or shape"),
    ],
)
def test_callback_that_breaks_its_word_is_named(
    callback: Callable[[Array], Any], error: type[Exception], problem: str
) -> None:
    slots = [made_input(), ("fresh", F32, (6,))]
    with pytest.raises(error, match=problem):
        run(executable(slots, [("call", callback, [0], [1], [])], [1]), X)


def test_executable_works_on_after_an_error_in_a_callback() -> None:
    fails = True
    values: list[weakref.ref[Values]] = []

    def made_values(array: Array) -> Array:
        array_of_its_own = to_numpy(array) + 1
        values.append(weakref.ref(array_of_its_own))
        return native(array_of_its_own)

    def checked(outputs: list[Array], inputs: list[Array]) -> None:
        if fails:
            raise KeyError("mine")

    slots = [made_input(), ("dynamic", F32), ("fresh", F32, (6,))]
    instructions = [("call", made_values, [0], [1], []), ("into", checked, [1], [])]
    made = executable(slots, [*instructions, ("step", ADD, [1, 1], [2])], [2])
    live = _native.memory_stats()["live_bytes"]
    with pytest.raises(KeyError, match="mine"):
        made.run([native(X)])
    assert values[0]() is None
    assert _native.memory_stats()["live_bytes"] == live
    fails = False
    np.testing.assert_array_equal(run(made, X)[0], 2 * (X + 1))


def test_shapes_of_dynamic_operands_are_checked_at_each_run() -> None:
    shape = 6
    slots = [made_input(), ("dynamic", F32), ("fresh", F32, (6,))]
    instructions = [
        ("call", lambda x: native(np.ones(shape, np.float32)), [0], [1], []),
        ("step", ADD, [1, 0], [2]),
    ]
    made = executable(slots, instructions, [2])
    np.testing.assert_array_equal(run(made, X)[0], X + 1)
    shape = 4
    with pytest.raises(ValueError, match="broadcast"):
        run(made, X)


# ----------------------------------------------------------------------- threads, and lifetimes


def test_run_from_within_its_own_callback_is_refused() -> None:
    made: list[_native.Executable] = []

    def again(outputs: list[Array], inputs: list[Array]) -> None:
        made[0].run([native(X)])

    made.append(executable([made_input()], [("into", again, [], [])], []))
    with pytest.raises(RuntimeError, match="its own callback"):
        made[0].run([native(X)])


def test_threads_take_turns() -> None:
    shape = (40_000,)  # so many elements that the interpreter lock is given back
    slots = [made_input(shape), ("planned", F32, shape, 0), ("fresh", F32, shape)]
    instructions = [
        ("step", ADD, [0, 0], [1]),
        ("into", lambda outputs, inputs: None, [1], []),
        *[("step", ADD, [1, 0], [1])] * 20,
        ("step", ADD, [1, 0], [2]),
    ]
    made = executable(slots, instructions, [2], arena_bytes=4 * shape[0])
    results: dict[int, list[Values]] = {}

    def work(number: int) -> None:
        values = np.full(shape, number, np.float32)
        results[number] = [run(made, values)[0] for _ in range(20)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        assert all((one == 23 * number).all() for one in results[number])


def chain(size: int, arena: _native.Arena, *, to: Callable[..., Any] | None = None) -> Any:
    """2 * x * x, by way of the arena, with a call between."""
    shape, nbytes = (size,), 4 * size
    slots = [made_input(shape), ("planned", F32, shape, 0), ("fresh", F32, shape)]
    slots.append(("view", 1, F32, 0, shape, dense(shape)))
    instructions = [
        ("step", ADD, [0, 0], [1]),
        *([] if to is None else [("into", to, [], [1])]),
        ("step", MULTIPLY, [3, 0], [2]),
    ]
    return executable(slots, instructions, [2], arena_bytes=nbytes, arena=arena)


def live_bytes() -> int:
    gc.collect()
    return _native.memory_stats()["live_bytes"]


def test_executables_share_an_arena_as_large_as_the_largest_needs() -> None:
    before, arena = live_bytes(), _native.Arena()
    sizes = (16, 1024, 64, 4096)
    made = [chain(size, arena) for size in sizes]
    assert arena.nbytes == live_bytes() - before == 4 * 4096
    for _ in range(2):
        for size, one in zip(sizes, made, strict=True):
            x = np.arange(size, dtype=np.float32)
            np.testing.assert_array_equal(run(one, x)[0], 2 * x * x)
    sizes, made = (*sizes, 8192), [*made, chain(8192, arena)]
    assert arena.nbytes == live_bytes() - before == 4 * 8192
    for size, one in zip(sizes, made, strict=True):
        x = np.arange(size, dtype=np.float32)
        np.testing.assert_array_equal(run(one, x)[0], 2 * x * x)
    del made, one, arena
    assert live_bytes() == before


@pytest.mark.parametrize("size", [3, 300])
def test_run_within_a_callback_of_another_has_memory_of_its_own(size: int) -> None:
    arena, x = _native.Arena(), np.arange(size, dtype=np.float32)
    inner, found = chain(size, arena), []
    outer = chain(6, arena, to=lambda outputs, inputs: found.extend(run(inner, x)))
    before = live_bytes()
    for _ in range(2):
        found.clear()
        np.testing.assert_array_equal(run(outer, X)[0], 2 * X * X)
        np.testing.assert_array_equal(found[0], 2 * x * x)
        np.testing.assert_array_equal(run(inner, x)[0], 2 * x * x)
    assert live_bytes() - before == found[0].nbytes


def test_an_error_gives_the_arena_back() -> None:
    def fail(outputs: Any, inputs: Any) -> None:
        raise ValueError("no")

    arena = _native.Arena()
    failing, other = chain(6, arena, to=fail), chain(600, arena)
    before = live_bytes()
    for _ in range(3):
        with pytest.raises(ValueError, match="no"):
            run(failing, X)
    assert live_bytes() == before
    x = np.arange(600, dtype=np.float32)
    np.testing.assert_array_equal(run(other, x)[0], 2 * x * x)


def test_an_arena_that_there_is_no_memory_for_is_refused_and_serves_the_others() -> None:
    arena = _native.Arena()
    small = chain(6, arena)
    with pytest.raises(MemoryError):
        executable([made_input()], [], [0], arena_bytes=1 << 61, arena=arena)
    np.testing.assert_array_equal(run(small, X)[0], 2 * X * X)


def test_executables_of_one_arena_run_in_several_threads_at_once() -> None:
    arena = _native.Arena()
    sizes = (40_000, 100, 50_000, 60_000)
    made = [chain(size, arena) for size in sizes]
    before = live_bytes()
    right: list[bool] = []

    def work(number: int) -> None:
        x = np.arange(sizes[number], dtype=np.float32)
        right.extend([(run(made[number], x)[0] == 2 * x * x).all() for _ in range(50)])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 200
    assert live_bytes() == before


def test_arena_is_freed_with_its_executable() -> None:
    live = live_bytes()
    made = executable([made_input()], [], [0], arena_bytes=1 << 20)
    assert live_bytes() == live + (1 << 20)
    del made
    assert live_bytes() == live


def test_executable_in_a_cycle_with_its_callback_is_collected() -> None:
    class Owner:
        made: _native.Executable

        def callback(self, outputs: list[Array], inputs: list[Array]) -> None:
            pass

    live = live_bytes()
    owner = Owner()
    owner.made = executable(
        [made_input()], [("into", owner.callback, [], [])], [], arena_bytes=1 << 20
    )
    gone = weakref.ref(owner)
    del owner
    assert gone() is not None
    gc.collect()
    assert gone() is None
    assert live_bytes() == live


def test_array_of_a_callback_keeps_the_arena() -> None:
    kept: list[Array] = []
    slots = [made_input(), ("planned", F32, (6,), 0)]
    instructions = [
        ("step", ADD, [0, 0], [1]),
        ("into", lambda outputs, inputs: kept.extend(inputs), [1], []),
    ]
    run(executable(slots, instructions, []), X)
    np.testing.assert_array_equal(to_numpy(kept[0]), 2 * X)


def test_many_runs_need_no_more_memory() -> None:
    slots = [made_input(), ("planned", F32, (6,), 0), ("dynamic", F32), ("fresh", F32, (6,))]
    instructions = [
        ("step", ADD, [0, 0], [1]),
        ("call", lambda x: _native.copy(x), [1], [2], []),
        ("step", ADD, [2, 1], [3]),
    ]
    made = executable(slots, instructions, [3])
    argument = native(X)
    made.run([argument])
    before = _native.memory_stats()
    for _ in range(1000):
        made.run([argument])
    after = _native.memory_stats()
    assert (after["live_bytes"], after["live_storages"]) == (
        before["live_bytes"],
        before["live_storages"],
    )
