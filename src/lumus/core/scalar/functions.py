"""The closed table of scalar functions, each with its derivative beside it.

A derivative is a rule on tangents: given the arguments, the result and how much each argument
changes (to first order), it says how much the result changes. Written so, a branch that is not
selected contributes exactly nothing, whatever its local value. A function without a rule is flat
(floor, sign) or not a number (comparisons): its tangent is zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from lumus.core.dtypes import DType
from lumus.core.scalar.nodes import ZERO, Call, Operand, Scalar, as_scalar, call

Operands: TypeAlias = Literal["float", "number", "int", "bool", "any"]
# (x, y, dx): argument, result, tangent. (a, b, y, da, db): arguments, result, tangents.
UnaryRule: TypeAlias = Callable[[Scalar, Scalar, Scalar], Scalar]
BinaryRule: TypeAlias = Callable[[Scalar, Scalar, Scalar, Scalar, Scalar], Scalar]


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """What is known of a function beyond its name.

    `operands` says which kinds it takes. The result is Bool (`is_bool`) or of the operands' dtype.
    """

    name: str
    operands: Operands
    is_bool: bool
    rule: Callable[..., Scalar] | None


class Unary(Function):
    """A function of one argument; calling it makes a node."""

    __slots__ = ()

    def __call__(self, x: Operand) -> Scalar:
        return call(self.name, x)


class Binary(Function):
    """A function of two arguments; calling it makes a node."""

    __slots__ = ()

    def __call__(self, x: Operand, y: Operand) -> Scalar:
        return call(self.name, x, y)


FUNCTIONS: dict[str, Function] = {}


def _unary(
    name: str, rule: UnaryRule | None, operands: Operands = "float", *, is_bool: bool = False
) -> Unary:
    FUNCTIONS[name] = function = Unary(name, operands, is_bool, rule)
    return function


def _binary(
    name: str, rule: BinaryRule | None, operands: Operands = "number", *, is_bool: bool = False
) -> Binary:
    FUNCTIONS[name] = function = Binary(name, operands, is_bool, rule)
    return function


# ------------------------------------------------------------------------------------- selection


def where(condition: Scalar, x: Operand, y: Operand) -> Scalar:
    """`x` where the condition holds, else `y`; the other one has no influence at all."""
    if not isinstance(condition, Scalar):
        raise TypeError(
            f"where: the condition is {condition!r}, not a scalar; compare with equal(x, y), not =="
        )
    return call("select", condition, x, y)


def cast(x: Operand, dtype: DType[Any]) -> Scalar:
    """`x` as that dtype; the rule is in `tangent`, since it needs the dtype."""
    return Call("cast", (as_scalar(x),), dtype)


def _select_rule(*args: Scalar) -> Scalar:
    condition, _x, _y, _result, _dcondition, dx, dy = args
    return where(condition, dx, dy)


FUNCTIONS["select"] = Function("select", "any", is_bool=False, rule=_select_rule)
FUNCTIONS["cast"] = Function("cast", "any", is_bool=False, rule=None)

# ----------------------------------------------------------------------------------- comparisons

equal: Binary = _binary("equal", None, "any", is_bool=True)
not_equal: Binary = _binary("not_equal", None, "any", is_bool=True)
less: Binary = _binary("less", None, "any", is_bool=True)
less_equal: Binary = _binary("less_equal", None, "any", is_bool=True)
greater: Binary = _binary("greater", None, "any", is_bool=True)
greater_equal: Binary = _binary("greater_equal", None, "any", is_bool=True)
logical_and: Binary = _binary("logical_and", None, "bool", is_bool=True)
logical_or: Binary = _binary("logical_or", None, "bool", is_bool=True)
logical_xor: Binary = _binary("logical_xor", None, "bool", is_bool=True)
logical_not: Unary = _unary("logical_not", None, "bool", is_bool=True)
isnan: Unary = _unary("isnan", None, "number", is_bool=True)
isinf: Unary = _unary("isinf", None, "number", is_bool=True)
isfinite: Unary = _unary("isfinite", None, "number", is_bool=True)

# ------------------------------------------------------------------------------------ arithmetic


def _power_rule(x: Scalar, p: Scalar, y: Scalar, dx: Scalar, dp: Scalar) -> Scalar:
    # p * x**(p-1) is 0 * inf at p = 0 where 1/x overflows: x**0 is flat there, too.
    slope = x ** (p - 1)
    by_x = where(equal(p, 0) & isinf(slope), ZERO, p * slope)
    # y * log(x) is 0 * inf at x = 0 for p > 0 (p = 0 joins by convention) and at inf for p < 0.
    by_p = where(equal(x, where(p >= 0, 0, math.inf)), ZERO, y * log(x))
    return dx * by_x + dp * by_p


# A tie of maximum or minimum is split evenly. With a NaN all comparisons are false, and neither
# side gets anything.


def _maximum_rule(a: Scalar, b: Scalar, y: Scalar, da: Scalar, db: Scalar) -> Scalar:
    return where(equal(a, b), (da + db) * 0.5, where(a > b, da, where(a < b, db, ZERO)))


def _minimum_rule(a: Scalar, b: Scalar, y: Scalar, da: Scalar, db: Scalar) -> Scalar:
    return where(equal(a, b), (da + db) * 0.5, where(a < b, da, where(a > b, db, ZERO)))


add: Binary = _binary("add", lambda a, b, y, da, db: da + db)
subtract: Binary = _binary("subtract", lambda a, b, y, da, db: da - db)
multiply: Binary = _binary("multiply", lambda a, b, y, da, db: da * b + db * a)
divide: Binary = _binary("divide", lambda a, b, y, da, db: da / b - db * y / b, "float")
floor_divide: Binary = _binary("floor_divide", None)
remainder: Binary = _binary("remainder", lambda a, b, y, da, db: da - db * floor_divide(a, b))
# The quotient rounded towards zero is whole, but a / b may round up to the next integer.
fmod: Binary = _binary("fmod", lambda a, b, y, da, db: da - db * round((a - y) / b))
power: Binary = _binary("power", _power_rule)
maximum: Binary = _binary("maximum", _maximum_rule)
minimum: Binary = _binary("minimum", _minimum_rule)
negative: Unary = _unary("negative", lambda x, y, dx: -dx, "number")
absolute: Unary = _unary("absolute", lambda x, y, dx: dx * sign(x), "number")
sign: Unary = _unary("sign", None, "number")
square: Unary = _unary("square", lambda x, y, dx: dx * (2 * x), "number")
reciprocal: Unary = _unary("reciprocal", lambda x, y, dx: -(dx * square(y)))
sqrt: Unary = _unary("sqrt", lambda x, y, dx: dx * (0.5 / y))
rsqrt: Unary = _unary("rsqrt", lambda x, y, dx: dx * (-0.5 * y * square(y)))
floor: Unary = _unary("floor", None, "number")
ceil: Unary = _unary("ceil", None, "number")
round: Unary = _unary("round", None, "number")
trunc: Unary = _unary("trunc", None, "number")

# ---------------------------------------------------------------------------------- bits of ints

bitwise_and: Binary = _binary("bitwise_and", None, "int")
bitwise_or: Binary = _binary("bitwise_or", None, "int")
bitwise_xor: Binary = _binary("bitwise_xor", None, "int")
bitwise_left_shift: Binary = _binary("bitwise_left_shift", None, "int")
bitwise_right_shift: Binary = _binary("bitwise_right_shift", None, "int")
bitwise_invert: Unary = _unary("bitwise_invert", None, "int")

# -------------------------------------------------------------------- exponentials and their kin

_LN2 = math.log(2)
_INV_LN2 = 1 / math.log(2)
_INV_LN10 = 1 / math.log(10)
_HALF_SQRT_PI = math.sqrt(math.pi) / 2
_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)

exp: Unary = _unary("exp", lambda x, y, dx: dx * y)
expm1: Unary = _unary("expm1", lambda x, y, dx: dx * exp(x))  # y + 1 cancels for x << 0
log: Unary = _unary("log", lambda x, y, dx: dx / x)
exp2: Unary = _unary("exp2", lambda x, y, dx: dx * (_LN2 * y))
log2: Unary = _unary("log2", lambda x, y, dx: dx * _INV_LN2 / x)
log10: Unary = _unary("log10", lambda x, y, dx: dx * _INV_LN10 / x)
log1p: Unary = _unary("log1p", lambda x, y, dx: dx / (1 + x))
sin: Unary = _unary("sin", lambda x, y, dx: dx * cos(x))
cos: Unary = _unary("cos", lambda x, y, dx: -(dx * sin(x)))
tanh: Unary = _unary("tanh", lambda x, y, dx: dx * (1 - y * y))
sigmoid: Unary = _unary("sigmoid", lambda x, y, dx: dx * (y * (1 - y)))
erf: Unary = _unary("erf", lambda x, y, dx: dx * (_TWO_OVER_SQRT_PI * exp(-square(x))))
erfc: Unary = _unary("erfc", lambda x, y, dx: -(dx * (_TWO_OVER_SQRT_PI * exp(-square(x)))))
erfinv: Unary = _unary("erfinv", lambda x, y, dx: dx * (_HALF_SQRT_PI * exp(square(y))))

# --------------------------------------------------------------- angles and hyperbolic functions


def _beyond_squares(x: Scalar, inside: Scalar, beyond: Scalar) -> Scalar:
    # Where 1 is lost beside x**2, which may overflow.
    return where(absolute(x) < 1e10, inside, beyond)


def _atan_rule(x: Scalar, y: Scalar, dx: Scalar) -> Scalar:
    return dx * _beyond_squares(x, 1 / (1 + square(x)), square(reciprocal(x)))


def _asinh_rule(x: Scalar, y: Scalar, dx: Scalar) -> Scalar:
    return dx * _beyond_squares(x, rsqrt(1 + square(x)), absolute(reciprocal(x)))


def _hypot_share(x: Scalar, other: Scalar) -> Scalar:
    """The quotient x / hypot(x, other): 0 at (0, 0); at infinity its limit."""
    # Scaled so that the root neither overflows nor vanishes.
    factor = where(absolute(x) + absolute(other) > 1, 0.25, 4.0)
    length = hypot(factor * x, factor * other)
    at_infinity = sign(x) * where(isinf(other), math.sqrt(0.5), 1.0)
    finite = where(equal(length, 0), ZERO, factor * x / length)
    return where(isinf(x), at_infinity, finite)


def _hypot_rule(a: Scalar, b: Scalar, y: Scalar, da: Scalar, db: Scalar) -> Scalar:
    return da * _hypot_share(a, b) + db * _hypot_share(b, a)


def _atan2_rule(a: Scalar, b: Scalar, y: Scalar, da: Scalar, db: Scalar) -> Scalar:
    # a**2 + b**2 may overflow or vanish where its root does not.
    length = hypot(a, b)
    is_flat = equal(length, 0) | isinf(length)
    by_a = where(is_flat, ZERO, b / length / length)
    by_b = where(is_flat, ZERO, a / length / length)
    return da * by_a - db * by_b


asin: Unary = _unary("asin", lambda x, y, dx: dx * rsqrt((1 - x) * (1 + x)))
acos: Unary = _unary("acos", lambda x, y, dx: -(dx * rsqrt((1 - x) * (1 + x))))
atan: Unary = _unary("atan", _atan_rule)
tan: Unary = _unary("tan", lambda x, y, dx: dx * (1 + square(y)))
sinh: Unary = _unary("sinh", lambda x, y, dx: dx * cosh(x))
cosh: Unary = _unary("cosh", lambda x, y, dx: dx * sinh(x))
asinh: Unary = _unary("asinh", _asinh_rule)
acosh: Unary = _unary("acosh", lambda x, y, dx: dx * (rsqrt(x - 1) * rsqrt(x + 1)))
atanh: Unary = _unary("atanh", lambda x, y, dx: dx / ((1 - x) * (1 + x)))
atan2: Binary = _binary("atan2", _atan2_rule, "float")
hypot: Binary = _binary("hypot", _hypot_rule, "float")

# ------------------------------------------------------------------------------- gamma functions


def _zeta_rule(s: Scalar, q: Scalar, y: Scalar, ds: Scalar, dq: Scalar) -> Scalar:
    if ds is not ZERO:
        raise TypeError("zeta: its derivative by s is not known; s must be a number")
    return -(dq * (s * zeta(s + 1, q)))


lgamma: Unary = _unary("lgamma", lambda x, y, dx: dx * digamma(x))
digamma: Unary = _unary("digamma", lambda x, y, dx: dx * zeta(2, x))
zeta: Binary = _binary("zeta", _zeta_rule, "float")
