"""Fits the polynomials of `native/kernels/math_*.h`, prints `math_coefficients.h` beside them.

Each polynomial is the minimax fit (Remez exchange in 60-digit arithmetic) of a smooth function
under a weight that makes the error relative to the value finally returned; the coefficients are
then rounded to the format they are used in, and the error is measured again.

Run: `python tools/fit_polynomials.py > native/kernels/math_coefficients.h` and clang-format it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from mpmath import mp, mpf

mp.dps = 60

Real = Callable[[mpf], mpf]

LN2 = mp.log(2)
HALF_LN2 = LN2 / 2 * mpf("1.0005")  # the rounding of x / ln 2 may land just beyond one half
QUARTER_PI = mp.pi / 4 * mpf("1.0001")


@dataclass(frozen=True)
class Fit:
    """One polynomial: `function` on [low, high], error multiplied by `weight`."""

    name: str
    comment: str
    single: bool  # coefficients rounded to float32, else float64
    degree: int
    low: mpf
    high: mpf
    function: Real
    weight: Real


def series_safe(function: Real, at_zero: mpf | float, threshold: str = "1e-12") -> Real:
    """`function` with its limit in place of 0/0 next to zero (the fits never resolve that far)."""

    def safe(x: mpf) -> mpf:
        return mpf(at_zero) if abs(x) < mpf(threshold) else function(x)

    return safe


def one(_: mpf) -> mpf:
    return mpf(1)


def exp_tail(r: mpf) -> mpf:
    """(exp(r) - 1 - r) / r**2."""
    return (mp.expm1(r) - r) / r**2


def log_tail(f: mpf) -> mpf:
    """(log(1 + f) - f + f**2 / 2) / f**3."""
    return (mp.log1p(f) - f + f**2 / 2) / f**3


def atanh_tail(w: mpf, skipped: int) -> mpf:
    """(2 atanh(s) / s minus its first `skipped` terms) / w**skipped, with w = s**2."""
    s = mp.sqrt(w)
    head = sum(2 * w**j / (2 * j + 1) for j in range(skipped))
    return (2 * mp.atanh(s) / s - head) / w**skipped


def sin_tail(z: mpf) -> mpf:
    """(sin(r) - r) / r**3 with z = r**2."""
    r = mp.sqrt(z)
    return (mp.sin(r) - r) / r**3


def cos_tail(z: mpf) -> mpf:
    """(cos(r) - 1 + r**2 / 2) / r**4 with z = r**2."""
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2


def tanh_tail(z: mpf) -> mpf:
    """(tanh(x) - x) / x**3 with z = x**2."""
    x = mp.sqrt(z)
    return (mp.tanh(x) - x) / x**3


def erf_ratio(z: mpf) -> mpf:
    """erf(x) / x - 1 with z = x**2."""
    x = mp.sqrt(z)
    return mp.erf(x) / x - 1


def odd_tail(function: Real) -> Real:
    """(f(x) - x) / x**3 with z = x**2, for an odd f with slope 1 at 0."""

    def tail(z: mpf) -> mpf:
        x = mp.sqrt(z)
        return (function(x) - x) / x**3

    return tail


def odd_weight(function: Real) -> Real:
    """What makes an error of `odd_tail` relative to f."""
    return series_safe(lambda z: z * mp.sqrt(z) / function(mp.sqrt(z)), 0)


ERFC_CENTRE = mpf("2.5")


def scaled_erfc(t: mpf) -> mpf:
    """(1 + 2x) exp(x**2) erfc(x) - 1 at x = c (1 + t) / (1 - t), that is t = (x - c) / (x + c)."""
    if t == 1:
        return 2 / mp.sqrt(mp.pi) - 1
    x = ERFC_CENTRE * (1 + t) / (1 - t)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x) - 1


def erfc_range(low: str, high: str) -> tuple[mpf, mpf]:
    ends = [mpf(low), mpf(high)]
    return (
        (ends[0] - ERFC_CENTRE) / (ends[0] + ERFC_CENTRE),
        (ends[1] - ERFC_CENTRE) / (ends[1] + ERFC_CENTRE),
    )


def log_erfc_tail(x: mpf) -> mpf:
    """-log(erfc(x)) / x - 1."""
    return -mp.log(mp.erfc(x)) / x - 1


@functools.cache
def erfinv_ratio(w: mpf) -> mpf:
    """erfinv(x) / x with w = -log(1 - x**2)."""
    if w == 0:
        return mp.sqrt(mp.pi) / 2
    x = mp.sqrt(-mp.expm1(-w))
    if w < 5:
        return mp.erfinv(x) / x
    # Newton's method for log(erfc(y)) = log(1 - x).
    log_complement = -w - mp.log1p(x)
    y = mp.sqrt(w - mp.log(w) / 2)
    for _ in range(60):
        tail = mp.erfc(y)
        step = (mp.log(tail) - log_complement) * tail * mp.exp(y * y) * mp.sqrt(mp.pi) / 2
        y += step
        if abs(step) < mpf(10) ** -50:
            break
    return y / x


LGAMMA_CENTRE = mpf("1.75")


def lgamma_ratio(t: mpf) -> mpf:
    """lgamma(x) / ((x - 1) (x - 2)) with x = 1.75 + t."""
    x = LGAMMA_CENTRE + t
    if abs(x - 1) < mpf("1e-20"):
        return mp.euler
    if abs(x - 2) < mpf("1e-20"):
        return 1 - mp.euler
    return mp.loggamma(x) / ((x - 1) * (x - 2))


def lgamma_tail(z: mpf) -> mpf:
    """x times what Stirling's formula leaves of lgamma(x), with z = 1 / x**2."""
    if z == 0:
        return mpf(1) / 12
    x = 1 / mp.sqrt(z)
    return x * (mp.loggamma(x) - ((x - mpf(1) / 2) * mp.log(x) - x + mp.log(2 * mp.pi) / 2))


DIGAMMA_ROOT = mp.findroot(mp.digamma, mpf("1.4616321449683623"))


def digamma_ratio(t: mpf) -> mpf:
    """digamma(x) / (x - root) with x = 1.5 + t."""
    x = t + mpf("1.5")
    if abs(x - DIGAMMA_ROOT) < mpf("1e-20"):
        return mp.polygamma(1, DIGAMMA_ROOT)
    return mp.digamma(x) / (x - DIGAMMA_ROOT)


def digamma_tail(z: mpf) -> mpf:
    """x**2 (log(x) - 1 / (2x) - digamma(x)) with z = 1 / x**2."""
    if z == 0:
        return mpf(1) / 12
    x = 1 / mp.sqrt(z)
    return x * x * (mp.log(x) - 1 / (2 * x) - mp.digamma(x))


def fits() -> list[Fit]:
    atanh_high = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mpf("1.0001")
    exp_weight = series_safe(lambda r: r**2 / mp.expm1(r), 0)
    sin_weight = series_safe(lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)), 0)
    erfc32 = erfc_range("0", "10.5")
    erfc64 = erfc_range("0", "28")
    third = mpf(1) / 3
    return [
        Fit("kExpF32", "exp(r) = 1 + r + r^2 P(r)", True, 4, -HALF_LN2, HALF_LN2,
            series_safe(exp_tail, 0.5), lambda r: r**2 / mp.exp(r)),
        Fit("kExpF64", "exp(r) = 1 + r + r^2 P(r)", False, 9, -HALF_LN2, HALF_LN2,
            series_safe(exp_tail, 0.5), lambda r: r**2 / mp.exp(r)),
        Fit("kExpm1F32", "expm1(r) = r + r^2 P(r)", True, 5, -HALF_LN2, HALF_LN2,
            series_safe(exp_tail, 0.5), exp_weight),
        Fit("kExpm1F64", "expm1(r) = r + r^2 P(r)", False, 10, -HALF_LN2, HALF_LN2,
            series_safe(exp_tail, 0.5), exp_weight),
        Fit("kExp2InF64", "2^r = 1 + r P(r), for float32 results", False, 6, mpf("-0.5001"),
            mpf("0.5001"), series_safe(lambda r: mp.expm1(r * LN2) / r, LN2), one),
        Fit("kLogF32", "log(1 + f) = f - f^2 / 2 + f^3 P(f)", True, 8, -third, third,
            series_safe(log_tail, third),
            series_safe(lambda f: f**3 / mp.log1p(f), 0)),
        Fit("kLogF64", "log((1+s)/(1-s)) = 2s + s w P(w), w = s^2", False, 6, mpf(0), atanh_high,
            series_safe(lambda w: atanh_tail(w, 1), mpf(2) / 3), lambda w: w),
        Fit("kPowLogF64", "log((1+s)/(1-s)) = 2s + (2/3) s w + s w^2 P(w)", False, 7, mpf(0),
            atanh_high, series_safe(lambda w: atanh_tail(w, 2), mpf(2) / 5), lambda w: w**2),
        Fit("kLog2InF64", "log2((1+s)/(1-s)) = s P(w), w = s^2, for float32 results", False, 5,
            mpf(0), atanh_high,
            series_safe(lambda w: atanh_tail(w, 0) / LN2, 2 / LN2), one),
        Fit("kSinF64", "sin(r) = r + r^3 P(r^2)", False, 5, mpf(0), QUARTER_PI**2,
            series_safe(sin_tail, mpf(-1) / 6), sin_weight),
        Fit("kCosF64", "cos(r) = 1 - r^2 / 2 + r^4 P(r^2)", False, 5, mpf(0), QUARTER_PI**2,
            series_safe(cos_tail, mpf(1) / 24), lambda z: z**2),
        Fit("kSinInF64", "sin(r) = r + r^3 P(r^2), for float32 results", False, 3, mpf(0),
            QUARTER_PI**2, series_safe(sin_tail, mpf(-1) / 6), sin_weight),
        Fit("kCosInF64", "cos(r) = 1 - r^2 / 2 + r^4 P(r^2), for float32 results", False, 2,
            mpf(0), QUARTER_PI**2, series_safe(cos_tail, mpf(1) / 24), lambda z: z**2),
        Fit("kTanhF32", "tanh(x) = x + x^3 P(x^2), |x| <= 0.9", True, 6, mpf(0), mpf("0.8101"),
            series_safe(tanh_tail, -third),
            series_safe(lambda z: z * mp.sqrt(z) / mp.tanh(mp.sqrt(z)), 0)),
        Fit("kErfF32", "erf(x) = x + x P(x^2), |x| <= 1/2", True, 4, mpf(0), mpf("0.2501"),
            series_safe(erf_ratio, 2 / mp.sqrt(mp.pi) - 1), one),
        Fit("kErfF64", "erf(x) = x + x P(x^2), |x| <= 1", False, 12, mpf(0), mpf("1.0001"),
            series_safe(erf_ratio, 2 / mp.sqrt(mp.pi) - 1), one),
        Fit("kLogErfcF32", "log(erfc(x)) = -(x + x P(x)), x <= 4", True, 8, mpf(0), mpf("4.0"),
            series_safe(log_erfc_tail, 2 / mp.sqrt(mp.pi) - 1),
            series_safe(lambda x: x * mp.erfc(x) / mp.erf(x), mp.sqrt(mp.pi) / 2)),
        Fit("kErfcF32", "(1 + 2x) exp(x^2) erfc(x) = 1 + P((x - 2.5) / (x + 2.5))", True, 10,
            *erfc32, scaled_erfc, one),
        Fit("kErfcF64", "(1 + 2x) exp(x^2) erfc(x) = 1 + P((x - 2.5) / (x + 2.5))", False, 24,
            *erfc64, scaled_erfc, one),
        *inverse_and_hyperbolic_fits(),
        *special_fits(),
    ]  # fmt: skip


def inverse_and_hyperbolic_fits() -> list[Fit]:
    sixth, third = mpf(1) / 6, mpf(1) / 3
    quarter = mpf("0.2501")
    # The square of the tangent of pi / 8.
    atan_high = (mp.sqrt(2) - 1) ** 2 * mpf("1.0001")
    found: list[Fit] = []
    for suffix, comment, asin_degree, atan_degree, sinh_degree in (
        ("F64", "", 12, 10, 6),
        ("InF64", ", for float32 results", 5, 4, 3),
    ):
        found += [
            Fit(f"kAsin{suffix}", f"asin(x) = x + x^3 P(x^2), |x| <= 1/2{comment}", False,
                asin_degree, mpf(0), quarter, series_safe(odd_tail(mp.asin), sixth),
                odd_weight(mp.asin)),
            Fit(f"kAtan{suffix}", f"atan(x) = x + x^3 P(x^2), |x| <= tan(pi / 8){comment}", False,
                atan_degree, mpf(0), atan_high, series_safe(odd_tail(mp.atan), -third),
                odd_weight(mp.atan)),
            Fit(f"kSinh{suffix}", f"sinh(x) = x + x^3 P(x^2), |x| <= 1{comment}", False,
                sinh_degree, mpf(0), mpf("1.0001"), series_safe(odd_tail(mp.sinh), sixth),
                odd_weight(mp.sinh)),
        ]  # fmt: skip
    return found


def special_fits() -> list[Fit]:
    def of_root(centre: str) -> Real:
        return lambda t: erfinv_ratio((t + mpf(centre)) ** 2)

    def of_middle(t: mpf) -> mpf:
        return erfinv_ratio(t + mpf("3.125"))

    def relative_to(function: Real) -> Real:
        return lambda t: 1 / function(t)

    def near(low: str, high: str) -> tuple[mpf, mpf]:
        return mpf(low), mpf(high)

    return [
        Fit("kErfinvNear", "erfinv(x) = x P(w - 3.125), w = -log(1 - x^2) <= 6.25", False, 24,
            *near("-3.125", "3.125"), of_middle, relative_to(of_middle)),
        Fit("kErfinvFar", "erfinv(x) = x P(sqrt(w) - 3.25), 6.25 <= w <= 16", False, 20,
            *near("-0.7501", "0.7501"), of_root("3.25"), relative_to(of_root("3.25"))),
        Fit("kErfinvFarther", "erfinv(x) = x P(sqrt(w) - 5), 16 <= w <= 36.1", False, 18,
            *near("-1.0001", "1.01"), of_root("5"), relative_to(of_root("5"))),
        Fit("kErfinvNearInF64", "erfinv(x) = x P(w - 3.125), for float32 results", False, 11,
            *near("-3.125", "3.125"), of_middle, relative_to(of_middle)),
        Fit("kErfinvFarInF64", "erfinv(x) = x P(sqrt(w) - 3.25), for float32 results", False, 9,
            *near("-0.7501", "0.7501"), of_root("3.25"), relative_to(of_root("3.25"))),
        Fit("kLgamma", "lgamma(x) = (x - 1) (x - 2) P(x - 1.75), 1 <= x <= 2.5", False, 24,
            *near("-0.7501", "0.7501"), lgamma_ratio, relative_to(lgamma_ratio)),
        Fit("kLgammaTail", "lgamma(x) = (x - 1/2) log(x) - x + log(2 pi) / 2 + P(1 / x^2) / x, "
            "x >= 8", False, 5, *near("0", "0.015626"), lgamma_tail,
            lambda z: mp.sqrt(z) / mp.loggamma(1 / mp.sqrt(z)) if z else mpf(0)),
        Fit("kDigamma", "digamma(x) = (x - root) P(x - 1.5), 1 <= x <= 2", False, 22,
            *near("-0.5001", "0.5001"), digamma_ratio, relative_to(digamma_ratio)),
        Fit("kDigammaTail", "digamma(x) = log(x) - 1 / (2x) - P(1 / x^2) / x^2, x >= 8", False, 5,
            *near("0", "0.015626"), digamma_tail,
            lambda z: z / mp.digamma(1 / mp.sqrt(z)) if z else mpf(0)),
    ]  # fmt: skip


def solve_alternation(points: list[mpf], values: list[mpf], weights: list[mpf],
                      degree: int) -> tuple[list[mpf], mpf]:  # fmt: skip
    """The coefficients whose weighted error alternates on `points`, and that error's size."""
    size = degree + 2
    matrix = mp.matrix(size, size)
    right = mp.matrix(size, 1)
    for row, point in enumerate(points):
        for column in range(size - 1):
            matrix[row, column] = point**column
        matrix[row, size - 1] = (-1) ** row / weights[row]
        right[row] = values[row]
    solution = mp.lu_solve(matrix, right)
    return [solution[i] for i in range(size - 1)], abs(solution[size - 1])


def remez(fit: Fit, grid_size: int = 600) -> list[mpf]:
    """Weighted minimax fit; the exchange runs on a fixed Chebyshev grid."""
    size = fit.degree + 2
    grid = [
        (fit.low + fit.high) / 2
        - (fit.high - fit.low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * grid_size))
        for i in range(grid_size)
    ]
    grid = [x for x in grid if fit.weight(x) != 0]
    values = [fit.function(x) for x in grid]
    weights = [abs(fit.weight(x)) for x in grid]
    chosen = [round((i + 0.5) * len(grid) / size - 0.5) for i in range(size)]
    coefficients: list[mpf] = []
    for _ in range(40):
        coefficients, level = solve_alternation(
            [grid[i] for i in chosen],
            [values[i] for i in chosen],
            [weights[i] for i in chosen],
            fit.degree,
        )
        errors = [
            w * (mp.polyval(coefficients[::-1], x) - v)
            for x, v, w in zip(grid, values, weights, strict=True)
        ]
        if max(abs(e) for e in errors) <= level * mpf("1.001"):
            break
        chosen = exchange(errors, size, chosen)
    return coefficients


def exchange(errors: list[mpf], size: int, previous: list[int]) -> list[int]:
    """The largest error of each run of equal signs, cut down to `size` neighbouring runs."""
    peaks: list[int] = []
    for i, error in enumerate(errors):
        if peaks and (errors[peaks[-1]] < 0) == (error < 0):
            if abs(error) > abs(errors[peaks[-1]]):
                peaks[-1] = i
        else:
            peaks.append(i)
    while len(peaks) > size:
        del peaks[0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1]
    return peaks if len(peaks) == size else previous


def rounded(value: mpf, single: bool) -> mpf:
    return mpf(float(np.float32(float(value)))) if single else mpf(float(value))


def measured_error(fit: Fit, coefficients: list[mpf]) -> mpf:
    points = [fit.low + (fit.high - fit.low) * i / 1500 for i in range(1501)]
    return max(
        abs(fit.weight(x) * (mp.polyval(coefficients[::-1], x) - fit.function(x))) for x in points
    )


def literal(value: mpf, single: bool) -> str:
    mantissa, _, exponent = float(value).hex().partition("p")
    head, _, digits = mantissa.partition(".")
    digits = digits.rstrip("0")
    return f"{head}{'.' + digits if digits else ''}p{exponent}{'f' if single else ''}"


def print_array(scalar: str, name: str, values: list[str]) -> None:
    lines = "".join(f"    {value},\n" for value in values)
    print(f"constexpr {scalar} {name}[] = {{\n{lines}}};\n")


def main() -> None:
    print("// Written by tools/fit_polynomials.py; lowest degree first, error as a power of two.")
    print("#pragma once\n")
    print("#include <cstdint>\n")
    print('#include "kernels/isa.h"\n')
    print("namespace lumus::LUMUS_ISA {\n")
    for fit in fits():
        coefficients = [rounded(value, fit.single) for value in remez(fit)]
        error = mp.log(measured_error(fit, coefficients), 2)
        print(f"// {fit.comment}; error 2^{float(error):.1f}.")
        print_array(
            "float" if fit.single else "double",
            fit.name,
            [literal(value, fit.single) for value in coefficients],
        )
    print("// The first 1280 bits of 2 / pi behind the binary point, 64 a word.")
    mp.dps = 420
    bits = int(mp.floor(2 / mp.pi * mpf(2) ** 1280))
    words = [bits >> (64 * (19 - word)) & (2**64 - 1) for word in range(20)]
    print_array("std::uint64_t", "kTwoOverPiBits", [f"0x{word:016x}" for word in words])
    print("}  // namespace lumus::LUMUS_ISA")


if __name__ == "__main__":
    main()
