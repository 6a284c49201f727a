"""Scalar expressions evaluated node by node in NumPy: plain, slow, and the oracle of the rest."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lumus.core.dtypes import INT_RANGE, DType
from lumus.core.frozen import frozen
from lumus.core.scalar.expressions import Expression
from lumus.core.scalar.nodes import Call, Constant, Input, Scalar, postorder
from lumus.devices.reference import special

Array: TypeAlias = NDArray[Any]


@frozen
class _Value:
    """An array, or numbers that take the dtype of what they meet (`is_weak`)."""

    array: Array
    is_weak: bool = False


def evaluate(
    expression: Expression, inputs: Sequence[Array], output_dtypes: Sequence[DType[Any]]
) -> list[Array]:
    """The outputs for NumPy arrays that broadcast together.

    NumPy has no bfloat16: an array of it is a float32 array whose elements bfloat16 can hold. Half
    types compute in float32 and are rounded once, at the end.
    """
    with np.errstate(all="ignore"):
        values: dict[Scalar, _Value] = {}
        for node in postorder(expression.outputs):
            values[node] = _value(node, values, _computed(inputs))
        shape = np.broadcast_shapes(*[array.shape for array in inputs])
        return [
            np.broadcast_to(converted(values[output].array, dtype), shape).copy()
            for output, dtype in zip(expression.outputs, output_dtypes, strict=True)
        ]


def _computed(inputs: Sequence[Array]) -> list[Array]:
    """The inputs in the dtypes they compute in: one for all floats, one for all ints."""
    wide = [array.astype(np.float32) if array.dtype == np.float16 else array for array in inputs]
    by_kind = {
        kind: np.result_type(*[array.dtype for array in wide if _kind(array) == kind])
        for kind in {_kind(array) for array in wide}
    }
    return [array.astype(by_kind[_kind(array)]) for array in wide]


def _kind(array: Array) -> str:
    return {"f": "float", "i": "int", "u": "int", "b": "bool"}[array.dtype.kind]


def _value(node: Scalar, values: dict[Scalar, _Value], inputs: Sequence[Array]) -> _Value:
    match node:
        case Input(index):
            return _Value(inputs[index])
        case Constant(value):
            return _Value(np.asarray(value), is_weak=not isinstance(value, bool))
        case Call("cast", (arg,), DType() as dtype):
            return _Value(converted(values[arg].array, dtype))
        case Call("select", (condition, x, y)):
            first, second = _aligned([values[x], values[y]])
            chosen = np.where(values[condition].array, first.array, second.array)
            return _Value(chosen, first.is_weak)
        case Call(function, args):
            operands = _aligned([values[arg] for arg in args])
            result = np.asarray(_FUNCTIONS[function](*[operand.array for operand in operands]))
            return _Value(result, operands[0].is_weak and result.dtype != np.bool_)
        case _:
            raise TypeError(f"not a node of a scalar expression: {node!r}")


def _aligned(operands: list[_Value]) -> list[_Value]:
    """The operands in one dtype: that of those that have one; of numbers alone, NumPy's."""
    strong = [operand.array.dtype for operand in operands if not operand.is_weak]
    dtypes = strong or [operand.array.dtype for operand in operands]
    dtype = np.result_type(*dtypes)
    if dtype == np.float16:
        dtype = np.dtype(np.float32)
    return [_Value(operand.array.astype(dtype), not strong) for operand in operands]


# ------------------------------------------------------------------------------------- conversion


def converted(array: Array, dtype: DType[Any]) -> Array:
    """The elements in another dtype; floats truncate and saturate to ints, NaN becomes 0."""
    with np.errstate(all="ignore"):
        if dtype.name == "bfloat16":
            return rounded_to_bfloat16(rounded_to_odd(array))
        if dtype.name == "float16" and array.dtype.kind in "iu":
            return rounded_to_odd(array).astype(np.float16)
        if dtype.kind == "int" and array.dtype.kind == "f":
            return _int_from_float(array, dtype)
        return array.astype(dtype.name)


def rounded_to_bfloat16(array: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each element rounded to the nearest float32 with 16 zero bits at its end, ties to even."""
    bits = np.ascontiguousarray(array).view(np.uint32).astype(np.uint64)
    # Just under half a unit is added, or exactly half where the last kept bit is odd.
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    result = rounded.astype(np.uint32).view(np.float32).reshape(array.shape)
    return np.where(np.isnan(array), np.float32(np.nan), result)


def rounded_to_odd(array: Array) -> NDArray[np.float32]:
    """float32 from which rounding to a half type gives what rounding the number itself would.

    Where a number lies between two of float32, the one whose last bit is set stands for it: it is
    beyond the last bit of a half type, and keeps the number off a tie.
    """
    nearest = array.astype(np.float32)
    if array.dtype in (np.float32, np.float16):
        return nearest
    # Of 64 bits of precision or more, so that every int64 is exact.
    exact = array.astype(np.longdouble)
    bits = np.ascontiguousarray(nearest).view(np.uint32).reshape(array.shape)
    towards_zero = bits - (np.abs(nearest.astype(np.longdouble)) > np.abs(exact))
    is_inexact = (nearest.astype(np.longdouble) != exact) & ~np.isnan(exact)
    odd = np.where(is_inexact, towards_zero | 1, bits).astype(np.uint32)
    return odd.view(np.float32).reshape(array.shape)


def _int_from_float(array: Array, dtype: DType[Any]) -> Array:
    low, high = INT_RANGE[dtype.name]
    # float(high) of int64 rounds up to 2**63, which is out of range: >= and not >.
    inside = np.where(np.isnan(array) | (array <= low) | (array >= float(high)), 0, array)
    result = np.trunc(inside).astype(dtype.name)
    return np.where(array <= low, low, np.where(array >= float(high), high, result)).astype(
        dtype.name
    )


# -------------------------------------------------------------------------------------- functions


def _elementwise(function: Callable[[float], float]) -> Callable[[Array], Array]:
    def apply(x: Array) -> Array:
        results = [function(float(element)) for element in x.ravel()]
        return np.asarray(results, dtype=x.dtype).reshape(x.shape)

    return apply


def _floor_divide(a: Array, b: Array) -> Array:
    return np.where(b == 0, 0, a // b).astype(a.dtype) if a.dtype.kind in "iu" else a // b


def _remainder(a: Array, b: Array) -> Array:
    return np.where(b == 0, 0, a % b).astype(a.dtype) if a.dtype.kind in "iu" else a % b


def _power(x: Array, p: Array) -> Array:
    if x.dtype.kind == "f":
        return np.power(x, p)
    # Ints wrap. NumPy refuses negative exponents; the true result truncates to 0 but for 1 and -1.
    positive = np.power(x, np.maximum(p, 0))
    reciprocal = np.where(x == 1, 1, np.where(x == -1, np.where(p % 2 == 0, 1, -1), 0))
    return np.where(p < 0, reciprocal, positive).astype(x.dtype)


def _rsqrt(x: Array) -> Array:
    return np.reciprocal(np.sqrt(x))


def _rounding(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Applied to floats; ints are whole as they are."""
    return lambda x: function(x) if x.dtype.kind == "f" else x


def _fmod(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.fmod(a, b)
    return np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b))).astype(a.dtype)


# A negative count, or one of the width and more, shifts all bits out.
def _left_shift(x: Array, count: Array) -> Array:
    inside = (count >= 0) & (count < 8 * x.itemsize)
    return np.where(inside, np.left_shift(x, np.where(inside, count, 0)), 0).astype(x.dtype)


def _right_shift(x: Array, count: Array) -> Array:
    inside = (count >= 0) & (count < 8 * x.itemsize)
    shifted = np.right_shift(x, np.where(inside, count, 0))
    return np.where(inside, shifted, np.where(x < 0, -1, 0)).astype(x.dtype)


def _zeta(s: Array, q: Array) -> Array:
    exponents, starts = np.broadcast_arrays(s, q)
    pairs = zip(exponents.ravel().tolist(), starts.ravel().tolist(), strict=True)
    return np.asarray([special.zeta(*pair) for pair in pairs], s.dtype).reshape(starts.shape)


def _sigmoid(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small)).astype(x.dtype)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.true_divide,
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "power": _power,
    "negative": np.negative,
    "absolute": np.abs,
    "sign": np.sign,
    "reciprocal": np.reciprocal,
    "square": np.square,
    "sqrt": np.sqrt,
    "rsqrt": _rsqrt,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "erf": _elementwise(math.erf),
    "erfc": _elementwise(math.erfc),
    "erfinv": _elementwise(special.erfinv),
    "exp2": np.exp2,
    "log2": np.log2,
    "log10": np.log10,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "hypot": np.hypot,
    "lgamma": _elementwise(special.lgamma),
    "digamma": _elementwise(special.digamma),
    "zeta": _zeta,
    "fmod": _fmod,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_invert": np.invert,
    "bitwise_left_shift": _left_shift,
    "bitwise_right_shift": _right_shift,
    "floor": _rounding(np.floor),
    "ceil": _rounding(np.ceil),
    "round": _rounding(np.rint),
    "trunc": _rounding(np.trunc),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "logical_not": np.logical_not,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
}
