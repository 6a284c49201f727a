"""Graphs and threads: handed over, built side by side, run side by side."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import lumus as lm

THREADS = 8


def together(function):
    """`function(number)` in as many threads, started at once."""
    barrier = threading.Barrier(THREADS)

    def run(number):
        barrier.wait()
        return function(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def test_graph_made_in_one_thread_runs_in_another():
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:

        def build():
            x = lm.tensor([0.5, 1.0], requires_grad=True)
            return x, (x.exp() * x).sum()

        x, y = first.submit(build).result()
        store = second.submit(y.backward).result()
    expected = np.exp([0.5, 1.0]) * (1 + np.array([0.5, 1.0]))
    np.testing.assert_allclose(store[x].numpy(), expected, rtol=1e-6)


def test_graph_goes_on_in_another_thread():
    x = lm.tensor(2.0, requires_grad=True)
    y = x * x
    with ThreadPoolExecutor(1) as pool:
        z = pool.submit(lambda: y * 3.0).result()
    assert z.backward()[x].item() == 12


def test_threads_share_leaves_and_each_has_its_gradients():
    w = lm.random.normal((30, 30), generator=lm.random.Generator(0), requires_grad=True)

    def run(number):
        x = lm.full((4, 30), float(number))
        return [((x @ w).tanh()).sum().backward()[w].numpy().tobytes() for _ in range(20)]

    found = together(run)
    alone = [run(number) for number in range(THREADS)]
    assert found == alone


def test_threads_run_backward_through_one_retained_graph():
    x = lm.tensor([0.5, 1.0], requires_grad=True)
    y = (x.exp() * x.sin()).sum()
    found = together(lambda number: y.backward(retain_graph=True)[x].tolist())
    assert all(one == found[0] for one in found)


def test_threads_train_models_of_their_own():
    def train(number):
        generator = lm.random.Generator(number)
        model = lm.nn.Sequential(
            lm.nn.Linear(3, 5, generator=generator),
            lm.nn.Tanh(),
            lm.nn.Linear(5, 1, generator=generator),
        )
        optimizer = lm.optim.Adam(model.parameters(), lr=0.01)
        x = lm.random.normal((8, 3), generator=generator)
        y = lm.random.normal((8, 1), generator=generator)
        for _ in range(30):
            optimizer.step(lm.nn.functional.mse_loss(model(x), y).backward())
        return [p.detach().numpy().tobytes() for p in model.parameters()]

    found = together(train)
    assert found == [train(number) for number in range(THREADS)]
    assert len({one[0] for one in found}) == THREADS


def test_mode_of_one_thread_does_not_reach_the_others():
    x = lm.tensor(2.0, requires_grad=True)

    def run(number):
        mode = lm.no_grad if number % 2 else lm.enable_grad
        found = set()
        for _ in range(50):
            with mode():
                found.add((x * x).requires_grad)
        return found

    assert together(run) == [{number % 2 == 0} for number in range(THREADS)]


def test_graphs_die_in_any_thread():
    gc.collect()  # what earlier tests left in cycles would go while this one runs
    live = lm.memory_stats()["live_storages"]

    def run(number):
        x = lm.tensor(1.0, requires_grad=True)
        y = x
        for _ in range(2000):
            y = y + x
        return y.backward()[x].item()

    assert together(run) == [2001.0] * THREADS
    assert lm.memory_stats()["live_storages"] == live
