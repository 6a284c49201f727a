"""Which calls of a compiled function share a program."""

from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import (
    TraceError,
)

F = lm.nn.functional


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
