"""Compiled functions: equal to eager, call after call."""

import copy
import gc
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import (
    ArgumentError,
    GradientError,
    GraphFreedError,
    IndexRangeError,
    MatrixError,
    SavedTensorMutatedError,
    TraceError,
)

F = lm.nn.functional


def model_and_optimizer(kind: str = "adamw") -> tuple[Any, Any]:
    lm.random.seed(1)
    model = lm.nn.Sequential(
        lm.nn.Linear(4, 8), lm.nn.ReLU(), lm.nn.Dropout(0.25), lm.nn.Linear(8, 3)
    )
    optimizers: dict[str, Callable[[], Any]] = {
        "adamw": lambda: lm.optim.AdamW(model.parameters(), lr=0.1),
        "adam": lambda: lm.optim.Adam(model.parameters(), lr=0.1, weight_decay=0.1),
        "sgd": lambda: lm.optim.SGD(model.parameters(), lr=0.1),
        "momentum": lambda: lm.optim.SGD(
            model.parameters(), lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.01
        ),
        "nesterov": lambda: lm.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True),
    }
    return model, optimizers[kind]()


X = lm.tensor(np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32))
Y = lm.tensor([0, 1, 2, 0, 1])


def train(step: Callable[..., Any], optimizer: Any, steps: int = 6) -> list[float]:
    lm.random.seed(5)
    losses = []
    for number in range(steps):
        optimizer.lr = 0.1 / (1 + number)
        losses.append(step(X, Y).item())
    return losses


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


def test_writes_through_views_are_seen() -> None:
    kept = lm.zeros((3,))

    def function(x: lm.Tensor[lm.Float]) -> Any:
        y = x * 2.0
        window = y[1:3]
        window.add_(10.0)
        y[0] = 7.0
        turned = y.reshape(2, 2).permute_dims(1, 0)
        turned[0] = lm.tensor([5.0, 6.0])
        kept[1:] = x[:2]
        kept.add_(1.0)
        return y, turned, window, kept[1:] + 0.0

    x = lm.tensor([1.0, 2.0, 3.0, 4.0])
    expected = [one.tolist() for one in function(x)]
    state = kept.tolist()
    kept.zero_()
    compiled = lm.compile(function)
    for _ in range(2):
        kept.zero_()
        assert [one.tolist() for one in compiled(x)] == expected
        assert kept.tolist() == state


def test_captured_tensors_are_swapped() -> None:
    a, b = lm.tensor([1.0, 2.0]), lm.tensor([3.0, 4.0])

    def swap() -> None:
        old = a.copy()
        a.copy_(b)
        b.copy_(old)

    compiled = lm.compile(swap)
    compiled()
    assert (a.tolist(), b.tolist()) == ([3.0, 4.0], [1.0, 2.0])
    compiled()
    assert (a.tolist(), b.tolist()) == ([1.0, 2.0], [3.0, 4.0])


def test_an_argument_is_written_in_place() -> None:
    @lm.compile
    def add_one(x: lm.Tensor[lm.Float]) -> lm.Tensor[lm.Float]:
        x.add_(1.0)
        return x

    x = lm.tensor([[1.0, 2.0], [3.0, 4.0]])
    before = x.data.version
    assert add_one(x) is x
    assert add_one(x.permute_dims(1, 0)).tolist() == [[3.0, 5.0], [4.0, 6.0]]
    assert x.tolist() == [[3.0, 4.0], [5.0, 6.0]]
    assert x.data.version > before


def test_creation_inside_is_anew_at_each_call() -> None:
    @lm.compile
    def count(x: lm.Tensor[lm.Float]) -> lm.Tensor[lm.Float]:
        total = lm.zeros((2,))
        total.add_(x)
        return total

    x = lm.tensor([1.0, 2.0])
    assert count(x).tolist() == count(x).tolist() == [1.0, 2.0]


def test_results_are_new_memory_at_each_call() -> None:
    compiled = lm.compile(lambda x: (x + 1.0, x))
    x = lm.tensor([1.0])
    first, same = compiled(x)
    second, _ = compiled(x)
    first.add_(5.0)
    assert same is x
    assert second.tolist() == [2.0]


def test_gradients_and_stores_are_returned() -> None:
    w = lm.nn.Parameter(lm.tensor([2.0, 3.0]))

    @lm.compile
    def both(x: lm.Tensor[lm.Float]) -> Any:
        return (w * w * x).sum().backward(), lm.grad(lambda v: (v * v * w).sum())(x)

    x = lm.tensor([1.0, 4.0], requires_grad=True)
    store, slope = both(x)
    assert store[w].tolist() == [4.0, 24.0]
    assert store[x].tolist() == [4.0, 9.0]
    assert slope.tolist() == [4.0, 24.0]


def test_backward_of_a_result_says_to_call_it_inside() -> None:
    w = lm.nn.Parameter(lm.tensor([2.0]))
    loss = lm.compile(lambda: (w * w).sum())()
    with pytest.raises(GradientError, match="compiled function") as caught:
        loss.backward()
    assert "inside" in str(caught.value)


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


def test_shapes_and_python_values_specialise() -> None:
    @lm.compile
    def repeat(x: Any, n: int) -> Any:
        total = x
        for _ in range(n - 1):
            total = total + x
        return total

    for n in (2, 3, 2):
        for size in (3, 4, 1, 0):
            assert repeat(lm.ones((size,)), n).tolist() == [float(n)] * size
    info = repeat.cache_info()
    assert len(info.variants) == 8
    assert info.variants[1].reason == "x: float32[3] -> float32[4]"
    with pytest.raises(TraceError, match="specialised for the 9th time"):
        repeat(lm.ones((7,)), 2)


def test_replaced_parameters_and_globals_are_noticed() -> None:
    scale = 2.0
    layer = lm.nn.Linear(2, 1, bias=False)

    def function(x: Any) -> Any:
        return layer(x) * scale

    compiled = lm.compile(function)
    x = lm.ones((1, 2))
    assert compiled(x).tolist() == function(x).tolist()
    scale = 3.0
    assert compiled(x).tolist() == function(x).tolist()
    layer.weight = lm.nn.Parameter(lm.ones((1, 2)))
    assert compiled(x).item() == 6.0
    reasons = [one.reason for one in compiled.cache_info().variants]
    assert reasons[1] == "scale: 2.0 -> 3.0"
    assert "layer.weight" in reasons[2]


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
    assert optimizer.state[0]["step"] == 0


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


def test_an_error_after_a_write_takes_it_back() -> None:
    count, table = lm.zeros((2,)), lm.tensor([[1.0], [2.0], [3.0]])

    @lm.compile
    def look_up(at: Any) -> Any:
        count.add_(1.0)
        return table[at] * 2.0

    assert look_up(lm.tensor([2])).tolist() == [[6.0]]
    with pytest.raises(IndexError, match="7"):
        look_up(lm.tensor([7]))
    assert count.tolist() == [1.0, 1.0]

    @lm.compile
    def decompose(x: Any) -> Any:
        x.multiply_(2.0)
        return lm.linalg.cholesky(x * 1.0)

    x = -lm.eye(2)
    with pytest.raises(MatrixError):
        decompose(x)
    assert x.tolist() == [[-1.0, 0.0], [0.0, -1.0]]


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
    with pytest.raises(GradientError, match="norm of the gradients is inf"):
        step(lm.tensor([float("inf")]))
    assert w.tolist() == [0.0]


def test_saved_value_overwritten_in_the_trace_is_found() -> None:
    w = lm.nn.Parameter(lm.tensor([1.0]))

    @lm.compile
    def wrong(x: Any) -> Any:
        loss = (w * w * x).sum()
        with lm.no_grad():
            w.add_(1.0)
        return loss.backward()

    with pytest.raises(SavedTensorMutatedError):
        wrong(lm.ones((1,)))
    assert w.tolist() == [1.0]


def test_a_graph_from_outside_is_refused() -> None:
    w = lm.nn.Parameter(lm.tensor([1.0]))
    loss = (w * w).sum()
    with pytest.raises(TraceError, match="recorded outside"):
        lm.compile(lambda: loss.backward())()
    with pytest.raises(TraceError, match="argument x of <lambda> was computed"):
        lm.compile(lambda x: x + 1.0)(w * 2.0)
    loss.backward()


def test_a_second_backward_raises_as_eagerly() -> None:
    w = lm.nn.Parameter(lm.tensor([1.0]))

    @lm.compile
    def twice(x: Any) -> Any:
        loss = (w * w * x).sum()
        loss.backward()
        return loss.backward()

    with pytest.raises(GraphFreedError):
        twice(lm.ones((1,)))


def test_tensors_that_share_memory_are_refused_when_written() -> None:
    base = lm.zeros((4,))
    part = base[:2]

    def function() -> None:
        base.add_(1.0)
        part.add_(1.0)

    with pytest.raises(TraceError, match="share memory"):
        lm.compile(function)()
    assert base.tolist() == [0.0] * 4


def test_a_kept_value_says_so() -> None:
    kept: list[Any] = []
    lm.compile(lambda x: kept.append(x + 1.0))(lm.ones((1,)))
    with pytest.raises(TraceError, match="kept from when it was traced"):
        kept[0] + 1.0


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


def test_sizes_that_may_vary_do_not_count_and_the_oldest_go() -> None:
    compiled = lm.compile(lambda x, y: (x + y).sum(axis=0), dynamic={"x": 0, "y": 0})
    for size in range(1, 41):
        x = lm.ones((size, 2))
        assert compiled(x, x).tolist() == [2.0 * size] * 2
    assert len(compiled.cache_info().variants) == 32
    assert compiled(lm.ones((3, 2)), lm.ones((3, 2))).tolist() == [6.0, 6.0]
    for width in range(3, 10):
        compiled(lm.ones((2, width)), lm.ones((2, width)))
    with pytest.raises(TraceError, match="specialised for the 9th time"):
        compiled(lm.ones((2, 10)), lm.ones((2, 10)))
    with pytest.raises(Exception, match="no axis 0 that could vary"):
        compiled(lm.ones(()), lm.ones(()))


def test_arguments_in_memory_that_is_written_are_refused() -> None:
    w = lm.zeros((2,))

    @lm.compile
    def update(x: Any) -> None:
        w.add_(x)

    @lm.compile
    def shift(x: Any, y: Any) -> None:
        x.add_(y)

    with pytest.raises(TraceError, match=r"argument 0 of update .* shares memory"):
        update(w)
    update(w + 1.0)
    with pytest.raises(TraceError, match="argument 0 of shift"):
        shift(w, w)
    base = lm.zeros((4,))
    with pytest.raises(TraceError, match="shares memory"):
        shift(base[:2], base[1:3])
    shift(w, w.copy())
    assert w.tolist() == [2.0, 2.0]


def test_numbers_of_rows_are_checked_where_only_a_gradient_reads_them() -> None:
    """The lookup is left out, since nothing needs its result."""

    @lm.compile
    def slope(ids: Any, table: Any) -> Any:
        leaf = table.detach().requires_grad_()
        return F.embedding(ids, leaf).sum().backward()[leaf]

    table = lm.ones((3, 2))
    assert slope(lm.tensor([2, 2]), table).tolist() == [[0.0, 0.0], [0.0, 0.0], [2.0, 2.0]]
    with pytest.raises(IndexRangeError, match="index 3 is out of range for axis 0 of length 3"):
        slope(lm.tensor([0, 3]), table)
    with pytest.raises(IndexRangeError, match="-1"):
        slope(lm.tensor([0, -1]), table)


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


def test_a_write_through_a_view_inside_meets_memory_from_outside() -> None:
    base = lm.tensor([1.0, 2.0, 3.0])
    part = base[:2]

    def function() -> Any:
        before = part * 1.0
        base[0:2].fill_(7.0)
        return before, part * 1.0

    with pytest.raises(TraceError, match="share memory"):
        lm.compile(function)()
    assert base.tolist() == [1.0, 2.0, 3.0]


def test_a_computed_argument_is_refused_after_a_leaf_of_its_kind() -> None:
    w = lm.nn.Parameter(lm.tensor([1.0, 2.0]))
    square = lm.compile(lambda a: (a * a).sum().backward())
    assert square(w)[w].tolist() == [2.0, 4.0]
    with pytest.raises(TraceError, match="argument a of <lambda> was computed"):
        square(w * 2.0)


def test_a_leaf_that_comes_in_by_two_ways_is_refused_for_gradients() -> None:
    w = lm.nn.Parameter(lm.tensor([1.0, 2.0]))
    v = lm.nn.Parameter(lm.tensor([3.0, 4.0]))
    product = lm.compile(lambda a, b: (a * b).sum().backward())
    assert product(w, v)[v].tolist() == [1.0, 2.0]
    with pytest.raises(TraceError, match="argument b of <lambda> is given twice"):
        product(w, w)
    scaled = lm.compile(lambda a: (a * w).sum().backward())
    assert scaled(v)[w].tolist() == [3.0, 4.0]
    with pytest.raises(TraceError, match="argument a of <lambda> is used from outside, too"):
        scaled(w)
    assert lm.compile(lambda a, b: a * b * w)(w, w).tolist() == [1.0, 8.0]  # nothing is derived


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


def test_grad_of_a_compiled_function_is_that_of_the_function() -> None:
    def function(x: Any) -> Any:
        return (x * x * x).sum()

    compiled, x = lm.compile(function), lm.tensor([1.0, 2.0])
    compiled(x)
    for one in (compiled, lambda x: compiled(x * 1.0)):
        value, slope = lm.value_and_grad(one)(x)
        assert (value.item(), slope.tolist()) == (9.0, [3.0, 12.0])
    curvature = lm.grad(lambda x: lm.grad(compiled)(x).sum())
    assert curvature(x).tolist() == [6.0, 12.0]
    assert lm.compile(curvature)(x).tolist() == [6.0, 12.0]
    assert len(compiled.cache_info().variants) == 1


def test_matrices_are_checked_where_only_a_gradient_reads_them() -> None:
    """LAPACK does not return from this infinity."""

    @lm.compile
    def slope(a: Any) -> Any:
        leaf = a.detach().requires_grad_()
        return lm.linalg.det(leaf).backward()[leaf]

    a = lm.tensor([[2.0, 0.0, 0.0], [0.0, 4.5, 0.0], [1.0, 0.0, 7.0]])
    assert "det" not in [one.op for one in slope.optimised(a).equations]
    want = np.linalg.det(a.numpy()) * np.linalg.inv(a.numpy()).T
    assert np.allclose(slope(a).tolist(), want, atol=1e-4)
    a[2, 0] = float("-inf")
    with pytest.raises(MatrixError, match=r"element \[2, 0\] is -inf"):
        slope(a)


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


def test_numbers_and_names_among_arguments_are_built_in() -> None:
    @lm.compile(max_variants=20)
    def scaled(x: Any, factor: Any, how: str) -> Any:
        return x * factor if how == "by" else x / factor

    x = lm.ones((2,))
    for _ in range(2):
        for factor in (2.0, -0.0, 0.0, 4.0):
            assert scaled(x, factor, "by").tolist() == (x * factor).tolist()
            got, want = scaled(x, factor, "over"), x / factor
            assert got.tolist() == want.tolist()
    assert len(scaled.cache_info().variants) == 8


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


def test_equal_python_values_are_one_program_and_arrays_are_compared() -> None:
    @lm.compile
    def chosen(x: Any, part: Any, names: Any, scale: Any) -> Any:
        return x[part] * lm.tensor(scale) * float(len(names))

    scale, x = np.ones(2, np.float32), lm.ones((3,))
    for _ in range(3):
        assert chosen(x, slice(0, 2), {"a", "b"}, scale.copy()).tolist() == [2.0, 2.0]
    chosen(x, slice(0, 2), frozenset({"a"}), scale)
    assert len(chosen.cache_info().variants) == 2
    scale[0] = 5.0
    assert chosen(x, slice(0, 2), frozenset({"a"}), scale).tolist() == [5.0, 1.0]
    assert chosen(x, slice(1, 3), range(3), np.float32(2.0)).tolist() == [6.0, 6.0]


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


def test_programs_that_hold_no_longer_count_for_sizes_that_vary() -> None:
    factor = 0.0
    compiled = lm.compile(lambda x: x * factor, dynamic={"x": 0}, max_variants=3)
    for factor in (1.0, 2.0, 3.0):
        compiled(lm.ones((2,)))
        assert compiled(lm.ones((3,))).tolist() == [factor] * 3
    factor = 4.0
    with pytest.raises(TraceError, match=r"factor: 3\.0 -> 4\.0"):
        compiled(lm.ones((2,)))


def test_what_cannot_be_compiled_is_told_at_once() -> None:
    def pieces(x: Any) -> Any:
        yield x * 2.0

    async def later(x: Any) -> Any:
        return x * 2.0

    for function in (pieces, later):
        with pytest.raises(ArgumentError, match="generator or coroutine"):
            lm.compile(function)
    with pytest.raises(ArgumentError, match="dynamic names 'y', which is no parameter"):
        lm.compile(lambda x: x, dynamic={"x": 0, "y": 0})
    lm.compile(lambda *xs: xs[0], dynamic={"args[0]": 0})


def test_a_result_that_meets_a_graph_is_refused_unless_it_is_a_constant() -> None:
    inner = lm.nn.Linear(2, 2)
    compiled = lm.compile(inner)
    w = lm.nn.Parameter(lm.ones((2,)))
    x = lm.ones((1, 2))
    with pytest.raises(
        GradientError, match=r"multiply: an operand was made by a compiled function"
    ):
        compiled(x) * w
    for constant in (compiled(x).detach(), lm.no_grad()(compiled)(x)):
        grads = (constant * w).sum().backward()
        assert grads[w].tolist() == constant[0].tolist()
    assert (compiled(x) * 2.0).tolist() == (inner(x) * 2.0).tolist()
