"""The gamma functions and the inverse of erf, one number at a time: plain sums and steps."""

from __future__ import annotations

import math

# B(2 j) / (2 j)! for j = 1, 2, ...
_BERNOULLI = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
    1 / 74724249600, -3617 / 10670622842880000,
)  # fmt: skip
_FAR = 20.0


def lgamma(x: float) -> float:
    """log|gamma(x)|."""
    if math.isnan(x):
        return x
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):  # a pole; a number too large
        return math.inf


def digamma(x: float) -> float:
    """The derivative of `lgamma`."""
    if math.isnan(x) or x == -math.inf:
        return math.nan
    if x == 0:
        return -math.copysign(math.inf, x)
    if x < 0:
        beyond = x - round(x)
        if beyond == 0:
            return math.nan
        angle = math.pi * beyond
        return digamma(1 - x) - math.pi * math.cos(angle) / math.sin(angle)
    total = 0.0
    while x < _FAR:
        total -= 1 / x
        x += 1
    if x == math.inf:
        return x
    total += math.log(x) - 0.5 / x
    for j, bernoulli in enumerate(_BERNOULLI, start=1):
        total -= bernoulli * math.factorial(2 * j - 1) / x ** (2 * j)
    return total


def zeta(s: float, q: float) -> float:
    """The sum of (q + k)**-s over k >= 0, by the formula of Euler and Maclaurin."""
    if math.isnan(s) or math.isnan(q) or s < 1 or q == -math.inf:
        return math.nan
    if s == 1 or (q <= 0 and q == math.floor(q)):
        return math.inf
    if q < 0:
        return _zeta_of_negative(s, q)
    total = 0.0
    for _ in range(math.ceil(max(_FAR + min(s, 100.0) - q, 0.0))):
        total += _power(q, -s)
        q += 1
    last = _power(q, -s)
    total += q * last / (s - 1) if q < math.inf else 0.0
    total += 0.5 * last
    factor = last * s / q
    for j, bernoulli in enumerate(_BERNOULLI, start=1):
        total += bernoulli * factor
        factor *= (s + 2 * j - 1) * (s + 2 * j) / q / q
    return total


def _zeta_of_negative(s: float, q: float) -> float:
    """The terms of q + k < 0 by themselves: they are those of two other sums."""
    if s != math.floor(s):
        return math.nan
    below = zeta(s, math.ceil(q) - q) - zeta(s, 1 - q)
    return zeta(s, q - math.floor(q)) + (below if s % 2 == 0 else -below)


def _power(x: float, p: float) -> float:
    try:
        return math.pow(x, p)
    except OverflowError:
        return math.inf


def erfinv(x: float) -> float:
    """The y with erf(y) = x, by Newton's method."""
    if math.isnan(x) or abs(x) > 1:
        return math.nan
    if abs(x) == 1:
        return math.copysign(math.inf, x)
    size = abs(x)
    if size < 0.5:
        y = size
        for _ in range(6):
            y -= (math.erf(y) - size) * math.exp(y * y) * math.sqrt(math.pi) / 2
        return math.copysign(y, x)
    tail = 1 - size
    y = 0.5 if tail > 0.1 else math.sqrt(-math.log(tail * math.sqrt(-math.log(tail))))
    for _ in range(12):
        step = math.log(math.erfc(y) / tail) * math.erfc(y) * math.exp(y * y)
        y += step * math.sqrt(math.pi) / 2
    return math.copysign(y, x)
