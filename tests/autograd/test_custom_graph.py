"""Custom ops on the graph: records that are data, what they save, what lets go of what."""

import copy
import gc
import pickle
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.autograd.custom_gradient import CustomRecord
from lumus.errors import (
    SavedTensorMutatedError,
)
from tests.autograd.custom_ops import cube, cube_gradient, leaf, polar, select
from tests.core.printing import printing


def test_graph_is_printed_with_name_saved_bytes_and_line() -> None:
    x = lm.tensor([1.0, 2.0], requires_grad=True)
    cosine, _ = polar(x, frequency=2.0)
    graph = cosine.graph()
    node = graph.nodes[-1]
    assert (node.op, node.attrs) == ("polar", (("frequency", "2.0"),))
    assert [(one.field, one.nbytes) for one in node.saved] == [("cosine", 8), ("sine", 8)]
    assert "cosine, _ = polar(x, frequency=2.0)" in node.source
    assert graph.saved_bytes == 16
    assert "polar(%0, frequency=2.0) -> float32[2]  saves cosine: float32[2] 8 B" in str(graph)
    assert str(pickle.loads(pickle.dumps(graph))) == str(graph)


def test_record_is_data() -> None:
    x = leaf(1.0)
    node = cube(x).node
    assert node is not None
    record = node.record
    assert isinstance(record, CustomRecord)
    assert record.rule.function is cube_gradient
    assert [name for name, _ in record.saved()] == ["x"]
    with pytest.raises(AttributeError, match="immutable"):
        record.values = ()  # type: ignore[misc]


def test_what_is_not_declared_is_not_kept() -> None:
    @lm.custom_op(intermediates=("large",))
    def double(x):
        return x + x, lm.zeros((1000, 1000))

    double.gradient(lambda grad: grad * 2.0)
    x = leaf(1.0)
    before = lm.memory_stats()["live_bytes"]
    y = double(x)
    assert lm.memory_stats()["live_bytes"] - before < 1000
    assert y.sum().backward()[x].item() == 2.0


def test_saved_output_makes_no_reference_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0)
        cosine, sine = polar(x)
        node = weakref.ref(cosine.node)
        cosine.sum().backward(create_graph=True)
        del cosine, sine
        assert node() is None
    finally:
        gc.enable()


def test_saved_input_overwritten_before_backward_raises_and_names_it() -> None:
    x = leaf(1.0, 2.0)
    y = cube(x)
    with lm.no_grad():
        x.add_(1.0)
    with pytest.raises(SavedTensorMutatedError, match=r"cube saved \(x: float64\[2\]\)") as caught:
        y.sum().backward()
    assert (caught.value.op, caught.value.field) == ("cube", "x")
    assert "y = cube(x)" in str(caught.value)


def test_saved_output_overwritten_before_backward_raises() -> None:
    x = leaf(1.0)
    cosine, sine = polar(x)
    with lm.no_grad():
        sine.detach().zero_()
    with pytest.raises(SavedTensorMutatedError, match="sine"):
        cosine.sum().backward()


def test_result_and_gradient_have_memory_of_their_own() -> None:
    @lm.custom_op(outputs=("first", "second"))
    def same(x):
        return x, lm.from_numpy(x.numpy()[::-1])

    @same.gradient
    def _(by_first, by_second, x):
        return x

    x = leaf(1.0, 2.0)
    first, second = same(x)
    with lm.no_grad():
        first.detach().zero_()
        second.detach().zero_()
    grad = first.sum().backward()[x]
    grad.zero_()
    assert x.tolist() == [1.0, 2.0]


def test_call_leaves_nothing_to_the_collector() -> None:
    x = leaf(1.0)
    gc.collect()
    gc.disable()
    try:
        cube(x).sum().backward()
        with printing():
            cube(x)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_op_is_found_again_by_pickle_and_copy() -> None:
    assert pickle.loads(pickle.dumps(cube)) is cube
    assert copy.deepcopy({"op": cube})["op"] is cube
    assert (cube.__name__, cube.__doc__) == ("cube", "The third power, by NumPy.")
    assert repr(select) == "<custom op select(mask, x, y, indices)>"


def test_same_name_twice_is_two_ops() -> None:
    def define(factor: float) -> Any:
        @lm.custom_op
        def scale(x):
            return x * factor

        scale.gradient(lambda grad: grad * factor)
        return scale

    x = leaf(1.0)
    first, second = define(2.0), define(3.0)
    y, z = first(x), second(x)
    assert (y.item(), z.item()) == (2.0, 3.0)
    assert (y.sum().backward()[x].item(), z.sum().backward()[x].item()) == (2.0, 3.0)


def test_replaced_gradient_function_holds_for_later_calls() -> None:
    @lm.custom_op
    def double(x):
        return x * 2.0

    x = leaf(1.0)
    double.gradient(lambda grad: grad * 3.0)
    early = double(x).sum()
    double.gradient(lambda grad: grad * 2.0)
    assert (early.backward()[x].item(), double(x).sum().backward()[x].item()) == (3.0, 2.0)


def test_threads_share_an_op() -> None:
    found = []

    def work(factor: float) -> None:
        x = leaf(factor)
        found.append(polar(x, frequency=factor)[1].sum().backward()[x].item())

    threads = [threading.Thread(target=work, args=(float(one),)) for one in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == pytest.approx(sorted(n * np.cos(n * n) for n in range(4)))
