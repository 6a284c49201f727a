"""Building and joining expressions."""

import pickle

import pytest

from lumus.core.dtypes import float16
from lumus.core.scalar import functions as f
from lumus.core.scalar.expressions import expression
from lumus.core.scalar.nodes import Constant, Input, postorder


def test_parameters_come_from_the_signature() -> None:
    e = expression(lambda grad, y: grad * (1 - y * y))
    assert e.parameters == ("grad", "y")
    assert e.num_inputs == 2
    assert len(e.outputs) == 1


def test_parameters_with_a_default_are_no_inputs() -> None:
    e = expression(lambda x, slope=0.1: f.where(x > 0, x, slope * x))
    assert e.parameters == ("x",)
    assert str(e) == "where(x > 0, x, 0.1 * x)"


def test_nodes_compare_by_identity_and_are_keys() -> None:
    x, y = Input(0), Input(0)
    assert x == x  # noqa: PLR0124
    assert x != y
    assert {x: 1, y: 2}[x] == 1
    e = expression(lambda x: x)
    assert {e: 1}[e] == 1


def test_nodes_are_immutable() -> None:
    with pytest.raises(AttributeError):
        Constant(1).value = 2  # type: ignore[misc]


def test_comparing_with_a_number_by_double_equals_raises_naming_equal() -> None:
    with pytest.raises(TypeError, match=r"equal\(x, y\)"):
        expression(lambda x: f.where(x == 0, 1, x))
    with pytest.raises(TypeError, match=r"equal\(x, y\)"):
        expression(lambda x, y: f.where(x == y, 1, x))


@pytest.mark.parametrize(
    "function",
    [lambda x: x if x > 0 else 0, lambda x: x > 0 and x < 1, lambda x: 0 < x < 1],
)
def test_truth_value_of_a_node_raises_naming_where(function) -> None:
    with pytest.raises(TypeError, match="where"):
        expression(function)


def test_operands_that_are_no_numbers_raise() -> None:
    with pytest.raises(TypeError, match="not 'a'"):
        expression(lambda x: x + "a")  # type: ignore[operator]


def test_inline_joins_expressions_and_keeps_sharing() -> None:
    outer = expression(lambda x, y: x * x + y)
    joined = expression(lambda a: outer(f.exp(a), 1))
    assert str(joined) == "exp(a) * exp(a) + 1"
    assert sum(getattr(node, "function", "") == "exp" for node in postorder(joined.outputs)) == 1


def test_inline_with_a_wrong_count_raises() -> None:
    with pytest.raises(TypeError, match="takes 2 inputs, not 1"):
        expression(lambda x, y: x + y)(1)


def test_expression_survives_pickling() -> None:
    e = expression(lambda grad, y: (f.cast(grad * (1 - y * y), float16), y > 0))
    assert str(pickle.loads(pickle.dumps(e))) == str(e)
