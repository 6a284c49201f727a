"""recompute: which values are computed again, and which are kept."""

import numpy as np
import pytest

import lumus as lm
from lumus.compile.passes.lifetimes import Lifetimes
from lumus.compile.passes.recompute import MIN_BYTES, recompute
from lumus.compile.passes.verify import verified
from lumus.core import kernels as k
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.trace.program import Program
from tests.compile.build import Build, arrays, f32, text
from tests.compile.interpret import same_results

SIDE = 128
assert SIDE * SIDE * 4 == MIN_BYTES


def recomputed(program: Program) -> Program:
    after = verified(recompute)(program)
    assert same_results(program, after, arrays(program))
    peaks = Lifetimes(program).peak, Lifetimes(after).peak
    assert (peaks[1] < peaks[0]) == (after is not program)
    return after


def between(function, *, side: int = SIDE) -> Program:
    """A value made from one that is read in the end, too; it is read there and before the peak."""
    build = Build()
    x = build.input("x", side, side)
    a = build.op("cumsum", x, axis=0, reverse=False)
    kept = function(build, a)
    first = build.op("sum", kept, axes=(0,), keepdims=False)
    b = build.op("cumsum", a, axis=1, reverse=False)
    c = build.op("cumsum", b, axis=0, reverse=False)
    d = build.op("matmul", b, c)
    return build.program(first, build.op("matmul", build.op("matmul", d, kept), a))


def test_a_cheap_value_is_computed_again_where_it_is_read_late() -> None:
    program = between(lambda build, a: build.op("multiply", a, build.number(0.5)))
    assert str(program) == text("""
        f(x: float32[128, 128]):
            a: float32[128, 128] = cumsum[axis=0](x)
            b: float32[128, 128] = a * 0.5
            c: float32[128] = sum[axes=(0,)](b)
            d: float32[128, 128] = cumsum[axis=1](a)
            e: float32[128, 128] = cumsum[axis=0](d)
            f: float32[128, 128] = matmul(d, e)
            g: float32[128, 128] = matmul(f, b)
            h: float32[128, 128] = matmul(g, a)
            return c, h
        """)
    after = recomputed(program)
    assert str(after) == text("""
        f(x: float32[128, 128]):
            a: float32[128, 128] = cumsum[axis=0](x)
            b: float32[128, 128] = a * 0.5
            c: float32[128] = sum[axes=(0,)](b)
            d: float32[128, 128] = cumsum[axis=1](a)
            e: float32[128, 128] = cumsum[axis=0](d)
            f: float32[128, 128] = matmul(d, e)
            g: float32[128, 128] = a * 0.5
            h: float32[128, 128] = matmul(f, g)
            i: float32[128, 128] = matmul(h, a)
            return c, i
        """)
    assert [Lifetimes(one).peak // MIN_BYTES for one in (program, after)] == [5, 4]


def test_a_chain_of_cheap_values_and_views_is_computed_again() -> None:
    def function(build: Build, a):
        half = build.op("astype", build.op("permute_dims", a, axes=(1, 0)), dtype=lm.float16)
        return build.op("astype", build.op("relu", half), dtype=lm.float32)

    after = recomputed(between(function))
    assert str(after) == text("""
        f(x: float32[128, 128]):
            a: float32[128, 128] = cumsum[axis=0](x)
            b: float32[128, 128] = permute_dims[axes=(1, 0)](a)
            c: float16[128, 128] = astype[dtype=float16](b)
            d: float16[128, 128] = where(c <= 0, 0, c)
            e: float32[128, 128] = astype[dtype=float32](d)
            f: float32[128] = sum[axes=(0,)](e)
            g: float32[128, 128] = cumsum[axis=1](a)
            h: float32[128, 128] = cumsum[axis=0](g)
            i: float32[128, 128] = matmul(g, h)
            j: float16[128, 128] = astype[dtype=float16](b)
            k: float16[128, 128] = where(j <= 0, 0, j)
            l: float32[128, 128] = astype[dtype=float32](k)
            m: float32[128, 128] = matmul(i, l)
            n: float32[128, 128] = matmul(m, a)
            return f, n
        """)


def test_late_readers_of_a_view_read_a_view_of_the_new_value() -> None:
    build = Build()
    a = build.op("cumsum", build.input("x", SIDE, SIDE), axis=0, reverse=False)
    turned = build.op("permute_dims", build.op("square", a), axes=(1, 0))
    first = build.op("sum", turned, axes=(0,), keepdims=False)
    b = build.op("cumsum", a, axis=1, reverse=False)
    d = build.op("matmul", b, build.op("cumsum", b, axis=0, reverse=False))
    last = build.op("matmul", build.op("matmul", d, turned), a)
    after = recomputed(build.program(first, last))
    assert [one.op for one in after.equations][-4:] == [
        "square",
        "permute_dims",
        "matmul",
        "matmul",
    ]
    assert after.equations[-2].inputs[1] is after.equations[-3].outputs[0]


@pytest.mark.parametrize(
    "function",
    [
        lambda build, a: build.op("lgamma", a),
        lambda build, a: build.map(lambda v: scalar.tanh(scalar.exp(scalar.tanh(v))), a),
        lambda build, a: build.op("cumsum", a, axis=0, reverse=True),
        # What it is made of would have to be kept instead.
        lambda build, a: build.op("square", build.op("cumsum", a, axis=0, reverse=True)),
    ],
)
def test_what_is_dear_is_kept(function) -> None:
    program = between(function)
    assert recomputed(program) is program


def test_the_cost_that_is_allowed_can_be_set() -> None:
    program = between(lambda build, a: build.op("tanh", a))
    assert recomputed(program) is not program
    assert recompute(program, max_cost=8) is program


def test_of_several_outputs_the_one_that_is_wanted_is_computed_again() -> None:
    def function(build: Build, a):
        kernel = k.Elementwise(expression(lambda v, w: (v * w, scalar.lgamma(w), v + 1.0)))
        other = build.op("cumsum", a, axis=0, reverse=True)
        made = build.joined(kernel, a, other, outputs=(f32(SIDE, SIDE),) * 3)
        build.op("matmul", made[0], made[1])
        return made[2]

    last = recomputed(between(function)).equations[-3]
    assert str(last.kernel.expression) == "v + 1.0"
    assert len(last.inputs) == len(last.outputs) == 1


def test_an_output_whose_dtype_comes_from_an_operand_that_it_does_not_need_is_kept() -> None:
    def function(build: Build, a):
        kernel = k.Elementwise(expression(lambda v, w: (v * v, w)))
        wide = build.op("astype", a, dtype=lm.float64)
        outputs = (f32(SIDE, SIDE), wide.spec)
        return build.joined(kernel, a, wide, outputs=outputs)[0]

    program = between(function)
    assert recomputed(program) is program


def test_what_is_small_is_kept() -> None:
    program = between(lambda build, a: build.op("square", a), side=SIDE // 2)
    assert recomputed(program) is program


def test_results_are_kept() -> None:
    build = Build()
    a = build.op("cumsum", build.input("x", SIDE, SIDE), axis=0, reverse=False)
    kept = build.op("square", a)
    b = build.op("cumsum", a, axis=1, reverse=False)
    last = build.op("matmul", build.op("matmul", b, b), a)
    program = build.program(kept, last)
    assert recomputed(program) is program


def updated(reads_late: bool) -> Program:
    """A value of an array that is written in place, before or after the value is read late."""
    build = Build()
    w = build.capture("w", np.ones((SIDE, SIDE), "f4"))
    kept = build.op("square", w)
    grad = build.op("cumsum", kept, axis=0, reverse=False)
    if not reads_late:
        build.update("SGD.step", lambda p, g: p - g, (w,), w, grad)
    b = build.op("cumsum", grad, axis=1, reverse=False)
    c = build.op("matmul", b, build.op("cumsum", b, axis=0, reverse=False))
    last = build.op("matmul", c, kept)
    if reads_late:
        build.update("SGD.step", lambda p, g: p - g, (w,), w, last)
    return build.program(build.op("sum", last, axes=(0,), keepdims=False))


def test_an_array_that_is_written_in_the_meantime_has_no_old_value_to_compute_from() -> None:
    assert len(recomputed(updated(reads_late=True)).equations) == 8 + 1
    program = updated(reads_late=False)
    assert recomputed(program) is program


def test_a_value_that_another_is_computed_from_again_is_itself_kept() -> None:
    build = Build()
    a = build.op("cumsum", build.input("x", SIDE, SIDE), axis=0, reverse=False)
    wide = build.op(
        "broadcast_to", build.op("sum", a, axes=(0,), keepdims=False), shape=(SIDE, SIDE)
    )
    first, second = build.op("square", a), build.op("multiply", a, wide)
    third = build.op("add", second, first)
    b = build.op("matmul", third, third)
    c = build.op("matmul", b, build.op("cumsum", b, axis=0, reverse=False))
    for one in (first, second, third):
        c = build.op("matmul", c, one)
    after = recomputed(build.program(build.op("matmul", c, a)))
    assert len(after.equations) > len(build.equations)


def deep(layers: int) -> Program:
    """A forward pass that keeps two values a layer, one cheap to get from the other."""
    build = Build("deep")
    x = build.input("x", SIDE, SIDE)
    kept = []
    for _ in range(layers):
        x = build.op("matmul", x, x)
        kept.append((x, build.op("relu", x)))
        x = kept[-1][1]
    grad = build.op("cumsum", x, axis=0, reverse=False)
    for before, after in reversed(kept):
        grad = build.op("matmul", grad, after)
        grad = build.map(lambda g, v: scalar.where(v > 0, g, 0.0), grad, before)
    return build.program(grad)


def test_a_deep_program_keeps_half_of_its_values() -> None:
    program = deep(12)
    after = verified(recompute)(program)
    peaks = [Lifetimes(one).peak // MIN_BYTES for one in (program, after)]
    assert peaks[0] >= 24
    assert peaks[1] <= 15


def test_a_long_program_takes_few_rounds() -> None:
    program = deep(2500)
    assert len(recompute(program).equations) > len(program.equations) + 2000
