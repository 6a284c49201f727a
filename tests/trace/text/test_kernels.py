"""Kernels and expressions as text: exact both ways, from closed tables."""

import math

import pytest

from lumus.compile.passes.keys import Keys
from lumus.core import kernels as k
from lumus.core.dtypes import bfloat16, bool_, float16
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.loss import CrossEntropy
from lumus.core.kernels.normalization import NormalizeGrad
from lumus.core.kernels.outside import Callback
from lumus.core.kernels.pool import MaxPool, PoolAxis
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import Expression, expression
from lumus.core.scalar.nodes import ONE, ZERO, Constant, Input
from lumus.trace.text.cursor import Cursor, MalformedError
from lumus.trace.text.expressions import expression_text, read_expression
from lumus.trace.text.kernels import FIELDS, KERNELS, kernel_text, read_kernel


def read(text: str) -> Kernel:
    cursor = Cursor(text)
    kernel = read_kernel(cursor)
    cursor.end()
    return kernel


def read_formula(text: str) -> Expression:
    cursor = Cursor(text)
    made = read_expression(cursor)
    cursor.end()
    return made


def descendants(kind: type) -> list[type]:
    return [kind, *[one for child in kind.__subclasses__() for one in descendants(child)]]


def test_every_kernel_of_lumus_can_be_written_but_python_code() -> None:
    own = [one for one in descendants(Kernel) if one.__module__.startswith("lumus.")]
    missing = {one.__name__ for one in own} - set(KERNELS)
    assert missing == {"Kernel", "Callback", "WithEpilogue"}
    assert len({one.__name__ for one in own}) == len(own)


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (k.Copy(), "Copy()"),
        (k.Slice((0, 1), (2, 1), (1, -1)), "Slice(starts=(0, 1), sizes=(2, 1), steps=(1, -1))"),
        (k.Reshape(()), "Reshape(shape=())"),
        (k.Permute((0,)), "Permute(axes=(0,))"),
        (k.Cast(bool_), "Cast(dtype=bool)"),
        (k.ArgReduce("min", None, True), 'ArgReduce(kind="min", axis=None, keepdims=True)'),
        (k.Norm(math.inf, (1,), False), "Norm(p=inf, axes=(1,), keepdims=False)"),
        (k.Norm(2, (1,), False), "Norm(p=2.0, axes=(1,), keepdims=False)"),
        (k.Distances(-0.0), "Distances(p=-0.0)"),
        (k.Arange(1, 0.5, 3, float16), "Arange(start=1, step=0.5, count=3, dtype=float16)"),
        (
            k.Checked("ShapeError", 'no "{}"\n\u00e9', None),
            'Checked(error="ShapeError", message="no \\"{}\\"\\n\\u00e9", hint=None)',
        ),
        (
            CrossEntropy(-100, 0.1, "mean"),
            'CrossEntropy(ignore_index=-100, label_smoothing=0.1, reduction="mean")',
        ),
        (
            NormalizeGrad("rows", (1, 2, 3, 4), 1e-05, True, True, False, (True, False, True)),
            'NormalizeGrad(over="rows", extents=(1, 2, 3, 4), eps=1e-05, is_centered=True, '
            "is_measured=True, has_weight=False, wanted=(True, False, True))",
        ),
        (
            MaxPool((PoolAxis(8, 4, 2, 2, 0, 1),)),
            "MaxPool(axes=(PoolAxis(length=8, count=4, window=2, stride=2, padding=0, "
            "dilation=1),))",
        ),
        (
            k.Reduce("sum", (0,), True, expression(lambda x: x * x)),
            'Reduce(kind="sum", axes=(0,), keepdims=True, prologue=[x: t0 = multiply(x, x) -> t0])',
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Kernel) else "",
)
def test_kernel_is_text_and_back(kernel: Kernel, text: str) -> None:
    assert kernel_text(kernel) == text
    back = read(text)
    assert Keys().are_equal(back, kernel) or text.startswith("Norm(p=2.0")
    assert kernel_text(back) == text


def test_python_code_cannot_be_written() -> None:
    with pytest.raises(MalformedError, match="Callback cannot be saved: it is Python code"):
        kernel_text(Callback(print))
    with pytest.raises(MalformedError, match="expected a kernel, got Callback"):
        read('Callback(run="print")')


def test_what_only_passes_make_cannot_be_written() -> None:
    kernel = k.WithEpilogue(k.MatMul(), expression(lambda x: x * 2))
    message = "WithEpilogue cannot be saved: only passes make it; save the program as it was traced"
    with pytest.raises(MalformedError, match=message):
        kernel_text(kernel)
    with pytest.raises(MalformedError, match="expected a kernel, got WithEpilogue"):
        read("WithEpilogue()")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Copy", r"expected '\(', got the end of the line"),
        ("Copy(x=1)", r"expected '\)', got x"),
        ("Softmax(axis=1)", r"expected ',', got \)"),
        ("Softmax(log=True, axis=1)", "expected 'axis', got log"),
        ("Softmax(axis=1, log=1)", "expected True or False, got 1"),
        ("Softmax(axis=1.0, log=True)", r"expected an integer, got 1.0"),
        ("Softmax(axis=9223372036854775808, log=True)", "expected an integer"),
        ("Softmax(axis=99999999999999999999999, log=True)", "beyond 64 bits"),
        ("Distances(p=1)", "expected a float, got 1"),
        ("Distances(p=1e999)", "beyond a float"),
        ("Distances(p=0x10)", "nothing known"),
        ("Distances(p=--1.0)", "nothing known"),
        ("Cast(dtype=complex64)", "expected a dtype, got complex64"),
        ('ArgReduce(kind="mean", axis=0, keepdims=True)', "'mean' is none of 'max', 'min'"),
        ("Permute(axes=0)", r"expected '\(', got 0"),
        ("Permute(axes=(0 1))", "expected ',', got 1"),
        ("Permute(axes=(0, 1)", r"expected '\)', got the end"),
        ('Checked(error="x", message="y, hint=None)', "is nothing known"),
        ('Checked(error="\\ud800", message="y", hint=None)', "half a character"),
        ('Checked(error="\\q", message="y", hint=None)', "column 15: Invalid"),
        ("Elementwise(expression=[x: t0 = system(x) -> t0])", "system is no function of numbers"),
        ("Elementwise(expression=[x: t0 = sin(x, x) -> t0])", "sin takes 1 operands, got 2"),
        ("Elementwise(expression=[x: t0 = float32(x, x) -> t0])", "float32 takes 1 operands"),
        ("Elementwise(expression=[x: t0 = sin(t0) -> t0])", "expected a value of the exp.*got t0"),
        ("Elementwise(expression=[x: x = sin(x) -> x])", "expected a new name, got x"),
        ("Elementwise(expression=[x, x: -> x])", "expected a new name, got x"),
        ("Elementwise(expression=[True: -> True])", "expected a new name, got True"),
        ("Elementwise(expression=[x: t0 = sin(x) ->])", "without results"),
        ("Elementwise(expression=[x: t0 = sin(x)", "expected ',', got the end"),
        ("os(x=1)", "expected a kernel, got os"),
    ],
)
def test_text_that_is_no_kernel_is_refused(text: str, message: str) -> None:
    with pytest.raises(MalformedError, match=message):
        read(text)


def test_every_way_of_writing_a_field_is_used() -> None:
    used = {
        annotation
        for kind in [*KERNELS.values(), PoolAxis]
        for base in kind.__mro__
        for annotation in base.__dict__.get("__annotations__", {}).values()
    }
    inner = {"ResampleMode", "tuple[int, int]"}  # of an axis of resampling
    assert set(FIELDS) <= used | inner


def test_expression_keeps_what_is_shared_and_every_number() -> None:
    x, y = Input(0), Input(1)
    shared = scalar.exp(x)
    numbers = [-0.0, math.nan, -math.inf, 1, True, 0.1]
    outputs = (
        shared * shared,
        scalar.where(x < y, shared, scalar.cast(y, bfloat16)),
        *[Constant(number) for number in numbers],
        ZERO,
        ONE,
        y,
    )
    text = expression_text(Expression(("x", "scale"), outputs))
    assert text == (
        "[x, scale: t0 = exp(x), t1 = multiply(t0, t0), t2 = less(x, scale), "
        "t3 = bfloat16(scale), t4 = select(t2, t0, t3) -> "
        "t1, t4, -0.0, nan, -inf, 1, True, 0.1, zero, one, scale]"
    )
    back = read_formula(text)
    assert expression_text(back) == text
    assert back.outputs[-3] is ZERO
    assert back.outputs[-2] is ONE
    assert back.outputs[0].args[0] is back.outputs[0].args[1] is back.outputs[1].args[1]


@pytest.mark.parametrize(
    "names", [("t0", "x"), ("x", "x"), ("zero",), ("a b",), ("nan",), ("\u00e9",)]
)
def test_parameters_that_would_be_taken_for_something_else_are_named_anew(
    names: tuple[str, ...],
) -> None:
    made = Expression(names, (scalar.sin(Input(0)),))
    text = expression_text(made)
    assert text.startswith("[x0")
    assert expression_text(read_formula(text)) == text


def test_long_expression_is_no_recursion() -> None:
    node = Input(0)
    for _ in range(4_000):
        node = scalar.sin(node)
    text = expression_text(Expression(("x",), (node,)))
    assert expression_text(read_formula(text)) == text
