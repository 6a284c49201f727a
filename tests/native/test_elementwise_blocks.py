"""Runs of float instructions in registers: the bits of one instruction at a time.

A processor without vectors of 64 bytes has no blocks; these tests hold there, too.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from lumus import _native
from tests.native.native_arrays import DTYPES, native, to_numpy
from tests.native.test_elementwise import make_program, values

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

UNARY = (
    "absolute", "ceil", "erf", "erfc", "exp", "expm1", "floor", "log", "log1p", "negative",
    "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sqrt", "square", "tanh", "trunc",
)  # fmt: skip
BINARY = ("add", "divide", "maximum", "minimum", "multiply", "subtract")
COMPARISONS = ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal")
TESTS = ("isnan", "isinf", "isfinite")
LOGICAL = ("logical_and", "logical_or", "logical_xor")
LENGTHS = (1, 7, 16, 17, 33, 63, 64, 65, 100, 127, 128, 129, 200, 256, 300, 1024, 1025, 2500)
NUM_INPUTS = 4  # three floats and a bool


def random_instructions(dtype, count, seed, *, shared=0.3):
    """Instructions on three float inputs, a bool one and two constants, and all registers' dtypes.

    `shared` is how often an argument is not the latest value but any.
    """
    choose = random.Random(seed)
    dtypes = [dtype, dtype, dtype, "bool", dtype, dtype]
    instructions = []

    def pick(kind):
        fitting = [number for number, one in enumerate(dtypes) if one == kind]
        return choose.choice(fitting) if choose.random() < shared else fitting[-1]

    for _ in range(count):
        sort = choose.choice(("unary", "binary", "binary", "compare", "select", "test", "logical"))
        if sort == "unary":
            instructions.append((choose.choice(UNARY), dtype, (pick(dtype),)))
        elif sort == "binary":
            pair = (pick(dtype), choose.choice([0, 1, 2, 4, 5, pick(dtype)]))
            pair = pair if choose.random() < 0.5 else pair[::-1]
            instructions.append((choose.choice(BINARY), dtype, pair))
        elif sort == "compare":
            pair = (pick(dtype), pick(dtype) if choose.random() < 0.5 else 5)
            instructions.append((choose.choice(COMPARISONS), dtype, pair))
        elif sort == "test":
            instructions.append((choose.choice(TESTS), dtype, (pick(dtype),)))
        elif sort == "logical":
            pair = (pick("bool"), pick("bool"))
            one = ("logical_not", "bool", pair[:1])
            two = (choose.choice(LOGICAL), "bool", pair)
            instructions.append(one if choose.random() < 0.3 else two)
        else:
            instructions.append(("select", dtype, (pick("bool"), pick(dtype), pick(dtype))))
        is_bool = sort in ("compare", "test", "logical")
        dtypes.append("bool" if is_bool else dtype)
    return instructions, dtypes


CONSTANTS = (0.5, -1.25)


def inputs_for(dtype, length, seed=0):
    return [values(dtype, length, seed + number) for number in range(3)] + [values("bool", length)]


def one_by_one(dtype, instructions, dtypes, arrays):
    """All registers' values, from a program for each instruction."""
    numpy_dtype = DTYPES[dtype][1]
    constants = [np.full(len(arrays[0]), value, numpy_dtype) for value in CONSTANTS]
    registers = [native(array) for array in [*arrays, *constants]]
    for opcode, kind, arguments in instructions:
        given = [dtypes[argument] for argument in arguments]
        program = make_program(given, [(opcode, kind, range(len(given)))], [len(given)])
        registers.append(program.run([registers[argument] for argument in arguments]))
    return [to_numpy(register) for register in registers]


def block_program(dtype, instructions, outputs):
    constants = [(dtype, value) for value in CONSTANTS]
    given = [dtype, dtype, dtype, "bool"]
    return make_program(given, instructions, outputs, constants)


def same(one, other):
    """Equal to the bit, but for what a NaN carries."""
    if one.dtype == bool:
        return np.array_equal(one, other)
    is_nan = np.isnan(one)
    bits = f"u{one.itemsize}"
    equal = one.view(bits) == other.view(bits)
    return np.array_equal(is_nan, np.isnan(other)) and bool((equal | is_nan).all())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_equal_their_instructions(dtype, seed):
    instructions, dtypes = random_instructions(dtype, 5 + 4 * seed, seed)
    first = len(dtypes) - len(instructions)
    outputs = sorted({len(dtypes) - 1, *random.Random(seed).sample(range(first, len(dtypes)), 4)})
    program = block_program(dtype, instructions, outputs)
    for length in LENGTHS:
        arrays = inputs_for(dtype, length)
        expected = one_by_one(dtype, instructions, dtypes, arrays)
        results = program.run_many([native(array) for array in arrays])
        for register, result in zip(outputs, results, strict=True):
            assert same(to_numpy(result), expected[register]), (length, register)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(6))
def test_programs_beyond_the_room_of_a_block(dtype, seed):
    # Late values read early ones: more are alive than a block has places for.
    instructions, dtypes = random_instructions(dtype, 500, 100 + seed, shared=0.9)
    outputs = list(range(len(dtypes) - 60, len(dtypes)))
    program = block_program(dtype, instructions, outputs)
    for length in (40, 300):
        arrays = inputs_for(dtype, length)
        expected = one_by_one(dtype, instructions, dtypes, arrays)
        results = program.run_many([native(array) for array in arrays])
        for register, result in zip(outputs, results, strict=True):
            assert same(to_numpy(result), expected[register]), (length, register)


@pytest.mark.parametrize("seed", range(8))
def test_outputs_in_the_place_of_inputs(seed):
    instructions, dtypes = random_instructions("float32", 25, 200 + seed)
    floats = [number for number in range(6, len(dtypes)) if dtypes[number] == "float32"]
    outputs = floats[-3:]
    program = block_program("float32", instructions, outputs)
    for length in LENGTHS:
        arrays = inputs_for("float32", length)
        expected = one_by_one("float32", instructions, dtypes, arrays)
        given = [native(array) for array in arrays]
        program.run_into(given[:3], given)
        for register, result in zip(outputs, given, strict=False):
            assert same(to_numpy(result), expected[register]), (length, register)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_inputs_that_are_broadcast_or_strided(dtype):
    instructions, dtypes = random_instructions(dtype, 30, 300)
    register = max(number for number, one in enumerate(dtypes) if one == dtype)
    program = block_program(dtype, instructions, [register])
    whole = [array.reshape(6, 50) for array in inputs_for(dtype, 300)]
    layouts = (whole[0][:, ::-1], whole[1][:1], whole[2][:, :1], whole[3][:, 3:4])
    dense = [np.ascontiguousarray(np.broadcast_to(one, (6, 50))).ravel() for one in layouts]
    expected = one_by_one(dtype, instructions, dtypes, dense)[register]
    result = to_numpy(program.run([native(one) for one in layouts]))
    assert same(np.ascontiguousarray(result).ravel(), expected)


def test_a_reduction_computes_in_blocks():
    instructions, dtypes = random_instructions("float32", 30, 400)
    register = max(number for number, one in enumerate(dtypes) if one == "float32")
    program = block_program("float32", instructions, [register])
    arrays = inputs_for("float32", 3000)
    expected = one_by_one("float32", instructions, dtypes, arrays)[register]
    code = DTYPES["float32"][0]
    reduction = _native.Reduction("max", program, code, code, (0,), 1, False)
    result = to_numpy(reduction.run([native(array) for array in arrays]))
    assert np.array_equal(result, np.max(expected), equal_nan=True)
