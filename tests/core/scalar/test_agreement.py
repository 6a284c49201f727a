"""Random expressions: what is compiled computes what was written, in NumPy and in native code."""

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lumus.core.dtypes import ALL, bfloat16, bool_, float16, float32, float64, int32, int64
from lumus.core.scalar import functions as f
from lumus.core.scalar.expressions import Expression, expression
from lumus.core.scalar.nodes import Call, Constant, Input, Scalar, postorder
from lumus.core.scalar.program import ScalarProgram, compile_program
from lumus.core.scalar.simplifier import Simplifier
from lumus.core.scalar.tangent import vjp
from lumus.devices.reference import scalar as reference

try:
    from lumus import _native
except ImportError:
    _native = None  # type: ignore[assignment]

has_native = pytest.mark.skipif(
    not hasattr(_native, "Program"), reason="the native core is not built"
)
DTYPES = {dtype.code: dtype for dtype in ALL}


def apply(opcode: str, code: int, operands: list[np.ndarray]) -> np.ndarray:
    """One instruction of a program, by NumPy."""
    if opcode == "cast":
        return reference.converted(operands[0], DTYPES[code])
    for operand in operands[1:] if opcode == "select" else operands:
        assert operand.dtype == DTYPES[code].name
    function = np.where if opcode == "select" else reference._FUNCTIONS[opcode]
    with np.errstate(all="ignore"):
        return np.asarray(function(*operands))


def registers_before_instructions(
    program: ScalarProgram, inputs: list[np.ndarray]
) -> list[np.ndarray]:
    constants = [np.asarray(value, DTYPES[code].name) for code, value in program.constants]
    return [*inputs, *constants]


def run(program: ScalarProgram, inputs: list[np.ndarray]) -> list[np.ndarray]:
    registers = registers_before_instructions(program, inputs)
    for opcode, code, args in program.instructions:
        registers.append(apply(opcode, code, [registers[arg] for arg in args]))
    shape = np.broadcast_shapes(*[array.shape for array in inputs])
    return [np.broadcast_to(registers[output], shape) for output in program.outputs]


# ----------------------------------------------------------------------------- random expressions

# In these, folding a constant is the very operation that runs without folding.
EXACT_UNARY = ["negative", "absolute", "square", "sqrt", "floor", "ceil", "round", "trunc"]
EXACT_BINARY = ["add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod"]
UNARY = [
    *EXACT_UNARY, "sign", "reciprocal", "rsqrt", "exp", "expm1", "log", "log1p", "sin", "cos",
    "tanh", "sigmoid", "erf", "erfc", "exp2", "log2", "atan", "asinh",
]  # fmt: skip
BINARY = [*EXACT_BINARY, "power", "maximum", "minimum"]
INT_UNARY = ["negative", "absolute", "sign", "square", "floor", "round"]
INT_BINARY = [
    "add", "subtract", "multiply", "floor_divide", "remainder", "fmod", "maximum", "minimum",
]  # fmt: skip
COMPARE = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
LOGICAL = ["logical_and", "logical_or", "logical_xor"]

NUMBERS = [-2.0, -1.0, -0.5, -0.0, 0.0, 0.3, 1.0, 2.0, 3.0, 1e3, math.inf]
Trees = st.SearchStrategy[Scalar]


def calls(names: list[str], *args: Trees) -> Trees:
    return st.builds(
        lambda name, args: getattr(f, name)(*args), st.sampled_from(names), st.tuples(*args)
    )


def trees(unary: list[str], binary: list[str], numbers: st.SearchStrategy[Any]) -> Trees:
    """Trees over two inputs, with comparisons and selections inside."""
    inputs = st.sampled_from([Input(0), Input(1)])

    def grow(inner: Trees) -> Trees:
        condition = st.one_of(calls(COMPARE, inner, inner), calls(["isnan", "isfinite"], inner))
        either = st.builds(lambda c, d: c & ~d, condition, condition)
        return st.one_of(
            calls(unary, inner),
            calls(binary, inner, inner),
            calls(binary, inner, inner),
            st.builds(f.where, condition, inner, inner),
            st.builds(f.where, either, inner, inner),
        )

    return st.recursive(st.one_of(inputs, inputs, numbers.map(Constant)), grow, max_leaves=12)


EXACT_TREES = trees(EXACT_UNARY, EXACT_BINARY, st.sampled_from(NUMBERS))
FLOAT_TREES = trees(UNARY, BINARY, st.sampled_from(NUMBERS))
INT_TREES = trees(INT_UNARY, INT_BINARY, st.integers(-4, 5))
BOOL_TREES = st.recursive(
    st.sampled_from([Input(0), Input(1), Input(2), Constant(True), Constant(False)]),
    lambda inner: st.one_of(
        calls(["logical_not"], inner),
        calls([*LOGICAL, "equal", "not_equal"], inner, inner),
        st.builds(f.where, inner, inner, inner),
    ),
    max_leaves=12,
)

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 0.7, -2.3, 5.9, 1e-3, 80.0, -math.inf, math.nan]
INTS = [0, 1, -1, 2, -3, 7, 100, -128, 2**31, -(2**40)]


def inputs_of(dtype: Any) -> list[np.ndarray]:
    """All pairs of interesting values."""
    values = np.array(FLOATS if dtype.kind == "float" else INTS).astype(dtype.name)
    x, y = np.meshgrid(values, values)
    return [np.ascontiguousarray(x), np.ascontiguousarray(y)]


BOOL_INPUTS = [np.array([bool(i >> bit & 1) for i in range(8)]) for bit in range(3)]


def has_numbers_alone(tree: Scalar) -> bool:
    """Whether a call in the tree is of constants only, its condition apart if it selects."""
    return any(
        isinstance(node, Call)
        and all(isinstance(arg, Constant) for arg in node.args[node.function == "select" :])
        for node in postorder([tree])
    )


@given(tree=EXACT_TREES)
def test_compiling_keeps_every_bit_in_float64(tree: Scalar) -> None:
    e = Expression(("x", "y"), (tree,))
    inputs = inputs_of(float64)
    (actual,) = run(compile_program(e, [float64] * 2, [float64]), inputs)
    (expected,) = reference.evaluate(e, inputs, [float64])
    np.testing.assert_array_equal(actual, expected)
    finite = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(actual)[finite], np.signbit(expected)[finite])


@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
@given(tree=FLOAT_TREES)
def test_programs_compute_the_simplified_expression(dtype: Any, tree: Scalar) -> None:
    simple = Simplifier(powers_as_products=True)(tree)
    # What is left of numbers alone (log(0)) is rounded at other places in the reference.
    assume(not has_numbers_alone(simple))
    e = Expression(("x", "y"), (simple,))
    inputs = inputs_of(dtype)
    (actual,) = run(compile_program(e, [dtype] * 2, [dtype]), inputs)
    (expected,) = reference.evaluate(e, inputs, [dtype])
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("dtype", [int64, int32], ids=str)
@given(tree=INT_TREES)
def test_int_programs_compute_what_was_written(dtype: Any, tree: Scalar) -> None:
    # What numbers alone make (0 // 0) has no dtype yet, so it may be NaN in one of the two.
    assume(not has_numbers_alone(tree))
    e = Expression(("x", "y"), (tree,))
    inputs = inputs_of(dtype)
    (actual,) = run(compile_program(e, [dtype] * 2, [dtype]), inputs)
    (expected,) = reference.evaluate(e, inputs, [dtype])
    np.testing.assert_array_equal(actual, expected)


@given(tree=BOOL_TREES)
def test_bool_programs_compute_what_was_written(tree: Scalar) -> None:
    e = Expression(("a", "b", "c"), (tree,))
    (actual,) = run(compile_program(e, [bool_] * 3, [bool_]), BOOL_INPUTS)
    (expected,) = reference.evaluate(e, BOOL_INPUTS, [bool_])
    np.testing.assert_array_equal(actual, expected)


# ------------------------------------------------------------------------------------ native code


def to_native(array: np.ndarray, code: int) -> Any:
    """A native array; one of bfloat16 is made from float32 and seen by NumPy as its bits."""
    result = _native.empty(code, array.shape)
    bits = array.astype(ml_dtypes.bfloat16).view(np.uint16) if code == bfloat16.code else array
    np.asarray(result)[...] = bits
    return result


def from_native(result: Any) -> np.ndarray:
    array = np.asarray(result)
    if result.dtype != bfloat16.code:
        return array
    return array.view(ml_dtypes.bfloat16).astype(np.float32)


def run_native(program: ScalarProgram, inputs: list[np.ndarray]) -> list[np.ndarray]:
    pairs = zip(inputs, program.inputs, strict=True)
    arrays = [to_native(array, code) for array, code in pairs]
    return [from_native(result) for result in _native.Program(*program).run_many(arrays)]


def exact_result(opcode: str, code: int, operands: list[np.ndarray]) -> np.ndarray:
    """One instruction by NumPy; on float32 in double precision, rounded once."""
    if code != float32.code or opcode == "cast":
        return apply(opcode, code, operands)
    wide = [a.astype(np.float64) if a.dtype == np.float32 else a for a in operands]
    result = apply(opcode, float64.code, wide)
    with np.errstate(all="ignore"):
        return result.astype(np.float32) if result.dtype == np.float64 else result


def check_native(e: Expression, inputs: list[np.ndarray], dtypes: list[Any], output: Any) -> None:
    """Each native instruction does to its operands, as native code made them, what NumPy does."""
    program = compile_program(e, dtypes, [output])
    (result,) = run_native(program, inputs)
    start = len(program.inputs) + len(program.constants)
    count = len(program.instructions)
    if not count:
        return
    every = program._replace(outputs=list(range(start, start + count)))
    registers = [*registers_before_instructions(program, inputs), *run_native(every, inputs)]
    for number, (opcode, code, args) in enumerate(program.instructions):
        actual = registers[start + number]
        expected = exact_result(opcode, code, [registers[arg] for arg in args])
        where = f"{opcode} in {e}"
        assert actual.dtype == expected.dtype, where
        if expected.dtype.kind == "f":
            limits = np.finfo(expected.dtype)
            np.testing.assert_allclose(
                actual,
                np.broadcast_to(expected, actual.shape),
                rtol=8 * float(limits.eps),
                atol=8 * float(limits.smallest_subnormal),
                err_msg=where,
            )
        else:
            np.testing.assert_array_equal(actual, np.broadcast_to(expected, actual.shape), where)
    np.testing.assert_array_equal(
        result, np.broadcast_to(registers[program.outputs[0]], result.shape)
    )


@has_native
@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
@given(tree=FLOAT_TREES)
def test_native_float_programs_agree(dtype: Any, tree: Scalar) -> None:
    check_native(Expression(("x", "y"), (tree,)), inputs_of(dtype), [dtype] * 2, dtype)


@has_native
@pytest.mark.parametrize("dtype", [int64, int32], ids=str)
@given(tree=INT_TREES)
def test_native_int_programs_agree(dtype: Any, tree: Scalar) -> None:
    check_native(Expression(("x", "y"), (tree,)), inputs_of(dtype), [dtype] * 2, dtype)


@has_native
@given(tree=BOOL_TREES)
def test_native_bool_programs_agree(tree: Scalar) -> None:
    check_native(Expression(("a", "b", "c"), (tree,)), BOOL_INPUTS, [bool_] * 3, bool_)


@has_native
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
def test_native_functions_and_their_gradients_agree(dtype: Any, name: str) -> None:
    e = expression(getattr(f, name))
    inputs = inputs_of(dtype)[: e.num_inputs]
    check_native(e, inputs, [dtype] * len(inputs), dtype)
    for index in range(e.num_inputs):
        arrays = [np.full_like(inputs[0], 1.5), *inputs]
        check_native(vjp(e, index), arrays, [dtype] * len(arrays), dtype)


@has_native
@pytest.mark.parametrize("dtype", [float16, bfloat16], ids=str)
def test_native_half_programs_round_once(dtype: Any) -> None:
    inputs = [reference.converted(array, dtype) for array in inputs_of(float32)]
    for function in (
        lambda x, y: x * y + 1,
        lambda x, y: x / y,
        lambda x, y: f.where(x > y, x, f.sqrt(y)) * 1e3,
    ):
        e = expression(function)
        (actual,) = run_native(compile_program(e, [dtype] * 2, [dtype]), inputs)
        (expected,) = reference.evaluate(e, inputs, [dtype])
        np.testing.assert_array_equal(actual, expected)
        is_number = ~np.isnan(expected)
        signs = [np.signbit(array)[is_number] for array in (actual, expected)]
        np.testing.assert_array_equal(*signs)


CASTS = [
    *FLOATS,
    1.5,
    2.5,
    255.6,
    256.0,
    -129.0,
    3e9,
    1e19,
    -1e19,
    65519.9,
    65520.0,
    1e39,
    3e-8,
    2.0**63,
]


@has_native
@pytest.mark.parametrize("target", ALL, ids=str)
@pytest.mark.parametrize("source", ALL, ids=str)
def test_native_casts_agree(source: Any, target: Any) -> None:
    values = reference.converted(np.array(CASTS), source)
    e = expression(lambda x: f.cast(x, target))
    (actual,) = run_native(compile_program(e, [source], [target]), [values])
    (expected,) = reference.evaluate(e, [values], [target])
    np.testing.assert_array_equal(actual, expected)


@has_native
@pytest.mark.parametrize(
    "shapes", [((3, 1), (2,)), ((), (4,)), ((0, 3), (1, 3)), ((), ())], ids=str
)
def test_native_outputs_that_compute_nothing_have_the_common_shape(shapes: Any) -> None:
    e = expression(lambda x, y: (x, 0, 2.5, y, x > 0, f.cast(y, float64)))
    dtypes = [float32, float32, float16, float32, bool_, float64]
    inputs = [np.arange(math.prod(shape), dtype=np.float32).reshape(shape) for shape in shapes]
    actual = run_native(compile_program(e, [float32] * 2, dtypes), inputs)
    for result, expected in zip(actual, reference.evaluate(e, inputs, dtypes), strict=True):
        assert result.shape == expected.shape
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)
