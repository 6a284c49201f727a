"""Compiled training steps: the bits of eager ones, step after step, and nothing half done."""

import threading
from typing import Any

import pytest

import lumus as lm
from lumus.errors import (
    GradientError,
)
from tests.compile.training import X, Y, model_and_optimizer, train

F = lm.nn.functional


@pytest.mark.parametrize("kind", ["adamw", "adam", "sgd", "momentum", "nesterov"])
@pytest.mark.parametrize("clipped", [False, True])
def test_training_step_equals_eager_bit_for_bit(kind: str, clipped: bool) -> None:
    def make() -> tuple[Any, Any, Any]:
        model, optimizer = model_and_optimizer(kind)

        def step(x: Any, y: Any) -> Any:
            loss = F.cross_entropy(model(x), y)
            grads = loss.backward()
            if clipped:
                grads.clip_(0.5)
            optimizer.step(grads)
            return loss

        return step, model, optimizer

    step, model, optimizer = make()
    eager = train(step, optimizer)
    other_step, other, other_optimizer = make()
    compiled = lm.compile(other_step)
    assert train(compiled, other_optimizer) == eager
    for name, value in model.state_dict().items():
        assert value.tolist() == other.state_dict()[name].tolist(), name
    assert len(compiled.cache_info().variants) == 1
    assert other_optimizer.state[0]["step"] == 6


def test_eager_and_compiled_steps_can_be_mixed() -> None:
    model, optimizer = model_and_optimizer()

    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        optimizer.step(loss.backward())
        return loss

    eager = train(step, optimizer)
    model, optimizer = model_and_optimizer()
    compiled = lm.compile(step)
    lm.random.seed(5)
    mixed = []
    for number in range(6):
        optimizer.lr = 0.1 / (1 + number)
        mixed.append((compiled if number % 2 else step)(X, Y).item())
    assert mixed == eager


def test_rates_that_a_subclass_makes_of_the_step_change_with_each() -> None:
    class Warming(lm.optim.SGD):
        def numbers(self, step: int, options: Any) -> tuple[float, ...]:
            rate, *others = super().numbers(step, options)
            return rate * step, *others

    def trained(wrap: Any) -> list[float]:
        w = lm.nn.Parameter(lm.tensor([1.0, -2.0, 3.0]))
        optimizer = Warming([w], lr=0.01, momentum=0.9, dampening=0.5)

        def step(x: Any) -> Any:
            loss = (w * x).square().sum()
            optimizer.step(loss.backward())
            return loss

        run = wrap(step)
        return [run(X[0, :3]).item() for _ in range(6)]

    assert trained(lm.compile) == trained(lambda step: step)


def test_rates_that_stay_are_followed_when_they_or_the_steps_change() -> None:
    def trained(wrap: Any) -> list[float]:
        w = lm.nn.Parameter(lm.tensor([1.0, -2.0, 3.0]))
        optimizer = lm.optim.SGD([w], lr=0.01, momentum=0.9, dampening=0.5)

        def step(x: Any) -> Any:
            loss = (w * x).square().sum()
            optimizer.step(loss.backward())
            return loss

        run = wrap(step)
        losses = [run(X[0, :3]).item() for _ in range(4)]
        optimizer.groups[0].options["lr"] = 0.02
        losses += [run(X[0, :3]).item() for _ in range(3)]
        optimizer.groups[0].options = {**optimizer.groups[0].options, "lr": 0.03}
        losses += [run(X[0, :3]).item() for _ in range(3)]
        optimizer.state[0]["step"] = 0
        return losses + [run(X[0, :3]).item() for _ in range(3)]

    assert trained(lm.compile) == trained(lambda step: step)


def test_train_and_eval_mode_are_two_programs() -> None:
    model, _ = model_and_optimizer()
    compiled = lm.compile(lambda x: model(x))
    model.eval()
    quiet = compiled(X)
    assert quiet.tolist() == model(X).tolist()
    model.train()
    lm.random.seed(3)
    noisy = compiled(X)
    lm.random.seed(3)
    assert noisy.tolist() == model(X).tolist() != quiet.tolist()
    model.eval()
    assert compiled(X).tolist() == quiet.tolist()
    info = compiled.cache_info()
    assert len(info.variants) == 2
    assert "training: False -> True" in info.variants[1].reason


def test_batch_norm_statistics_move_as_eagerly() -> None:
    def make() -> Any:
        lm.random.seed(2)
        return lm.nn.Sequential(lm.nn.BatchNorm1d(4), lm.nn.Linear(4, 2))

    eager, traced = make(), make()
    compiled = lm.compile(lambda x: traced(x).sum())
    for scale in (1.0, 2.0, -3.0):
        assert compiled(X * scale).item() == eager(X * scale).sum().item()
    for name, value in eager.state_dict().items():
        assert value.tolist() == traced.state_dict()[name].tolist(), name


def test_an_error_in_tracing_changes_nothing() -> None:
    model, optimizer = model_and_optimizer()
    kept = lm.nn.Parameter(lm.tensor([1.0]))
    outside = (kept * kept).sum()

    @lm.compile
    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        optimizer.step(loss.backward())
        with lm.no_grad():
            kept.add_(1.0)
        raise ValueError("after the update")

    before = {name: value.tolist() for name, value in model.state_dict().items()}
    with pytest.raises(ValueError, match="after the update"):
        step(X, Y)
    assert {name: value.tolist() for name, value in model.state_dict().items()} == before
    assert kept.tolist() == [1.0]
    assert outside.backward()[kept].tolist() == [2.0]
    assert dict(optimizer.state) == {}


def test_an_error_when_running_leaves_parameters_and_counts() -> None:
    model, optimizer = model_and_optimizer()

    @lm.compile
    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        optimizer.step(loss.backward())
        return loss

    step(X, Y)
    before = {name: value.tolist() for name, value in model.state_dict().items()}
    with pytest.raises(IndexError, match="9"):
        step(X, lm.tensor([0, 1, 9, 0, 1]))
    assert {name: value.tolist() for name, value in model.state_dict().items()} == before
    assert optimizer.state[0]["step"] == 1
    step(X, Y)


def test_clipping_a_norm_that_is_not_finite_raises_before_the_update() -> None:
    w = lm.nn.Parameter(lm.tensor([1.0]))
    optimizer = lm.optim.SGD([w], lr=1.0)

    @lm.compile
    def step(x: Any) -> Any:
        grads = (w * x).sum().backward()
        norm = grads.clip_(1.0)
        optimizer.step(grads)
        return norm

    assert step(lm.tensor([2.0])).item() == 2.0
    with pytest.raises(
        GradientError,
        match=r"norm of the gradients is inf; in step, at .*test_training.py:\d+: norm",
    ):
        step(lm.tensor([float("inf")]))
    assert w.tolist() == [0.0]


def test_memory_is_flat_over_many_steps() -> None:
    model, optimizer = model_and_optimizer()

    @lm.compile
    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        optimizer.step(loss.backward())
        return loss

    for _ in range(3):
        step(X, Y)
    before = lm.memory_stats()["live_bytes"]
    for _ in range(10_000):
        step(X, Y)
    assert lm.memory_stats()["live_bytes"] == before


def test_gradient_accumulation_over_micro_batches() -> None:
    def make() -> tuple[Any, Any]:
        model, optimizer = model_and_optimizer("sgd")
        model.eval()

        def step(x: Any, y: Any) -> Any:
            store = None
            for start in (0, 2):
                loss = F.cross_entropy(model(x[start : start + 2]), y[start : start + 2])
                store = loss.backward(into=store)
            optimizer.step(store)
            return loss

        return step, model

    eager, model = make()
    traced, other = make()
    compiled = lm.compile(traced)
    for _ in range(3):
        assert compiled(X, Y).item() == eager(X, Y).item()
    for name, value in model.state_dict().items():
        assert value.tolist() == other.state_dict()[name].tolist(), name


def test_two_threads_train_with_one_step() -> None:
    w = lm.nn.Parameter(lm.zeros((50_000,)))
    optimizer = lm.optim.SGD([w], lr=1.0)

    @lm.compile
    def step(x: Any) -> Any:
        optimizer.step((w * x).sum().backward())
        return lm.random.uniform((4,))

    x = lm.ones((50_000,))
    drawn: list[tuple[float, ...]] = []

    def work() -> None:
        drawn.extend(tuple(step(x).tolist()) for _ in range(25))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert w.detach().min().item() == w.detach().max().item() == -100.0
    assert optimizer.state[0]["step"] == 100
    assert len(set(drawn)) == 100


def test_a_parameter_that_is_frozen_later_is_not_moved() -> None:
    w = lm.nn.Parameter(lm.tensor([1.0, 2.0]))
    v = lm.nn.Parameter(lm.tensor([3.0, 4.0]))
    optimizer = lm.optim.SGD([w, v], lr=0.5)

    @lm.compile
    def step(x: Any) -> Any:
        loss = (w * v * x).sum()
        optimizer.step(loss.backward())
        return loss

    step(lm.ones((2,)))
    v.requires_grad_(False)
    before, w_before = v.tolist(), w.tolist()
    step(lm.ones((2,)))
    assert v.tolist() == before
    assert w.tolist() == [one - 0.5 * other for one, other in zip(w_before, before, strict=True)]
    assert "requires_grad changed" in step.cache_info().variants[1].reason
    v.requires_grad_()
    step(lm.ones((2,)))
    assert v.tolist() != before
    assert len(step.cache_info().variants) == 3  # the numbers of their steps differ now
