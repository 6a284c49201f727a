"""fold: what is computed at once, and which numbers become part of expressions."""

from typing import ClassVar

import numpy as np
import pytest

import lumus as lm
from lumus.compile.passes.dce import dce
from lumus.compile.passes.fold import MAX_GROWTH, fold
from lumus.compile.passes.verify import verified
from lumus.core import kernels as k
from lumus.core.frozen import frozen
from lumus.core.op import OPS, ElementwiseOp
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.errors import LumusError
from lumus.trace.program import Program
from tests.compile.build import Build, arrays, f32, text
from tests.compile.interpret import same_results


def folded(program: Program) -> Program:
    """The program after fold, without what is no longer used; same bits checked."""
    after = verified(dce)(verified(fold)(program))
    assert same_results(program, after, arrays(program))
    return after


# -------------------------------------------------------------------------- equations of constants


def test_equations_of_constants_are_computed_at_once() -> None:
    build = Build()
    x = build.input("x", 2, 3)
    table = build.capture("table", [[1.0, 2.0, 3.0]], constant=True)
    logs = build.op("log", build.op("add", table, build.number(1.0)), label="logs")
    rows = build.op("permute_dims", logs, axes=(1, 0))
    steps = build.joined(k.Arange(0.0, 1.0, 3, lm.float32), outputs=(f32(3),))
    y = build.op(
        "add", build.op("matmul", x, rows), build.op("sum", steps, axes=(0,), keepdims=False)
    )
    program = build.program(y)
    assert str(program) == text("""
        f(x: float32[2, 3]):
            table: float32[1, 3] = constant
            a: float32[1, 3] = table + 1.0
            logs: float32[1, 3] = log(a)
            b: float32[3, 1] = permute_dims[axes=(1, 0)](logs)
            c: float32[3] = joined[start=0.0, step=1.0, count=3, dtype=float32]()
            d: float32[2, 1] = matmul(x, b)
            e: float32[] = sum[axes=(0,)](c)
            f: float32[2, 1] = d + e
            return f
        """)
    assert str(folded(program)) == text("""
        f(x: float32[2, 3]):
            a: float32[3, 1] = constant
            b: float32[2, 1] = matmul(x, a)
            c: float32[2, 1] = b + 3.0
            return c
        """)


def test_captured_arrays_that_may_be_written_are_not_constants() -> None:
    build = Build()
    w = build.capture("w", [1.0, 2.0])
    program = build.program(build.op("exp", build.op("negative", w)))
    assert str(folded(program)) == str(program)


def test_what_is_returned_is_a_new_array_at_each_call() -> None:
    build = Build()
    table = build.capture("table", [[1.0, 2.0]], constant=True)
    y = build.op("negative", build.op("exp", table))
    program = build.program(build.op("reshape", y, shape=(2,)))
    assert str(folded(program)) == text("""
        f():
            a: float32[1, 2] = constant
            b: float32[1, 2] = -a
            c: float32[2] = reshape[shape=(2,)](b)
            return c
        """)


def test_what_is_much_larger_than_its_inputs_is_left_to_run_time() -> None:
    build = Build()
    x = build.input("x", 1)
    ones = build.capture("ones", np.ones(3, "f4"), constant=True)
    size = MAX_GROWTH // 8
    first, second, third = (
        build.joined(k.Arange(float(i), 1.0, size, lm.float32), outputs=(f32(size),))
        for i in range(3)
    )
    total = build.op("sum", build.op("negative", first), axes=(0,), keepdims=False)
    for one in (second, third):
        total = build.op("add", total, build.op("max", one, axes=(0,), keepdims=False))
    wide = build.op("broadcast_to", ones, shape=(size, 3))
    program = build.program(build.op("add", x, total), build.op("add", x, wide))
    # Two halves of the limit are used up; a view takes no memory.
    assert [one.op for one in folded(program).equations] == ["joined", "max", "add", "add", "add"]


def test_an_equation_that_fails_is_left_to_fail_when_it_runs() -> None:
    build = Build()
    table = build.capture("table", [1.0, 2.0], constant=True)
    index = build.capture("index", [5], constant=True, dtype=lm.int64)
    y = build.op("negative", build.op("index", table, index))
    program = build.program(y)
    assert str(verified(fold)(program)) == str(program)


def test_a_kernel_that_does_more_than_compute_is_not_run() -> None:
    @frozen
    class Shout(k.Kernel):
        is_pure: ClassVar[bool] = False

    build = Build()
    shouted = build.joined(Shout(), build.number(1.0), outputs=(f32(),), op="shout")
    program = build.program(build.op("exp", shouted))
    assert str(fold(program)) == str(program)


def test_several_results_and_what_depends_on_them() -> None:
    build = Build()
    x = build.input("x", 2)
    table = build.capture("table", [1.0, 3.0, 2.0], constant=True)
    values, places = build.op("topk", table, k=2, axis=0, largest=True)
    y = build.op(
        "multiply", x, build.op("add", values, build.op("astype", places, dtype=lm.float32))
    )
    after = folded(build.program(y))
    assert str(after) == text("""
        f(x: float32[2]):
            a: float32[2] = constant
            b: float32[2] = x * a
            return b
        """)
    assert np.asarray(after.captures[0].data).tolist() == [4.0, 4.0]


# ------------------------------------------------------------------------- numbers in expressions


def test_numbers_are_no_operands_any_more() -> None:
    build = Build()
    x = build.input("x", 4)
    half, one = build.number(0.5), build.capture("", [[1.0]], constant=True)
    y = build.op("multiply", half, build.op("add", x, half))
    wider = build.op("add", x, one)
    kernel = k.Reduce("sum", (0,), False, expression(lambda a, b: a / b))
    total = build.joined(kernel, y, build.number(3.0), outputs=(f32(),))
    after = folded(build.program(total, wider))
    assert str(after) == text("""
        f(x: float32[4]):
            a: float32[1, 1] = constant
            b: float32[4] = x + 0.5
            c: float32[4] = 0.5 * b
            d: float32[1, 4] = x + a
            e: float32[] = sum[axes=(0,)](c / 3.0)
            return e, d
        """)
    assert [len(one.inputs) for one in after.equations] == [1, 1, 2, 1]


def test_equal_expressions_with_equal_numbers_stay_one_expression() -> None:
    build = Build()
    x = build.input("x", 4)
    for _ in range(2):
        x = build.op("add", x, build.number(0.5))
    first, second = folded(build.program(x)).equations
    assert first.kernel == second.kernel


def test_an_expression_keeps_an_operand_to_know_its_shape() -> None:
    build = Build()
    x = build.number(2.0)
    after = folded(build.program(build.op("exp", x), build.op("add", x, x)))
    assert [len(one.inputs) for one in after.equations] == [1, 1]


def test_what_is_computed_of_numbers_alone_is_computed_as_before() -> None:
    # exp(0.1) is rounded otherwise in double precision.
    build = Build()
    x, tenth = build.input("x", 4), build.number(0.1)
    outside = build.map(lambda a, b: a * scalar.exp(b), x, tenth)
    chosen = build.map(lambda a, b, c: a * scalar.where(a > 0, b, c), x, tenth, build.number(0.3))
    kinds = build.map(lambda a, b: a + scalar.cast(scalar.cast(b, lm.int32), lm.float32), x, tenth)
    after = folded(build.program(outside, chosen, kinds))
    assert [len(one.inputs) for one in after.equations] == [2, 2, 2]


def test_powers_stay_operands_where_products_would_round_otherwise() -> None:
    build = Build()
    x = build.input("x", 4)
    for power in (2.0, 3.0, 2.5):
        x = build.op("pow", x, build.number(power))
    program = build.program(x)
    assert [len(one.inputs) for one in folded(program).equations] == [2, 2, 1]
    after = verified(lambda one: fold(one, fast_math=True))(program)
    assert [len(one.inputs) for one in after.equations] == [1, 1, 1]


def test_a_number_that_decides_the_dtype_of_the_others_stays() -> None:
    build = Build()
    wide, narrow = build.input("a", 3, dtype=lm.int16), build.input("b", 3, dtype=lm.int8)
    number = build.number(200, lm.uint8)
    after = folded(build.program(build.op("add", wide, number), build.op("add", narrow, number)))
    assert [len(one.inputs) for one in after.equations] == [1, 2]


def test_conditions_stay_operands() -> None:
    build = Build()
    x, yes = build.input("x", 3), build.number(True, lm.bool_)
    after = folded(build.program(build.op("where", yes, x, build.number(0.0))))
    assert [len(one.inputs) for one in after.equations] == [2]


FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 0.1, 3.0, 4.0, 1e-45, 1e38, float("inf"), float("nan")]
INTS = [0, 1, 2, 3, 7, 100]
DTYPES = [lm.float64, lm.float32, lm.float16, lm.bfloat16, lm.int64, lm.int32, lm.uint8]
ELEMENTWISE = {
    name: op
    for name, op in OPS.items()
    if isinstance(op, ElementwiseOp) and op.attrs is None and op.scalar.num_inputs in (2, 3)
    if name != "dropout"  # its second operand is Bool
}


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_bits_are_those_of_a_number_as_an_operand(name: str, dtype) -> None:
    """Every elementwise op of several operands, with odd numbers in each place."""
    count = ELEMENTWISE[name].scalar.num_inputs
    build = Build()
    x = build.input("x", 37, dtype=dtype)
    if name == "where":
        condition = build.op("equal", x, x)
    results = []
    for number in INTS if dtype.kind == "int" else FLOATS:
        for place in range(name == "where", count):
            operands = [x] * count
            operands[place] = build.number(number, dtype)
            if name == "where":
                operands[0] = condition
            try:
                results.append(build.op(name, *operands))
            except LumusError:
                return  # the op does not have this kind
    program = build.program(*results)
    after = verified(fold)(program)
    assert same_results(program, after, _odd_inputs(dtype))


def _odd_inputs(dtype):
    if dtype.kind == "int":
        values = np.resize(np.arange(9), 37)
    else:
        values = np.random.default_rng(0).normal(size=37) * 3
        values[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40]
    wide = lm.int64 if dtype.kind == "int" else lm.float64
    return [lm.tensor(values, dtype=wide).astype(dtype).data]
