"""Which expressions have equal structures."""

from typing import Any

import pytest

from lumus.core.dtypes import float32, float64
from lumus.core.scalar import functions as f
from lumus.core.scalar.expressions import Expression, expression
from lumus.core.scalar.nodes import ONE, ZERO, Call, Constant, Input
from lumus.core.scalar.structure import structure


def of(*outputs: Any, names: tuple[str, ...] = ("x", "y")) -> Any:
    return structure(Expression(names, outputs))


def test_what_is_written_alike_is_equal_whatever_its_inputs_are_called() -> None:
    one = expression(lambda x, y: f.tanh(x * y) + 0.5)
    other = expression(lambda a, b: f.tanh(a * b) + 0.5)
    assert one is not other
    assert structure(one) == structure(other)
    assert hash(structure(one)) == hash(structure(other))


X, Y = Input(0), Input(1)
SHARED = Call("exp", (X,))
DIFFERENT = [
    (of(X + Y), of(Y + X)),
    (of(X + Y), of(X - Y)),
    (of(X + Y), of(X + Y, names=("x", "y", "z"))),
    (of(X, Y), of(Y, X)),
    (of(X), of(X, X)),
    (of(X + 1), of(X + 1.0)),
    (of(X + 1), of(X + True)),
    (of(X + 0.0), of(X + -0.0)),
    (of(X * 0), of(X * ZERO)),
    (of(X * 1), of(X * ONE)),
    (of(Call("cast", (X,), float32)), of(Call("cast", (X,), float64))),
    (of(SHARED * SHARED), of(Call("exp", (X,)) * Call("exp", (X,)))),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_may_compute_something_else_differs(one: Any, other: Any) -> None:
    assert one != other


def test_numbers_that_are_not_equal_to_themselves_are_alike() -> None:
    assert of(X + Constant(float("nan"))) == of(X + Constant(float("nan")))
