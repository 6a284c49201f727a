"""What verify finds, and that it names where."""

import pytest

import lumus as lm
from lumus.compile.passes.verify import verified, verify
from lumus.core import kernels as k
from lumus.core.scalar.expressions import expression
from lumus.core.spec import spec_of
from lumus.trace.program import Equation, Program, Var
from tests.compile.build import CPU, Build, chain, f32


def refused(program: Program) -> str:
    with pytest.raises(AssertionError) as caught:
        verify(program)
    return str(caught.value)


def test_a_right_program_is_returned_as_it_is() -> None:
    program = chain(20)
    assert verify(program) is program


def test_a_value_that_nothing_made_is_found_with_its_equation() -> None:
    build = Build("step")
    x = build.input("x", 2)
    build.op("exp", x)
    build.op("add", x, Var(f32(2), "stray"))
    assert refused(build.program()) == (
        "step, equation 1: reads <stray: float32[2]>, which nothing has made\n"
        "  b: float32[2] = x + ?"
    )


def test_a_value_made_twice_is_found() -> None:
    build = Build()
    x = build.input("x", 2)
    made = build.op("exp", x)
    build.equations.append(build.equations[0])
    assert "equation 1: makes <value: float32[2]> again" in refused(build.program(made))
    one = build.equations[0]
    twice = Equation("topk", None, one.kernel, (x,), (made, made))
    build.equations = [twice]
    assert "equation 0: has one output twice" in refused(build.program())
    build.equations = [Equation("exp", None, one.kernel, (x,), ())]
    assert "equation 0: has no outputs" in refused(build.program())


def test_a_value_given_twice_is_found() -> None:
    build = Build()
    build.inputs = [build.input("x", 2)] * 2
    assert refused(build.program()) == "f: <x: float32[2]> is given twice"


def test_a_result_that_is_not_made_is_found() -> None:
    assert "the result <y: float32[2]> is not made" in refused(Build().program(Var(f32(2), "y")))


def test_writes_go_once_to_what_may_be_written() -> None:
    build = Build()
    x, w = build.input("x", 2), build.capture("w", [1.0, 2.0])
    constant = build.capture("c", [1.0, 2.0], constant=True)
    y = build.op("exp", w)
    build.write(x, y)
    build.write(w, y)
    verify(build.program())
    build.write(w, x)
    assert "the write of <x: float32[2]> to <w: float32[2]>: it is written twice" in refused(
        build.program()
    )
    for target in (constant, y):
        build.writes = []
        build.write(target, y)
        assert "it is no array that may be written" in refused(build.program())
    build.writes = []
    build.write(w, build.op("sum", x, axes=(0,), keepdims=False))
    assert "their types differ" in refused(build.program())


def test_an_op_is_typed_by_its_infer() -> None:
    build = Build()
    x = build.input("x", 2, 3)
    y = build.op("softmax_grad", x, x, axis=1)
    one = build.equations[0]
    build.equations = [Equation(one.op, one.attrs, one.kernel, one.inputs, (Var(f32(3, 2), "y"),))]
    assert refused(build.program()) == (
        "f, equation 0: gives float32[2, 3]\n  y: float32[3, 2] = softmax_grad[axis=1](x, x)"
    )
    assert y.spec is f32(2, 3)


def test_an_op_whose_operands_do_not_fit_is_found() -> None:
    build = Build()
    x, y = build.input("x", 2), build.input("y", 3)
    one = Equation("add", None, k.Elementwise(lm.core.op.OPS["add"].scalar), (x, y), (Var(f32(2)),))
    build.equations = [one]
    assert "does not take these operands: add: shapes (2,) and (3,)" in refused(build.program())


I64 = spec_of((2,), lm.int64, CPU)
WRONG = [
    (k.Elementwise(expression(lambda a: a + 1)), [f32(2)], f32(3)),
    (k.Elementwise(expression(lambda a: a + 1)), [f32(2)], I64),
    (k.Elementwise(expression(lambda a, b: a + b)), [f32(2)], f32(2)),
    (k.Elementwise(expression(lambda: 1.0)), [], f32(2)),
    (k.Reduce("sum", (0,), False), [f32(2, 3)], f32(2)),
    (k.Reduce("sum", (2,), False), [f32(2, 3)], f32(2, 3)),
    (k.Reduce("sum", (0, 0), False), [f32(2, 3)], f32(3)),
    (k.Reduce("sum", (0,), False), [f32(2), f32(2)], f32()),
    (k.Reduce("sum", (0,), False, expression(lambda a: a > 0)), [f32(2)], f32()),
    (k.Norm(2.0, (0,), True), [f32(2)], f32()),
    (k.ArgReduce("max", None, False), [f32(2, 3)], f32()),
    (k.MatMul(transposed=True), [f32(2, 3), f32(3, 4)], f32(2, 4)),
    (k.MatMul(transposed=True), [f32(3), f32(3)], f32()),
    (k.MatMul(), [f32(2, 3), f32(2, 3)], f32(2, 3)),
    (k.MatMul(bias=True), [f32(2, 3), f32(3, 4)], f32(2, 4)),
    (k.MatMul(bias=True), [f32(2, 3), f32(3, 4), f32(3)], f32(2, 4)),
    (k.MatMul(bias=True), [f32(2, 3), f32(5, 3, 4), f32(4)], f32(5, 2, 4)),
    (k.MatMul(), [f32(2, 3), f32()], f32(2, 3)),
    (k.Cast(lm.int64), [f32(2)], f32(2)),
    (k.Copy(), [f32(2)], f32(3)),
    (k.Reshape((3,)), [f32(2)], f32(3)),
    (k.Permute((0, 0)), [f32(2, 3)], f32(2, 2)),
    (k.Slice((1,), (2,), (1,)), [f32(2)], f32(2)),
    (k.Slice((0,), (2,), (0,)), [f32(2)], f32(2)),
    (k.Unslice((2,), (1,), (1,)), [f32(2)], f32(2)),
    (k.SlicePut((0,), (2,), (1,)), [f32(3), f32(3)], f32(3)),
    (k.BroadcastTo((3,)), [f32(2)], f32(3)),
    (k.BroadcastTo((1,)), [f32(3)], f32(1)),
    (k.Concat(0), [f32(2, 3), f32(2, 4)], f32(4, 3)),
    (k.Concat(0), [f32(2, 3), f32(4, 3)], f32(5, 3)),
    (k.LogSumExp((0,), False), [f32(2)], f32(1)),
    (k.Softmax(0, False), [f32(2)], f32(1)),
]


@pytest.mark.parametrize(
    ("kernel", "inputs", "output"), WRONG, ids=lambda value: getattr(value, "name", "")
)
def test_what_passes_have_made_is_typed_by_its_kernel(kernel, inputs, output) -> None:
    build = Build()
    given = [build.input("x", *spec.shape, dtype=spec.dtype) for spec in inputs]
    build.joined(kernel, *given, outputs=(output,))
    assert "f, equation 0: " in refused(build.program())


RIGHT = [
    (k.Elementwise(expression(lambda a, b: (a + b, a < b))), [f32(2, 1), f32(3)],
     (f32(2, 3), spec_of((2, 3), lm.bool_, CPU))),
    (k.Reduce("sum", (0, 2), False), [f32(2, 3, 4)], (f32(3),)),
    (k.Reduce("sum", (1,), True, expression(lambda a, b: a * b)), [f32(2, 1), f32(3)],
     (f32(2, 1),)),
    (k.ArgReduce("max", None, False), [f32(2, 3)], (spec_of((), lm.int64, CPU),)),
    (k.MatMul(transposed=True, bias=True), [f32(7, 2, 3), f32(4, 3), f32(4)], (f32(7, 2, 4),)),
    (k.MatMul(), [f32(3), f32(5, 3, 4)], (f32(5, 4),)),
    (k.MatMul(), [f32(5, 2, 3), f32(3)], (f32(5, 2),)),
    (k.Cast(lm.int64), [f32(2)], (I64,)),
    (k.Slice((1,), (2,), (-1,)), [f32(2)], (f32(2),)),
    (k.Slice((0,), (0,), (1,)), [f32(0)], (f32(0),)),
    (k.Unslice((5,), (4,), (-2,)), [f32(2)], (f32(5),)),
    (k.SlicePut((0,), (2,), (1,)), [f32(3), f32(1)], (f32(3),)),
    (k.BroadcastTo((3, 2)), [f32(2)], (f32(3, 2),)),
    (k.Concat(1), [f32(2, 3), f32(2, 4)], (f32(2, 7),)),
    (k.LogSumExp((0,), True), [f32(2)], (f32(1),)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "inputs", "outputs"), RIGHT, ids=lambda value: getattr(value, "name", "")
)
def test_the_rules_of_kernels_admit_what_is_right(kernel, inputs, outputs) -> None:
    build = Build()
    given = [build.input("x", *spec.shape, dtype=spec.dtype) for spec in inputs]
    build.joined(kernel, *given, outputs=outputs)
    verify(build.program())


def test_verified_names_the_pass_and_holds_the_signature() -> None:
    def breaks(program: Program) -> Program:
        return program.with_equations(program.equations[1:])

    def forgets(program: Program) -> Program:
        return program.with_results(program.equations, program.inputs, program.writes)

    def keeps(program: Program) -> Program:
        return program

    program = chain(3)
    assert verified(keeps)(program) is program
    with pytest.raises(AssertionError, match=r"breaks: chain, equation 0: reads .*"):
        verified(breaks)(program)
    build = Build()
    x = build.input("x", 2)
    outputs = build.program(build.op("sum", x, axes=(0,), keepdims=False))
    with pytest.raises(AssertionError, match="forgets: the outputs have other types"):
        verified(forgets)(outputs)
