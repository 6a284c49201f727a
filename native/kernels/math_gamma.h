// lgamma (the logarithm of |gamma|), digamma (its derivative), zeta (Hurwitz), in float64; float32
// runs through it.
//
// lgamma: from 8 up Stirling's formula; below, steps of 1 bring the argument to [1, 2.5], where
// (x - 1) (x - 2) P(x) keeps both zeros; the logarithm of what the steps multiply is added once.
// digamma: likewise, on [1, 2] as (x - root) P(x), and the steps add 1 / x, as one quotient.
// Negative arguments are reflected; their zeros lie where large terms cancel, so there the error is
// small beside those terms (at least 1), not beside the result.
// zeta(s, q): ten terms of the sum, then the formula of Euler and Maclaurin. The exponents 2, 3 and
// 4, those of the first derivatives of digamma, go by products, others by pow.
#pragma once

#include "kernels/math_basic.h"
#include "kernels/math_coefficients.h"
#include "kernels/math_exp.h"
#include "kernels/math_log.h"
#include "kernels/math_trig.h"

namespace lumus::LUMUS_ISA {

constexpr double kPi = 0x1.921fb54442d18p+1;
constexpr double kInversePi = 0x1.45f306dc9c883p-2;

// ---- lgamma -------------------------------------------------------------------------------------

// lgamma(x) = value + log_part for x >= 0; below 1 the value is lgamma(1 + x).
struct F64LogGamma {
  f64v value, log_part;
};
LUMUS_INLINE F64LogGamma lgamma_parts(f64v x) {
  const i64v is_large = x >= 8.0, is_low = x < 1.0;
  const f64v one = f64_constant(1.0), zero = f64_constant(0.0);
  f64v y = is_large ? one : x, product = one;
  for (int step = 0; step < 6; ++step) {
    const i64v is_above = y > 2.5;
    y = is_above ? y - 1.0 : y;
    product = is_above ? product * y : product;
  }
  const f64v u = is_low ? x : y - 1.0;
  const f64v near = u * (u - 1.0) * polynomial(u - 0.75, kLgamma);
  const f64v logarithm = log(is_large | is_low ? x : product);
  const f64v inverse = 1.0 / x;
  const f64v rest =
      fma(polynomial(inverse * inverse, kLgammaTail), inverse, f64_constant(0x1.acfe390c97d69p-2));
  const f64v far = fma(x - 0.5, logarithm - 1.0, rest);
  return {is_large ? far : near, is_large ? zero : (is_low ? -logarithm : logarithm)};
}

// The distance of a >= 0 from the nearest integer; exact, with its sign.
LUMUS_INLINE f64v beyond_integer(f64v a) { return a - round_even(a); }

[[maybe_unused]] static __attribute__((noinline)) f64v lgamma(f64v x) {
  const f64v a = absolute(x);
  const F64LogGamma parts = lgamma_parts(a);
  f64v result = parts.value + parts.log_part;
  const i64v is_negative = x < 0.0;
  if (any(is_negative)) {
    // gamma(-a) gamma(1 + a) = -pi / sin(pi a)
    const f64v sine = sin(absolute(beyond_integer(a)) * kPi) * kInversePi;
    const i64v is_low = a < 1.0;
    const f64v reflected = -log(is_low ? sine : sine * a) - (is_low ? parts.value : result);
    const f64v pole = f64_constant(kInfinityF64);
    result = is_negative ? (sine == 0.0 ? pole : reflected) : result;
  }
  return a == kInfinityF64 ? a : result;
}

// ---- digamma ------------------------------------------------------------------------------------

// digamma(x) = value + step for x >= 0; below 1 the value is digamma(1 + x).
struct F64Digamma {
  f64v value, step;
};
LUMUS_INLINE F64Digamma digamma_parts(f64v x) {
  constexpr double root = 0x1.762d86356be3fp+0, root_low = 0x1.b86a722197829p-54;
  const i64v is_large = x >= 8.0, is_low = x < 1.0;
  const f64v one = f64_constant(1.0), zero = f64_constant(0.0);
  f64v y = is_large ? one : x;
  f64v top = is_low ? -one : zero, bottom = is_low ? x : one;
  for (int step = 0; step < 6; ++step) {
    const i64v is_above = y >= 2.0;
    y = is_above ? y - 1.0 : y;
    top = is_above ? fma(top, y, bottom) : top;
    bottom = is_above ? bottom * y : bottom;
  }
  const f64v u = is_low ? x : y - 1.0;
  const f64v near = ((u - (root - 1.0)) - root_low) * polynomial(u - 0.5, kDigamma);
  const f64v inverse = 1.0 / x;
  const f64v z = inverse * inverse;
  const f64v far = log(x) - fma(polynomial(z, kDigammaTail), z, 0.5 * inverse);
  return {is_large ? far : near, is_large ? zero : top / bottom};
}

[[maybe_unused]] static __attribute__((noinline)) f64v digamma(f64v x) {
  const i64v is_negative = x < 0.0;
  const f64v a = is_negative ? -x : x;  // -0.0 keeps its sign
  const F64Digamma parts = digamma_parts(a);
  f64v result = parts.value + parts.step;
  if (any(is_negative)) {
    // digamma(-a) = digamma(1 + a) + pi / tan(pi a), the tangent of at most pi/4
    const f64v beyond = beyond_integer(a), size = absolute(beyond);
    const i64v is_steep = size > 0.25;
    const f64v tangent = tan((is_steep ? 0.5 - size : size) * kPi);
    const f64v turned = copysign(is_steep ? kPi * tangent : kPi / tangent, beyond);
    const f64v above = a < 1.0 ? parts.value : result + 1.0 / a;
    result = is_negative ? (size == 0.0 ? f64_constant(kNanF64) : above + turned) : result;
  }
  return result;
}

// ---- zeta ---------------------------------------------------------------------------------------

// The sum of (q + k)^-s over k < 10, and (q + 10)^(1 - s).
struct F64ZetaParts {
  f64v sum, whole;
};
// For s of 2, 3 or 4, and q whose fourth power does not overflow.
LUMUS_INLINE F64ZetaParts zeta_parts_by_products(f64v s, f64v q) {
  const i64v is_square = s == 2.0, is_cube = s == 3.0;
  f64v sum = {};
  for (int k = 0; k < 10; ++k) {
    const f64v x = q + static_cast<double>(k);
    const f64v square = x * x;
    sum = sum + 1.0 / (is_square ? square : square * (is_cube ? x : square));
  }
  const f64v inverse = 1.0 / (q + 10.0), square = inverse * inverse;
  return {sum, is_square ? inverse : is_cube ? square : square * inverse};
}
[[maybe_unused]] static __attribute__((noinline)) F64ZetaParts zeta_parts_by_powers(f64v s,
                                                                                    f64v q) {
  f64v sum = {};
#pragma GCC unroll 1
  for (int k = 0; k < 10; ++k) sum = sum + pow(q + static_cast<double>(k), -s);
  return {sum, pow(q + 10.0, 1.0 - s)};
}

// The sum of (q + k)^-s over all k >= 0, for q > 0 and s > 1.
[[maybe_unused]] static __attribute__((noinline)) f64v zeta_of_positive(f64v s, f64v q) {
  // B(2 j) / (2 j)! for j = 1, 2, ...
  constexpr double terms[] = {
      0x1.5555555555555p-4,  -0x1.6c16c16c16c17p-10, 0x1.1566abc011567p-15, -0x1.bbd779334ef0bp-21,
      0x1.66a8f2bf70ebep-26, -0x1.22805d644267fp-31, 0x1.d6db2c4e09162p-37, -0x1.7da4e1f79955cp-42,
      0x1.355871d652e9ep-47, -0x1.f57d968caacf1p-53, 0x1.967e1f09c376fp-58, -0x1.497d9033a2b5cp-63};
  // Each lane by its own way, whatever its neighbours need.
  const i64v is_short = ((s == 2.0) | (s == 3.0) | (s == 4.0)) & (q < 1e60);
  F64ZetaParts parts = {};
  if (any(is_short)) parts = zeta_parts_by_products(s, q);
  if (any(~is_short)) {
    const F64ZetaParts others = zeta_parts_by_powers(s, q);
    parts.sum = is_short ? parts.sum : others.sum;
    parts.whole = is_short ? parts.whole : others.whole;
  }
  const f64v inverse = 1.0 / (q + 10.0), square = inverse * inverse;
  const f64v last = parts.whole * inverse;
  // s (s + 1) ... (s + 2 j - 2) a^(-s - 2 j + 1) with a = q + 10
  f64v factor = last * s * inverse;
  f64v rest = factor * terms[0];
  for (int j = 1; j < 12; ++j) {
    factor = factor * (s + (2.0 * j - 1.0)) * (s + 2.0 * j) * square;
    rest = fma(factor, f64_constant(terms[j]), rest);
  }
  return parts.sum + (parts.whole / (s - 1.0) + (0.5 * last + rest));
}

// Below 0, where the powers are whole, with f = q - floor(q) and c = ceil(q) - q:
// zeta(s, q) = zeta(s, f) + (-1)^s (zeta(s, c) - zeta(s, 1 - q)).
[[maybe_unused]] static __attribute__((noinline, cold)) f64v zeta_of_negative(f64v s, f64v q) {
  const f64v right = zeta_of_positive(s, q - floor(q));
  const f64v left = zeta_of_positive(s, ceil(q) - q) - zeta_of_positive(s, 1.0 - q);
  const f64v half = 0.5 * s;
  const f64v result = trunc(half) == half ? right + left : right - left;
  const f64v edge = floor(q) == q ? f64_constant(kInfinityF64) : result;
  return trunc(s) == s ? edge : f64_constant(kNanF64);
}

[[maybe_unused]] static __attribute__((noinline)) f64v zeta(f64v s, f64v q) {
  f64v result = zeta_of_positive(s, q);
  const i64v is_negative = q < 0.0;
  if (any(is_negative)) result = is_negative ? zeta_of_negative(s, q) : result;
  result = q == 0.0 ? f64_constant(kInfinityF64) : result;
  result = s == 1.0 ? f64_constant(kInfinityF64) : result;
  result = (s < 1.0) | (q == -kInfinityF64) ? f64_constant(kNanF64) : result;
  return is_nan(s) | is_nan(q) ? s + q : result;
}

LUMUS_THROUGH_F64(lgamma, lgamma)
LUMUS_THROUGH_F64(digamma, digamma)

LUMUS_INLINE f32v zeta(f32v s, f32v q) {
  const F64Pair wide_s = widen(s), wide_q = widen(q);
  const f64v lower = zeta(wide_s.hi, wide_q.hi), upper = zeta(wide_s.lo, wide_q.lo);
  return narrow(lower, upper);
}

}  // namespace lumus::LUMUS_ISA
