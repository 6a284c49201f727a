"""cse: what becomes one and what stays two."""

from typing import ClassVar

import lumus as lm
from lumus.compile.passes.cse import cse
from lumus.compile.passes.verify import verified
from lumus.core import kernels as k
from lumus.core.frozen import frozen
from lumus.trace.program import Capture, Program, Var
from tests.compile.build import Build, f32, text


def merged(program: Program) -> str:
    return str(verified(cse)(program))


def test_equal_kernels_of_equal_values_are_computed_once() -> None:
    build = Build()
    x, w = build.input("x", 4), build.capture("w", [1.0] * 4)
    parts = [build.op("exp", build.op("add", x, w)) for _ in range(3)]
    total = build.op("add", build.op("add", parts[0], parts[1]), parts[2])
    program = build.program(total)
    assert str(program) == text("""
        f(x: float32[4]):
            w: float32[4] = captured
            a: float32[4] = x + w
            b: float32[4] = exp(a)
            c: float32[4] = x + w
            d: float32[4] = exp(c)
            e: float32[4] = x + w
            f: float32[4] = exp(e)
            g: float32[4] = b + d
            h: float32[4] = g + f
            return h
        """)
    assert merged(program) == text("""
        f(x: float32[4]):
            w: float32[4] = captured
            a: float32[4] = x + w
            b: float32[4] = exp(a)
            c: float32[4] = b + b
            d: float32[4] = c + b
            return d
        """)


def test_expressions_are_compared_by_what_they_say() -> None:
    build = Build()
    x = build.input("x", 4)
    one = build.map(lambda a: a * 2.0 + 1.0, x)
    other = build.map(lambda b: (b * 1.0) * 2.0 + 1.0, x)
    third = build.map(lambda b: b * 2.0 - 1.0, x)
    assert merged(build.program(build.op("add", build.op("add", one, other), third))) == text("""
        f(x: float32[4]):
            a: float32[4] = x * 2.0 + 1.0
            b: float32[4] = x * 2.0 - 1.0
            c: float32[4] = a + a
            d: float32[4] = c + b
            return d
        """)


def test_an_expression_of_other_result_types_stays() -> None:
    build = Build()
    x = build.input("x", 4)
    kernel = k.Elementwise(lm.core.op.OPS["exp"].scalar)
    one = build.joined(kernel, x, outputs=(f32(4),))
    build.joined(kernel, x, outputs=(f32(4).with_dtype(lm.float16),))
    assert len(cse(build.program(one)).equations) == 2


def test_parameters_that_are_equal_numbers_of_other_bits_stay() -> None:
    build = Build()
    x = build.input("x", 2)
    for start in (0.0, -0.0, 0):
        build.joined(k.Arange(start, 1.0, 2, lm.float32), outputs=(f32(2),))
    for p in (2.0, 2.0, float("nan"), float("nan")):
        build.joined(k.Norm(p, (0,), False), x, outputs=(f32(),))
    assert len(cse(build.program()).equations) == 3 + 2


def test_random_numbers_are_the_same_for_the_same_key_only() -> None:
    build = Build()
    x = build.input("x", 4)
    keys = [build.host("key", 1, n, dtype=lm.int64) for n in (0, 1)]
    kernel = k.Random("normal", (4,), lm.float32, low=None, high=None)
    a, b, c = (build.joined(kernel, key, outputs=(f32(4),)) for key in (*keys, keys[0]))
    total = build.op("add", build.op("add", build.op("add", x, a), b), c)
    assert merged(build.program(total)) == text("""
        f(x: float32[4]):
            key: int64[2] = given
            key_2: int64[2] = given
            a: float32[4] = joined[distribution=normal, shape=(4,), dtype=float32](key)
            b: float32[4] = joined[distribution=normal, shape=(4,), dtype=float32](key_2)
            c: float32[4] = x + a
            d: float32[4] = c + b
            e: float32[4] = d + a
            return e
        """)


def test_two_returned_values_stay_two_tensors_also_when_returned_as_views() -> None:
    build = Build()
    x = build.input("x", 4)
    a, b, c, d = (build.op("exp", x) for _ in range(4))
    view = build.op("reshape", b, shape=(2, 2))
    kept = build.op("add", c, d)
    assert merged(build.program(a, view, kept)) == text("""
        f(x: float32[4]):
            a: float32[4] = exp(x)
            b: float32[4] = exp(x)
            c: float32[2, 2] = reshape[shape=(2, 2)](b)
            d: float32[4] = a + a
            return a, c, d
        """)


def test_a_value_that_takes_the_place_of_a_returned_one_is_returned_from_then_on() -> None:
    build = Build()
    x = build.input("x", 4)
    first, second, third = (build.op("exp", x) for _ in range(3))
    build.op("negative", first)
    assert merged(build.program(second, third)) == text("""
        f(x: float32[4]):
            a: float32[4] = exp(x)
            b: float32[4] = exp(x)
            c: float32[4] = -a
            return a, b
        """)


def test_values_on_both_sides_of_a_write_are_one_since_a_capture_is_read_as_it_was() -> None:
    build = Build()
    w = build.capture("w", [1.0, 2.0])
    before = build.op("exp", w)
    build.write(w, build.op("negative", w))
    after = build.op("exp", w)
    assert merged(build.program(build.op("add", before, after))) == text("""
        f():
            w: float32[2] = captured
            a: float32[2] = exp(w)
            b: float32[2] = -w
            c: float32[2] = a + a
            w <- b  # copy_
            return c
        """)


def test_constants_of_one_memory_or_number_are_one() -> None:
    build = Build()
    x = build.input("x", 2)
    table = build.capture("table", [1.0, 2.0], constant=True)
    again = Var(table.spec, "again")
    build.captures.append(Capture(again, build.captures[0].data, True))
    ones = [build.number(1.0), build.number(1.0), build.number(-0.0), build.number(0.0)]
    parameter = build.capture("w", 1.0)
    value = x
    for other in (table, again, *ones, parameter):
        value = build.op("add", value, other)
    assert merged(build.program(value)) == text("""
        f(x: float32[2]):
            table: float32[2] = constant
            w: float32[] = captured
            a: float32[2] = x + table
            b: float32[2] = a + table
            c: float32[2] = b + 1.0
            d: float32[2] = c + 1.0
            e: float32[2] = d + -0.0
            f: float32[2] = e + 0.0
            g: float32[2] = f + w
            return g
        """)
    assert len(cse(build.program(value)).captures) == 5


def test_two_returned_constants_stay_two() -> None:
    build = Build()
    program = build.program(build.number(1.0), build.number(1.0), build.number(1.0))
    assert len(set(verified(cse)(program).outputs)) == 3


def test_a_kernel_that_does_more_than_compute_is_not_merged() -> None:
    @frozen
    class Shout(k.Kernel):
        is_pure: ClassVar[bool] = False

    build = Build()
    x = build.input("x", 2)
    for _ in range(2):
        build.joined(Shout(), x, outputs=(f32(2),), op="shout")
    assert len(cse(build.program()).equations) == 2


def test_several_outputs_are_merged_together() -> None:
    build = Build()
    x = build.input("x", 4)
    values, _ = build.op("topk", x, k=2, axis=0, largest=True)
    _, places = build.op("topk", x, k=2, axis=0, largest=True)
    assert merged(build.program(build.op("exp", values), places)) == text("""
        f(x: float32[4]):
            a: float32[2], b: int64[2] = topk[k=2, axis=0, largest](x)
            c: float32[2] = exp(a)
            return c, b
        """)
