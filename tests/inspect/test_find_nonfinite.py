"""find_nonfinite: after the fact, from what a graph keeps."""

import math

import pytest

import lumus as lm
from lumus.errors import ArgumentError, GradientError, GraphFreedError


def test_op_that_kept_the_first_nan_is_named(device):
    x = lm.tensor([4.0, -1.0], device=device, requires_grad=True)
    root = x.sqrt()
    found = lm.inspect.find_nonfinite(root.log().sum())
    assert (found.op, found.field, found.index, found.count) == ("sqrt", "y", (1,), 1)
    assert math.isnan(found.value)
    assert "test_find_nonfinite.py" in found.site
    assert str(found).endswith("root = x.sqrt()")


def test_leaf_that_holds_it_is_named():
    x = lm.tensor([1.0, math.inf], requires_grad=True)
    found = lm.inspect.find_nonfinite((x * 2.0).exp().sum())
    assert (found.op, found.value) == ("leaf", math.inf)
    assert "the leaf itself holds inf at (1,)" in str(found)


def test_saved_input_is_named_by_the_op_that_made_it():
    x = lm.tensor([0.0, 1.0], requires_grad=True)
    found = lm.inspect.find_nonfinite((x.log() * lm.ones(2)).sin().sum())
    assert (found.op, found.index) == ("multiply", (0,))  # log keeps its input only


def test_input_off_the_graph_is_named_by_the_op_that_met_it():
    x = lm.tensor([1.0, 2.0], requires_grad=True)
    found = lm.inspect.find_nonfinite((x * lm.tensor([1.0, math.nan])).sum())
    assert found.op == "multiply"


def test_result_itself_is_the_last_that_is_looked_at():
    x = lm.tensor([3e38, 3e38], requires_grad=True)
    found = lm.inspect.find_nonfinite(x.sum())
    assert (found.op, found.field, found.index) == ("sum", "", ())
    assert "the result is inf" in str(found)


def test_finite_graph_gives_none():
    x = lm.tensor([1.0, 2.0], requires_grad=True)
    assert lm.inspect.find_nonfinite(x.log().sum()) is None


def test_deep_graph_is_walked():
    x = lm.tensor([-1.0], requires_grad=True)
    y = x
    for _ in range(3000):
        y = y + 1e-9
    assert lm.inspect.find_nonfinite(y.sqrt().sum()).op == "sqrt"


def test_tensor_on_no_graph_released_graph_and_no_tensor_raise():
    with pytest.raises(GradientError, match=r"on no graph[\s\S]*check_finite"):
        lm.inspect.find_nonfinite(lm.ones(2))
    x = lm.tensor(2.0, requires_grad=True)
    y = x * x
    y.backward()
    with pytest.raises(GraphFreedError, match="multiply"):
        lm.inspect.find_nonfinite(y)
    with pytest.raises(ArgumentError, match="expected a tensor, got float"):
        lm.inspect.find_nonfinite(1.0)
