"""simplify: what goes, what stays, and that what is left gives the same bits."""

import numpy as np
import pytest

import lumus as lm
from lumus.compile.passes.dce import dce
from lumus.compile.passes.simplify import simplify
from lumus.compile.passes.verify import verified
from lumus.core import kernels as k
from lumus.core.dtypes import ALL
from lumus.core.scalar.expressions import expression
from lumus.core.spec import spec_of
from lumus.trace.program import Program
from tests.compile.build import CPU, Build, arrays, f32, text
from tests.compile.interpret import interpret, same_results


def simplified(program: Program) -> str:
    """The text of the program after simplify, without what is no longer used; same bits checked."""
    after = verified(dce)(verified(simplify)(program))
    assert same_results(program, after, arrays(program))
    return str(after)


def stays(program: Program) -> bool:
    return simplified(program) == str(program)


# ------------------------------------------------------------------------------------------ copies


def test_a_copy_of_a_value_is_the_value() -> None:
    build = Build()
    y = build.op("exp", build.input("x", 2, 3))
    copy = build.op("astype", build.op("copy", y), dtype=lm.float32)
    program = build.program(build.op("negative", copy))
    assert str(program) == text("""
        f(x: float32[2, 3]):
            a: float32[2, 3] = exp(x)
            b: float32[2, 3] = copy(a)
            c: float32[2, 3] = astype[dtype=float32](b)
            d: float32[2, 3] = -c
            return d
        """)
    assert simplified(program) == text("""
        f(x: float32[2, 3]):
            a: float32[2, 3] = exp(x)
            b: float32[2, 3] = -a
            return b
        """)


def test_a_copy_that_is_returned_is_memory_of_its_own() -> None:
    build = Build()
    y = build.op("exp", build.input("x", 4))
    view = build.op("reshape", build.op("copy", y), shape=(2, 2))
    assert stays(build.program(y, view))


def test_a_copy_of_what_is_not_dense_stays_for_the_sake_of_the_layout() -> None:
    build = Build()
    x = build.input("x", 5, 3)  # nothing is known of an input's layout
    y = build.op("permute_dims", build.op("exp", x), axes=(1, 0))
    sums = [build.op("sum", build.op("copy", one), axes=(0,), keepdims=False) for one in (x, y)]
    assert stays(build.program(*sums))


def test_a_copy_of_an_array_from_outside_that_is_written_elsewhere_stays() -> None:
    build = Build()
    u, w = build.capture("u", [1.0, 2.0]), build.capture("w", [3.0, 4.0])
    build.write(u, build.op("copy", w))
    build.write(w, build.op("copy", u))
    assert stays(build.program())
    build.writes = []
    build.write(w, build.op("copy", build.op("exp", u)))
    assert simplified(build.program()) == text("""
        f():
            u: float32[2] = captured
            w: float32[2] = captured
            a: float32[2] = exp(u)
            w <- a  # copy_
        """)


def test_kernels_that_only_copy_are_copies() -> None:
    build = Build()
    y = build.op("exp", build.input("x", 2, 3))
    whole = ((0, 0), (2, 3), (1, 1))
    a = build.joined(k.Concat(0), y, outputs=(f32(2, 3),))
    b = build.joined(k.SlicePut(*whole), y, a, outputs=(f32(2, 3),))
    c = build.joined(k.Unslice((2, 3), (0, 0), (1, 1)), b, outputs=(f32(2, 3),))
    d = build.map(lambda v: v * 1.0, c)
    assert simplified(build.program(build.op("negative", d))) == text("""
        f(x: float32[2, 3]):
            a: float32[2, 3] = exp(x)
            b: float32[2, 3] = -a
            return b
        """)


HELD_BY: dict[str, set[str]] = {
    "float16": {"float32", "float64"},
    "bfloat16": {"float32", "float64"},
    "float32": {"float64"},
    "float64": set(),
    "int64": set(),
    "int32": {"int64"},
    "int16": {"int32", "int64"},
    "int8": {"int16", "int32", "int64"},
    "uint8": {"int16", "int32", "int64"},
    "bool": {dtype.name for dtype in ALL},
}


@pytest.mark.parametrize("first", ALL, ids=str)
def test_casts_by_way_of_a_dtype_that_holds_every_value_are_one(first) -> None:
    for second in ALL:
        build = Build()
        x = build.capture("x", _odd_numbers(first), dtype=first)
        y = build.op("astype", x, dtype=second)
        thirds = [dtype for dtype in ALL if dtype is not second]
        results = [build.op("astype", y, dtype=third) for third in thirds]
        program = build.program(*[build.op("concat", one, one, axis=0) for one in results])
        after = verified(dce)(verified(simplify)(program))
        assert same_results(program, after, [])
        is_through = y in {var for one in after.equations for var in one.inputs}
        assert is_through != (second is first or second.name in HELD_BY[first.name]), second


def _odd_numbers(dtype):
    if dtype.kind == "bool":
        return [False, True]
    if dtype.kind == "int":
        return [0, 1, 127, *([255] if dtype.name == "uint8" else [-1, -128])]
    return [0.0, -0.0, 0.1, -1.5, 1e-7, 60000.0, float("inf"), float("-inf"), float("nan")]


# ------------------------------------------------------------------------------------------- views


def test_views_that_change_nothing_are_gone() -> None:
    build = Build()
    x = build.input("x", 2, 3)
    y = build.op("reshape", x, shape=(2, 3))
    y = build.op("permute_dims", y, axes=(0, 1))
    y = build.op("slice", y, starts=(0, 0), sizes=(2, 3), steps=(1, 1))
    y = build.op("broadcast_to", y, shape=(2, 3))
    assert simplified(build.program(y)) == text("""
        f(x: float32[2, 3]):
            return x
        """)


def test_views_of_views_are_one_view() -> None:
    build = Build()
    x = build.input("x", 4, 6, 5)
    y = build.op("permute_dims", x, axes=(2, 0, 1))
    y = build.op("permute_dims", y, axes=(1, 0, 2))
    y = build.op("slice", y, starts=(1, 4, 5), sizes=(2, 5, 3), steps=(2, -1, -2))
    y = build.op("slice", y, starts=(1, 0, 2), sizes=(2, 2, 2), steps=(-1, 2, -1))
    z = build.op("broadcast_to", build.input("z", 1, 3), shape=(2, 3))
    z = build.op("broadcast_to", z, shape=(5, 2, 3))
    program = build.program(y, z)
    assert str(program) == text("""
        f(x: float32[4, 6, 5], z: float32[1, 3]):
            a: float32[5, 4, 6] = permute_dims[axes=(2, 0, 1)](x)
            b: float32[4, 5, 6] = permute_dims[axes=(1, 0, 2)](a)
            c: float32[2, 5, 3] = slice[starts=(1, 4, 5), sizes=(2, 5, 3), steps=(2, -1, -2)](b)
            d: float32[2, 2, 2] = slice[starts=(1, 0, 2), sizes=(2, 2, 2), steps=(-1, 2, -1)](c)
            e: float32[2, 3] = broadcast_to[shape=(2, 3)](z)
            f: float32[5, 2, 3] = broadcast_to[shape=(5, 2, 3)](e)
            return d, f
        """)
    assert simplified(program) == text("""
        f(x: float32[4, 6, 5], z: float32[1, 3]):
            a: float32[4, 5, 6] = permute_dims[axes=(0, 2, 1)](x)
            b: float32[2, 2, 2] = slice[starts=(3, 4, 1), sizes=(2, 2, 2), steps=(-2, -2, 2)](a)
            c: float32[5, 2, 3] = broadcast_to[shape=(5, 2, 3)](z)
            return b, c
        """)


@pytest.mark.parametrize(
    ("starts", "steps", "is_whole"), [((2,), (-1,), True), ((0,), (1,), True), ((1,), (-1,), False)]
)
def test_reversed_twice_is_the_value(
    starts: tuple[int, ...], steps: tuple[int, ...], is_whole: bool
) -> None:
    build = Build()
    size = 3 if is_whole else 2
    y = build.op("slice", build.input("x", 3), starts=starts, sizes=(size,), steps=steps)
    y = build.op("slice", y, starts=(0 if steps[0] > 0 else size - 1,), sizes=(size,), steps=steps)
    simple = simplified(build.program(y))
    assert (simple == "f(x: float32[3]):\n    return x") is is_whole


def test_transposed_twice_is_the_value() -> None:
    build = Build()
    x = build.input("x", 2, 3)
    y = build.op("permute_dims", build.op("permute_dims", x, axes=(1, 0)), axes=(1, 0))
    assert simplified(build.program(y)) == "f(x: float32[2, 3]):\n    return x"


def test_reshapes_of_what_is_dense_are_one_and_of_others_stay() -> None:
    build = Build()
    x = build.op("exp", build.input("x", 4, 6))
    there = build.op("reshape", x, shape=(24,))
    back = build.op("reshape", there, shape=(4, 6))
    other = build.op("reshape", there, shape=(2, 12))
    assert simplified(build.program(back, other)) == text("""
        f(x: float32[4, 6]):
            a: float32[4, 6] = exp(x)
            b: float32[2, 12] = reshape[shape=(2, 12)](a)
            return a, b
        """)
    build = Build()
    y = build.op("permute_dims", build.op("exp", build.input("x", 4, 6)), axes=(1, 0))
    back = build.op("reshape", build.op("reshape", y, shape=(24,)), shape=(6, 4))
    assert stays(build.program(build.op("sum", back, axes=(0,), keepdims=False)))


# ------------------------------------------------------------------------- elementwise, reductions


@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        ("negative", lm.float16),
        ("negative", lm.int8),
        ("bitwise_invert", lm.uint8),
        ("logical_not", lm.bool_),
    ],
)
def test_what_undoes_itself_is_gone(op, dtype) -> None:
    build = Build()
    x = build.input("x", 30, dtype=dtype)
    y = build.op("copy", x)
    twice = build.op(op, build.op(op, y))
    after = dce(verified(simplify)(build.program(build.op("equal", twice, x))))
    assert [one.op for one in after.equations] == ["copy", "equal"]
    assert same_results(build.program(twice), simplify(build.program(twice)), arrays(after))


def test_a_function_of_another_function_stays() -> None:
    build = Build()
    x = build.op("exp", build.input("x", 3))
    y = build.op("negative", build.op("reciprocal", x))
    z = build.op("reciprocal", build.op("reciprocal", x))
    assert stays(build.program(y, z))


def test_elementwise_equations_read_what_is_not_yet_repeated() -> None:
    build = Build()
    x, b = build.input("x", 4, 3), build.input("b", 3)
    row = build.op("reshape", b, shape=(1, 3))
    full = build.op("broadcast_to", row, shape=(4, 3))
    alone = build.op("exp", full)
    column = build.op("reshape", b, shape=(3, 1))
    both = build.op("add", full, build.op("broadcast_to", row, shape=(4, 3)))
    total = build.op("add", build.op("multiply", x, full), build.op("add", alone, both))
    program = build.program(total, build.op("multiply", column, row))
    assert simplified(program) == text("""
        f(x: float32[4, 3], b: float32[3]):
            a: float32[1, 3] = reshape[shape=(1, 3)](b)
            c: float32[4, 3] = broadcast_to[shape=(4, 3)](a)
            d: float32[4, 3] = exp(c)
            e: float32[3, 1] = reshape[shape=(3, 1)](b)
            f: float32[4, 3] = broadcast_to[shape=(4, 3)](a)
            g: float32[4, 3] = b + f
            h: float32[4, 3] = x * b
            i: float32[4, 3] = d + g
            j: float32[4, 3] = h + i
            k: float32[3, 3] = e * b
            return j, k
        """)


@pytest.mark.parametrize("kind", ["sum", "mean", "prod", "max", "min"])
def test_reductions_of_one_element_each_are_views(kind) -> None:
    build = Build()
    x = build.op("negative", build.capture("x", [[[0.0], [-0.0], [float("nan")]]]))
    shapes = [build.op(kind, x, axes=axes, keepdims=False) for axes in ((), (0,), (0, 2))]
    shapes.append(build.op(kind, x, axes=(2,), keepdims=True))
    program = build.program(*[build.op("exp", one) for one in shapes])
    assert simplified(program) == text("""
        f():
            x: float32[1, 3, 1] = captured
            a: float32[1, 3, 1] = -x
            b: float32[3, 1] = reshape[shape=(3, 1)](a)
            c: float32[3] = reshape[shape=(3,)](a)
            d: float32[1, 3, 1] = exp(a)
            e: float32[3, 1] = exp(b)
            f: float32[3] = exp(c)
            g: float32[1, 3, 1] = exp(a)
            return d, e, f, g
        """).replace("reshape", kind)


def test_reductions_that_are_more_stay() -> None:
    build = Build()
    x = build.op("copy", build.input("x", 1, 3, dtype=lm.int32))
    wider = build.op("sum", x, axes=(0,), keepdims=False)
    kernel = k.Reduce("sum", (0,), False, expression(lambda a: a * a))
    squares = build.joined(kernel, x, outputs=(spec_of((3,), lm.int32, CPU),))
    two = build.op("max", x, axes=(1,), keepdims=False)
    returned = build.op("max", x, axes=(0,), keepdims=False)
    assert stays(build.program(build.op("copy", x), wider, squares, two, returned))


# --------------------------------------------------------------------------------------- fast math


def fast(function, x=1.7):
    """The expression after simplify with fast_math, and how far its value moved."""
    build = Build()
    v = build.input("x", 3, dtype=lm.float64)
    program = build.program(build.map(function, v))
    assert str(simplify(program)) == str(program)
    after = verified(lambda one: simplify(one, fast_math=True))(program)
    given = [lm.tensor([x, -x, 3.0], dtype=lm.float64).data]
    np.testing.assert_allclose(interpret(after, given), interpret(program, given), rtol=1e-13)
    return str(after.equations[0].kernel.expression).replace("v", "x")


def test_fast_math_joins_constants() -> None:
    assert fast(lambda v: v * 2.0 * 3.0) == "x * 6.0"
    assert fast(lambda v: 2.0 * (v / 4.0)) == "x * 0.5"
    assert fast(lambda v: v / 4.0) == "x * 0.25"
    assert fast(lambda v: v - 1.5 + 0.25 + 1) == "x + -0.25"
    assert fast(lambda v: (v + 1.0) * 2.0 * 3.0 + 1.0) == "(x + 1.0) * 6.0 + 1.0"


@pytest.mark.parametrize(
    "function",
    [
        lambda v: 1.0 / v,
        lambda v: 1.0 - v,
        lambda v: v * 2.0 + 3.0,
        lambda v: v * 1e20 * 1e20,
        lambda v: v / 0.0,
        lambda v: v**2.0 * 3.0,
    ],
)
def test_fast_math_leaves_the_rest_alone(function) -> None:
    build = Build()
    program = build.program(build.map(function, build.input("x", 3)))
    assert str(simplify(program, fast_math=True)) == str(program)


def test_fast_math_leaves_integers_alone() -> None:
    build = Build()
    x = build.input("x", 3, dtype=lm.int8)
    made = build.joined(k.Elementwise(expression(lambda v: v * 100 * 100)), x, outputs=(x.spec,))
    program = build.program(made)
    assert str(simplify(program, fast_math=True)) == str(program)
