"""Elementwise functions: NumPy, SciPy and mpmath formulas; kinks, poles and infinities."""

import functools
import math
from typing import Any

import mpmath
import numpy as np
import scipy.special

import lumus as lm
from lumus.core.dispatch import apply
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
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

INF, NAN = math.inf, math.nan
INTS = (lm.int64, lm.int32, lm.int16, lm.int8, lm.uint8)
NUMBERS = (*FLOATS, *INTS)
POSITIVE = Domain(low=0.2, high=4.0)


def with_mpmath(function: Any) -> Any:
    """A function of mpmath numbers, applied to each element at 40 digits; it remembers results."""

    @functools.cache
    def value(x: float, **kwargs: Any) -> float:
        with mpmath.workdps(40):
            return float(function(mpmath.mpf(x), **kwargs))

    def formula(x: Any, **kwargs: Any) -> Any:
        values = [value(float(one), **kwargs) for one in np.ravel(x)]
        return np.array(values, np.float64).reshape(np.shape(x))

    return formula


# ------------------------------------------------------------------------------------------ unary


def silu(x: Any) -> Any:
    return np.where(x == -INF, 0.0, x * scipy.special.expit(x))


def gelu(x: Any) -> Any:
    return np.where(x == -INF, 0.0, x * scipy.special.ndtr(x))


def _gelu_tanh(x: Any) -> Any:
    if mpmath.isinf(x) or mpmath.isnan(x):
        return mpmath.mpf(0) if x == -INF else x
    inner = mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)
    return x * (1 + mpmath.tanh(inner)) / 2


def reciprocal_root(x: Any) -> Any:
    return 1 / np.sqrt(x)


def square_of_int(x: Any) -> Any:
    return x * x


LARGE = Domain(low=-80.0, high=80.0)
UNARY = [
    OpSpec(
        name="negative",
        function=lm.negative,
        formula=np.negative,
        tolerance=0,
        dtypes=NUMBERS,
        cases=elementwise_cases(),
    ),
    OpSpec(
        name="abs",
        function=lm.abs,
        formula=np.abs,
        tolerance=0,
        dtypes=NUMBERS,
        cases=elementwise_cases(Domain(avoid=(0.0,))),
        edges=(
            Edge("A9 zero", ([-2.0, 0.0, -0.0, 3.0],), ([-5.0, 0.0, 0.0, 5.0],), grad=5.0),
            Edge("infinities", ([INF, -INF],), ([1.0, -1.0],)),
        ),
    ),
    OpSpec(
        name="sign",
        function=lm.sign,
        formula=np.sign,
        tolerance=0,
        dtypes=NUMBERS,
        cases=elementwise_cases(Domain(avoid=(0.0,))),
        edges=(Edge("A9 zero", ([-2.0, 0.0, 3.0],), ([0.0, 0.0, 0.0],)),),
    ),
    OpSpec(
        name="square",
        function=lm.square,
        formula=square_of_int,
        tolerance=0,
        dtypes=NUMBERS,
        cases=elementwise_cases(),
        edges=(Edge("zero", ([0.0, -0.0],), ([0.0, 0.0],)),),
    ),
    OpSpec(
        name="reciprocal",
        function=lm.reciprocal,
        formula=np.reciprocal,
        tolerance=0,
        cases=joined(elementwise_cases(POSITIVE), rough(elementwise_cases())),
        edges=(Edge("pole", ([0.0, INF],), ([-INF, 0.0],)),),
    ),
    OpSpec(
        name="sqrt",
        function=lm.sqrt,
        formula=np.sqrt,
        tolerance=0,
        cases=joined(elementwise_cases(POSITIVE), rough(elementwise_cases())),
        edges=(
            Edge("B14 zero", ([0.0, 4.0],), ([INF, 0.25],)),
            Edge("negative, infinite", ([-1.0, INF],), ([NAN, 0.0],)),
        ),
    ),
    OpSpec(
        name="rsqrt",
        function=lm.rsqrt,
        formula=reciprocal_root,
        cases=joined(elementwise_cases(POSITIVE), rough(elementwise_cases())),
        edges=(Edge("zero, infinite", ([0.0, 4.0, INF],), ([-INF, -0.0625, 0.0],)),),
    ),
    OpSpec(
        name="exp",
        function=lm.exp,
        formula=np.exp,
        cases=joined(elementwise_cases(), rough(elementwise_cases(LARGE))),
        edges=(Edge("infinities", ([-INF, INF],), ([0.0, INF],)),),
    ),
    OpSpec(
        name="expm1",
        function=lm.expm1,
        formula=np.expm1,
        cases=joined(elementwise_cases(), rough(elementwise_cases(Domain(low=-1e-6, high=1e-6)))),
        edges=(Edge("infinities", ([-INF, INF],), ([0.0, INF],)),),
    ),
    OpSpec(
        name="log",
        function=lm.log,
        formula=np.log,
        cases=joined(elementwise_cases(POSITIVE), rough(elementwise_cases())),
        edges=(Edge("zero, infinite", ([0.0, 2.0, INF],), ([INF, 0.5, 0.0],)),),
    ),
    OpSpec(
        name="log1p",
        function=lm.log1p,
        formula=np.log1p,
        cases=joined(
            elementwise_cases(Domain(low=-0.8, high=4.0)),
            rough(elementwise_cases(Domain(low=-1e-6, high=1e-6, specials=(-1.0, -2.0)))),
        ),
        edges=(Edge("minus one", ([-1.0, 0.0, INF],), ([INF, 1.0, 0.0],)),),
    ),
    OpSpec(
        name="sin",
        function=lm.sin,
        formula=np.sin,
        cases=joined(elementwise_cases(), rough(elementwise_cases(Domain(low=-500, high=500)))),
        edges=(Edge("infinite", ([0.0, INF],), ([1.0, NAN],)),),
    ),
    OpSpec(
        name="cos",
        function=lm.cos,
        formula=np.cos,
        cases=joined(elementwise_cases(), rough(elementwise_cases(Domain(low=-500, high=500)))),
        edges=(Edge("infinite", ([0.0, INF],), ([0.0, NAN],)),),
    ),
    OpSpec(
        name="tanh",
        function=lm.tanh,
        formula=np.tanh,
        cases=joined(elementwise_cases(), rough(elementwise_cases(LARGE))),
        edges=(Edge("far out", ([0.0, 1000.0, -INF],), ([1.0, 0.0, 0.0],)),),
    ),
    OpSpec(
        name="sigmoid",
        function=lm.sigmoid,
        formula=scipy.special.expit,
        cases=joined(elementwise_cases(), rough(elementwise_cases(LARGE))),
        edges=(
            Edge("far out", ([0.0, 1000.0, -1000.0, INF, -INF],), ([0.25, 0.0, 0.0, 0.0, 0.0],)),
        ),
    ),
    OpSpec(
        name="erf",
        function=lm.erf,
        formula=with_mpmath(mpmath.erf),
        tolerance=2,
        cases=elementwise_cases(),
        edges=(Edge("far out", ([0.0, INF, -INF],), ([2 / math.sqrt(math.pi), 0.0, 0.0],)),),
    ),
    OpSpec(
        name="relu",
        function=lm.relu,
        formula=lambda x: np.maximum(x, 0),
        tolerance=0,
        cases=elementwise_cases(Domain(avoid=(0.0,))),
        edges=(Edge("A7 zeros", ([-0.0, 0.0, -3.0, 2.0],), ([0.0, 0.0, 0.0, 1.0],)),),
    ),
    OpSpec(
        name="leaky_relu",
        function=lm.leaky_relu,
        formula=lambda x, slope=0.01: np.where(x < 0, slope * x, x),
        cases=joined(
            elementwise_cases(Domain(avoid=(0.0,))),
            elementwise_cases(Domain(avoid=(0.0,)), kwargs={"slope": 0.25}),
        ),
        edges=(
            Edge("zero", ([-1.0, 0.0, 1.0],), ([0.5, 0.5, 1.0],), kwargs={"slope": 0.5}),
            Edge("slope 0", ([-INF, -1.0, 1.0],), ([0.0, 0.0, 1.0],), kwargs={"slope": 0.0}),
        ),
    ),
    OpSpec(
        name="silu",
        function=lm.silu,
        formula=silu,
        cases=joined(elementwise_cases(), rough(elementwise_cases(LARGE))),
        edges=(Edge("infinities", ([-INF, 0.0, INF],), ([0.0, 0.5, 1.0],)),),
    ),
    OpSpec(
        name="gelu",
        function=lm.gelu,
        formula=gelu,
        tolerance=4,
        cases=joined(elementwise_cases(), rough(elementwise_cases(Domain(low=-5, high=12)))),
        edges=(Edge("infinities", ([-INF, 0.0, INF, 1e30],), ([0.0, 0.5, 1.0, 1.0],)),),
    ),
    OpSpec(
        name="gelu (tanh)",
        function=lambda x: lm.gelu(x, "tanh"),
        covers=("gelu",),
        tolerance=4,
        formula=with_mpmath(_gelu_tanh),
        cases=joined(elementwise_cases(), rough(elementwise_cases(Domain(low=-6, high=6)))),
        edges=(Edge("infinities", ([-INF, 0.0, INF, 1e30],), ([0.0, 0.5, 1.0, 1.0],)),),
    ),
    *[
        OpSpec(
            name=name,
            function=getattr(lm, name),
            formula=formula,
            tolerance=0,
            cases=joined(
                elementwise_cases(Domain(avoid=jumps)),
                rough(elementwise_cases(Domain(specials=(0.5, 1.5, 2.5, -0.5, -2.5, 2.0)))),
            ),
            edges=(Edge("jump", ([-1.0, 0.0, 0.5, INF],), ([0.0, 0.0, 0.0, 0.0],)),),
        )
        for name, formula, jumps in (
            ("floor", np.floor, (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)),
            ("ceil", np.ceil, (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)),
            ("round", np.rint, (-2.5, -1.5, -0.5, 0.5, 1.5, 2.5)),
        )
    ],
]

# ----------------------------------------------------------------------------------------- binary

ANY = Domain()
# Quotients stay between 1 and 2: no jump.
DIVIDEND, DIVISOR = Domain(low=2.0, high=2.9), Domain(low=1.5, high=1.9)
WHOLE_EXPONENT = Domain(low=0, high=4, specials=())


def _floor_divided(x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return np.floor_divide(x, y)
    return np.where(y == 0, 0, np.floor_divide(x, np.where(y == 0, 1, y)))


def _remainder(x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return np.remainder(x, y)
    return np.where(y == 0, 0, np.remainder(x, np.where(y == 0, 1, y)))


def polynomial_cases(source: Source) -> Any:
    """Whole powers are smooth everywhere, at 0 and below it, too."""
    points = np.array([-2.0, -0.5, 0.0, 0.7, 1.0])
    for exponent in (0.0, 1.0, 2.0, 3.0):
        yield Case(f"exponent {exponent}", (points,), {"exponent": exponent})
        yield Case(f"exponent {exponent}, 0-d", (np.array(0.0),), {"exponent": exponent})


BINARY = [
    OpSpec(
        name="add",
        function=lm.add,
        formula=np.add,
        tolerance=0,
        dtypes=NUMBERS,
        cases=elementwise_cases(ANY, ANY),
    ),
    OpSpec(
        name="subtract",
        function=lm.subtract,
        formula=np.subtract,
        tolerance=0,
        dtypes=NUMBERS,
        cases=elementwise_cases(ANY, ANY),
    ),
    OpSpec(
        name="multiply",
        function=lm.multiply,
        formula=np.multiply,
        tolerance=0,
        dtypes=NUMBERS,
        cases=elementwise_cases(ANY, ANY),
        edges=(Edge("D5 NaN stays NaN", ([NAN, 1.0], [0.0, 1.0]), ([0.0, 1.0], [NAN, 1.0])),),
    ),
    OpSpec(
        name="divide",
        function=lm.divide,
        formula=np.divide,
        tolerance=0,
        cases=joined(elementwise_cases(ANY, POSITIVE), rough(elementwise_cases(ANY, ANY))),
        edges=(Edge("by zero", ([1.0, 0.0], [0.0, 2.0]), ([INF, 0.5], [-INF, 0.0])),),
    ),
    OpSpec(
        name="floor_divide",
        function=lm.floor_divide,
        formula=_floor_divided,
        tolerance=0,
        dtypes=NUMBERS,
        cases=joined(
            elementwise_cases(DIVIDEND, DIVISOR),
            rough(elementwise_cases(ANY, Domain(avoid=(0.0,)))),
        ),
        edges=(Edge("jump", ([2.0, -3.0], [1.0, 2.0]), ([0.0, 0.0], [0.0, 0.0])),),
    ),
    OpSpec(
        name="remainder",
        function=lm.remainder,
        formula=_remainder,
        tolerance=0,
        dtypes=NUMBERS,
        cases=joined(
            elementwise_cases(DIVIDEND, DIVISOR),
            rough(elementwise_cases(ANY, Domain(avoid=(0.0,)))),
        ),
        edges=(Edge("jump", ([2.0, -3.0], [1.0, 2.0]), ([1.0, 1.0], [-2.0, 2.0])),),
    ),
    OpSpec(
        name="pow",
        function=lm.pow,
        formula=np.power,
        tolerance=2,
        cases=joined(
            elementwise_cases(POSITIVE, ANY),
            rough(
                elementwise_cases(ANY, Domain(specials=(0.0, 1.0, 2.0, 0.5, -1.0, -2.5, INF, -INF)))
            ),
        ),
        edges=(
            Edge(
                "B9 x at 0",
                ([0.0] * 5, [0.0, 1.0, 2.0, 0.5, -1.0]),
                ([0.0, 1.0, 0.0, INF, -INF], None),
            ),
            Edge("B10 p at x = 0", ([0.0, 0.0], [2.0, 0.0]), (None, [0.0, 0.0])),
            Edge("B11 negative base", ([-2.0, -3.0], [3.0, 2.0]), ([12.0, -6.0], None)),
        ),
    ),
    OpSpec(
        name="pow (constant exponent)",
        function=lambda x, exponent: x**exponent,
        formula=lambda x, exponent: np.prod([x] * int(exponent), axis=0) if exponent else x**0,
        covers=("pow",),
        tolerance=2,
        cases=polynomial_cases,
    ),
    OpSpec(
        name="pow (Int)",
        function=lm.pow,
        formula=np.power,
        covers=("pow",),
        dtypes=INTS,
        cases=elementwise_cases(Domain(specials=()), WHOLE_EXPONENT),
        differentiable=False,
    ),
    OpSpec(
        name="maximum",
        function=lm.maximum,
        formula=np.maximum,
        tolerance=0,
        dtypes=NUMBERS,
        cases=elementwise_cases(ANY, ANY),
        edges=(
            Edge("A3 tie", ([1.0, 4.0], [1.0, 2.0]), ([4.0, 8.0], [4.0, 0.0]), grad=8.0),
            Edge("tie of infinities", ([INF, -INF], [INF, -INF]), ([0.5, 0.5], [0.5, 0.5])),
        ),
    ),
    OpSpec(
        name="minimum",
        function=lm.minimum,
        formula=np.minimum,
        tolerance=0,
        dtypes=NUMBERS,
        cases=elementwise_cases(ANY, ANY),
        edges=(
            Edge("A3 tie", ([1.0, 4.0], [1.0, 2.0]), ([4.0, 0.0], [4.0, 8.0]), grad=8.0),
            Edge("tie of infinities", ([INF, -INF], [INF, -INF]), ([0.5, 0.5], [0.5, 0.5])),
        ),
    ),
]

# ---------------------------------------------------------------------------------------- several


def _clipped(x: Any, low: Any = None, high: Any = None) -> Any:
    bounded = x if low is None else np.maximum(x, low)
    return bounded if high is None else np.minimum(bounded, high)


def _clip_both(x: Any, low: Any, high: Any) -> Any:
    return lm.clip(x, low, high)


LOWER, UPPER = Domain(low=-3.0, high=-0.5), Domain(low=0.5, high=3.0)
INSIDE_AND_ON = ([-2.0, -1.0, 0.0, 2.0, 3.0],)


def where_cases(source: Source) -> Any:
    shapes = [
        ((), (), ()),
        ((1,), (1,), (1,)),
        ((0,), (0,), (0,)),
        ((2, 3, 4), (2, 3, 4), (2, 3, 4)),
        ((67,), (67,), (67,)),
        ((2, 1), (3,), ()),
        ((), (2, 1), (1, 3)),
        ((3,), (0, 1), (1, 3)),
        ((2, 3, 4), (4,), (3, 1)),
    ]
    for condition, x, y in shapes:
        inputs = (source.mask(condition), source.draw(x), source.draw(y))
        yield Case(f"shapes {condition}, {x}, {y}", inputs)
    if source.dtype.kind == "float":
        values = np.array([INF, NAN, -INF, 1.0])
        mask = np.array([True, False, False, True])
        yield Case(
            "D3 the other one is not finite", (mask, values, values[::-1].copy()), smooth=False
        )


SMOOTH_EXPRESSION = expression(lambda x, y: x * scalar.tanh(y) + scalar.square(x - 0.5 * y))

SEVERAL = [
    OpSpec(
        name="clip",
        function=_clip_both,
        formula=_clipped,
        tolerance=0,
        dtypes=NUMBERS,
        cases=elementwise_cases(ANY, LOWER, UPPER),
        edges=(
            Edge(
                "A5 on the bounds",
                (*INSIDE_AND_ON, -1.0, 2.0),
                ([0.0, 1.0, 1.0, 1.0, 0.0], 1.0, 1.0),
            ),
            Edge("min above max", ([-5.0, 0.0, 5.0], 1.0, -1.0), ([0.0, 0.0, 0.0], 0.0, 3.0)),
            Edge("NaN", ([NAN], -1.0, 1.0), ([0.0], 0.0, 0.0)),
        ),
    ),
    OpSpec(
        name="clip (min alone)",
        function=lambda x, low: lm.clip(x, min=low),
        covers=("clip_below",),
        formula=np.maximum,
        tolerance=0,
        dtypes=NUMBERS,
        cases=elementwise_cases(ANY, ANY),
        edges=(Edge("A5 on the bound", (*INSIDE_AND_ON, -1.0), ([0.0, 1.0, 1.0, 1.0, 1.0], 1.0)),),
    ),
    OpSpec(
        name="clip (max alone)",
        function=lambda x, high: lm.clip(x, max=high),
        covers=("clip_above",),
        formula=np.minimum,
        tolerance=0,
        dtypes=NUMBERS,
        cases=elementwise_cases(ANY, ANY),
        edges=(Edge("A5 on the bound", (*INSIDE_AND_ON, 2.0), ([1.0, 1.0, 1.0, 1.0, 0.0], 1.0)),),
    ),
    OpSpec(
        name="where",
        function=lm.where,
        formula=np.where,
        tolerance=0,
        fixed=(0,),
        dtypes=(*NUMBERS, lm.bool_),
        cases=where_cases,
        edges=(
            Edge("D3 NaN not selected", ([True, False], [1.0, 2.0], NAN), (None, [1.0, 0.0], 1.0)),
            Edge(
                "D4 three ways",
                ([[True], [False]], [10.0, 20.0, 30.0], 5.0),
                (None, [1.0, 2.0, 3.0], 15.0),
                grad=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
            ),
        ),
    ),
    OpSpec(
        name="map",
        function=lambda x, y: apply("map", x, y, expression=SMOOTH_EXPRESSION),
        formula=lambda x, y: x * np.tanh(y) + (x - 0.5 * y) ** 2,
        absolute=True,
        tolerance=10,
        cases=elementwise_cases(ANY, Domain(specials=())),
    ),
]

SPECS = [*UNARY, *BINARY, *SEVERAL]
