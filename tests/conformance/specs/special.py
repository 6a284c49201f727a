"""More elementwise functions: SciPy and mpmath formulas; poles, zeros and infinities."""

import math
from typing import Any

import mpmath
import numpy as np
import scipy.special

import lumus as lm
from lumus.testing.op_spec import (
    FLOATS,
    Case,
    Domain,
    Edge,
    OpSpec,
    Source,
    elementwise_cases,
    joined,
    rough,
)
from tests.conformance.specs.elementwise import ANY, NUMBERS, POSITIVE, with_mpmath

INF, NAN = math.inf, math.nan
LARGE = Domain(low=-80.0, high=80.0)
WHOLE = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)


def _nan_to_num(x: Any, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    return np.where(np.isnan(x), nan, np.where(x == INF, posinf, np.where(x == -INF, neginf, x)))


def largest_cases(source: Source) -> Any:
    """What stands for infinities by default is the largest number of the dtype."""
    values = np.array([1.0, INF, -INF, NAN])
    yield Case("by default", (values,), smooth=False)


def _by_default(x: Any) -> Any:
    # The formula is not told the dtype; rounding to it keeps these in their place.
    return np.where(np.isnan(x), 0.0, np.where(np.isinf(x), np.sign(x), x))


UNARY = [
    OpSpec(
        name="erfc",
        function=lm.erfc,
        formula=with_mpmath(mpmath.erfc),
        tolerance=2,
        cases=joined(elementwise_cases(), rough(elementwise_cases(Domain(low=-6, high=8)))),
        edges=(Edge("far out", ([0.0, INF, -INF],), ([-2 / math.sqrt(math.pi), 0.0, 0.0],)),),
    ),
    OpSpec(
        name="trunc",
        function=lm.trunc,
        formula=np.trunc,
        tolerance=0,
        cases=joined(
            elementwise_cases(Domain(avoid=WHOLE)),
            rough(elementwise_cases(Domain(specials=(0.5, 1.5, -0.5, -2.5, 2.0, INF)))),
        ),
        edges=(Edge("jump", ([-1.0, 0.0, 0.5, INF],), ([0.0, 0.0, 0.0, 0.0],)),),
    ),
    OpSpec(
        name="nan_to_num",
        function=lm.nan_to_num,
        formula=_nan_to_num,
        tolerance=0,
        cases=elementwise_cases(kwargs={"nan": 0.5, "posinf": 3.0, "neginf": -2.0}),
        edges=(Edge("not finite", ([NAN, INF, -INF, 2.0],), ([0.0, 0.0, 0.0, 1.0],)),),
    ),
    OpSpec(
        name="nan_to_num (by default)",
        function=lambda x: lm.nan_to_num(x).sign(),
        covers=("nan_to_num",),
        formula=_by_default,
        tolerance=0,
        cases=largest_cases,
        differentiable=False,
    ),
]

UNIT = Domain(low=-0.9, high=0.9, specials=(0.0, -0.0, 1.0, -1.0, 1.5, INF, NAN))


def _gamma(function: Any, poles: Any) -> Any:
    """A formula of mpmath with its values at the poles and the infinities."""

    def formula(x: Any, *args: Any) -> Any:
        if mpmath.isnan(x):
            return x
        if mpmath.isinf(x) or (x <= 0 and x == mpmath.floor(x)):
            return poles(float(x))
        return mpmath.re(function(x))

    return with_mpmath(formula)


_digamma_inside = _gamma(mpmath.digamma, lambda x: mpmath.inf if x == INF else mpmath.nan)


def _digamma(x: Any) -> Any:
    # mpmath has no -0.0.
    return np.where(x == 0, -np.copysign(INF, x), _digamma_inside(x))


def _trigamma_poles(x: float) -> Any:
    return {INF: mpmath.mpf(0), -INF: mpmath.nan}.get(x, mpmath.inf)


def gamma_cases(low: float) -> Any:
    """Positive numbers to second order, and on both sides of the poles forward."""
    where = Domain(low=low, high=9.0, specials=(0.0, -1.0, -2.0, 1.0, 2.0, 171.0, INF, -INF, NAN))
    below = Domain(low=-5.0, high=0.0, avoid=WHOLE, margin=0.1)
    return joined(elementwise_cases(where), rough(elementwise_cases(below)))


MORE_UNARY = [
    OpSpec(
        name="exp2",
        function=lm.exp2,
        formula=np.exp2,
        cases=joined(elementwise_cases(), rough(elementwise_cases(LARGE))),
        edges=(Edge("far out", ([-INF, INF, 0.0],), ([0.0, INF, math.log(2)],)),),
    ),
    OpSpec(
        name="log2",
        function=lm.log2,
        formula=np.log2,
        cases=joined(elementwise_cases(POSITIVE), rough(elementwise_cases())),
        edges=(Edge("zero, infinite", ([0.0, 2.0, INF],), ([INF, 0.5 / math.log(2), 0.0],)),),
    ),
    OpSpec(
        name="log10",
        function=lm.log10,
        formula=np.log10,
        cases=joined(elementwise_cases(POSITIVE), rough(elementwise_cases())),
        edges=(Edge("zero, infinite", ([0.0, 2.0, INF],), ([INF, 0.5 / math.log(10), 0.0],)),),
    ),
    OpSpec(
        name="tan",
        function=lm.tan,
        formula=np.tan,
        cases=joined(
            elementwise_cases(Domain(low=-1.2, high=1.2)),
            rough(elementwise_cases(Domain(low=-500, high=500))),
        ),
        edges=(Edge("infinite", ([0.0, INF],), ([1.0, NAN],)),),
    ),
    OpSpec(
        name="asin",
        function=lm.asin,
        formula=np.arcsin,
        cases=elementwise_cases(UNIT),
        edges=(Edge("ends", ([-1.0, 0.0, 1.0],), ([INF, 1.0, INF],)),),
    ),
    OpSpec(
        name="acos",
        function=lm.acos,
        formula=np.arccos,
        cases=elementwise_cases(UNIT),
        edges=(Edge("ends", ([-1.0, 0.0, 1.0],), ([-INF, -1.0, -INF],)),),
    ),
    OpSpec(
        name="atan",
        function=lm.atan,
        formula=np.arctan,
        cases=joined(elementwise_cases(), rough(elementwise_cases(LARGE))),
        edges=(Edge("far out", ([-INF, 0.0, 1e20, INF],), ([0.0, 1.0, 1e-40, 0.0],)),),
    ),
    OpSpec(
        name="sinh",
        function=lm.sinh,
        formula=np.sinh,
        cases=joined(elementwise_cases(), rough(elementwise_cases(LARGE))),
        edges=(Edge("infinities", ([-INF, 0.0, INF],), ([INF, 1.0, INF],)),),
    ),
    OpSpec(
        name="cosh",
        function=lm.cosh,
        formula=np.cosh,
        cases=joined(elementwise_cases(), rough(elementwise_cases(LARGE))),
        edges=(Edge("infinities", ([-INF, 0.0, INF],), ([-INF, 0.0, INF],)),),
    ),
    OpSpec(
        name="asinh",
        function=lm.asinh,
        formula=np.arcsinh,
        cases=joined(elementwise_cases(), rough(elementwise_cases(LARGE))),
        edges=(Edge("far out", ([-INF, 0.0, 1e20, INF],), ([0.0, 1.0, 1e-20, 0.0],)),),
    ),
    OpSpec(
        name="acosh",
        function=lm.acosh,
        formula=np.arccosh,
        cases=elementwise_cases(Domain(low=1.2, high=9.0, specials=(1.0, 0.5, -3.0, INF, NAN))),
        edges=(Edge("ends", ([1.0, INF],), ([INF, 0.0],)),),
    ),
    OpSpec(
        name="atanh",
        function=lm.atanh,
        formula=np.arctanh,
        cases=elementwise_cases(UNIT),
        edges=(Edge("ends", ([-1.0, 0.0, 1.0],), ([INF, 1.0, INF],)),),
    ),
    OpSpec(
        name="erfinv",
        function=lm.erfinv,
        formula=scipy.special.erfinv,
        tolerance=2,
        cases=elementwise_cases(UNIT),
        edges=(Edge("ends", ([-1.0, 0.0, 1.0],), ([INF, math.sqrt(math.pi) / 2, INF],)),),
    ),
    OpSpec(
        name="lgamma",
        function=lm.lgamma,
        formula=_gamma(mpmath.loggamma, lambda x: mpmath.inf),
        tolerance=2,
        absolute=True,
        cases=gamma_cases(0.3),
        edges=(Edge("poles", ([1.0, 0.0, INF],), ([-0.5772156649015329, -INF, INF],)),),
    ),
    OpSpec(
        name="digamma",
        function=lm.digamma,
        formula=_digamma,
        tolerance=4,
        absolute=True,
        cases=gamma_cases(0.5),
        edges=(Edge("poles", ([1.0, 0.0, INF],), ([math.pi**2 / 6, INF, 0.0],)),),
    ),
    OpSpec(
        name="polygamma",
        function=lambda x: lm.polygamma(1, x),
        formula=_gamma(lambda x: mpmath.polygamma(1, x), _trigamma_poles),
        tolerance=2,
        cases=gamma_cases(0.8),
        edges=(Edge("poles", ([0.0, INF],), ([-INF, 0.0],)),),
    ),
    OpSpec(
        name="polygamma (3)",
        function=lambda x: lm.polygamma(3, x),
        covers=("polygamma",),
        formula=_gamma(lambda x: mpmath.polygamma(3, x), _trigamma_poles),
        tolerance=4,
        cases=elementwise_cases(Domain(low=1.5, high=9.0, specials=(0.0, INF, NAN))),
    ),
]

# ----------------------------------------------------------------------------------------- binary

INTS = (lm.int64, lm.int32, lm.int16, lm.int8, lm.uint8)


def _fmod(x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return np.fmod(x, y)
    return np.where(y == 0, 0, np.fmod(x, np.where(y == 0, 1, y)))


def _shifted(x: int, count: int, bits: int, signed: bool) -> int:
    """By Python's ints, cut to the width."""
    if 0 <= count < bits:
        moved = (x << count) % 2**bits
        return moved - 2**bits if signed and moved >= 2 ** (bits - 1) else moved
    return 0


def _left_shift(x: Any, y: Any) -> Any:
    bits, signed = 8 * x.itemsize, x.dtype.kind == "i"
    pairs = zip(*(one.ravel().tolist() for one in np.broadcast_arrays(x, y)), strict=True)
    shape = np.broadcast_shapes(x.shape, y.shape)
    return np.array([_shifted(*pair, bits, signed) for pair in pairs], x.dtype).reshape(shape)


def _right_shift(x: Any, y: Any) -> Any:
    bits = 8 * x.itemsize
    pairs = zip(*(one.ravel().tolist() for one in np.broadcast_arrays(x, y)), strict=True)
    shape = np.broadcast_shapes(x.shape, y.shape)
    moved = [one >> (count if 0 <= count < bits else bits) for one, count in pairs]
    return np.array(moved, x.dtype).reshape(shape)


BITWISE = [
    *[
        OpSpec(
            name=name,
            function=getattr(lm, name),
            formula=formula,
            dtypes=(*INTS, lm.bool_),
            cases=elementwise_cases(Domain(low=-100, high=100), Domain(low=-100, high=100)),
            differentiable=False,
        )
        for name, formula in (
            ("bitwise_and", np.bitwise_and),
            ("bitwise_or", np.bitwise_or),
            ("bitwise_xor", np.bitwise_xor),
        )
    ],
    OpSpec(
        name="bitwise_invert",
        function=lm.bitwise_invert,
        formula=np.invert,
        dtypes=(*INTS, lm.bool_),
        cases=elementwise_cases(Domain(low=-100, high=100)),
        differentiable=False,
    ),
    *[
        OpSpec(
            name=name,
            function=getattr(lm, name),
            formula=formula,
            dtypes=INTS,
            cases=elementwise_cases(Domain(low=-100, high=100), Domain(low=-3, high=70)),
            differentiable=False,
        )
        for name, formula in (
            ("bitwise_left_shift", _left_shift),
            ("bitwise_right_shift", _right_shift),
        )
    ],
]

BINARY = [
    *BITWISE,
    OpSpec(
        name="fmod",
        function=lm.fmod,
        formula=_fmod,
        tolerance=0,
        dtypes=NUMBERS,
        cases=joined(
            elementwise_cases(Domain(low=-2.9, high=-2.0), Domain(low=1.5, high=1.9)),
            rough(elementwise_cases(ANY, Domain(avoid=(0.0,)))),
        ),
        edges=(Edge("jump", ([2.0, -3.0], [1.0, 2.0]), ([1.0, 1.0], [-2.0, 1.0])),),
    ),
    OpSpec(
        name="hypot",
        function=lm.hypot,
        formula=np.hypot,
        cases=joined(elementwise_cases(ANY, POSITIVE), rough(elementwise_cases(LARGE, LARGE))),
        edges=(
            Edge("zero", ([0.0, 0.0], [0.0, -0.0]), ([0.0, 0.0], [0.0, 0.0])),
            Edge("axes", ([3.0, 0.0], [0.0, -2.0]), ([1.0, 0.0], [0.0, -1.0])),
            Edge("infinite", ([INF, -INF, 2.0], [1.0, 3.0, INF]), ([1, -1, 0], [0, 0, 1])),
        ),
    ),
    OpSpec(
        name="atan2",
        function=lm.atan2,
        formula=np.arctan2,
        cases=joined(elementwise_cases(ANY, POSITIVE), rough(elementwise_cases(LARGE, LARGE))),
        edges=(
            Edge("zero", ([0.0, -0.0], [0.0, -0.0]), ([0.0, 0.0], [0.0, 0.0])),
            Edge("axes", ([0.0, 2.0], [4.0, 0.0]), ([0.25, 0.0], [0.0, -0.5])),
            Edge("infinite", ([INF, 1.0], [1.0, -INF]), ([0.0, 0.0], [0.0, 0.0])),
        ),
    ),
    OpSpec(
        name="xlogy",
        function=lm.xlogy,
        formula=scipy.special.xlogy,
        cases=joined(
            elementwise_cases(Domain(low=-2.0, high=3.0), POSITIVE),
            rough(elementwise_cases(ANY, Domain(low=0.0, high=3.0))),
        ),
        edges=(
            Edge("F10 both 0", ([0.0], [0.0]), ([-INF], [0.0])),
            Edge("x is 0", ([0.0, 0.0], [2.0, INF]), ([math.log(2.0), INF], [0.0, 0.0])),
            Edge("y is 0", ([2.0], [0.0]), ([-INF], [INF])),
        ),
    ),
    OpSpec(
        name="logaddexp",
        function=lm.logaddexp,
        formula=np.logaddexp,
        absolute=True,
        cases=joined(elementwise_cases(ANY, ANY), rough(elementwise_cases(LARGE, LARGE))),
        edges=(
            Edge("tie", ([3.0, 1000.0], [3.0, 1000.0]), ([0.5, 0.5], [0.5, 0.5])),
            Edge(
                "infinities",
                ([INF, -INF, INF, -INF, -INF], [INF, -INF, -INF, INF, 1.0]),
                ([0.5, 0.0, 1.0, 0.0, 0.0], [0.5, 0.0, 0.0, 1.0, 1.0]),
            ),
        ),
    ),
]

# ---------------------------------------------------------------------------------------- several


def _lerp(start: Any, end: Any, weight: Any) -> Any:
    return start + weight * (end - start)


SEVERAL = [
    OpSpec(
        name="affine",
        function=lm.affine,
        formula=lambda x, mul, add: x * mul + add,
        absolute=True,
        dtypes=NUMBERS,
        cases=elementwise_cases(ANY, ANY, ANY),
        edges=(Edge("zero factor", ([2.0], [0.0], [1.0]), ([0.0], [2.0], [1.0])),),
    ),
    OpSpec(
        name="lerp",
        function=lm.lerp,
        formula=_lerp,
        absolute=True,
        dtypes=FLOATS,
        cases=elementwise_cases(*(Domain(specials=(0.0, -2.0, 1.0)),) * 3),
        edges=(
            Edge("ends", ([1.0, 1.0], [5.0, 5.0], [0.0, 1.0]), ([1.0, 0.0], [0.0, 1.0], [4, 4])),
        ),
    ),
]

SPECS = [*UNARY, *MORE_UNARY, *BINARY, *SEVERAL]
