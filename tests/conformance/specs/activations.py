"""Activations: mpmath and NumPy formulas; kinks, bounds and infinities."""

import math
from typing import Any

import mpmath
import numpy as np

import lumus as lm
from lumus.testing.op_spec import Domain, Edge, OpSpec, elementwise_cases, joined, rough
from tests.conformance.specs.elementwise import with_mpmath

INF, NAN = math.inf, math.nan
KINK = Domain(avoid=(0.0,))
LARGE = Domain(low=-80.0, high=80.0)
ALPHA = mpmath.mpf("1.6732632423543772848170429916717")
SCALE = mpmath.mpf("1.0507009873554804934193349852946")


def limits(function: Any, below: float, above: float | None = None) -> Any:
    """A formula of mpmath numbers with its limits at the infinities (x itself above by default)."""

    def formula(x: Any, **kwargs: Any) -> Any:
        if mpmath.isinf(x):
            return mpmath.mpf(below) if x < 0 else x if above is None else mpmath.mpf(above)
        return x if mpmath.isnan(x) else function(x, **kwargs)

    return with_mpmath(formula)


def _mish(x: Any) -> Any:
    return x * mpmath.tanh(mpmath.log1p(mpmath.exp(x)))


def _elu(x: Any, alpha: float = 1.0) -> Any:
    return x if x > 0 else alpha * mpmath.expm1(x)


def _celu(x: Any, alpha: float = 1.0) -> Any:
    return x if x > 0 else alpha * mpmath.expm1(x / alpha)


def _selu(x: Any) -> Any:
    return SCALE * (x if x > 0 else ALPHA * mpmath.expm1(x))


def _softplus(x: Any, beta: float = 1.0) -> Any:
    return mpmath.log1p(mpmath.exp(beta * x)) / beta


def _logsigmoid(x: Any) -> Any:
    return -mpmath.log1p(mpmath.exp(-x))


def _softshrink(x: Any, lambd: float = 0.5) -> Any:
    return np.where(np.abs(x) > lambd, x - np.copysign(lambd, x), np.where(np.isnan(x), x, 0.0))


def _hardswish(x: Any) -> Any:
    return np.where(x == -INF, 0.0, x * np.clip(x + 3, 0, 6) / 6)


FAR = ([-INF, -1000.0, 1000.0, INF],)

SPECS = [
    OpSpec(
        name="softplus",
        function=lm.softplus,
        formula=limits(_softplus, 0.0),
        cases=joined(
            elementwise_cases(),
            elementwise_cases(kwargs={"beta": 5.0}),
            rough(elementwise_cases(LARGE)),
        ),
        edges=(
            Edge("far out", FAR, ([0.0, 0.0, 1.0, 1.0],)),
            Edge("beta", ([0.0, INF],), ([0.5, 1.0],), kwargs={"beta": 5.0}),
        ),
    ),
    OpSpec(
        name="logsigmoid",
        function=lm.logsigmoid,
        formula=limits(_logsigmoid, -INF, 0.0),
        cases=joined(elementwise_cases(), rough(elementwise_cases(LARGE))),
        edges=(Edge("far out", FAR, ([1.0, 1.0, 0.0, 0.0],)),),
    ),
    OpSpec(
        name="softsign",
        function=lm.softsign,
        formula=limits(lambda x: x / (1 + abs(x)), -1.0, 1.0),
        cases=joined(elementwise_cases(KINK), rough(elementwise_cases(LARGE))),
        edges=(Edge("far out", ([-INF, 0.0, 1.0, INF],), ([0.0, 1.0, 0.25, 0.0],)),),
    ),
    OpSpec(
        name="elu",
        function=lm.elu,
        formula=limits(_elu, -1.0),
        cases=joined(elementwise_cases(KINK), rough(elementwise_cases(LARGE))),
        edges=(
            Edge("kink", ([0.0, -0.0, 1.0],), ([0.5, 0.5, 1.0],), kwargs={"alpha": 0.5}),
            Edge("far out", FAR, ([0.0, 0.0, 1.0, 1.0],)),
        ),
    ),
    OpSpec(
        name="elu (alpha)",
        function=lambda x: lm.elu(x, 0.25),
        covers=("elu",),
        formula=limits(lambda x: _elu(x, 0.25), -0.25),
        cases=elementwise_cases(KINK),
    ),
    OpSpec(
        name="celu",
        function=lm.celu,
        formula=limits(_celu, -1.0),
        cases=joined(elementwise_cases(KINK), rough(elementwise_cases(LARGE))),
        edges=(
            Edge("zero", ([0.0, -0.0, 1.0],), ([1.0, 1.0, 1.0],), kwargs={"alpha": 0.5}),
            Edge("far out", FAR, ([0.0, 0.0, 1.0, 1.0],)),
        ),
    ),
    OpSpec(
        name="celu (alpha)",
        function=lambda x: lm.celu(x, 0.25),
        covers=("celu",),
        formula=limits(lambda x: _celu(x, 0.25), -0.25),
        cases=elementwise_cases(KINK),
    ),
    OpSpec(
        name="selu",
        function=lm.selu,
        formula=limits(_selu, float(-SCALE * ALPHA)),
        cases=joined(elementwise_cases(KINK), rough(elementwise_cases(LARGE))),
        edges=(
            Edge("kink", ([0.0, 1.0],), ([float(SCALE * ALPHA), float(SCALE)],)),
            Edge("far out", FAR, ([0.0, 0.0, float(SCALE), float(SCALE)],)),
        ),
    ),
    OpSpec(
        name="mish",
        function=lm.mish,
        formula=limits(_mish, 0.0),
        cases=joined(elementwise_cases(), rough(elementwise_cases(LARGE))),
        edges=(Edge("far out", FAR, ([0.0, 0.0, 1.0, 1.0],)), Edge("zero", ([0.0],), ([0.6],))),
    ),
    OpSpec(
        name="relu6",
        function=lm.relu6,
        formula=lambda x: np.clip(x, 0.0, 6.0),
        tolerance=0,
        cases=joined(
            elementwise_cases(KINK), elementwise_cases(Domain(low=3.0, high=9.0, avoid=(6.0,)))
        ),
        edges=(
            Edge("A5 on the bounds", ([-1.0, 0.0, 3.0, 6.0, 7.0, NAN],), ([0, 1, 1, 1, 0, 0],)),
        ),
    ),
    OpSpec(
        name="hardtanh",
        function=lm.hardtanh,
        formula=lambda x, min_val=-1.0, max_val=1.0: np.clip(x, min_val, max_val),
        tolerance=0,
        cases=joined(
            elementwise_cases(Domain(avoid=(-1.0, 1.0))),
            elementwise_cases(Domain(avoid=(-0.5, 2.0)), kwargs={"min_val": -0.5, "max_val": 2.0}),
        ),
        edges=(
            Edge(
                "A5 on the bounds",
                ([-2.0, -1.0, 0.0, 2.0, 3.0, NAN],),
                ([0, 1, 1, 1, 0, 0],),
                kwargs={"min_val": -1.0, "max_val": 2.0},
            ),
        ),
    ),
    OpSpec(
        name="hardsigmoid",
        function=lm.hardsigmoid,
        formula=lambda x: np.clip(x + 3, 0, 6) / 6,
        cases=elementwise_cases(Domain(low=-6.0, high=6.0, avoid=(-3.0, 3.0))),
        edges=(Edge("on the bounds", ([-4.0, -3.0, 3.0, 4.0, NAN],), ([0, 1 / 6, 1 / 6, 0, 0],)),),
    ),
    OpSpec(
        name="hardswish",
        function=lm.hardswish,
        formula=_hardswish,
        cases=elementwise_cases(Domain(low=-6.0, high=6.0, avoid=(-3.0, 3.0))),
        edges=(
            Edge("on the bounds", ([-4.0, -3.0, 0.0, 3.0, 4.0],), ([0, -0.5, 0.5, 1.5, 1],)),
            Edge("far out", FAR, ([0.0, 0.0, 1.0, 1.0],)),
        ),
    ),
    OpSpec(
        name="softshrink",
        function=lm.softshrink,
        formula=_softshrink,
        tolerance=1,
        cases=joined(
            elementwise_cases(Domain(avoid=(-0.5, 0.5))),
            elementwise_cases(Domain(avoid=(-1.25, 1.25)), kwargs={"lambd": 1.25}),
            elementwise_cases(KINK, kwargs={"lambd": 0.0}),
        ),
        edges=(Edge("kinks", ([-1.0, -0.5, 0.0, 0.5, 1.0, NAN],), ([1, 0, 0, 0, 1, 0],)),),
    ),
    OpSpec(
        name="prelu",
        function=lm.prelu,
        formula=lambda x, weight: np.where(x > 0, x, weight * x),
        cases=elementwise_cases(KINK, Domain()),
        edges=(
            Edge("kink", ([-2.0, 0.0, 3.0], [0.5, 0.5, 0.5]), ([0.5, 0.5, 1.0], [-2.0, 0.0, 0.0])),
            Edge("infinite above", ([INF], [0.5]), ([1.0], [0.0])),
        ),
    ),
]
