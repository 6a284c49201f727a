"""freeze: captured arrays that are only read become constants of the program."""

import gc
from typing import Any

import numpy as np

import lumus as lm
from lumus.compile.freeze import Copies, freeze
from tests.compile.build import Build


def test_arrays_that_are_read_become_constant_copies() -> None:
    build = Build()
    x = build.input("x", 2)
    weight, counter = build.capture("weight", [1.0, 2.0]), build.capture("counter", [0.0, 0.0])
    build.write(counter, build.op("add", counter, x))
    program = build.program(build.op("multiply", x, weight))
    frozen = freeze(program, Copies())
    constant = {one.var: one.constant for one in frozen.captures}
    assert constant == {weight: True, counter: False}
    arrays = {one.var: one.data for one in program.captures}
    copies = {one.var: one.data for one in frozen.captures}
    assert copies[counter] is arrays[counter]
    assert copies[weight].storage_id != arrays[weight].storage_id
    assert np.asarray(copies[weight]).tolist() == [1.0, 2.0]
    assert [one.constant for one in program.captures] == [False, False]


def test_later_changes_do_not_reach_a_frozen_function() -> None:
    model = lm.nn.Linear(3, 2)
    x = lm.ones((1, 3))
    frozen, live = lm.compile(model, freeze=True), lm.compile(model)
    before = model(x).tolist()
    assert frozen(x).tolist() == live(x).tolist() == before
    with lm.no_grad():
        model.weight.add_(1.0)
    assert frozen(x).tolist() == before
    assert live(x).tolist() == model(x).tolist() != before
    frozen.clear()
    assert frozen(x).tolist() == model(x).tolist()


def test_a_tensor_put_in_the_place_of_another_is_seen_by_a_frozen_function() -> None:
    model = lm.nn.Linear(3, 2)
    x = lm.ones((1, 3))
    frozen = lm.compile(model, freeze=True)
    frozen(x)
    model.bias = lm.nn.Parameter(lm.tensor([5.0, 6.0]))
    assert frozen(x).tolist() == model(x).tolist()


def test_what_a_frozen_function_writes_goes_on() -> None:
    norm = lm.nn.BatchNorm1d(2)
    x = lm.tensor([[1.0, 2.0], [3.0, 6.0]])
    step = lm.compile(norm, freeze=True)
    want = lm.nn.BatchNorm1d(2)
    for _ in range(2):
        assert step(x).tolist() == want(x).tolist()
    assert norm.running_mean.tolist() == want.running_mean.tolist()


def test_what_depends_on_parameters_alone_is_computed_at_once() -> None:
    weight = lm.random.normal((4, 4))

    @lm.compile(freeze=True)
    def f(x: Any) -> Any:
        return x @ (weight.T @ weight).exp()

    x = lm.ones((2, 4))
    assert [one.op for one in f.program(x).equations].count("matmul") == 2
    assert [one.op for one in f.optimised(x).equations] == ["matmul"]
    assert f(x).tolist() == (x @ (weight.T @ weight).exp()).tolist()


def test_programs_of_many_lengths_hold_frozen_values_once_and_agree_on_them() -> None:
    layer = lm.nn.Linear(64, 64)
    frozen = lm.compile(layer, freeze=True, dynamic={"x": 0})

    def held(lengths: range) -> int:
        for length in lengths:
            frozen(lm.ones((length, 64)))
        gc.collect()
        return lm.memory_stats()["live_bytes"]

    with lm.no_grad():
        frozen(lm.ones((200, 64)))
        before = held(range(100, 110))
        assert held(range(110, 150)) == before
        old = frozen(lm.ones((100, 64))).tolist()
        layer.weight.add_(1.0)
        assert held(range(150, 190)) == before
        assert frozen(lm.ones((100, 64))).tolist() == old
        assert frozen(lm.ones((99, 64))).tolist() == old[:99]
        frozen.clear()
        gc.collect()
        assert frozen(lm.ones((100, 64))).tolist() == layer(lm.ones((100, 64))).tolist()
