"""Eight threads on the same tensors, graphs, generators, optimisers and switches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import lumus as lm
from lumus import _native
from lumus.core import plan
from lumus.errors import LumusError


def _in_threads(work: Callable[[int], None], count: int = 8) -> None:
    """Runs `work(number)` in threads of its own; the first error is raised here."""
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_shared_tensors_give_the_same_bits_while_the_thread_count_changes() -> None:
    x = lm.from_numpy(np.random.default_rng(0).standard_normal((200, 200)).astype(np.float32))
    product, total = (x @ x).numpy(), x.exp().sum().item()
    before, end = lm.num_threads(), time.monotonic() + 0.5

    def work(number: int) -> None:
        counts = [1, 2, 3, 8, 64]
        while time.monotonic() < end:
            assert np.array_equal((x @ x).numpy(), product)
            assert x.exp().sum().item() == total
            if number == 0:
                counts.append(counts.pop(0))
                lm.set_num_threads(counts[0])

    try:
        _in_threads(work)
    finally:
        lm.set_num_threads(before)


def test_one_retained_graph_serves_all_threads() -> None:
    x = lm.ones((20, 20), requires_grad=True)
    y = ((x @ x).tanh() * x).sum()
    wanted = y.backward(retain_graph=True)[x].numpy()

    def work(_: int) -> None:
        for _ in range(50):
            assert np.array_equal(y.backward(retain_graph=True)[x].numpy(), wanted)

    _in_threads(work)


def test_of_threads_that_consume_one_graph_each_is_right_or_told() -> None:
    x = lm.ones((20, 20), requires_grad=True)
    wanted = ((x @ x).tanh() * x).sum().backward()[x].numpy()
    for _ in range(20):
        y = ((x @ x).tanh() * x).sum()

        def work(_: int, y: lm.Tensor[lm.Float] = y) -> None:
            try:
                got = y.backward()[x].numpy()
            except LumusError:
                return
            assert np.array_equal(got, wanted)

        _in_threads(work, 4)


def test_a_shared_generator_never_gives_the_same_numbers_twice() -> None:
    generator = lm.random.Generator(3)
    drawn: list[tuple[float, ...]] = []

    def work(_: int) -> None:
        numbers = [lm.random.uniform((5,), generator=generator).tolist() for _ in range(100)]
        drawn.extend(map(tuple, numbers))

    _in_threads(work)
    assert len(set(drawn)) == 800
    twin = lm.random.Generator(3)
    for _ in range(800):
        lm.random.uniform((5,), generator=twin)
    assert generator.state == twin.state


def test_one_optimiser_steps_parameters_of_several_threads() -> None:
    parameters = [lm.nn.Parameter(lm.ones((100,))) for _ in range(8)]
    optimizer = lm.optim.Adam(parameters, lr=0.01)

    def work(number: int) -> None:
        for _ in range(50):
            optimizer.step((parameters[number] * parameters[number]).sum().backward())

    _in_threads(work)
    assert {state["step"] for state in optimizer.state.values()} == {50}
    assert len({one.tolist()[0] for one in parameters}) == 1


def test_one_switch_is_used_by_several_threads_at_once() -> None:
    switch = lm.no_grad()
    x = lm.ones((3,), requires_grad=True)

    def work(_: int) -> None:
        for _ in range(500):
            with switch:
                assert not (x * 2.0).requires_grad
                with lm.enable_grad(), switch, switch:
                    assert not (x * 2.0).requires_grad
            assert (x * 2.0).requires_grad

    _in_threads(work)


def test_exceptions_in_threads_leave_recording_as_it_was() -> None:
    def work(_: int) -> None:
        for _ in range(100):
            with pytest.raises(LumusError):
                _ = lm.ones((3, 4)) @ lm.ones((3, 4))
            with pytest.raises(IndexError):
                _ = lm.ones((3,))[lm.tensor([5])]
            with pytest.raises(KeyError), lm.no_grad():
                raise KeyError
            assert lm.is_grad_enabled()

    _in_threads(work)


def test_plans_are_forgotten_while_others_use_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "MAX_PLANS", 20)

    def work(number: int) -> None:
        draw = np.random.default_rng(number)
        for _ in range(150):
            rows, columns = (int(one) for one in draw.integers(1, 300, size=2))
            x = lm.ones((rows, columns))
            assert (x + x).sum().item() == 2 * rows * columns
            assert x.sum(axis=0).shape == (columns,)

    _in_threads(work)


def test_a_piece_that_finds_no_memory_is_an_error_whichever_thread_runs_it() -> None:
    before = lm.num_threads()
    lm.set_num_threads(4)
    try:
        for failing in range(0, 1000, 7):
            with pytest.raises(MemoryError):
                _native.check_thread_pool_without_memory(1000, 10, failing)
            assert _native.check_thread_pool(1000, 10)
    finally:
        lm.set_num_threads(before)
