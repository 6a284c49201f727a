"""Programs as text."""

import pytest

import lumus as lm
from lumus.core import kernels as k
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.site import Site, call_site
from lumus.trace.program import Equation, Program, Write
from tests.compile.build import Build, f32, text


def site(line: int, file: str = "train.py") -> Site:
    """A call site at that line of a user's file."""
    names = {"call_site": call_site}
    exec(compile("\n" * (line - 1) + "found = call_site()", file, "exec"), names)
    return names["found"]


def at(build: Build, *lines: int) -> None:
    """Says that the last equation comes from these lines."""
    one = build.equations[-1]
    sites = tuple(site(line) for line in lines)
    build.equations[-1] = Equation(one.op, one.attrs, one.kernel, one.inputs, one.outputs, sites)


def test_a_training_step_reads_like_code() -> None:
    build = Build("step")
    x = build.input("x", 64, 784)
    y = build.input("y", 64, dtype=lm.int64)
    weight = build.capture("weight", lm.zeros((10, 784)).numpy())
    rate = build.host("rate", 0.1)
    logits = build.op("linear", x, weight)
    at(build, 3)
    loss = build.op("sum", logits, axes=(0, 1), keepdims=False)
    at(build, 4)
    scaled = build.op("multiply", build.op("tanh", logits), build.number(-0.1))
    at(build, 5)
    grad = build.op("matmul", build.op("permute_dims", scaled, axes=(1, 0)), x, label="grad")
    new = build.update("SGD.step", lambda p, g, lr: p - lr * g, (weight,), weight, grad, rate)
    build.writes = [Write(weight, new, "SGD.step", site(7))]
    program = build.program(loss, y)
    assert str(program) == text("""
        step(x: float32[64, 784], y: int64[64]):
            weight: float32[10, 784] = captured
            rate: float32[1] = given
            a: float32[64, 10] = linear[transposed](x, weight)  # train.py:3
            b: float32[] = sum[axes=(0, 1)](a)  # train.py:4
            c: float32[64, 10] = tanh(a)
            d: float32[64, 10] = c * -0.1  # train.py:5
            e: float32[10, 64] = permute_dims[axes=(1, 0)](d)
            grad: float32[10, 784] = matmul(e, x)
            f: float32[10, 784] = weight - rate * grad
            weight <- f  # SGD.step at train.py:7
            return b, y
        """)
    assert repr(program) == "<program step: 7 equations>"


def test_labels_that_are_used_twice_are_numbered_and_letters_step_aside() -> None:
    build = Build()
    a, first, second = build.input("a", 2), build.input("w", 2), build.capture("w", [1.0, 2.0])
    made = build.op("add", build.op("add", first, second), a)
    assert str(build.program(made)) == text("""
        f(a: float32[2], w: float32[2]):
            w_2: float32[2] = captured
            b: float32[2] = w + w_2
            c: float32[2] = b + a
            return c
        """)


def test_letters_go_on_after_z() -> None:
    build = Build()
    x = build.input("x", 1)
    for _ in range(27):
        x = build.op("negative", x)
    lines = str(build.program(x)).split("\n")
    assert lines[25] == "    z: float32[1] = -y"
    # x is the input's name: the letter is left out.
    assert lines[23:25] == ["    w: float32[1] = -v", "    y: float32[1] = -w"]
    assert lines[26:28] == ["    aa: float32[1] = -z", "    ab: float32[1] = -aa"]


def test_kernels_show_parameters_and_several_outputs() -> None:
    build = Build()
    x = build.input("x", 3, 4)
    values, places = build.op("topk", x, k=2, axis=1, largest=True)
    kernel = k.Reduce("sum", (1,), True, expression(lambda p, q: p * scalar.exp(q)))
    total = build.joined(kernel, values, build.number(0.5), outputs=(f32(3, 1),))
    assert str(build.program(total, places)) == text("""
        f(x: float32[3, 4]):
            a: float32[3, 2], b: int64[3, 2] = topk[k=2, axis=1, largest](x)
            c: float32[3, 1] = sum[axes=(1,), keepdims](a * exp(0.5))
            return c, b
        """)


def test_an_epilogue_stands_below_its_product() -> None:
    build = Build()
    x, w, b = build.input("x", 3, 4), build.input("w", 5, 4), build.input("b", 5)
    kernel = k.WithEpilogue(
        k.MatMul(True, True), expression(lambda y, s: scalar.where(y > 0, y, y * s))
    )
    made = build.joined(kernel, x, w, b, build.number(0.1), outputs=(f32(3, 5),), op="linear")
    at(build, 4, 5)
    assert str(build.program(made)) == text("""
        f(x: float32[3, 4], w: float32[5, 4], b: float32[5]):
            a: float32[3, 5] =
                _ = linear[transposed, bias](x, w, b)
                where(_ > 0, _, _ * 0.1)  # train.py:4, train.py:5
            return a
        """)


def test_a_long_expression_takes_lines_of_its_own() -> None:
    build = Build()
    x = build.input("x", 2)

    def powers(value):
        for _ in range(9):
            value = value * value
        return value + 1.0

    build.map(powers, x)
    at(build, 9)
    lines = str(build.program()).split("\n")
    assert lines[:3] == [
        "f(x: float32[2]):",
        "    a: float32[2] =",
        "        t0 = x * x",
    ]
    assert lines[-1] == "        t7 * t7 + 1.0  # train.py:9"


def test_equations_of_several_lines_name_the_first_ones() -> None:
    build = Build()
    x = build.input("x", 2)
    build.op("exp", x)
    at(build, 4, 4, 2, 8)
    build.op("exp", x)
    at(build, 1, 2, 3, 4)
    assert str(build.program()).split("\n")[1:] == [
        "    a: float32[2] = exp(x)  # train.py:4, train.py:2, train.py:8",
        "    b: float32[2] = exp(x)  # train.py:1, train.py:2, train.py:3, ...",
    ]


@pytest.mark.parametrize(
    ("value", "dtype", "shown"),
    [
        (0.1, lm.float32, "0.1"),
        (0.1, lm.bfloat16, "0.100097656"),
        (0.1, lm.float64, "0.1"),
        (-0.0, lm.float32, "-0.0"),
        (float("inf"), lm.float16, "inf"),
        (7, lm.uint8, "7"),
        (True, lm.bool_, "True"),
        (1e300, lm.float64, "1e+300"),
    ],
)
def test_constants_of_one_number_are_shown_as_numbers(value, dtype, shown) -> None:
    build = Build()
    x = build.input("x", 2, dtype=dtype)
    equal = build.op("equal", x, build.number(value, dtype))
    assert f"= x == {shown}\n" in str(build.program(equal))


def test_constants_of_more_elements_are_declared() -> None:
    build = Build()
    table = build.capture("table", [[1.0]], constant=True)
    assert str(build.program(table)) == text("""
        f():
            table: float32[1, 1] = constant
            return table
        """)


def test_a_program_that_is_none_can_be_shown() -> None:
    other = Build()
    stray = other.input("stray", 2)
    build = Build()
    build.op("exp", stray)
    assert "= exp(?)" in str(build.program())
    assert str(Program("empty", [], [], [], [], [], [])) == "empty():"
