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


def test_a_leaf_given_twice_is_one_and_one_from_outside_is_refused_at_any_call() -> None:
    outside = lm.ones((2,), requires_grad=True)

    @lm.compile
    def gradient(x: Any, y: Any) -> Any:
        grads = (x * y * 3.0 * outside).sum().backward()
        return grads[x], grads[outside]

    x, y = (lm.tensor([1.0, value], requires_grad=True) for value in (2.0, 4.0))
    for _ in range(3):
        assert [one.tolist() for one in gradient(x, y)] == [[3.0, 12.0], [3.0, 24.0]]
        assert [one.tolist() for one in gradient(y, x)] == [[3.0, 6.0], [3.0, 24.0]]
    for _ in range(2):
        want = gradient.function(x, x)
        assert [one.tolist() for one in gradient(x, x)] == [one.tolist() for one in want]
        with pytest.raises(TraceError, match="argument x of gradient is used from outside"):
            gradient(outside, y)
    assert gradient(x, y)[0].tolist() == [3.0, 12.0]
    assert len(gradient.cache_info().variants) == 2


def test_arguments_that_are_one_tensor_are_another_kind_of_call() -> None:
    x, y = lm.tensor([1.0, 2.0]), lm.tensor([1.0, 2.0])

    def function(q: Any, k: Any) -> Any:
        return q * 100.0 if q is k else q * 2.0

    compiled = lm.compile(function)
    for given in ((x, y), (x, x), (x, y), (y, y), (y, x), (x, x)):
        assert compiled(*given).tolist() == function(*given).tolist()
    reasons = [one.reason for one in compiled.cache_info().variants]
    assert reasons == ["first call", "k: float32[2] -> the same as q"]
    nested = lm.compile(lambda batch: batch["q"] is batch["v"][0])
    assert [nested({"q": x, "v": [one]}) for one in (y, x, y)] == [False, True, False]


def test_recording_and_leaves_among_the_arguments_are_programs_of_their_own() -> None:
    compiled = lm.compile(lambda x: (x * 2.0, x.requires_grad))
    x, leaf = lm.ones((2,)), lm.ones((2,), requires_grad=True)
    for _ in range(3):
        assert [compiled(one)[1] for one in (x, leaf)] == [False, True]
        with lm.no_grad():
            assert [compiled(one)[0].tolist() for one in (x, leaf)] == [[2.0, 2.0]] * 2
    assert len(compiled.cache_info().variants) == 3


def test_batches_in_containers_are_told_apart_at_any_call() -> None:
    @lm.compile
    def summed(batch: Any) -> Any:
        total = batch["x"] * batch["scale"]
        for one in batch["more"]:
            total = total + one
        return total

    x, y = lm.ones((2,)), lm.full((2,), 3.0)
    for _ in range(3):
        assert summed({"x": x, "scale": 2.0, "more": []}).tolist() == [2.0, 2.0]
        assert summed({"x": y, "scale": 2.0, "more": [x]}).tolist() == [7.0, 7.0]
        assert summed({"x": y, "scale": 5.0, "more": [x]}).tolist() == [16.0, 16.0]
        assert summed({"x": x, "scale": 2.0, "more": (y,)}).tolist() == [5.0, 5.0]
    assert [one.num_calls for one in summed.cache_info().variants] == [3, 3, 3, 3]


def test_arguments_by_name_are_found_again_in_any_order() -> None:
    compiled = lm.compile(lambda x, y, scale=1.0: (x - y) * scale)
    x, y = lm.tensor([5.0, 3.0]), lm.tensor([1.0, 1.0])
    for _ in range(3):
        assert compiled(x, y=y).tolist() == [4.0, 2.0]
        assert compiled(y=y, x=x).tolist() == [4.0, 2.0]
        assert compiled(x=x, y=y).tolist() == [4.0, 2.0]
        assert compiled(x, y=y, scale=2.0).tolist() == [8.0, 4.0]
    assert [one.num_calls for one in compiled.cache_info().variants] == [3, 3, 3, 3]


def test_a_parameter_called_self_is_given_by_name() -> None:
    compiled = lm.compile(lambda self, x: self * x)
    assert compiled(self=lm.tensor([2.0]), x=lm.tensor([3.0])).tolist() == [6.0]


def test_equal_keys_of_other_types_are_other_programs() -> None:
    @lm.compile
    def divided(batch: Any) -> Any:
        return {key: (x / key if isinstance(key, float) else x * 2.0) for key, x in batch.items()}

    x = lm.tensor([1.0])
    for key in (1, True, 1.0, 0.0, -0.0, (1,), (True,), "a"):
        for _ in range(2):
            ((made, result),) = divided({key: x}).items()
            assert repr(made) == repr(key)
            ((_, plain),) = divided.function({key: x}).items()
            assert result.tolist() == plain.tolist()
    assert len(divided.cache_info().variants) == 8


def test_a_reason_names_the_argument_and_its_values() -> None:
    x, one, other = lm.ones((3, 3)), np.zeros(2), np.ones(2)
    compiled = lm.compile(lambda a, k=None: a * 2.0)
    compiled(x)
    compiled(x, 1.5)
    compiled(x, "name")
    compiled(x, one)
    compiled(x, other)
    compiled(x.permute_dims(1, 0), other)
    compiled(x.copy().requires_grad_(), other)
    with lm.no_grad():
        compiled(x, other)
    assert [one.reason for one in compiled.cache_info().variants] == [
        "first call",
        "k: nothing -> 1.5",
        "k: 1.5 -> 'name'",
        "k: 'name' -> an array float64[2]",
        "another object or array that looks the same",
        "a: float32[3, 3] -> float32[3, 3], strides (1, 3)",
        "a: float32[3, 3], strides (1, 3) -> float32[3, 3], requires grad",
        "a: float32[3, 3], requires grad -> float32[3, 3], gradients: nothing -> off",
    ]
    with pytest.raises(TraceError, match=r"the 9th time \(.*k: an array .* -> 3"):
        compiled(x, 3)
