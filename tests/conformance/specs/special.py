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

# ----------------------------------------------------------------------------------------- binary

BINARY = [
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

SPECS = [*UNARY, *BINARY, *SEVERAL]
