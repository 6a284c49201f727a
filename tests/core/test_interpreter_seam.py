"""The seam between recording and running: a second interpreter, which only prints, sees every op.

Recording stands above it, so the backward pass of a function is traced with no further code.
"""

import threading
from collections.abc import Callable
from typing import Any

import pytest

import lumus as lm
from lumus.core.mode import MODE, Interpreter, Mode
from lumus.core.record import Node, Record
from tests.core.printing import printing


def lines(function: Callable[[], Any]) -> list[str]:
    with printing() as printer:
        function()
    return printer.lines


def loss_of(x: Any, w: Any, y: Any) -> Any:
    return lm.nn.functional.mse_loss((x @ w).tanh(), y)


def problem() -> tuple[Any, Any, Any]:
    return lm.ones((4, 3)), lm.full((3, 2), 0.1, requires_grad=True), lm.zeros((4, 2))


FORWARD = [
    "matmul(float32[4, 3], float32[3, 2]) -> float32[4, 2]",
    "tanh(float32[4, 2]) -> float32[4, 2]",
    "elementwise_loss(float32[4, 2], float32[4, 2]) -> float32[]",
]
BACKWARD = [
    # of the loss, of tanh
    "map(float32[], float32[4, 2], float32[4, 2]) -> float32[4, 2]",
    "map(float32[4, 2], float32[4, 2]) -> float32[4, 2]",
    # of matmul by w: x transposed times the gradient
    "permute_dims(float32[4, 3]) -> float32[3, 4]",
    "matmul(float32[3, 4], float32[4, 2]) -> float32[3, 2]",
]


def test_tracing_a_function_prints_its_ops_in_order() -> None:
    assert lines(lambda: loss_of(*problem()))[-len(FORWARD) :] == FORWARD


def test_tracing_a_function_that_calls_backward_prints_the_ops_of_the_vjps() -> None:
    x, w, y = problem()
    assert lines(lambda: loss_of(x, w, y).backward()[w]) == FORWARD + BACKWARD


def test_backward_alone_is_traced_though_forward_was_not() -> None:
    x, w, y = problem()
    loss = loss_of(x, w, y)
    assert lines(loss.backward) == BACKWARD


def test_gradients_that_meet_are_added_and_the_later_ones_in_place() -> None:
    x = lm.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x + x * 3.0 + x.exp()).sum()
    adds = [line for line in lines(y.backward) if line.startswith("add")]
    assert adds == [
        "add(float32[2], float32[2]) -> float32[2]",
        "add(float32[2], float32[2]) -> float32[2], in place",
        "add(float32[2], float32[2]) -> float32[2], in place",
    ]


def test_second_derivative_is_traced_through_the_first() -> None:
    traced = lines(lambda: lm.grad(lm.grad(lambda x: x**3.0))(lm.tensor(2.0)))
    names = [line.split("(")[0] for line in traced]
    # The value, its derivative by one map, and the derivative of that map.
    assert [name for name in names if name != "copy"] == ["pow", "map", "map"]


def test_in_place_ops_are_printed_as_such() -> None:
    x = lm.zeros((3,))

    def write() -> None:
        x.add_(1.0)
        x[1] = 5.0
        x[[0, 0]] = 2.0

    written = [line for line in lines(write) if line.endswith("in place")]
    assert written == [
        "add(float32[3], float32[]) -> float32[3], in place",
        "copy(float32[]) -> float32[], in place",
        "index_put(float32[3], float32[2], int64[2]) -> float32[3], in place",
    ]
    assert x.tolist() == [2.0, 5.0, 1.0]


def test_results_graph_and_gradients_are_those_of_eager() -> None:
    x, w, y = problem()
    eager = loss_of(x, w, y)
    with printing():
        traced = loss_of(x, w, y)
    assert traced.item() == eager.item()
    ops = []
    for loss in (eager, traced):
        node, listed = loss.node, []
        while node is not None:
            listed.append(node.op)
            node = node.edges[0][0] if node.edges and node.edges[0] else None
        ops.append(listed)
    assert ops[0] == ops[1]
    with printing():
        grad = traced.backward()[w]
    assert grad.tolist() == eager.backward()[w].tolist()


def test_no_grad_inside_keeps_the_interpreter() -> None:
    x = lm.ones((2,), requires_grad=True)

    def run() -> None:
        with lm.no_grad():
            assert not (x * 2.0).requires_grad
        assert (x * 2.0).requires_grad

    assert [line.split("(")[0] for line in lines(run)] == ["multiply", "multiply"]


def test_errors_are_those_of_eager_and_leave_the_mode_as_it_was() -> None:
    before = MODE.get()
    with pytest.raises(lm.errors.ShapeError, match="matmul"), printing():
        lm.ones((2, 3)) @ lm.ones((2, 3))
    assert MODE.get() is before


def test_mistakes_that_a_kernel_finds_are_told_as_in_eager() -> None:
    x = lm.ones((3,))
    with printing():
        with pytest.raises(lm.errors.IndexRangeError, match="take: index 5"):
            x.take(lm.tensor([5]))
        with pytest.raises(lm.errors.IndexRangeError, match="index 5"):
            x[lm.tensor([5])] = 1.0
        with pytest.raises(lm.errors.ArgumentError, match="bernoulli"):
            lm.random.bernoulli((1,), lm.tensor([2.0]))


def test_interpreter_is_told_whose_gradient_the_ops_of_a_backward_pass_compute() -> None:
    class Listener(Interpreter):
        def __init__(self) -> None:
            self.heard: list[tuple[str, int]] = []

        def vjp(self, node: Node, record: Record, grads: tuple[Any, ...]) -> tuple[Any, ...]:
            self.heard.append((node.op, len(grads)))
            return super().vjp(node, record, grads)

    x = lm.tensor([[1.0, 2.0]], requires_grad=True)
    values, _ = lm.topk(x * 3.0, 1)
    listener, mode = Listener(), MODE.get()
    token = MODE.set(Mode(mode.records, mode.notes_cuts, listener))
    try:
        grad = values.sum().backward(create_graph=True)[x]
    finally:
        MODE.reset(token)
    assert listener.heard == [("sum", 1), ("topk", 2), ("multiply", 1)]
    assert grad.tolist() == [[0.0, 3.0]]


def test_other_threads_run_eagerly() -> None:
    modes = []
    with printing() as printer:
        thread = threading.Thread(
            target=lambda: modes.append((MODE.get().interpreter, lm.ones((2,)) + 1.0))
        )
        thread.start()
        thread.join()
    assert modes[0][0] is None
    assert not printer.lines
