"""Elementwise programs against NumPy: every instruction and type, layouts, aliasing, threads."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from lumus import _native
from tests.native.native_arrays import DTYPES, native, to_numpy

# NumPy warns of the overflows and NaN that these tests provoke.
pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.usefixtures("keeps_denormals"),
]

FLOATS = ("float64", "float32")
INTS = ("int64", "int32", "int16", "int8", "uint8")
HALVES = ("float16", "bfloat16")
COMPUTED = (*FLOATS, *INTS, "bool")
ALL = (*COMPUTED, *HALVES)
LENGTH = 70


def make_program(inputs, instructions, outputs, constants=()):
    return _native.Program(
        [DTYPES[dtype][0] for dtype in inputs],
        [(DTYPES[dtype][0], value) for dtype, value in constants],
        [(opcode, DTYPES[dtype][0], tuple(args)) for opcode, dtype, args in instructions],
        list(outputs),
    )


def one_op(opcode: str, dtype: str, arity: int):
    return make_program([dtype] * arity, [(opcode, dtype, range(arity))], [arity])


def values(dtype: str, count: int = LENGTH, seed: int = 0) -> np.ndarray:
    """Ordinary numbers with the special ones of the type strewn in, elsewhere for each seed."""
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.random(count) < 0.5
    if dtype in INTS:
        limits = np.iinfo(dtype)
        array = random.integers(limits.min, limits.max, count, dtype, endpoint=True)
        small = random.random(count) < 0.5
        array[small] = random.integers(-5 if limits.min else 0, 9, small.sum())
        special = [limits.min, limits.max, 0, 1, 2, limits.max - 1, limits.min + 1]
        special += [-1] if limits.min else []
    else:
        info = ml_dtypes.finfo(DTYPES[dtype][1])
        array = random.normal(scale=3, size=count).astype(DTYPES[dtype][1])
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5]
        special += [info.max, -info.max, info.tiny, -info.smallest_subnormal, 1e9, -3e4, 3.0]
    places = random.permutation(count)[: len(special)]
    array[places] = np.array(special)[: len(places)].astype(array.dtype)
    return array


def same(actual: np.ndarray, expected: np.ndarray) -> None:
    """Equal to the bit, but for which NaN it is."""
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    if actual.dtype in [DTYPES[dtype][1] for dtype in FLOATS + HALVES]:
        nan = np.isnan(expected.astype(np.float64))
        np.testing.assert_array_equal(np.isnan(actual.astype(np.float64)), nan)
        bits = f"u{actual.itemsize}"
        np.testing.assert_array_equal(actual[~nan].view(bits), expected[~nan].view(bits))
    else:
        np.testing.assert_array_equal(actual, expected)


def close(actual: np.ndarray, expected: np.ndarray) -> None:
    """Within a few units in the last place; infinities, NaN and signs of zero equal."""
    tiny = 8 * np.finfo(actual.dtype).smallest_subnormal
    tolerance = 8 * np.finfo(actual.dtype).eps
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tiny)
    np.testing.assert_array_equal(
        np.signbit(actual[actual == 0]), np.signbit(expected[actual == 0])
    )


def wrapping_power(base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    bits = 8 * base.itemsize

    def power(x: int, n: int) -> int:
        if n < 0:
            return {1: 1, -1: -1 if n % 2 else 1}.get(x, 0)
        return pow(x, n, 2**bits)

    wrapped = [power(int(x), int(n)) % 2**bits for x, n in zip(base, exponent, strict=True)]
    return np.array(wrapped, np.uint64).astype(f"u{base.itemsize}").view(base.dtype)


def divisor(y: np.ndarray) -> np.ndarray:
    return np.where(y == 0, 1, y).astype(y.dtype)


def floor_division(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(y == 0, 0, np.floor_divide(x, divisor(y))).astype(x.dtype)


def int_remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(y == 0, 0, np.remainder(x, divisor(y))).astype(x.dtype)


def int_fmod(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(y == 0, 0, np.fmod(x, divisor(y))).astype(x.dtype)


def shifted_left(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    inside = (y >= 0) & (y < 8 * x.itemsize)
    return np.where(inside, x << np.where(inside, y, 0), 0).astype(x.dtype)


def shifted_right(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    inside = (y >= 0) & (y < 8 * x.itemsize)
    return np.where(inside, x >> np.where(inside, y, 0), -(x < 0).astype(int)).astype(x.dtype)


def special_function(name: str):
    scipy_special = pytest.importorskip("scipy.special")
    return getattr(scipy_special, name)


def exact_float(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64 if x.dtype == np.float32 else np.longdouble)


EXACT_UNARY = {
    "negative": (np.negative, FLOATS + INTS),
    "absolute": (np.absolute, FLOATS + INTS),
    "sign": (np.sign, FLOATS + INTS),
    "square": (np.square, FLOATS + INTS),
    "reciprocal": (lambda x: x.dtype.type(1) / x, FLOATS),
    "sqrt": (np.sqrt, FLOATS),
    "floor": (np.floor, FLOATS),
    "ceil": (np.ceil, FLOATS),
    "round": (np.rint, FLOATS),
    "trunc": (np.trunc, FLOATS),
    "isnan": (np.isnan, FLOATS),
    "isinf": (np.isinf, FLOATS),
    "isfinite": (np.isfinite, FLOATS),
    "logical_not": (np.logical_not, ("bool",)),
    "bitwise_invert": (np.invert, INTS),
}
EXACT_BINARY = {
    "add": (np.add, FLOATS + INTS),
    "subtract": (np.subtract, FLOATS + INTS),
    "multiply": (np.multiply, FLOATS + INTS),
    "divide": (np.divide, FLOATS),
    "maximum": (np.maximum, COMPUTED),
    "minimum": (np.minimum, COMPUTED),
    "equal": (np.equal, COMPUTED),
    "not_equal": (np.not_equal, COMPUTED),
    "less": (np.less, COMPUTED),
    "less_equal": (np.less_equal, COMPUTED),
    "greater": (np.greater, COMPUTED),
    "greater_equal": (np.greater_equal, COMPUTED),
    "floor_divide": (floor_division, INTS),
    "remainder": (int_remainder, INTS),
    "power": (wrapping_power, INTS),
    "fmod": (int_fmod, INTS),
    "bitwise_and": (np.bitwise_and, INTS),
    "bitwise_or": (np.bitwise_or, INTS),
    "bitwise_xor": (np.bitwise_xor, INTS),
    "bitwise_left_shift": (shifted_left, INTS),
    "bitwise_right_shift": (shifted_right, INTS),
    "logical_and": (np.logical_and, ("bool",)),
    "logical_or": (np.logical_or, ("bool",)),
    "logical_xor": (np.logical_xor, ("bool",)),
}
CLOSE_UNARY = {
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": lambda x: special_function("erf")(x.astype(np.float64)),
    "erfc": lambda x: special_function("erfc")(x.astype(np.float64)),
}
CLOSE_BINARY = {
    "power": np.power,
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "fmod": np.fmod,
    "atan2": np.arctan2,
    "hypot": np.hypot,
}


def cases(table):
    return [(name, dtype) for name, (_, dtypes) in table.items() for dtype in dtypes]


def check_lengths(program, arrays: list[np.ndarray], expected: np.ndarray, compare) -> None:
    """At each length, from each place in a vector: right, and the same bits as in the full run."""
    full = to_numpy(program.run([native(array) for array in arrays]))
    compare(full, expected)
    for length in range(LENGTH + 1):
        start = min((length * 7) % 5, LENGTH - length)
        part = slice(start, start + length)
        actual = to_numpy(program.run([native(array[part]) for array in arrays]))
        assert actual.tobytes() == full[part].tobytes(), f"length {length}"


@pytest.mark.parametrize(("opcode", "dtype"), cases(EXACT_UNARY))
def test_unary_instruction_equals_numpy_at_every_length(opcode, dtype):
    x = values(dtype)
    if opcode == "sign":
        x[x == 0] = 0  # the sign of sign(-0.0) is left open
    expected = EXACT_UNARY[opcode][0](x)
    check_lengths(one_op(opcode, dtype, 1), [x], expected, same)


@pytest.mark.parametrize(("opcode", "dtype"), cases(EXACT_BINARY))
def test_binary_instruction_equals_numpy_at_every_length(opcode, dtype):
    for seed in range(3):
        x, y = values(dtype, seed=seed), values(dtype, seed=seed + 10)
        if opcode in ("maximum", "minimum"):
            x[x == 0], y[y == 0] = 0, 0  # which of two zeros wins is left open
        expected = EXACT_BINARY[opcode][0](x, y)
        check_lengths(one_op(opcode, dtype, 2), [x, y], expected, same)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("opcode", CLOSE_UNARY)
def test_unary_function_is_close_at_every_length(opcode, dtype):
    x = values(dtype)
    if opcode in ("sin", "cos"):
        x[np.abs(x) > 1e5] = 0.25  # far arguments are the business of the tests of the functions
    expected = CLOSE_UNARY[opcode](exact_float(x)).astype(dtype)
    check_lengths(one_op(opcode, dtype, 1), [x], expected, close)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("opcode", CLOSE_BINARY)
def test_binary_function_is_close_at_every_length(opcode, dtype):
    for seed in range(3):
        x, y = values(dtype, seed=seed), values(dtype, seed=seed + 10)
        wide = (x, y) if opcode != "power" else (exact_float(x), exact_float(y))
        expected = CLOSE_BINARY[opcode](*wide).astype(dtype)
        check_lengths(one_op(opcode, dtype, 2), [x, y], expected, close)


def test_a4_maximum_and_minimum_propagate_nan_from_either_side():
    x = np.array([np.nan, 2, 3], np.float32)
    y = np.array([1, np.nan, 3], np.float32)
    for opcode, first in itertools.product(("maximum", "minimum"), (True, False)):
        arrays = (x, y) if first else (y, x)
        result = to_numpy(one_op(opcode, "float32", 2).run([native(array) for array in arrays]))
        same(result, np.array([np.nan, np.nan, 3], np.float32))


@pytest.mark.parametrize("dtype", COMPUTED)
def test_select_takes_each_element_from_the_chosen_side(dtype):
    chosen, x, y = values("bool", seed=5), values(dtype), values(dtype, seed=1)
    program = make_program(["bool", dtype, dtype], [("select", dtype, (0, 1, 2))], [3])
    check_lengths(program, [chosen, x, y], np.where(chosen, x, y), same)


def saturated(x: np.ndarray, target: str) -> np.ndarray:
    limits = np.iinfo(target)
    whole = [0 if np.isnan(value) else value for value in x.astype(np.float64)]
    clipped = [
        limits.max if v >= limits.max else limits.min if v <= limits.min else int(v) for v in whole
    ]
    return np.array(clipped, target)


def round_to_half(x: np.ndarray, target: str) -> np.ndarray:
    """The nearest half number of each exact value, ties to even, found among neighbours."""
    dtype = DTYPES[target][1]
    results = []
    for value in x.tolist():
        guess = dtype.type(float(value))
        if np.isnan(float(guess)) or not np.isfinite(float(value)):
            results.append(guess)
            continue
        near = sorted(
            {
                float(guess),
                *(float(np.nextafter(guess, dtype.type(end))) for end in (-np.inf, np.inf)),
            }
        )
        biggest = float(ml_dtypes.finfo(dtype).max)
        step = biggest - float(np.nextafter(dtype.type(biggest), dtype.type(0)))
        as_numbers = [np.sign(n) * (biggest + step) if np.isinf(n) else n for n in near]
        # Python compares and subtracts ints and floats exactly only as fractions.
        distances = [abs(fraction(n) - fraction(value)) for n in as_numbers]
        least = min(distances)
        best = [n for n, d in zip(near, distances, strict=True) if d == least]
        even = [n for n in best if not dtype.type(n).view(np.uint16) & 1]
        results.append(dtype.type(best[0] if len(best) == 1 else even[0]))
        if results[-1] == 0:
            results[-1] = np.copysign(results[-1], dtype.type(float(value)))
    return np.array(results, dtype)


def fraction(value):
    from fractions import Fraction

    return Fraction(value)


def cast_expected(x: np.ndarray, source: str, target: str) -> np.ndarray:
    if target in INTS and source in FLOATS + HALVES:
        return saturated(x, target)
    if target in HALVES:
        return round_to_half(x, target)
    if target == "bool":
        return x.astype(np.float64) != 0 if source in HALVES else x != 0
    return x.astype(target)


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("source", ALL)
def test_cast_rounds_once_saturates_and_wraps(source, target):
    program = make_program([source], [("cast", target, (0,))], [1])
    for seed in range(4):
        x = values(source, seed=seed)
        expected = cast_expected(x, source, target)
        check_lengths(program, [x], expected, same)


@pytest.mark.parametrize("target", HALVES)
def test_cast_to_half_at_ties_does_not_round_twice(target):
    digits = 11 if target == "float16" else 8
    tie = 1 + 2.0**-digits
    x = np.array(
        [tie, tie + 2.0**-40, tie - 2.0**-40, -tie - 2.0**-45, 65520.0, 65519.999999, 1e-8]
    )
    program = make_program(["float64"], [("cast", target, (0,))], [1])
    same(to_numpy(program.run1(native(x))), round_to_half(x, target))

    base = 2**62 + 2 ** (62 - digits)
    whole = np.array([base, base + 1, base - 1, -base - 1, 2**53 + 1, 33554433, 16777217, -(2**63)])
    program = make_program(["int64"], [("cast", target, (0,))], [1])
    same(to_numpy(program.run1(native(whole))), round_to_half(whole, target))


def test_cast_of_int64_above_2_to_24_is_exact():
    x = np.array([16777217, 16777219, 2**53 + 1, -(2**63)])
    for target in ("int64", "float64"):
        program = make_program(["int64"], [("cast", target, (0,))], [1])
        same(to_numpy(program.run1(native(x))), x.astype(target))


def test_half_arithmetic_runs_in_float32():
    instructions = [
        ("cast", "float32", (0,)),
        ("cast", "float32", (1,)),
        ("multiply", "float32", (2, 3)),
        ("add", "float32", (4, 2)),
        ("cast", "float16", (5,)),
    ]
    program = make_program(["float16", "bfloat16"], instructions, [6])
    x, y = values("float16"), values("bfloat16", seed=1)
    wide_x, wide_y = x.astype(np.float32), y.astype(np.float32)
    expected = (wide_x * wide_y + wide_x).astype(np.float16)
    check_lengths(program, [x, y], expected, same)


# ------------------------------------------------------------------------------------ layouts


CHAIN = [
    ("multiply", "float32", (0, 1)),
    ("add", "float32", (4, 2)),
    ("tanh", "float32", (5,)),
    ("multiply", "float32", (6, 3)),
    ("subtract", "float32", (7, 4)),
]
CHAIN_CONSTANTS = [("float32", 0.5)]


def chain_program():
    return make_program(["float32"] * 3, CHAIN, [8], CHAIN_CONSTANTS)


def chain_bits(x, y, z) -> np.ndarray:
    """The chain of single instructions on plain contiguous arrays."""
    shape = np.broadcast_shapes(x.shape, y.shape, z.shape)
    x, y, z = (np.ascontiguousarray(np.broadcast_to(array, shape)) for array in (x, y, z))
    product = x * y
    tanh = to_numpy(one_op("tanh", "float32", 1).run1(native(product + z)))
    return tanh * np.float32(0.5) - product


def strided(random, shape, layout: str) -> np.ndarray:
    """A normal array of the shape, in memory as the layout says."""
    if layout == "plain":
        return random.normal(size=shape).astype(np.float32)
    if layout == "flipped":
        return random.normal(size=shape).astype(np.float32)[
            tuple(slice(None, None, -1) for _ in shape)
        ]
    if layout == "transposed":
        return random.normal(size=shape[::-1]).astype(np.float32).T
    if layout == "stepped":
        wide = random.normal(size=tuple(2 * length + 1 for length in shape)).astype(np.float32)
        return wide[tuple(slice(1, None, 2) for _ in shape)]
    if layout == "row":
        return random.normal(size=shape[-1:]).astype(np.float32)
    if layout == "column":
        return random.normal(size=(*shape[:-1], 1)).astype(np.float32)
    if layout == "scalar":
        return random.normal(size=()).astype(np.float32)
    if layout == "outer":
        return random.normal(size=(shape[0], *[1] * (len(shape) - 1))).astype(np.float32)
    raise AssertionError(layout)


LAYOUTS = ("plain", "flipped", "transposed", "stepped", "row", "column", "scalar", "outer")


@pytest.mark.parametrize(
    "shape",
    [(7,), (1030,), (3, 5), (40, 70), (5, 1100), (33, 3, 4), (2, 3, 67), (6, 7, 3, 5), (1, 9)],
)
def test_layouts_of_inputs_do_not_change_a_bit(shape):
    random = np.random.default_rng(0)
    program = chain_program()
    for layouts in itertools.product(LAYOUTS, ("plain", "row", "transposed"), LAYOUTS):
        arrays = [strided(random, shape, layout) for layout in layouts]
        actual = to_numpy(program.run3(*[native(array) for array in arrays]))
        assert actual.tobytes() == chain_bits(*arrays).tobytes(), layouts


@pytest.mark.parametrize("dtype", ["float64", "int16", "uint8"])
def test_layouts_of_other_sizes_of_elements(dtype):
    program = one_op("subtract", dtype, 2)
    for shape in ((50, 60), (3, 700)):
        x = values(dtype, shape[0] * shape[1]).reshape(shape)
        views = (x, x.T.copy().T, x[::-1, ::-1], x[:, :1], x[0])
        for first, second in itertools.product(views, repeat=2):
            expected = np.subtract(first, second) + np.zeros(1, dtype)
            same(to_numpy(program.run2(native(first), native(second))), expected)


@pytest.mark.parametrize("layout", ["plain", "flipped", "transposed", "stepped"])
@pytest.mark.parametrize("shape", [(7,), (1030,), (40, 70), (5, 1100), (33, 3, 4)])
def test_outputs_of_every_layout(shape, layout):
    random = np.random.default_rng(1)
    arrays = [strided(random, shape, name) for name in ("plain", "row", "transposed")]
    for backwards in (False, True):
        output = strided(random, shape, layout)
        if backwards:
            output = output[..., ::-1]
        around = output.base.copy() if layout == "stepped" and not backwards else None
        chain_program().run_into([native(output)], [native(array) for array in arrays])
        assert np.ascontiguousarray(output).tobytes() == chain_bits(*arrays).tobytes()
        if around is not None:
            gaps = np.ones(around.shape, bool)
            gaps[tuple(slice(1, None, 2) for _ in shape)] = False
            np.testing.assert_array_equal(output.base[gaps], around[gaps])


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (0, 5), (1,), (1, 1, 1)])
def test_scalars_and_empty_arrays(shape):
    x = np.full(shape, 2.0, np.float32)
    result = to_numpy(
        one_op("add", "float32", 2).run2(native(x), native(np.float32(3).reshape(())))
    )
    assert result.shape == shape
    np.testing.assert_array_equal(result, np.full(shape, 5.0, np.float32))
    one_op("add", "float32", 2).run_into([native(x)], [native(x), native(x)])
    np.testing.assert_array_equal(x, np.full(shape, 4.0, np.float32))


def test_sixteen_axes_broadcast():
    random = np.random.default_rng(0)
    x = random.normal(size=[2, 1] * 8).astype(np.float32)
    y = random.normal(size=[1, 2] * 8).astype(np.float32)
    same(to_numpy(one_op("add", "float32", 2).run2(native(x), native(y))), x + y)


def test_shapes_that_do_not_broadcast_are_refused():
    with pytest.raises(ValueError, match="do not broadcast"):
        one_op("add", "float32", 2).run2(*[native(np.zeros(n, np.float32)) for n in (2, 3)])


# ------------------------------------------------------------------------------------ programs


def test_constants_of_every_dtype():
    for dtype in COMPUTED:
        value = True if dtype == "bool" else 1.25 if dtype in FLOATS else 100
        program = make_program([dtype], [("maximum", dtype, (0, 1))], [2], [(dtype, value)])
        x = values(dtype, 1500)
        same(to_numpy(program.run1(native(x))), np.maximum(x, np.array(value, dtype)))


def test_outputs_may_be_inputs_constants_and_repeated():
    instructions = [("negative", "float32", (0,))]
    program = make_program(["float32"], instructions, [0, 2, 1, 2], [("float32", 7)])
    for length in (5, 300, 3000):
        x = values("float32", length)
        outputs = [to_numpy(array) for array in program.run_many([native(x)])]
        for actual, expected in zip(outputs, (x, -x, np.full_like(x, 7), -x), strict=True):
            same(actual, expected)


PAIRED = ("add", "subtract", "multiply")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("inner", [*PAIRED, "square"])
@pytest.mark.parametrize("outer", PAIRED)
def test_two_instructions_round_as_two_whichever_operand_is_computed(inner, outer, dtype):
    x, y, z = (values(dtype, seed=seed) for seed in range(3))
    squares = inner == "square"
    computed = np.square(x) if squares else getattr(np, inner)(x, y)
    for operands in ((3, 2), (2, 3), (3, 0), (1, 3), (3, 3)):
        instructions = [(inner, dtype, (0,) if squares else (0, 1)), (outer, dtype, operands)]
        program = make_program([dtype] * 3, instructions, [4])
        registers = (x, y, z, computed)
        expected = getattr(np, outer)(*(registers[register] for register in operands))
        check_lengths(program, [x, y, z], expected, same)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "test", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
)
def test_a_choice_by_a_comparison_takes_the_bits_of_either_side(test, dtype):
    odd = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0], dtype)
    x, y = (np.tile(array.ravel(), 9) for array in np.meshgrid(odd, odd))
    z = values(dtype, x.size, 3)
    bits = f"u{z.itemsize}"
    arrays, one = (x, y, z), odd[:1]
    for chosen, other in ((0, 2), (2, 0), (1, 2), (2, 1), (0, 1), (1, 0), (2, 2)):
        program = make_program(
            [dtype] * 3, [(test, dtype, (0, 1)), ("select", dtype, (3, chosen, other))], [4]
        )
        for length in (1, 15, 16, 17, x.size):
            for operands in (arrays, (x, one, z), (x, y, one), (one, y, one)):
                given = [array[:length] for array in operands]
                whole = np.broadcast_arrays(*given)
                wanted = np.where(getattr(np, test)(*whole[:2]), whole[chosen], whole[other])
                found = to_numpy(program.run3(*map(native, given)))
                np.testing.assert_array_equal(found.view(bits), wanted.view(bits))


def test_a_comparison_that_is_also_a_result_is_kept():
    program = make_program(
        ["float32", "float32"],
        [("less", "float32", (0, 1)), ("select", "float32", (2, 0, 1))],
        [2, 3],
    )
    x, y = values("float32", 40), values("float32", 40, 1)
    flags, least = program.run_many([native(x), native(y)])
    np.testing.assert_array_equal(to_numpy(flags), x < y)
    same(to_numpy(least), np.where(x < y, x, y))


def test_results_that_no_output_needs_are_allowed():
    program = make_program(
        ["float32"], [("exp", "float32", (0,)), ("negative", "float32", (0,))], [2]
    )
    x = values("float32")
    same(to_numpy(program.run1(native(x))), -x)


def test_mixed_dtypes_in_one_program():
    instructions = [
        ("less", "float64", (0, 1)),
        ("cast", "float64", (2,)),
        ("select", "float64", (3, 4, 1)),
        ("cast", "int8", (5,)),
        ("logical_not", "bool", (3,)),
    ]
    program = make_program(["float64", "float64", "int64"], instructions, [5, 6, 7])
    for length in (9, 700, 5000):
        x, y = (np.random.default_rng(s).normal(scale=50, size=length) for s in (0, 1))
        n = np.arange(length) % 90
        results = [to_numpy(a) for a in program.run_many([native(x), native(y), native(n)])]
        chosen = np.where(x < y, n.astype(np.float64), y)
        same(results[0], chosen)
        same(results[1], saturated(chosen, "int8"))
        same(results[2], ~(x < y))


def test_programs_with_many_registers_alive():
    count = 90
    instructions = [("multiply", "float64", (0, 1 + index)) for index in range(count)]
    total = 1 + count
    for index in range(1, count):
        instructions.append(("add", "float64", (total, 1 + count + index)))
        total = count + len(instructions)
    constants = [("float64", float(index)) for index in range(count)]
    program = make_program(["float64"], instructions, [total], constants)
    for length in (3, 300, 70000):
        x = np.arange(length) % 100.0
        same(to_numpy(program.run1(native(x))), x * sum(range(count)))


BAD_PROGRAMS = {
    "no outputs": (["float32"], [], []),
    "unknown opcode": (["float32"], [("frobnicate", "float32", (0,))], [1]),
    "takes 2 arguments": (["float32"], [("add", "float32", (0,))], [1]),
    "not defined yet": (["float32"], [("add", "float32", (0, 1))], [1]),
    "output register 5": (["float32"], [("exp", "float32", (0,))], [5]),
    "another dtype": (["float64"], [("exp", "float32", (0,))], [1]),
    "not available": (["int32"], [("exp", "int32", (0,))], [1]),
    "more than": (["float32"] * 100, [("add", "float32", (0, 1))], [100]),
}


@pytest.mark.parametrize("text", BAD_PROGRAMS)
def test_invalid_programs_are_refused(text):
    with pytest.raises(ValueError, match=text):
        make_program(*BAD_PROGRAMS[text])


def test_wrong_operands_are_refused():
    program = one_op("add", "float32", 2)
    x = np.ones(3, np.float32)
    with pytest.raises(ValueError, match="number of inputs"):
        program.run1(native(x))
    with pytest.raises(ValueError, match="another dtype"):
        program.run2(native(x), native(x.astype(np.float64)))
    with pytest.raises(ValueError, match="another shape"):
        program.run_into([native(np.ones(4, np.float32))], [native(x), native(x)])


# ------------------------------------------------------------------------------------ aliasing


LENGTHS = (*range(LENGTH + 1), 255, 256, 257, 1023, 1024, 1025, 3001)


def test_i3_in_place_equals_out_of_place_at_every_length():
    for length in LENGTHS:
        x, y = values("float32", length), values("float32", length, 1)
        expected = x - y
        one_op("subtract", "float32", 2).run_into([native(x)], [native(x), native(y)])
        same(x, expected)


def test_i3_overlapping_input_is_read_before_it_is_written():
    copy = make_program(["float64"], [], [0])
    add = one_op("add", "float64", 2)
    for length in LENGTHS[2:]:
        x = np.arange(float(length))
        copy.run_into([native(x[1:])], [native(x[:-1])])
        np.testing.assert_array_equal(x, np.concatenate([[0], np.arange(length - 1)]))

        x = np.arange(float(length))
        expected = np.concatenate([x[:-1] + x[1:], x[-1:]])
        add.run_into([native(x[:-1])], [native(x[:-1]), native(x[1:])])
        np.testing.assert_array_equal(x, expected)

        x = np.arange(float(length))
        expected = x + x[::-1]
        add.run_into([native(x)], [native(x), native(x[::-1])])
        np.testing.assert_array_equal(x, expected)

        x = np.arange(1.0, length + 1)
        expected = x + 1
        add.run_into([native(x)], [native(x), native(x[:1])])
        np.testing.assert_array_equal(x, expected)


def test_transposed_input_onto_its_own_memory():
    for size in (2, 5, 33, 70):
        x = np.random.default_rng(0).normal(size=(size, size))
        expected = x + x.T
        one_op("add", "float64", 2).run_into([native(x)], [native(x), native(x.T)])
        np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_outputs_in_place_of_inputs_that_are_read_later(step):
    """first = a + b over a; second = a * b over b: both read what the other has not yet written."""
    instructions = [
        ("add", "float32", (0, 1)),
        ("multiply", "float32", (0, 1)),
        ("subtract", "float32", (3, 0)),
    ]
    program = make_program(["float32", "float32"], instructions, [2, 4])
    swap = make_program(["float32", "float32"], [], [1, 0])
    for length in LENGTHS:
        memory = [np.random.default_rng(s).normal(size=3 * length + 3).astype("f") for s in (0, 1)]
        a, b = (array[::step][:length] for array in memory)
        expected = a + b, a * b - a
        program.run_into([native(a), native(b)], [native(a), native(b)])
        same(a, expected[0])
        same(b, expected[1])
        swap.run_into([native(a), native(b)], [native(a), native(b)])
        same(a, expected[1])
        same(b, expected[0])


@pytest.mark.parametrize("columns", [63, 64, 100, 256, 700])
@pytest.mark.parametrize("shape", [(1,), (2,), (37,), (3, 5)])
def test_rows_with_gaps_between_them(shape, columns):
    random = np.random.default_rng(4)
    around = random.normal(size=(*shape, columns + 3)).astype(np.float32)
    inside = np.zeros(around.shape, bool)
    inside[..., 1 : columns + 1] = True
    row, column, one = (
        strided(random, (*shape, columns), name) for name in ("row", "column", "scalar")
    )
    for others in ((one, one), (row, one), (column, row)):
        memory = around.copy()
        x = memory[..., 1 : columns + 1]
        expected = chain_bits(x, *others)
        inputs = [native(array) for array in (x, *others)]
        chain_program().run_into([native(x)], inputs)
        assert np.ascontiguousarray(x).tobytes() == expected.tobytes()
        np.testing.assert_array_equal(memory[~inside], around[~inside])


def test_rows_with_gaps_in_place_of_inputs_that_are_read_later():
    swap = make_program(["float32", "float32"], [("negative", "float32", (0,))], [1, 2])
    memory = np.random.default_rng(5).normal(size=(2, 90, 130)).astype(np.float32)
    before = memory.copy()
    a, b = memory[:, :, 1:-1]
    swap.run_into([native(a), native(b)], [native(a), native(b)])
    np.testing.assert_array_equal(a, before[1, :, 1:-1])
    np.testing.assert_array_equal(b, -before[0, :, 1:-1])
    np.testing.assert_array_equal(memory[:, :, [0, -1]], before[:, :, [0, -1]])


def test_output_over_an_input_of_another_size_of_element():
    memory = np.arange(4000, dtype=np.float64)
    expected = memory[:2000].astype(np.float32)
    program = make_program(["float64"], [("cast", "float32", (0,))], [1])
    program.run_into([native(memory.view(np.float32)[:2000])], [native(memory[:2000])])
    np.testing.assert_array_equal(memory.view(np.float32)[:2000], expected)


def test_interleaved_views_of_one_memory_are_no_overlap():
    x = np.arange(2000.0)
    one_op("negative", "float64", 1).run_into([native(x[::2])], [native(x[1::2])])
    np.testing.assert_array_equal(x[::2], -np.arange(1, 2000, 2.0))
    np.testing.assert_array_equal(x[1::2], np.arange(1, 2000, 2.0))


# ------------------------------------------------------------------------------------ threads


def test_bits_do_not_depend_on_the_number_of_threads():
    random = np.random.default_rng(3)
    x = random.normal(size=(700, 501)).astype(np.float32)
    y = random.normal(size=(501, 700)).astype(np.float32).T
    z = random.normal(size=(700, 1)).astype(np.float32)
    before = _native.num_threads()
    results = []
    try:
        for threads in (1, 2, 3, 8):
            _native.set_num_threads(threads)
            output = np.zeros_like(x)
            inputs = [native(x), native(y), native(z)]
            chain_program().run_into([native(output)], inputs)
            results.append(to_numpy(chain_program().run(inputs)).tobytes() + output.tobytes())
    finally:
        _native.set_num_threads(before)
    assert set(results) == {results[0]}


@pytest.mark.parametrize("isa", _native.available_isas())
def test_every_instruction_set_passes_these_tests(isa):
    if isa == _native.isa():
        return
    if os.environ.get("LUMUS_ISA"):
        return  # the outer run goes through all of them
    environment = {**os.environ, "LUMUS_ISA": isa}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
