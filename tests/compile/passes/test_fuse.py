"""fuse: what becomes one equation, what stays alone, and that every bit is kept."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumus.compile.passes.fuse import fuse
from lumus.compile.passes.verify import verified, verify
from lumus.core import dtypes as d
from lumus.core.kernels.elementwise import Elementwise
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.scalar.tangent import vjp
from lumus.trace.program import Program
from tests.compile.build import Build, arrays, text
from tests.compile.interpret import same_results
from tests.compile.passes.random_programs import random_arrays, random_program


def fused(program: Program) -> str:
    """The text of the fused program, which gives the same bits."""
    result = verified(fuse)(program)
    assert same_results(program, result, arrays(program))
    return str(result)


# ------------------------------------------------------------------------------------------ chains


def test_a_chain_becomes_one_equation_and_what_it_alone_reads_vanishes() -> None:
    build = Build()
    x, w, b = build.input("x", 8, 4), build.input("w", 4), build.input("b", 4)
    y = build.op("tanh", build.op("add", build.op("multiply", x, w), b))
    assert fused(build.program(y)) == text("""
        f(x: float32[8, 4], w: float32[4], b: float32[4]):
            a: float32[8, 4] = tanh(x * w + b)
            return a
        """)


def test_a_value_that_others_read_stays_an_output() -> None:
    build = Build()
    x, y = build.input("x", 4, 4), build.input("y", 4, 4)
    a = build.op("add", x, y)
    b = build.op("exp", a)
    c = build.op("matmul", a, b)
    assert fused(build.program(c)) == text("""
        f(x: float32[4, 4], y: float32[4, 4]):
            a: float32[4, 4], b: float32[4, 4] = (x + y, exp(x + y))
            c: float32[4, 4] = matmul(a, b)
            return c
        """)


def test_results_of_the_program_stay_outputs() -> None:
    build = Build()
    x, w = build.input("x", 4), build.capture("w", [1.0] * 4)
    a = build.op("exp", x)
    b = build.op("sqrt", a)
    build.write(w, b)
    assert fused(build.program(a)) == text("""
        f(x: float32[4]):
            w: float32[4] = captured
            a: float32[4], b: float32[4] = (exp(x), sqrt(exp(x)))
            w <- b  # copy_
            return a
        """)


def test_a_path_through_another_equation_keeps_two_apart() -> None:
    build = Build()
    x = build.input("x", 4, 4)
    a = build.op("exp", x)
    b = build.op("matmul", a, x)
    c = build.op("add", a, b)
    assert fused(build.program(c)) == text("""
        f(x: float32[4, 4]):
            a: float32[4, 4] = exp(x)
            b: float32[4, 4] = matmul(a, x)
            c: float32[4, 4] = a + b
            return c
        """)


def test_a_smaller_producer_is_computed_once_for_all_that_read_it() -> None:
    build = Build()
    x, w = build.input("x", 8, 4), build.input("w", 4)
    y = build.op("multiply", x, build.op("exp", w))
    assert fused(build.program(y)) == text("""
        f(x: float32[8, 4], w: float32[4]):
            a: float32[4] = exp(w)
            b: float32[8, 4] = x * a
            return b
        """)


def test_one_alone_keeps_its_name_and_kernel() -> None:
    build = Build()
    x = build.input("x", 4)
    largest, _places = build.op("topk", x, k=2, axis=0, largest=True)
    program = build.program(build.op("astype", largest, dtype=d.float64))
    assert verified(fuse)(program).equations == program.equations


def test_kernels_of_several_steps_are_left_alone() -> None:
    build = Build()
    x = build.input("x", 4, 4)
    y = build.op("softmax", build.op("multiply", x, x), axis=1)
    z = build.op("add", y, x)
    program = build.program(z)
    assert fused(program) == str(program)


def test_siblings_that_read_a_big_input_share_a_pass() -> None:
    build = Build()
    x, w = build.input("x", 8, 4), build.input("w", 4)
    a, b = build.op("exp", x), build.op("multiply", x, w)
    c = build.op("add", w, w)
    assert fused(build.program(a, b, c)) == text("""
        f(x: float32[8, 4], w: float32[4]):
            a: float32[8, 4], b: float32[8, 4] = (exp(x), x * w)
            c: float32[4] = w + w
            return a, b, c
        """)


def test_updates_of_different_parameters_that_share_a_number_stay_apart() -> None:
    build = Build()
    rate = build.host("rate", 0.1)
    p, q = build.capture("p", [1.0] * 4), build.capture("q", [1.0] * 4)
    for target in (p, q):
        build.update("step", lambda p, g, rate: p - rate * g, (target,), target, target, rate)
    program = build.program()
    assert verified(fuse)(program).equations == program.equations


def test_an_update_with_several_outputs_joins_what_makes_its_gradient() -> None:
    build = Build()
    p, m = build.capture("p", [[1.0] * 4] * 4), build.capture("m", [[1.0] * 4] * 4)
    x, y = build.input("x", 4, 4), build.input("y", 4, 4)
    g = build.op("multiply", build.op("matmul", x, y), x)
    build.update("SGD.step", lambda p, m, g: (p - g, m + g), (p, m), p, m, g)
    assert fused(build.program()) == text("""
        f(x: float32[4, 4], y: float32[4, 4]):
            p: float32[4, 4] = captured
            m: float32[4, 4] = captured
            a: float32[4, 4] = matmul(x, y)
            b: float32[4, 4], c: float32[4, 4] = (p - a * x, m + a * x)
            p <- b  # SGD.step
            m <- c  # SGD.step
        """)


# ------------------------------------------------------------------------ when a pass is not saved


def test_a_value_moves_to_its_reader_further_down() -> None:
    build = Build()
    x = build.input("x", 4, 4)
    a = build.op("exp", x)
    b = build.op("matmul", x, x)
    c = build.op("multiply", a, build.op("matmul", build.op("tanh", b), b))
    assert fused(build.program(c)) == text("""
        f(x: float32[4, 4]):
            a: float32[4, 4] = matmul(x, x)
            b: float32[4, 4] = tanh(a)
            c: float32[4, 4] = matmul(b, a)
            d: float32[4, 4] = exp(x) * c
            return d
        """)


def test_a_small_value_that_spares_a_big_one_a_long_life_stays() -> None:
    build = Build()
    x = build.input("x", 4, 4)
    big = build.op("matmul", x, x)
    mask = build.op("greater", big, x)
    a = build.op("softmax", big, axis=1)
    c = build.op("where", mask, build.op("matmul", a, a), x)
    assert fused(build.program(c)) == text("""
        f(x: float32[4, 4]):
            a: float32[4, 4] = matmul(x, x)
            b: bool[4, 4] = a > x
            c: float32[4, 4] = softmax[axis=1](a)
            d: float32[4, 4] = matmul(c, c)
            e: float32[4, 4] = where(b, d, x)
            return e
        """)


def test_a_cheap_value_is_computed_by_each_reader_instead_of_stored() -> None:
    build = Build()
    x = build.input("x", 4, 80)
    a = build.op("negative", x)
    b = build.op("sum", a, axes=(1,), keepdims=True)
    c = build.op("multiply", build.op("add", a, b), x)
    assert fused(build.program(c)) == text("""
        f(x: float32[4, 80]):
            a: float32[4, 1] = sum[axes=(1,), keepdims](-x)
            b: float32[4, 80] = (a - x) * x
            return b
        """)


def test_an_expensive_value_is_never_computed_twice() -> None:
    build = Build()
    x = build.input("x", 4, 80)
    a = build.op("exp", x)
    b = build.op("sum", a, axes=(1,), keepdims=True)
    program = build.program(build.op("divide", a, b))
    assert fused(program) == str(program)


# -------------------------------------------------------------------------------------- reductions


def test_a_reduction_takes_what_it_alone_reads() -> None:
    build = Build()
    x, y = build.input("x", 4, 80), build.input("y", 4, 80)
    a = build.op("multiply", build.op("exp", x), y)
    b = build.op("sqrt", build.op("mean", a, axes=(1,), keepdims=False))
    assert fused(build.program(b)) == text("""
        f(x: float32[4, 80], y: float32[4, 80]):
            a: float32[4] = mean[axes=(1,)](exp(x) * y)
            b: float32[4] = sqrt(a)
            return b
        """)


def test_a_difference_that_loss_and_gradient_read_is_not_stored() -> None:
    build = Build()
    x, y = build.input("x", 4, 80), build.input("y", 4, 80)
    a = build.op("subtract", x, y)
    loss = build.op("mean", build.op("square", a), axes=(0, 1), keepdims=False)
    grad = build.op("multiply", a, build.number(0.5))
    assert fused(build.program(loss, grad)) == text("""
        f(x: float32[4, 80], y: float32[4, 80]):
            a: float32[4, 80] = (x - y) * 0.5
            b: float32[] = mean[axes=(0, 1)]((x - y) * (x - y))
            return b, a
        """)


def test_a_prologue_joins_the_one_that_is_there() -> None:
    build = Build()
    x, y = build.input("x", 4, 80), build.input("y", 4, 80)
    a = build.op("vecdot", build.op("exp", x), y)
    assert fused(build.program(a)) == text("""
        f(x: float32[4, 80], y: float32[4, 80]):
            a: float32[4] = sum[axes=(1,)](exp(x) * y)
            return a
        """)


def test_truth_values_are_counted_without_being_stored() -> None:
    build = Build()
    x, y = build.input("x", 4, 80), build.input("y", 4, 80)
    a = build.op("sum", build.op("less", x, y), axes=(0, 1), keepdims=False)
    assert fused(build.program(a)) == text("""
        f(x: float32[4, 80], y: float32[4, 80]):
            a: int64[] = sum[axes=(0, 1)](cast(x < y, int64))
            return a
        """)


def test_short_runs_are_computed_before_they_are_reduced() -> None:
    build = Build()
    x, w = build.input("x", 400, 10), build.input("w", 10)
    program = build.program(build.op("sum", build.op("multiply", x, w), axes=(1,), keepdims=False))
    assert fused(program) == str(program)


def test_long_rows_are_computed_before_their_columns_are_added() -> None:
    build = Build()
    x = build.input("x", 40, 500)
    rows = build.op("sum", build.op("exp", x), axes=(1,), keepdims=False)
    columns = build.op("sum", build.op("tanh", x), axes=(0,), keepdims=False)
    assert fused(build.program(rows, columns)) == text("""
        f(x: float32[40, 500]):
            a: float32[40] = sum[axes=(1,)](exp(x))
            b: float32[40, 500] = tanh(x)
            c: float32[500] = sum[axes=(0,)](b)
            return a, c
        """)


# ------------------------------------------------------------------------------------------- views


def test_what_is_repeated_for_an_elementwise_equation_is_not() -> None:
    build = Build()
    x, w = build.input("x", 8, 4), build.input("w", 4)
    wide = build.op("broadcast_to", build.op("reshape", w, shape=(1, 4)), shape=(8, 4))
    assert fused(build.program(build.op("multiply", x, wide))) == text("""
        f(x: float32[8, 4], w: float32[4]):
            a: float32[8, 4] = x * w
            return a
        """)


def test_what_gives_a_result_its_shape_stays() -> None:
    build = Build()
    w, v = build.input("w", 4), build.input("v", 4)
    wide, other = (build.op("broadcast_to", var, shape=(8, 4)) for var in (w, v))
    y = build.op("multiply", wide, other)
    zero = build.op("map", build.input("x", 8, 4), v, expression=expression(lambda x, v: v * 2))
    assert fused(build.program(y, build.op("add", zero, zero))) == text("""
        f(w: float32[4], v: float32[4], x: float32[8, 4]):
            a: float32[8, 4] = broadcast_to[shape=(8, 4)](w)
            b: float32[8, 4] = a * v
            c: float32[8, 4] = v * 2 + v * 2
            return b, c
        """)


# -------------------------------------------------------------------------------------------- bits


def joined(*, dtype: d.DType[Any], steps: Sequence[Any]) -> Program:
    build = Build()
    x = build.input("x", 200, dtype=dtype)
    for step in steps:
        x = build.map(step, x)
    return build.program(x)


def test_halves_are_rounded_between_equations() -> None:
    program = joined(dtype=d.float16, steps=[lambda x: x * 3.7, lambda x: x / 1.3])
    assert fused(program) == text("""
        f(x: float16[200]):
            a: float16[200] = cast(cast(x * 3.7, float16) / 1.3, float16)
            return a
        """)


def test_each_equation_computes_in_its_own_dtype() -> None:
    build = Build()
    x, y = build.input("x", 200), build.input("y", 200, dtype=d.float64)
    a = build.op("astype", build.op("multiply", x, x), dtype=d.float64)
    assert fused(build.program(build.op("add", a, y))) == text("""
        f(x: float32[200], y: float64[200]):
            a: float64[200] = cast(cast(x, float32) * cast(x, float32), float64) + y
            return a
        """)


def test_small_ints_wrap_between_equations() -> None:
    build = Build()
    x, y = build.input("x", 200, dtype=d.int8), build.input("y", 200, dtype=d.int64)
    program = build.program(build.op("add", build.op("multiply", x, x), y))
    given = copied_in(program, np.full(200, 100, np.int8), np.arange(200))
    assert same_results(program, verified(fuse)(program), given)
    assert "cast(x, int8) * cast(x, int8)" in fused(program)


def copied_in(program: Program, *values: Any) -> list[Any]:
    return [
        var.spec.device.copy_in(one, var.spec)
        for var, one in zip(program.inputs, values, strict=True)
    ]


def test_the_zero_of_a_derivative_is_a_number_to_other_equations() -> None:
    build = Build()
    x = build.input("x", 200)
    flat = build.op("map", x, x, expression=vjp(expression(lambda x: scalar.floor(x)), 0))
    program = build.program(build.op("add", build.op("multiply", x, flat), x))
    values = np.array([np.inf, np.nan, -0.0, 1.0] * 50, np.float32)
    given = copied_in(program, values)
    after = verified(fuse)(program)
    assert len(after.equations) == 1
    assert same_results(program, after, given)


def test_numbers_are_rounded_before_others_meet_them() -> None:
    program = joined(dtype=d.float32, steps=[lambda x: 0.1, lambda x: x + 0.2, lambda x: x * x])
    assert "cast(0.1, float32)" in fused(program)


def test_what_only_native_code_can_fold_stays_alone() -> None:
    log_of_nothing = expression(lambda x: scalar.log10(2))
    program = joined(dtype=d.float32, steps=[log_of_nothing, lambda x: x * 3])
    assert fused(program) == str(program)


@given(
    st.lists(st.sampled_from(d.ALL), min_size=1, max_size=6),
    st.lists(st.tuples(*[st.integers(0, 999)] * 4), min_size=1, max_size=40),
    st.integers(0, 99),
)
def test_random_programs_keep_every_bit(
    dtypes: list[d.DType[Any]], steps: list[tuple[int, int, int, int]], seed: int
) -> None:
    program = random_program(dtypes, steps)
    with np.errstate(all="ignore"):
        given = random_arrays(program, seed)
    assert same_results(program, verified(fuse)(program), given)


@pytest.mark.parametrize("pool", [(d.float32,), (d.float32, d.bool_), (d.float16, d.bfloat16)])
@given(st.lists(st.tuples(*[st.integers(0, 999)] * 4), min_size=5, max_size=40), st.integers(0, 99))
def test_random_programs_of_few_dtypes_keep_every_bit(
    pool: tuple[d.DType[Any], ...], steps: list[tuple[int, int, int, int]], seed: int
) -> None:
    program = random_program([*pool, *pool, *pool], steps)
    with np.errstate(all="ignore"):
        given = random_arrays(program, seed)
    assert same_results(program, verified(fuse)(program), given)


# ---------------------------------------------------------------------------------- large programs


def test_programs_beyond_the_operands_of_a_kernel_are_cut() -> None:
    build = Build()
    inputs = [build.input(f"x{number}", 8) for number in range(150)]
    total = inputs[0]
    for one in inputs[1:]:
        total = build.op("add", total, build.op("multiply", one, one))
    program = build.program(total)
    after = verified(fuse)(program)
    assert 1 < len(after.equations) < 6
    assert same_results(program, after, arrays(program))


def test_a_group_of_many_equations_is_deterministic() -> None:
    build = Build()
    x = build.input("x", 4, 4)
    values = [x]
    for number in range(300):
        made = build.op("matmul" if number % 11 == 5 else "add", values[-1], values[number // 2])
        values.append(made)
    program = build.program(values[-1])
    texts = {str(verify(fuse(program))) for _ in range(3)}
    assert len(texts) == 1
    assert same_results(program, fuse(program), arrays(program))


def test_equal_groups_have_one_expression() -> None:
    build = Build()
    x = build.input("x", 4, 4)
    for _ in range(3):
        x = build.op("matmul", build.op("tanh", build.op("add", x, x)), x)
    kernels = [one.kernel for one in fuse(build.program(x)).equations]
    assert len({kernel for kernel in kernels if isinstance(kernel, Elementwise)}) == 1
