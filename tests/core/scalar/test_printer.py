"""Expressions as text."""

import math

import pytest

from lumus.core.dtypes import float16
from lumus.core.scalar import functions as f
from lumus.core.scalar.expressions import Expression, expression

PRINTED = [
    ("grad * (1 - y * y)", lambda grad, y: grad * (1 - y * y)),
    ("where(x > 0, grad, 0)", lambda grad, x: f.where(x > 0, grad, 0)),
    ("x - (y - 1)", lambda x, y: x - (y - 1)),
    ("x - y - 1", lambda x, y: x - y - 1),
    ("x / (y * 2)", lambda x, y: x / (y * 2)),
    ("x / y * 2", lambda x, y: x / y * 2),
    ("x // y % 2", lambda x, y: x // y % 2),
    ("(x + y) * 2", lambda x, y: (x + y) * 2),
    ("x ** y ** 2", lambda x, y: x ** (y**2)),
    ("(x ** y) ** 2", lambda x, y: (x**y) ** 2),
    ("x ** -y", lambda x, y: x ** (-y)),
    ("(-x) ** y", lambda x, y: (-x) ** y),
    ("-x ** y", lambda x, y: -(x**y)),
    ("-x * y", lambda x, y: -x * y),
    ("-(x * y)", lambda x, y: -(x * y)),
    ("x - -y", lambda x, y: x - (-y)),
    ("2.5 ** x", lambda x: 2.5**x),
    ("(-2.5) ** x", lambda x: (-2.5) ** x),
    ("x * -0.5", lambda x: x * -0.5),
    ("(x > 0) & ~(x < y)", lambda x, y: (x > 0) & ~(x < y)),
    ("(x >= 0) ^ (x <= y) | (x < 1)", lambda x, y: (x >= 0) ^ (x <= y) | (x < 1)),
    ("(x == y) != (x < 1)", lambda x, y: f.not_equal(f.equal(x, y), x < 1)),
    ("(a | b) & c", lambda a, b, c: (a | b) & c),
    ("a | b & c", lambda a, b, c: a | b & c),
    ("abs(x) + isnan(x)", lambda x: abs(x) + f.isnan(x)),
    ("maximum(x, inf)", lambda x: f.maximum(x, math.inf)),
    ("cast(x + 1, float16)", lambda x: f.cast(x + 1, float16)),
    ("(x + 1, square(x))", lambda x: (x + 1, f.square(x))),
    ("1.0", lambda: 1.0),
]


@pytest.mark.parametrize(("text", "function"), PRINTED)
def test_text_reads_like_python_with_minimal_parentheses(text, function) -> None:
    assert str(expression(function)) == text


def test_text_is_python_that_builds_the_same_text() -> None:
    names = {name: getattr(f, name) for name in vars(f) if not name.startswith("_")}
    for text, _ in PRINTED[:20]:
        parameters = [name for name in ("grad", "x", "y") if name in text]
        again = expression(eval(f"lambda {', '.join(parameters)}: {text}", names))
        assert str(again) == text


def test_repr_names_the_parameters() -> None:
    assert repr(expression(lambda x, unused: x + 1)) == "<expression x, unused: x + 1>"


def test_large_text_names_what_is_shared_instead_of_growing_exponentially() -> None:
    (x,) = expression(lambda x: x).outputs
    for _ in range(100):
        x = x * x
    lines = str(Expression(("x",), (x,))).splitlines()
    assert lines[:2] == ["t0 = x * x", "t1 = t0 * t0"]
    assert lines[-1] == "t98 * t98"
    assert len(lines) == 100


def test_deep_expression_prints_without_recursion() -> None:
    (x,) = expression(lambda x: x).outputs
    for _ in range(5000):
        x = -x
    assert str(Expression(("x",), (x,))) == "-" * 5000 + "x"
