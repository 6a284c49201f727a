"""Simplification that keeps results: shared nodes, folded constants, identities exact in IEEE 754.

``x * 1`` is x for every x, but ``x + 0`` is not (-0.0 + 0 is 0.0), nor is ``x * 0`` 0 (NaN, inf).
They are simplified only for the `ZERO` that differentiation makes, which means "does not depend".
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from lumus.core.dtypes import DType
from lumus.core.scalar.nodes import ONE, ZERO, Call, Constant, Input, Scalar, postorder

Key: TypeAlias = tuple[str, tuple[Any, ...], DType[Any] | None]
Rewrite: TypeAlias = Callable[..., Scalar | None]
Number: TypeAlias = float | int | bool


class Simplifier:
    """Rewrites expressions; what it returns is shared between all calls of one simplifier.

    With `powers_as_products`, x**3 and x**4 are products: faster and closer than a power, but a
    worse start for a derivative.
    """

    def __init__(self, *, powers_as_products: bool = False) -> None:
        self._powers_as_products = powers_as_products
        self._simplified: dict[Scalar, Scalar] = {}
        self._interned: dict[Key, Scalar] = {}

    def __call__(self, root: Scalar) -> Scalar:
        """The simplified form of `root`; alike parts are one node."""
        known = self._simplified
        if root not in known:
            # A rewrite may have added a later node of this walk already: the result is the same.
            for node in postorder([root], known):
                self._add(node)
        return known[root]

    def _add(self, node: Scalar) -> None:
        result = node
        if isinstance(node, Call):
            result = self._call(node, tuple([self._simplified[arg] for arg in node.args]))
        else:
            result = self._intern(node)
        self._simplified[node] = result
        self._simplified[result] = result

    def _call(self, original: Call, args: tuple[Scalar, ...]) -> Scalar:
        function = original.function
        simpler = _fold(function, args)
        if simpler is None and function in _REWRITES:
            simpler = _REWRITES[function](*args)
        if simpler is None and function == "power" and self._powers_as_products:
            simpler = _product(*args)
        if simpler is not None:
            # A rewrite returns an argument, a constant, or a call of fewer nodes: this ends.
            return self(simpler)
        if args != original.args:
            original = Call(function, args, original.dtype)
        return self._intern(original)

    def _intern(self, node: Scalar) -> Scalar:
        match node:
            case Call(function, args, dtype):
                key: Key = (function, args, dtype)
            case Constant(value):
                if node is ZERO or node is ONE:
                    return node
                # repr tells -0.0 from 0.0, and finds NaN.
                key = ("constant", (type(value), repr(value)), None)
            case Input(index):
                key = ("input", (index,), None)
            case _:
                raise TypeError(f"not a node of a scalar expression: {node!r}")
        return self._interned.setdefault(key, node)


# ---------------------------------------------------------------------------------------- folding


def _power(x: float, p: float) -> float:
    # int ** negative int is an int power in an Int expression, a float one in a Float expression.
    if isinstance(x, int) and isinstance(p, int):
        if not 0 <= p < 64:
            raise ValueError
        return int(x**p)
    return math.pow(x, p)


def _reciprocal(x: float) -> float:
    return 1 / x


def _rsqrt(x: float) -> float:
    return 1 / math.sqrt(x)


def _square(x: float) -> float:
    return x * x


# On Python's numbers, that is in double precision, rounded to the dtype once. What raises (log(0))
# is left for run time, where it is an infinity or NaN.
_FOLDS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": _power,
    "negative": operator.neg,
    "absolute": abs,
    "reciprocal": _reciprocal,
    "square": _square,
    "sqrt": math.sqrt,
    "rsqrt": _rsqrt,
    "exp": math.exp,
    "expm1": math.expm1,
    "log": math.log,
    "log1p": math.log1p,
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "erf": math.erf,
    "erfc": math.erfc,
    "maximum": max,
    "minimum": min,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "logical_and": operator.and_,
    "logical_or": operator.or_,
    "logical_xor": operator.xor,
    "logical_not": operator.not_,
    "isnan": math.isnan,
    "isinf": math.isinf,
    "isfinite": math.isfinite,
}
_LOGICAL = {"logical_and", "logical_or", "logical_xor", "logical_not"}


def _fold(function: str, args: tuple[Scalar, ...]) -> Scalar | None:
    values: list[float | int | bool] = []
    for arg in args:
        if not isinstance(arg, Constant):
            return None
        values.append(arg.value)
    fold = _FOLDS.get(function)
    if fold is None or any(isinstance(v, bool) != (function in _LOGICAL) for v in values):
        return None
    if any(v != v for v in values):  # noqa: PLR0124  NaN: Python's max and min do not propagate it
        return None
    try:
        return Constant(fold(*values))
    except (ArithmeticError, ValueError):
        return None


# ------------------------------------------------------------------------------------- identities


def _number(node: Scalar) -> float | int | None:
    if isinstance(node, Constant) and not isinstance(node.value, bool):
        return node.value
    return None


def _negated(node: Scalar) -> Scalar | None:
    return node.args[0] if isinstance(node, Call) and node.function == "negative" else None


def _add(x: Scalar, y: Scalar) -> Scalar | None:
    if x is ZERO:
        return y
    if y is ZERO:
        return x
    if (minus_y := _negated(y)) is not None:
        return x - minus_y
    if (minus_x := _negated(x)) is not None:
        return y - minus_x
    return None


def _subtract(x: Scalar, y: Scalar) -> Scalar | None:
    if x is ZERO:
        return -y
    if y is ZERO:
        return x
    minus_y = _negated(y)
    return None if minus_y is None else x + minus_y


def _multiply(x: Scalar, y: Scalar) -> Scalar | None:
    if x is ZERO or y is ZERO:
        return ZERO
    for factor, other in ((x, y), (y, x)):
        number = _number(factor)
        if number == 1:
            return other
        if number == -1:
            return -other
    # A sign moves out of products exactly, to where it meets a sum.
    if (minus_x := _negated(x)) is not None:
        return -(minus_x * y)
    if (minus_y := _negated(y)) is not None:
        return -(x * minus_y)
    return None


def _divide(x: Scalar, y: Scalar) -> Scalar | None:
    number = _number(y)
    if x is ZERO or number == 1:
        return x
    if number is not None and 0 < abs(number) < math.inf:
        mantissa, exponent = math.frexp(number)
        # By a power of two whose reciprocal is normal in every dtype: the product is the quotient.
        if abs(mantissa) == 0.5 and abs(exponent) < 100:
            return x * (1 / number)
    minus_x = _negated(x)
    return None if minus_x is None else -(minus_x / y)


def _power_identity(x: Scalar, p: Scalar) -> Scalar | None:
    number = _number(p)
    if number == 1:
        return x
    return Call("square", (x,)) if number == 2 else None


def _product(x: Scalar, p: Scalar) -> Scalar | None:
    square = Call("square", (x,))
    number = _number(p)
    if number == 3:
        return square * x
    return Call("square", (square,)) if number == 4 else None


def _select(condition: Scalar, x: Scalar, y: Scalar) -> Scalar | None:
    if isinstance(condition, Constant):
        return x if condition.value else y
    if x is y:
        return x
    if isinstance(condition, Call) and condition.function == "logical_not":
        return Call("select", (condition.args[0], y, x))
    return None


def _logical(absorbing: bool) -> Rewrite:
    """Rules of & (absorbed by False) and | (by True) with one constant side."""

    def rewrite(x: Scalar, y: Scalar) -> Scalar | None:
        for side, other in ((x, y), (y, x)):
            if isinstance(side, Constant):
                return side if side.value is absorbing else other
        return x if x is y else None

    return rewrite


def _negative(x: Scalar) -> Scalar | None:
    return ZERO if x is ZERO else _negated(x)


def _cast(x: Scalar) -> Scalar | None:
    return ZERO if x is ZERO else None


_REWRITES: dict[str, Rewrite] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "power": _power_identity,
    "negative": _negative,
    "select": _select,
    "logical_and": _logical(absorbing=False),
    "logical_or": _logical(absorbing=True),
    "cast": _cast,
}
