"""The scalar expression language: elementwise ops, their derivatives and updates are written in it.

An expression is written once, as a Python lambda, and from it come the CPU program, the shader, the
derivatives of every order and the text. See `functions` for the closed table of functions.
"""

from __future__ import annotations

from lumus.core.scalar.expressions import Expression, expression
from lumus.core.scalar.functions import (
    absolute,
    cast,
    ceil,
    cos,
    equal,
    erf,
    erfc,
    exp,
    expm1,
    floor,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    maximum,
    minimum,
    not_equal,
    reciprocal,
    round,
    rsqrt,
    sigmoid,
    sign,
    sin,
    sqrt,
    square,
    tanh,
    trunc,
    where,
)
from lumus.core.scalar.nodes import Scalar
from lumus.core.scalar.program import ScalarProgram, compile_program
from lumus.core.scalar.tangent import derivative, vjp

__all__ = [
    "Expression",
    "Scalar",
    "ScalarProgram",
    "absolute",
    "cast",
    "ceil",
    "compile_program",
    "cos",
    "derivative",
    "equal",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "expression",
    "floor",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log1p",
    "maximum",
    "minimum",
    "not_equal",
    "reciprocal",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sqrt",
    "square",
    "tanh",
    "trunc",
    "vjp",
    "where",
]
