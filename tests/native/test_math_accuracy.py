"""Elementary functions against mpmath: error in units in the last place over the whole range.

The points are edge cases (zeros, subnormals, infinities, NaN, thresholds of each function) and
random ones: uniform bit patterns, which visit every exponent, and values where the function bends.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import scipy.special
from mpmath import mp

import lumus as lm
from lumus import _native
from tests.native.native_arrays import CODES, native, to_numpy

pytestmark = pytest.mark.usefixtures("keeps_denormals")

Values = np.ndarray[Any, Any]
FLOATS = [np.float32, np.float64]
NUM_POINTS = 3000

# Wide enough for the cancellation in each reference below at any argument used here.
mp.prec = 128


def mp_sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def mp_expm1(x: Any) -> Any:
    return x if abs(x) < mp.mpf(2) ** -200 else mp.expm1(x)


def mp_erfc(x: Any) -> Any:
    return mp.erfc(x) if abs(x) < 1000 else mp.mpf(0 if x > 0 else 2)


# float64's largest number has 1024 bits before the point: its sine needs all of them.
def with_long_reduction(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def precise(x: Any) -> Any:
        with mp.workprec(128 + max(0, mp.mag(x))):
            return +function(x)

    return precise


def tiny_is_itself(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """For odd functions of slope 1: mpmath's cancel far below the precision used here."""
    return lambda x: x if abs(x) < mp.mpf(2) ** -200 else function(x)


def mp_asinh(x: Any) -> Any:
    return mp.sign(x) * mp.asinh(abs(x)) if abs(x) > mp.mpf(2) ** -200 else x


def mp_erfinv(x: Any) -> Any:
    if abs(x) < 2.0**-40:
        return x * mp.sqrt(mp.pi) / 2
    # Newton's method for log(erfc(y)) = log(1 - |x|), where 1 - |x| is exact.
    y = mp.mpf(scipy.special.erfcinv(float(1 - abs(x))))
    for _ in range(4):
        tail = mp.erfc(y)
        step = mp.log(tail / (1 - abs(x))) * tail * mp.exp(y * y) * mp.sqrt(mp.pi) / 2
        y += step
    return mp.sign(x) * y


def is_pole_of_gamma(x: Any) -> bool:
    return bool(x <= 0 and x == mp.floor(x))


def mp_lgamma(x: Any) -> Any:
    if is_pole_of_gamma(x):
        return mp.inf
    if abs(x) < mp.mpf(2) ** -200:
        return -mp.log(abs(x))
    with mp.workprec(700):
        return +mp.re(mp.loggamma(x))


def mp_digamma(x: Any) -> Any:
    return mp.nan if is_pole_of_gamma(x) else with_long_reduction(mp.digamma)(x)


UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": mp.exp,
    "expm1": mp_expm1,
    "log": mp.log,
    "log1p": mp.log1p,
    "sin": with_long_reduction(mp.sin),
    "cos": with_long_reduction(mp.cos),
    "tanh": mp.tanh,
    "sigmoid": mp_sigmoid,
    "erf": mp.erf,
    "erfc": mp_erfc,
    "sqrt": mp.sqrt,
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "exp2": lambda x: mp.power(2, x),
    "log2": lambda x: mp.log(x) / mp.log(2),
    "log10": mp.log10,
    "tan": with_long_reduction(mp.tan),
    "asin": tiny_is_itself(mp.asin),
    "acos": mp.acos,
    "atan": tiny_is_itself(mp.atan),
    "sinh": tiny_is_itself(mp.sinh),
    "cosh": mp.cosh,
    "asinh": mp_asinh,
    "acosh": mp.acosh,
    "atanh": tiny_is_itself(mp.atanh),
    "erfinv": mp_erfinv,
    "lgamma": mp_lgamma,
    "digamma": mp_digamma,
}
BOUNDS = {
    "erf": 4.0, "erfc": 4.0, "erfinv": 4.0, "power": 4.0, "sqrt": 0.5, "lgamma": 4.0,
    "digamma": 4.0, "zeta": 4.0,
}  # fmt: skip
# What IEEE 754 says where mpmath has no say: f(-inf), f(-0.0), f(0.0), f(inf).
LIMITS: dict[str, tuple[float, float, float, float]] = {
    "exp": (0.0, 1.0, 1.0, np.inf),
    "expm1": (-1.0, -0.0, 0.0, np.inf),
    "log": (np.nan, -np.inf, -np.inf, np.inf),
    "log1p": (np.nan, -0.0, 0.0, np.inf),
    "sin": (np.nan, -0.0, 0.0, np.nan),
    "cos": (np.nan, 1.0, 1.0, np.nan),
    "tanh": (-1.0, -0.0, 0.0, 1.0),
    "sigmoid": (0.0, 0.5, 0.5, 1.0),
    "erf": (-1.0, -0.0, 0.0, 1.0),
    "erfc": (2.0, 1.0, 1.0, 0.0),
    "sqrt": (np.nan, -0.0, 0.0, np.inf),
    "rsqrt": (np.nan, -np.inf, np.inf, 0.0),
    "exp2": (0.0, 1.0, 1.0, np.inf),
    "log2": (np.nan, -np.inf, -np.inf, np.inf),
    "log10": (np.nan, -np.inf, -np.inf, np.inf),
    "tan": (np.nan, -0.0, 0.0, np.nan),
    "asin": (np.nan, -0.0, 0.0, np.nan),
    "acos": (np.nan, np.pi / 2, np.pi / 2, np.nan),
    "atan": (-np.pi / 2, -0.0, 0.0, np.pi / 2),
    "sinh": (-np.inf, -0.0, 0.0, np.inf),
    "cosh": (np.inf, 1.0, 1.0, np.inf),
    "asinh": (-np.inf, -0.0, 0.0, np.inf),
    "acosh": (np.nan, np.nan, np.nan, np.inf),
    "atanh": (np.nan, -0.0, 0.0, np.nan),
    "erfinv": (np.nan, -0.0, 0.0, np.nan),
    "lgamma": (np.inf, np.inf, np.inf, np.inf),
    "digamma": (np.nan, np.inf, -np.inf, np.inf),
}


def run(opcode: str, *operands: Values) -> Values:
    code = CODES[operands[0].dtype]
    count = len(operands)
    program = _native.Program([code] * count, [], [(opcode, code, tuple(range(count)))], [count])
    return to_numpy(program.run([native(operand) for operand in operands]))


def random_patterns(generator: np.random.Generator, dtype: type, count: int) -> Values:
    unsigned = np.uint32 if dtype is np.float32 else np.uint64
    patterns = generator.integers(0, np.iinfo(unsigned).max, count, unsigned, endpoint=True)
    return cast(Values, patterns.view(dtype))


def edges(dtype: type) -> Values:
    info = np.finfo(dtype)
    points = [0.1, 0.25, 0.5, 0.9, 1.0, 1.5, 2.0, 3.0, 4.0, 9.0, 10.0, 19.0, 22.0, 27.3, 100.0]
    points += [1000.0, np.pi / 2, np.pi, 1e5, 1e15, 1e22, np.log(2) / 2, 2 / 3, 4 / 3, 2.0**20]
    points += [88.7228, 88.73, 87.336, 103.97, 104.0, 709.78, 709.79, 708.4, 745.13, 745.14]
    points += [float(info.max), float(info.tiny), float(info.smallest_subnormal)]
    values = np.array(points, dtype)
    with np.errstate(over="ignore", under="ignore"):
        below, above = np.nextafter(values, dtype(0)), np.nextafter(values, dtype(np.inf))
    # The float64 that comes nearest to a multiple of pi / 2.
    closest = [np.ldexp(6381956970095103.0, 797 if dtype is np.float64 else 0)]
    values = np.concatenate([values, below, above, np.array(closest, dtype)])
    values = np.concatenate([values, np.sqrt(info.tiny) * np.array([1, 0.5], dtype)])
    return np.concatenate([values, -values])


def sample(name: str, dtype: type) -> Values:
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    random = random_patterns(generator, dtype, NUM_POINTS // 3)
    near = generator.normal(size=NUM_POINTS // 3) * 3
    reach = 110 if dtype is np.float32 else 760
    far = generator.uniform(-1, 1, NUM_POINTS // 3) * REACHES.get(name, reach)
    # Up to and around 1, from both sides.
    close = 1 - 2.0 ** generator.uniform(-60, 0, NUM_POINTS // 6) * generator.choice([-1, 1])
    parts = [edges(dtype), random, near.astype(dtype), far.astype(dtype), close.astype(dtype)]
    return np.concatenate(parts)


@dataclass(frozen=True)
class Exact:
    """Real numbers as (whole + fraction) units in the last place of a dtype, 2**exponent each."""

    exponent: Values
    whole: Values  # where not finite: NaN or the infinity that is the answer
    fraction: Values

    @classmethod
    def of(cls, numbers: list[Any], dtype: type) -> Exact:
        info = np.finfo(dtype)
        exponents, wholes, fractions = [], [], []
        for number in numbers:
            finite = mp.isfinite(number)
            top = mp.mag(number) - 1 if finite and number != 0 else info.minexp
            exponent = min(max(top, info.minexp), info.maxexp - 1) - info.nmant
            # Beyond the largest number all is infinity, which counts as the power of two it is.
            limit = mp.ldexp(1, info.maxexp - exponent)
            units = min(max(mp.ldexp(number, -exponent), -limit), limit) if finite else number
            whole = mp.nint(units) if finite else units
            exponents.append(exponent)
            wholes.append(float(whole))
            fractions.append(float(units - whole) if finite else 0.0)
        return cls(np.array(exponents), np.array(wholes), np.array(fractions))

    def errors(self, got: Values, *, flushed: bool = False) -> Values:
        """The distance of each of `got` in units in the last place; infinite if of another kind.

        With `flushed` a zero stands for any number below the normal ones.
        """
        info = np.finfo(got.dtype)
        if flushed:
            is_small = (self.exponent == info.minexp - info.nmant) & (
                np.abs(self.whole + self.fraction) < 2.0**info.nmant
            )
            stands = is_small & (got == 0)
            got = got.copy()
            got[stands] = np.ldexp(self.whole[stands], self.exponent[stands])
        with np.errstate(over="ignore", invalid="ignore"):
            units = np.ldexp(got.astype(np.float64), -self.exponent)
            limits = np.ldexp(1.0, info.maxexp - self.exponent)
            numbers = np.where(np.isinf(got), np.copysign(limits, got), units)
            distances = np.abs((numbers - self.whole) - self.fraction)
        same_kind = (got == self.whole) | (np.isnan(got) & np.isnan(self.whole))
        finite = np.isfinite(self.whole) & ~np.isnan(got)
        return np.where(finite, distances, np.where(same_kind, 0.0, np.inf))


def same_with_sign(got: float, want: float) -> bool:
    if np.isnan(want):
        return bool(np.isnan(got))
    return got == want and np.signbit(got) == np.signbit(want)


# How far the points go that are not random patterns, where it is not the reach of exp.
REACHES = {"asin": 1.0, "acos": 1.0, "atanh": 1.0, "erfinv": 1.0, "lgamma": 30.0, "digamma": 30.0}
ON_UNIT = ("asin", "acos", "atanh", "erfinv")


def outside_domain(name: str, x: float) -> bool:
    if name in ("log", "log2", "log10", "sqrt", "rsqrt"):
        return x < 0
    return (
        (name == "log1p" and x < -1)
        or (name == "acosh" and x < 1)
        or (name in ON_UNIT and abs(x) > 1)
    )


def exact_value(name: str, x: float) -> Any:
    """The value as a real number; NaN or an infinity where that is the answer."""
    if np.isnan(x) or outside_domain(name, x):
        return mp.nan
    if np.isinf(x) or (x == 0 and name != "acos"):
        return mp.mpf(LIMITS[name][(0 if x < 0 else 3) if x else (1 if np.signbit(x) else 2)])
    if name == "log1p" and x == -1:
        return -mp.inf
    if name in ("atanh", "erfinv") and abs(x) == 1:
        return mp.inf * x
    return UNARY[name](mp.mpf(x))


@functools.cache
def exact_values(name: str, dtype: type) -> Exact:
    return Exact.of([exact_value(name, float(x)) for x in sample(name, dtype)], dtype)


# The gamma functions of negative numbers are this term and another one, which cancel at their
# zeros: there the error is counted in units of the terms, or of 1.
TERMS = {
    "lgamma": lambda x: scipy.special.gammaln(1 + x),
    "digamma": lambda x: scipy.special.digamma(1 + x),
}


def unary_errors(name: str, dtype: type, got: Values, *, flushed: bool = False) -> Values:
    errors = exact_values(name, dtype).errors(got, flushed=flushed)
    if name not in TERMS:
        return errors
    x = sample(name, dtype)
    with np.errstate(invalid="ignore"):  # a signalling NaN among the random patterns
        term = TERMS[name](np.abs(x).astype(np.float64))
        terms = np.maximum(np.maximum(np.abs(term), np.abs(got - term)), 1.0)
        apart = exact_values(name, dtype).exponent - (
            np.frexp(terms)[1] - 1 - np.finfo(dtype).nmant
        )
        smaller = np.where((x < 0) & np.isfinite(errors), np.minimum(apart, 0), 0)
    return np.ldexp(errors, smaller)


def check_unary(name: str, dtype: type, got: Values, *, flushed: bool = False) -> None:
    errors = unary_errors(name, dtype, got, flushed=flushed)
    if flushed and name in TERMS:  # a denormal number times pi is zero: a pole
        errors[np.abs(sample(name, dtype)) < np.finfo(dtype).tiny] = 0
    worst = int(np.argmax(errors))
    x = sample(name, dtype)[worst]
    assert errors[worst] <= BOUNDS.get(name, 2.0), (
        f"{name}({x!r}) = {got[worst]!r}: {errors[worst]:.2f} ulp off"
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_unary_error_is_within_bound(name: str, dtype: type) -> None:
    check_unary(name, dtype, run(name, sample(name, dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_normal_results_are_as_good_when_denormal_ones_are_flushed(name: str, dtype: type) -> None:
    lm.set_flush_denormal(True)
    check_unary(name, dtype, run(name, sample(name, dtype)), flushed=True)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_unary_limits(name: str, dtype: type) -> None:
    x = np.array([-np.inf, -0.0, 0.0, np.inf], dtype)
    for argument, got, want in zip(x, run(name, x), LIMITS[name], strict=True):
        assert same_with_sign(float(got), float(dtype(want))), f"{name}({argument}) = {got}"
    assert np.isnan(run(name, np.array([np.nan], dtype))).all()


@pytest.mark.parametrize(
    ("name", "x", "want"),
    [
        ("sigmoid", -88.9, 2.4616e-39),
        ("sigmoid", -1000.0, 0.0),
        ("exp", -103.0, 1.4e-45),
        ("expm1", 1e-40, 1e-40),
        ("log1p", -1e-40, -1e-40),
        ("tanh", 1e-40, 1e-40),
    ],
)
def test_float32_results_below_the_normal_numbers_are_kept(
    name: str, x: float, want: float
) -> None:
    argument = np.array([x], np.float32)
    got = run(name, argument)
    assert got[0] == pytest.approx(np.float32(want), rel=1e-4)


def test_sigmoid_is_within_bound_where_one_is_lost_beside_a_power_of_two() -> None:
    # Every number around 24 ln 2, where 2^-24 + 1 is a tie, and around its mirror image.
    last_places = np.arange(1 << 18, dtype=np.float32) * np.float32(2.0**-19)
    x = np.concatenate([last_places - np.float32(16.9), last_places + np.float32(16.4)])
    e = np.exp(-np.abs(x.astype(np.float64)))
    exact = np.where(x < 0, e, 1.0) / (1.0 + e)
    ulps = np.abs(run("sigmoid", x) - exact) / np.spacing(exact.astype(np.float32))
    assert ulps.max() <= 2.0


def test_erfc_keeps_its_far_tail() -> None:
    got = run("erfc", np.array([10.0, 26.5, 27.2]))
    assert got[0] == pytest.approx(2.0884875837625446e-45, rel=1e-15)
    assert 0 < got[2] < np.finfo(np.float64).tiny < got[1]


# ---- power --------------------------------------------------------------------------------------


def power_operands(dtype: type) -> tuple[Values, Values]:
    generator = np.random.default_rng(7)
    count = NUM_POINTS // 4
    wide = 2.0 ** generator.uniform(-1, 1, count) * 10.0 ** generator.uniform(-30, 30, count)
    reach = (150 if dtype is np.float32 else 1075) / np.maximum(1e-3, np.abs(np.log2(wide)))
    near_one = 1 + generator.uniform(-1, 1, count) * 1e-3
    huge = generator.uniform(-1, 1, count) * (1e5 if dtype is np.float32 else 7e5)
    whole = generator.integers(-12, 12, count).astype(float)
    patterns = np.abs(random_patterns(generator, dtype, count))
    x = [wide, near_one, generator.normal(size=count) * 5, patterns]
    y = [reach * generator.uniform(-1, 1, count), huge, whole, generator.uniform(-3, 3, count)]
    base = np.concatenate([part.astype(dtype) for part in x])
    exponent = np.concatenate([part.astype(dtype) for part in y])
    usual = np.isfinite(base) & (base != 0)
    return base[usual], exponent[usual]


@functools.cache
def exact_powers(dtype: type) -> Exact:
    # A negative base has whole exponents here: what imaginary part there is, is noise.
    pairs = zip(*power_operands(dtype), strict=True)
    return Exact.of([mp.re(mp.power(mp.mpf(float(x)), mp.mpf(float(y)))) for x, y in pairs], dtype)


def check_power(dtype: type, got: Values) -> None:
    errors = exact_powers(dtype).errors(got)
    worst = int(np.argmax(errors))
    x, y = (operand[worst] for operand in power_operands(dtype))
    assert errors[worst] <= BOUNDS["power"], (
        f"{x!r} ** {y!r} = {got[worst]!r}: {errors[worst]:.2f} ulp off"
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_power_error_is_within_bound(dtype: type) -> None:
    check_power(dtype, run("power", *power_operands(dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_power_special_cases_are_those_of_ieee(dtype: type) -> None:
    points = [0.0, 0.5, 1.0, 2.0, 3.0, 2.5, np.inf, np.nan, float(np.finfo(dtype).max), 1e-40]
    values = np.array(points + [-point for point in points], dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        want = np.power(x.astype(np.float64), y.astype(np.float64)).astype(dtype)
    got = run("power", x, y)
    for base, exponent, result, expected in zip(x, y, got, want, strict=True):
        special = np.isnan(expected) or np.isinf(expected) or expected in (0, 1, -1)
        if special:
            assert same_with_sign(float(result), float(expected)), f"{base} ** {exponent}: {result}"
        else:
            np.testing.assert_allclose(result, expected, rtol=4 * np.finfo(dtype).eps)


# ---- angles, lengths, sums of powers -------------------------------------------------------------


def plane_operands(dtype: type) -> tuple[Values, Values]:
    """Points near and far, also where squares overflow or vanish and where quotients do."""
    generator = np.random.default_rng(13)
    count = NUM_POINTS // 4
    x, y = random_patterns(generator, dtype, count), random_patterns(generator, dtype, count)
    scale = 2.0 ** generator.integers(-100, 100, count)
    near = generator.normal(size=(2, count)) * scale
    both = [np.concatenate([one, two.astype(dtype)]) for one, two in ((x, near[0]), (y, near[1]))]
    finite = np.isfinite(both[0]) & np.isfinite(both[1])
    return both[0][finite], both[1][finite]


def zeta_operands(dtype: type) -> tuple[Values, Values]:
    generator = np.random.default_rng(17)
    s = generator.choice([1.25, 1.5, 2.0, 2.0, 3.0, 4.0, 7.5, 20.0, 60.0], 120)
    q = np.concatenate([generator.uniform(0.01, 3, 60), 10 ** generator.uniform(-3, 6, 60)])
    return s.astype(dtype), q.astype(dtype)


def mp_zeta(s: Any, q: Any) -> Any:
    """By the formula of Euler and Maclaurin; mpmath's own loses digits for large s and q."""
    total = mp.fsum((q + k) ** -s for k in range(80))
    a = q + 80
    total += a ** (1 - s) / (s - 1) + a**-s / 2
    factor = s * a ** (-s - 1)
    for j in range(1, 25):
        total += mp.bernoulli(2 * j) / mp.factorial(2 * j) * factor
        factor *= (s + 2 * j - 1) * (s + 2 * j) / a**2
    return total


BINARY: dict[str, tuple[Callable[[type], tuple[Values, Values]], Callable[[Any, Any], Any]]] = {
    "atan2": (plane_operands, mp.atan2),
    "hypot": (plane_operands, mp.hypot),
    "zeta": (zeta_operands, mp_zeta),
}


@functools.cache
def exact_pairs(name: str, dtype: type) -> Exact:
    operands, function = BINARY[name]
    pairs = zip(*operands(dtype), strict=True)
    return Exact.of([function(mp.mpf(float(x)), mp.mpf(float(y))) for x, y in pairs], dtype)


def check_binary(name: str, dtype: type, got: Values) -> None:
    errors = exact_pairs(name, dtype).errors(got)
    worst = int(np.argmax(errors))
    x, y = (operand[worst] for operand in BINARY[name][0](dtype))
    assert errors[worst] <= BOUNDS.get(name, 2.0), (
        f"{name}({x!r}, {y!r}) = {got[worst]!r}: {errors[worst]:.2f} ulp off"
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", BINARY)
def test_binary_error_is_within_bound(name: str, dtype: type) -> None:
    check_binary(name, dtype, run(name, *BINARY[name][0](dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["atan2", "hypot"])
def test_angle_and_length_at_zeros_infinities_and_nan_are_those_of_ieee(
    name: str, dtype: type
) -> None:
    points = np.array([0.0, 1e-40, 1.0, np.finfo(dtype).max, np.inf, np.nan], dtype)
    values = np.concatenate([points, -points])
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        want = {"atan2": np.arctan2, "hypot": np.hypot}[name](x, y)
    got = run(name, x, y)
    np.testing.assert_allclose(got, want, rtol=4 * np.finfo(dtype).eps)
    number = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(want)[number])


@pytest.mark.parametrize("dtype", FLOATS)
def test_zeta_at_its_edges(dtype: type) -> None:
    s = np.array([1.0, 0.5, 2.0, 2.0, 3.0, 2.0, 2.0, 2.5, np.nan, 2.0], dtype)
    q = np.array([3.0, 3.0, 0.0, -2.0, -1.0, np.inf, -np.inf, -0.5, 1.0, np.nan], dtype)
    want = [np.inf, np.nan, np.inf, np.inf, np.inf, 0.0, np.nan, np.nan, np.nan, np.nan]
    np.testing.assert_array_equal(run("zeta", s, q), want)
    below = np.array([-0.5, -1.25, -3.75, -20.125], dtype)
    for exponent in (2.0, 3.0):
        exact = [float(mp.zeta(exponent, mp.mpf(float(one)))) for one in below]
        got = run("zeta", np.full(4, exponent, dtype), below)
        np.testing.assert_allclose(got, exact, rtol=40 * np.finfo(dtype).eps)


def test_zeta_of_whole_exponents_where_powers_are_tiny_or_huge() -> None:
    q = np.array([1e-70, 3e-40, 7e29, 9.9e59, 1.1e60, 1e100])
    for exponent in (2.0, 3.0, 4.0):
        exact = [float(mp_zeta(mp.mpf(exponent), mp.mpf(float(one)))) for one in q]
        np.testing.assert_allclose(run("zeta", np.full(6, exponent), q), exact, rtol=1e-15)


@pytest.mark.parametrize("dtype", FLOATS)
def test_powers_and_logarithms_of_whole_powers_are_exact(dtype: type) -> None:
    exponents = np.arange(*((-149, 128) if dtype is np.float32 else (-1074, 1024))).astype(dtype)
    with np.errstate(under="ignore"):
        powers = np.ldexp(dtype(1), exponents.astype(int))
    np.testing.assert_array_equal(run("exp2", exponents), powers)
    np.testing.assert_array_equal(run("log2", powers), exponents)
    tens = np.arange(11 if dtype is np.float32 else 23).astype(dtype)
    exact = np.array([float(10 ** int(one)) for one in tens], dtype)
    np.testing.assert_array_equal(run("log10", exact), tens)


# ---- exact functions ----------------------------------------------------------------------------


def division_operands(dtype: type) -> tuple[Values, Values]:
    generator = np.random.default_rng(11)
    edge = np.array([0.0, 0.1, 1.0, 1.5, 3.0, 7.0, 1e10, np.inf, np.nan], dtype)
    edge = np.concatenate([edge, -edge])
    x, y = (grid.ravel() for grid in np.meshgrid(edge, edge))
    whole = generator.integers(-50, 50, (2, NUM_POINTS)).astype(dtype)
    multiple = generator.integers(1, 1000, NUM_POINTS) * whole[1]
    close = np.nextafter((whole[0] * dtype(0.1)).astype(dtype), dtype(0))
    first = [
        x,
        whole[0],
        close,
        multiple.astype(dtype),
        random_patterns(generator, dtype, NUM_POINTS),
    ]
    second = [
        y,
        whole[1],
        np.full(NUM_POINTS, 0.1, dtype),
        whole[1],
        random_patterns(generator, dtype, NUM_POINTS),
    ]
    return np.concatenate(first), np.concatenate(second)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["remainder", "floor_divide", "fmod"])
def test_division_with_remainder_equals_numpy(name: str, dtype: type) -> None:
    x, y = division_operands(dtype)
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x, y)
    got = run(name, x, y)
    np.testing.assert_array_equal(got, want)
    number = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(want)[number])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("name", "reference"),
    [("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("round", np.rint)],
)
def test_rounding_equals_numpy(
    name: str, reference: Callable[[Values], Values], dtype: type
) -> None:
    generator = np.random.default_rng(3)
    halves = np.arange(-20, 20).astype(dtype) / 2
    x = np.concatenate([sample(name, dtype), halves, random_patterns(generator, dtype, NUM_POINTS)])
    with np.errstate(invalid="ignore"):  # a signalling NaN among the random patterns
        want = reference(x)
    np.testing.assert_array_equal(run(name, x), want)
    assert np.signbit(run(name, np.array([-0.0, -0.2], dtype))[0])


@pytest.mark.parametrize("dtype", FLOATS)
def test_maximum_and_minimum_propagate_nan_from_either_side(dtype: type) -> None:
    values = np.array([np.nan, -np.inf, -1.0, 0.0, 2.0, np.inf], dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    np.testing.assert_array_equal(run("maximum", x, y), np.maximum(x, y))
    np.testing.assert_array_equal(run("minimum", x, y), np.minimum(x, y))


# ---- position and instruction set ---------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", UNARY)
def test_result_does_not_depend_on_position_or_neighbours(name: str, dtype: type) -> None:
    x = sample(name, dtype)[:300]
    x = np.concatenate([x, np.array([np.inf, np.nan, -0.0, 1e30], dtype)])
    together = run(name, x)
    alone = np.array([run(name, x[i : i + 1])[0] for i in range(len(x))])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(run(name, x[::-1].copy())[::-1], together)


# In a process of its own: the functions of another instruction set at the same points.
COMPUTE_ALL = """
import sys
import numpy as np
import lumus as lm
from tests.native.test_math_accuracy import BINARY, FLOATS, UNARY, power_operands, run, sample
lm.set_flush_denormal(False)
results = {}
for dtype in FLOATS:
    results[f"power {dtype.__name__}"] = run("power", *power_operands(dtype))
    for name in UNARY:
        results[f"{name} {dtype.__name__}"] = run(name, sample(name, dtype))
    for name in BINARY:
        results[f"{name} {dtype.__name__}"] = run(name, *BINARY[name][0](dtype))
np.savez(sys.argv[1], **results)
"""


@pytest.mark.parametrize("isa", _native.available_isas())
def test_bounds_hold_on_every_instruction_set(isa: str, tmp_path: Path) -> None:
    if isa == _native.isa():
        pytest.skip("the other tests of this file run on it")
    path = tmp_path / "results.npz"
    environment = {**os.environ, "LUMUS_ISA": isa, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", COMPUTE_ALL, str(path)], check=True, env=environment)
    results = np.load(path)
    for dtype in FLOATS:
        check_power(dtype, results[f"power {dtype.__name__}"])
        for name in UNARY:
            check_unary(name, dtype, results[f"{name} {dtype.__name__}"])
        for name in BINARY:
            check_binary(name, dtype, results[f"{name} {dtype.__name__}"])
