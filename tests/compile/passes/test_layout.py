"""layout: transposes that become flags, and reshapes that need no copy any more."""

import pytest

import lumus as lm
from lumus.compile.passes.dce import dce
from lumus.compile.passes.layout import layout
from lumus.compile.passes.verify import verified
from lumus.trace.program import Program
from tests.compile.build import Build, arrays, text
from tests.compile.interpret import same_results


def laid_out(program: Program) -> str:
    """The text of the program after layout, without what is no longer used; same bits checked."""
    after = verified(dce)(verified(layout)(program))
    assert same_results(program, after, arrays(program))
    return str(after)


def test_a_transposed_second_operand_becomes_the_flag_of_the_product() -> None:
    build = Build()
    x, w = build.input("x", 5, 3), build.input("w", 4, 3)
    rows, bias = build.input("rows", 3, 4), build.input("bias", 4)
    turned = build.op("permute_dims", w, axes=(1, 0))
    y = build.op("matmul", x, turned)
    z = build.op("linear", x, build.op("permute_dims", rows, axes=(1, 0)), bias)
    program = build.program(y, z)
    assert str(program) == text("""
        f(x: float32[5, 3], w: float32[4, 3], rows: float32[3, 4], bias: float32[4]):
            a: float32[3, 4] = permute_dims[axes=(1, 0)](w)
            b: float32[5, 4] = matmul(x, a)
            c: float32[4, 3] = permute_dims[axes=(1, 0)](rows)
            d: float32[5, 4] = linear[transposed, bias](x, c, bias)
            return b, d
        """)
    assert laid_out(program) == text("""
        f(x: float32[5, 3], w: float32[4, 3], rows: float32[3, 4], bias: float32[4]):
            a: float32[5, 4] = matmul[transposed](x, w)
            b: float32[5, 4] = linear[bias](x, rows, bias)
            return a, b
        """)


def test_stacks_of_matrices_and_other_permutations() -> None:
    build = Build()
    x, y = build.input("x", 2, 5, 3), build.input("y", 2, 4, 3)
    swapped = build.op("permute_dims", y, axes=(0, 2, 1))
    moved = build.op("permute_dims", build.input("z", 3, 4, 2), axes=(2, 0, 1))
    first = build.op("matmul", build.op("permute_dims", x, axes=(0, 2, 1)), x)
    program = build.program(build.op("matmul", x, swapped), build.op("matmul", x, moved), first)
    assert laid_out(program) == text("""
        f(x: float32[2, 5, 3], y: float32[2, 4, 3], z: float32[3, 4, 2]):
            a: float32[2, 3, 4] = permute_dims[axes=(2, 0, 1)](z)
            b: float32[2, 3, 5] = permute_dims[axes=(0, 2, 1)](x)
            c: float32[2, 3, 3] = matmul(b, x)
            d: float32[2, 5, 4] = matmul[transposed](x, y)
            e: float32[2, 5, 4] = matmul(x, a)
            return d, e, c
        """)


def test_a_transpose_that_others_read_too_stays_for_them() -> None:
    build = Build()
    x, w = build.input("x", 5, 3), build.input("w", 4, 3)
    turned = build.op("permute_dims", w, axes=(1, 0))
    after = layout(build.program(build.op("matmul", x, turned), build.op("exp", turned)))
    assert [one.op for one in dce(after).equations] == ["permute_dims", "matmul", "exp"]


def heads(build: Build):
    """(batch, heads, rows, width) brought to (batch, rows, heads * width), which takes a copy."""
    x = build.op("exp", build.input("x", 2, 3, 4, 5))
    return build.op("reshape", build.op("permute_dims", x, axes=(0, 2, 1, 3)), shape=(2, 4, 15))


def test_a_reshape_that_copies_moves_behind_what_reads_it() -> None:
    build = Build()
    y = build.op("multiply", heads(build), build.number(0.5))
    y = build.op("astype", build.op("tanh", y), dtype=lm.float16)
    program = build.program(build.op("sum", y, axes=(1,), keepdims=False))
    assert str(program) == text("""
        f(x: float32[2, 3, 4, 5]):
            a: float32[2, 3, 4, 5] = exp(x)
            b: float32[2, 4, 3, 5] = permute_dims[axes=(0, 2, 1, 3)](a)
            c: float32[2, 4, 15] = reshape[shape=(2, 4, 15)](b)
            d: float32[2, 4, 15] = c * 0.5
            e: float32[2, 4, 15] = tanh(d)
            f: float16[2, 4, 15] = astype[dtype=float16](e)
            g: float16[2, 15] = sum[axes=(1,)](f)
            return g
        """)
    assert laid_out(program) == text("""
        f(x: float32[2, 3, 4, 5]):
            a: float32[2, 3, 4, 5] = exp(x)
            b: float32[2, 4, 3, 5] = permute_dims[axes=(0, 2, 1, 3)](a)
            c: float32[2, 4, 3, 5] = b * 0.5
            d: float32[2, 4, 3, 5] = tanh(c)
            e: float16[2, 4, 3, 5] = astype[dtype=float16](d)
            f: float16[2, 4, 15] = reshape[shape=(2, 4, 15)](e)
            g: float16[2, 15] = sum[axes=(1,)](f)
            return g
        """)


@pytest.mark.parametrize("case", ["read twice", "other operand", "returned", "a view", "unknown"])
def test_reshapes_that_stay(case: str) -> None:
    build = Build()
    y = heads(build)
    results = []
    if case == "read twice":
        results = [build.op("exp", y), build.op("log", y)]
    if case == "other operand":
        results = [build.op("add", y, build.input("z", 15))]
    if case == "returned":
        results = [build.op("exp", y), y]
    if case == "a view":
        x = build.op("exp", build.input("z", 4, 6))
        part = build.op("slice", x, starts=(1, 0), sizes=(2, 6), steps=(1, 1))
        results = [build.op("exp", build.op("reshape", part, shape=(12,)))]
    if case == "unknown":
        turned = build.op("permute_dims", build.input("z", 4, 6), axes=(1, 0))
        results = [build.op("exp", build.op("reshape", turned, shape=(24,)))]
    program = build.program(*results)
    assert str(verified(layout)(program)) == str(program)
