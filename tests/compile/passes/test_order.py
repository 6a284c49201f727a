"""order: what runs first so that less memory is alive, and what stays in its order."""

from typing import ClassVar

import numpy as np
import pytest

import lumus as lm
from lumus.compile.passes.lifetimes import Lifetimes
from lumus.compile.passes.order import order
from lumus.compile.passes.verify import verified
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.trace.program import Program
from tests.compile.build import Build, arrays, chain, f32, text
from tests.compile.interpret import same_results


def ordered(program: Program) -> Program:
    after = verified(order)(program)
    assert same_results(program, after, arrays(program))
    assert Lifetimes(after).peak <= Lifetimes(program).peak
    return after


def alive(program: Program) -> list[int]:
    return Lifetimes(program).alive


# --------------------------------------------------------------------------------------- lifetimes


def test_memory_is_alive_from_what_makes_it_to_what_reads_it_last() -> None:
    build = Build()
    x = build.input("x", 10)
    a = build.op("cumsum", x, axis=0, reverse=False)  # 40 bytes
    b = build.op("cumsum", a, axis=0, reverse=False)
    build.op("cumsum", x, axis=0, reverse=False)  # nobody reads it
    c = build.op("cumsum", a, axis=0, reverse=False)
    d = build.op("sum", c, axes=(0,), keepdims=False)
    assert alive(build.program(b, d)) == [40, 80, 120, 120, 84]


def test_elementwise_results_take_over_the_memory_of_operands() -> None:
    build = Build()
    a = build.op("cumsum", build.input("x", 10), axis=0, reverse=False)
    b = build.op("exp", a)
    c = build.op("add", b, b)
    d = build.op("astype", build.op("add", b, c), dtype=lm.float64)
    assert alive(build.program(d)) == [40, 40, 80, 80, 120]


def test_views_keep_the_memory_that_they_show() -> None:
    build = Build()
    a = build.op("cumsum", build.input("x", 2, 5), axis=0, reverse=False)
    turned = build.op("permute_dims", a, axes=(1, 0))
    first = build.op("sum", a, axes=(0, 1), keepdims=False)
    flat = build.op("reshape", turned, shape=(10,))  # which copies
    last = build.op("sum", flat, axes=(0,), keepdims=False)
    assert alive(build.program(first, last)) == [40, 40, 44, 84, 48]


def test_what_is_written_takes_none_where_it_can_be_computed_in_place() -> None:
    build = Build()
    w = build.capture("w", np.zeros(10, "f4"))
    grad = build.op("cumsum", w, axis=0, reverse=False)
    build.update("SGD.step", lambda p, g: p - g, (w,), w, grad)
    assert alive(build.program()) == [40, 40]
    build.op("exp", w)  # reads the old value, so that the new one must wait elsewhere
    assert alive(build.program()) == [40, 40, 80]


# ------------------------------------------------------------------------------------------- order


def step(layers: int) -> Program:
    """Gradients of layers, all of them first, then the updates: the order that tracing gives."""
    build = Build("step")
    grad = build.input("grad", 8, 8)
    weights = [build.capture(f"w{i}", np.ones((8, 8), "f4")) for i in range(layers)]
    grads = []
    for weight in weights:
        grads.append(build.op("matmul", grad, grad))
        grad = build.op("matmul", grad, weight)
    for weight, one in zip(weights, grads, strict=True):
        build.update("SGD.step", lambda p, g: p - g, (weight,), weight, one)
    return build.program()


def test_updates_run_when_their_gradients_are_there_and_the_array_is_no_more_read() -> None:
    assert str(step(2)) == text("""
        step(grad: float32[8, 8]):
            w0: float32[8, 8] = captured
            w1: float32[8, 8] = captured
            a: float32[8, 8] = matmul(grad, grad)
            b: float32[8, 8] = matmul(grad, w0)
            c: float32[8, 8] = matmul(b, b)
            d: float32[8, 8] = matmul(b, w1)
            e: float32[8, 8] = w0 - a
            f: float32[8, 8] = w1 - c
            w0 <- e  # SGD.step
            w1 <- f  # SGD.step
        """)
    assert str(ordered(step(2))) == text("""
        step(grad: float32[8, 8]):
            w0: float32[8, 8] = captured
            w1: float32[8, 8] = captured
            a: float32[8, 8] = matmul(grad, grad)
            b: float32[8, 8] = matmul(grad, w0)
            c: float32[8, 8] = w0 - a
            d: float32[8, 8] = matmul(b, w1)
            e: float32[8, 8] = matmul(b, b)
            f: float32[8, 8] = w1 - e
            w0 <- c  # SGD.step
            w1 <- f  # SGD.step
        """)


def test_the_peak_of_a_step_does_not_grow_with_its_layers() -> None:
    assert [Lifetimes(step(count)).peak for count in (3, 30)] == [5 * 256, 32 * 256]
    assert {Lifetimes(ordered(step(count))).peak for count in (3, 30)} == {3 * 256}


def test_the_given_order_stays_unless_another_is_better() -> None:
    program = chain(50)
    assert order(program) is program
    empty = Build().program()
    assert order(empty) is empty


def test_code_of_the_user_runs_in_its_order() -> None:
    @frozen
    class Shout(Kernel):
        is_pure: ClassVar[bool] = False

    build = Build()
    x = build.input("x", 100)
    large = [build.op("cumsum", x, axis=0, reverse=False) for _ in range(3)]
    for one in large:
        build.joined(Shout(), one, outputs=(f32(),), op="shout")
    after = verified(order)(build.program())
    assert Lifetimes(after).peak < Lifetimes(build.program()).peak
    shouts = [one for one in after.equations if one.op == "shout"]
    assert shouts == [one for one in build.equations if one.op == "shout"]


@pytest.mark.parametrize("seed", range(30))
def test_a_wild_order_becomes_no_worse_and_gives_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    build = Build()
    values = [build.input("x", 4, 4), build.capture("w", np.ones((4, 4), "f4"))]
    for _ in range(40):
        x, y = (values[rng.integers(len(values))] for _ in range(2))
        name = ("matmul", "add", "permute")[rng.integers(3)]
        if name == "permute":
            values.append(build.op("permute_dims", x, axes=(1, 0)))
        else:
            values.append(build.op(name, x, y))
    build.write(values[1], values[rng.integers(2, len(values))])
    results = [values[at] for at in rng.integers(2, len(values), 3)]
    program = build.program(*results)
    assert str(order(program)) == str(ordered(program))


def test_ten_thousand_equations_are_ordered_in_time_that_grows_with_their_number() -> None:
    program = step(3000)
    assert Lifetimes(order(program)).peak == 3 * 256
