"""Gradients in and around compiled functions."""

from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import (
    GradientError,
    GraphFreedError,
    IndexRangeError,
    MatrixError,
    MissingGradientError,
    SavedTensorMutatedError,
    TraceError,
)

F = lm.nn.functional


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


def test_a_store_among_the_arguments_is_looked_up_by_parameters_from_outside() -> None:
    layer = lm.nn.Linear(3, 2, generator=lm.random.Generator(0))
    twin = lm.nn.Linear(3, 2, generator=lm.random.Generator(0))

    def optimizer(of: Any) -> Any:
        return lm.optim.AdamW(of.parameters(), lr=0.1)

    eager, inside = optimizer(twin), optimizer(layer)

    @lm.compile
    def update(store: Any) -> Any:
        norm = store[layer.weight].abs().sum()
        inside.step(store)
        return norm

    for seed in range(3):
        x = lm.random.normal((4, 3), generator=lm.random.Generator(seed))
        wanted = twin(x).square().sum().backward()
        norm = wanted[twin.weight].abs().sum().item()
        assert update(layer(x).square().sum().backward()).item() == pytest.approx(norm, rel=1e-6)
        eager.step(wanted)
        assert layer.weight.tolist() == twin.weight.tolist()
        assert layer.bias.tolist() == twin.bias.tolist()
    assert len(update.cache_info().variants) == 1


def test_a_store_is_for_its_own_tensors_and_is_given_back_with_them() -> None:
    w, v = (lm.nn.Parameter(lm.tensor([2.0, 3.0])) for _ in range(2))
    doubled = lm.compile(lambda store: lm.GradStore.of((p, g * 2.0) for p, g in store.items()))
    for p in (w, v, w):
        found = doubled((p * p).sum().backward())
        assert found[p].tolist() == [8.0, 12.0]
        assert list(found) == [p]
    assert len(doubled.cache_info().variants) == 2
    with pytest.raises(MissingGradientError):
        lm.compile(lambda store: store[v])((w * w).sum().backward())


@pytest.mark.parametrize("mode", [lm.enable_grad, lm.no_grad])
def test_a_store_is_looked_up_by_an_argument(mode: Any) -> None:
    def moved(w: Any, store: Any, more: Any) -> Any:
        return w.detach() - store[w] * 0.5 + more["store"][w]

    compiled = lm.compile(moved)
    for values in ([2.0, 3.0], [1.0, 5.0]):
        w = lm.nn.Parameter(lm.tensor(values))
        store, other = (w * w).sum().backward(), (w * 3.0).sum().backward()
        with mode():
            found = compiled(w, store, {"store": other})
            assert found.tolist() == moved(w, store, {"store": other}).tolist()
        assert len(store) == 1
    assert len(compiled.cache_info().variants) == 1


def test_stores_of_lengths_that_vary() -> None:
    w, v = (lm.nn.Parameter(lm.tensor([2.0, 3.0])) for _ in range(2))
    compiled = lm.compile(lambda x, store: (x * store[w]).sum(), dynamic={"x": 0})
    for size in (1, 2, 3, 2):
        assert compiled(lm.ones((size, 2)), (w * w).sum().backward()).item() == 10.0 * size
    assert len(compiled.cache_info().variants) == 3
    with pytest.raises(MissingGradientError):
        compiled(lm.ones((2, 2)), (v * v).sum().backward())


def test_backward_of_a_result_says_to_call_it_inside() -> None:
    w = lm.nn.Parameter(lm.tensor([2.0]))
    loss = lm.compile(lambda: (w * w).sum())()
    with pytest.raises(GradientError, match="compiled function") as caught:
        loss.backward()
    assert "inside" in str(caught.value)


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
    assert product(w, w)[w].tolist() == [2.0, 4.0]  # one tensor, as in eager execution
    scaled = lm.compile(lambda a: (a * w).sum().backward())
    assert scaled(v)[w].tolist() == [3.0, 4.0]
    with pytest.raises(TraceError, match="argument a of <lambda> is used from outside, too"):
        scaled(w)
    assert lm.compile(lambda a, b: a * b * w)(w, w).tolist() == [1.0, 8.0]  # nothing is derived


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


def test_results_that_are_cut_off_inside_say_so() -> None:
    w, v = (lm.nn.Parameter(lm.tensor([2.0, 3.0])) for _ in range(2))
    functions: list[tuple[Any, str]] = [
        (lambda: (w * w).argmax(), "made at .* by argmax, which has no gradient"),
        (lambda: ((w * w).exp() > 1.0).astype(lm.float32), "its result is Bool"),
        (lambda: (w * w).detach() * 2.0, "it was cut off: detached at"),
    ]
    for function, why in functions:
        for result in (function(), lm.compile(function)()):
            with pytest.raises(MissingGradientError, match=why):
                (result.astype(lm.float32) * v).sum().backward()[w]
    with lm.no_grad():
        result = lm.compile(lambda: w * w)()
    with pytest.raises(MissingGradientError, match=r"made under no_grad at .* \(op multiply\)"):
        (result * v).sum().backward()[w]
