"""Compiling expressions: types, sharing, and that programs compute what expressions say."""

import math
from typing import Any

import pytest

from lumus.core.dtypes import (
    ALL,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int64,
    uint8,
)
from lumus.core.scalar import functions as f
from lumus.core.scalar.expressions import Expression, expression
from lumus.core.scalar.program import ScalarProgram, compile_program

NAMES = {dtype.code: dtype.name for dtype in ALL}


def listing(e: Expression, inputs: list[Any], outputs: list[Any]) -> list[str]:
    """The program as text, registers written out as what defines them."""
    program = compile_program(e, inputs, outputs)
    registers = [
        f"{name}:{NAMES[code]}" for name, code in zip(e.parameters, program.inputs, strict=True)
    ]
    registers += [f"{value!r}:{NAMES[code]}" for code, value in program.constants]
    lines = []
    for number, (opcode, code, args) in enumerate(program.instructions):
        lines.append(f"{opcode}.{NAMES[code]}({', '.join(registers[arg] for arg in args)})")
        registers.append(f"%{number}")
    return [*lines, *[f"-> {registers[output]}" for output in program.outputs]]


def test_program_has_the_native_form() -> None:
    e = expression(lambda x, y: (x * 2 + y, x * 2))
    assert compile_program(e, (float32, float32), (float32, float32)) == ScalarProgram(
        inputs=[1, 1],
        constants=[(1, 2.0)],
        instructions=[("multiply", 1, (0, 2)), ("add", 1, (1, 3))],
        outputs=[4, 3],
    )


def test_half_inputs_compute_in_float32_and_round_once() -> None:
    e = expression(lambda x, y: x * y + 1)
    assert listing(e, [float16, bfloat16], [bfloat16]) == [
        "cast.float32(x:float16)",
        "cast.float32(y:bfloat16)",
        "multiply.float32(%0, %1)",
        "add.float32(1.0:float32, %2)",
        "cast.bfloat16(%3)",
        "-> %4",
    ]


def test_a_float64_input_makes_all_floats_compute_in_float64() -> None:
    e = expression(lambda x, y: f.exp(x) + y)
    assert listing(e, [float32, float64], [float32]) == [
        "cast.float64(x:float32)",
        "exp.float64(%0)",
        "add.float64(y:float64, %1)",
        "cast.float32(%2)",
        "-> %3",
    ]


def test_ints_compute_in_the_dtype_they_promote_to() -> None:
    e = expression(lambda x, y: x + y * 2)
    assert listing(e, [int8, uint8], [int16]) == [
        "cast.int16(y:uint8)",
        "multiply.int16(2:int16, %0)",
        "cast.int16(x:int8)",
        "add.int16(%1, %2)",
        "-> %3",
    ]


def test_comparisons_give_bool_and_numbers_take_the_other_type() -> None:
    e = expression(lambda x, labels: f.where(f.equal(labels, -1) | (x > 1), 0, x))
    assert listing(e, [float32, int64], [float32]) == [
        "equal.int64(labels:int64, -1:int64)",
        "greater.float32(x:float32, 1.0:float32)",
        "logical_or.bool(%0, %1)",
        "select.float32(%2, 0.0:float32, x:float32)",
        "-> %3",
    ]


def test_selections_among_numbers_take_the_type_they_meet() -> None:
    e = expression(lambda x: f.where(x > 0, 1, 0.5) * x)
    assert "select.float64(%0, 1.0:float64, 0.5:float64)" in listing(e, [float64], [float64])
    e = expression(lambda m: (f.where(m, 1, 2), f.where(m, 1, 2)))
    assert listing(e, [bool_], [int8, float16]) == [
        "select.int8(m:bool, 1:int8, 2:int8)",
        "select.float32(m:bool, 1.0:float32, 2.0:float32)",
        "cast.float16(%1)",
        "-> %0",
        "-> %2",
    ]


def test_casts_go_straight_from_and_to_half_types() -> None:
    e = expression(lambda x: f.cast(x, float64))
    assert listing(e, [float16], [float64]) == ["cast.float64(x:float16)", "-> %0"]
    e = expression(lambda x: f.cast(x, bfloat16))
    assert listing(e, [float64], [bfloat16]) == ["cast.bfloat16(x:float64)", "-> %0"]
    e = expression(lambda x: f.cast(x, float32))
    assert listing(e, [float32], [float32]) == ["-> x:float32"]


def test_a_cast_inside_rounds() -> None:
    e = expression(lambda x: f.cast(x * 3, float16) + 1)
    assert listing(e, [float32], [float32]) == [
        "multiply.float32(x:float32, 3.0:float32)",
        "cast.float16(%0)",
        "cast.float32(%1)",
        "add.float32(1.0:float32, %2)",
        "-> %3",
    ]


def test_common_parts_are_computed_once_and_unused_ones_not() -> None:
    e = expression(lambda x, y, unused: (f.exp(x + y) * f.exp(y + x), f.exp(x + y)))
    assert listing(e, [float32] * 3, [float32] * 2) == [
        "add.float32(x:float32, y:float32)",
        "exp.float32(%0)",
        "multiply.float32(%1, %1)",
        "-> %2",
        "-> %1",
    ]


def test_constants_are_folded_in_double_precision() -> None:
    e = expression(lambda x: x * (2 / f.sqrt(math.pi)) ** 2 + f.log(0.0))
    assert listing(e, [float32], [float32])[:2] == [
        f"multiply.float32(x:float32, {(2 / math.sqrt(math.pi)) ** 2}:float32)",
        "log.float32(0.0:float32)",
    ]


def test_zeros_of_both_signs_and_nan_are_kept_apart() -> None:
    e = expression(lambda x: (f.maximum(x, 0.0), f.maximum(x, -0.0), f.maximum(x, math.nan)))
    constants = compile_program(e, [float64], [float64] * 3).constants
    assert [repr(value) for _, value in constants] == ["0.0", "-0.0", "nan"]


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("square.float32(x:float32)", lambda x: x**2),
        ("power.float32(x:float32, 5.0:float32)", lambda x: x**5),
        ("multiply.float32(x:float32, 0.125:float32)", lambda x: x / 8),
        ("divide.float32(x:float32, 10.0:float32)", lambda x: x / 10),
        ("add.float32(x:float32, 0.0:float32)", lambda x: x + 0.0),
        ("multiply.float32(x:float32, 0.0:float32)", lambda x: x * 0),
        ("-> x:float32", lambda x: x * 1),
        ("-> x:float32", lambda x: f.negative(-x)),
        ("-> x:float32", lambda x: x**1),
    ],
)
def test_only_exact_identities_are_used(text, function) -> None:
    assert listing(expression(function), [float32], [float32])[0] == text


def test_small_powers_are_products() -> None:
    e = expression(lambda x: (x**3, x**4.0))
    assert listing(e, [float32], [float32] * 2) == [
        "square.float32(x:float32)",
        "multiply.float32(x:float32, %0)",
        "square.float32(%0)",
        "-> %1",
        "-> %2",
    ]


def test_ints_need_no_rounding_and_are_finite() -> None:
    e = expression(lambda x: (f.floor(x), f.isnan(x), f.isfinite(x)))
    assert listing(e, [int64], [int64, bool_, bool_]) == [
        "not_equal.int64(x:int64, x:int64)",
        "equal.int64(x:int64, x:int64)",
        "-> x:int64",
        "-> %0",
        "-> %1",
    ]


@pytest.mark.parametrize(
    ("message", "function", "dtypes", "output"),
    [
        ("exp of int64: it takes float", f.exp, [int64], int64),
        ("add of bool: it takes number", lambda x: x + x, [bool_], bool_),
        ("logical_and of float32", lambda x, y: x & y, [float32] * 2, bool_),
        ("0.5 has no value of dtype int64", lambda x: x + 0.5, [int64], int64),
        ("condition is not Bool", lambda x: f.where(x, 1, x), [int64], int64),
        ("bool result cannot be stored as float32", lambda x: x > 0, [float32], float32),
        ("1 inputs and 1 outputs, not 2 and 1", lambda x: x, [float32] * 2, float32),
        ("float32.*int64", lambda x, y: x + y, [float32, int64], float32),
    ],
)
def test_what_does_not_fit_raises(message, function, dtypes, output) -> None:
    with pytest.raises(TypeError, match=message):
        compile_program(expression(function), dtypes, [output])


def test_long_chain_compiles_without_recursion() -> None:
    (x,) = expression(lambda x: x).outputs
    for _ in range(3000):
        x = f.sin(x)
    program = compile_program(Expression(("x",), (x,)), [float32], [float32])
    assert len(program.instructions) == 3000
