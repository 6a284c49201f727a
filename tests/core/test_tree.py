"""Values of tensors taken apart and put together."""

import math
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.core.tree import is_simple, put_together, take_apart

Pair = namedtuple("Pair", ["left", "right"])


def apart(value: Any) -> tuple[Any, list[Any]]:
    tensors: list[Any] = []
    return take_apart(value, tensors), tensors


def test_containers_come_back_as_they_were() -> None:
    a, b, c = lm.ones((1,)), lm.ones((2,)), lm.ones((3,))
    value = [a, {"x": (b, 5), "y": Pair(c, "text")}, None, [], ()]
    form, tensors = apart(value)
    assert tensors == [a, b, c]
    again = put_together(form, iter(tensors).__next__)
    assert again[0] is a
    assert again[1]["x"] == (b, 5)
    assert type(again[1]["y"]) is Pair
    assert again[1]["y"].left is c
    assert again[2:] == [None, [], ()]
    assert again[1] is not value[1]


def test_forms_are_equal_when_static_values_are() -> None:
    x = lm.ones((1,))
    assert apart((x, 1))[0] == apart((lm.ones((5,)), 1))[0]
    assert hash(apart((x, 1))[0]) == hash(apart((x, 1))[0])
    for one, other in [
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ("1", 1),
        ([x], (x,)),
        ({"a": x}, {"b": x}),
        (object(), object()),
    ]:
        assert apart(one)[0] != apart(other)[0], (one, other)
    assert apart(math.nan)[0] == apart(float("nan"))[0]
    kept = object()
    assert apart(kept)[0] == apart(kept)[0]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([1, (2.0, {"x": lm.ones((1,)), 3: "text"}), None, object(), len], True),
        ([[{1, 2}]], False),
        ({"x": np.ones(2)}, False),
        ((np.float32(1.0),), False),
        (slice(0, 2), False),
        (range(3), False),
        (b"bytes", False),
        (Pair(1, 2), False),
        ({(1, 2): 3}, False),
        ({True: 3}, False),
    ],
)
def test_forms_that_are_told_by_numbers_text_and_identity(value: Any, expected: bool) -> None:
    assert is_simple(apart(value)[0]) is expected
