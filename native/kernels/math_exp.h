// exp, exp2, expm1, sigmoid, tanh.
//
// x = n ln 2 + r with |r| <= ln 2 / 2, where n is found by adding 1.5 * 2^23 (2^52), whose last
// bits then hold the integer n; exp(r) = 1 + r + r^2 P(r); the power of two is applied in steps
// that round once, so that results below the smallest normal number are right, too.
#pragma once

#include "kernels/math_basic.h"
#include "kernels/math_coefficients.h"

namespace lumus::LUMUS_ISA {

constexpr float kRoundF32 = 0x1.8p23f;
constexpr double kRoundF64 = 0x1.8p52;
constexpr float kLn2HighF32 = 0x1.62e4p-1f;  // 15 bits: n times it is exact
constexpr float kLn2LowF32 = 0x1.7f7d1cp-20f;
constexpr double kLn2HighF64 = 0x1.62e42fefa4p-1;  // 41 bits
constexpr double kLn2LowF64 = -0x1.8432a1b0e2634p-43;

// x = n ln 2 + (r + r_low).
template <Float32 F>
struct Float32Reduced {
  F n, r, r_low;
};
using F32Reduced = Float32Reduced<f32v>;
struct F64Reduced {
  f64v n, r, r_low;
};

template <Float32 F>
LUMUS_INLINE Float32Reduced<F> reduce_by_ln2(F x) {
  const F n = fma(x, constant<F>(0x1.715476p+0f), constant<F>(kRoundF32)) - kRoundF32;
  const F high = fma(n, constant<F>(-kLn2HighF32), x);
  const F r = fma(n, constant<F>(-kLn2LowF32), high);
  return {n, r, fma(n, constant<F>(-kLn2LowF32), high - r)};
}
LUMUS_INLINE F64Reduced reduce_by_ln2(f64v x) {
  const f64v n = fma(x, f64_constant(0x1.71547652b82fep+0), f64_constant(kRoundF64)) - kRoundF64;
  const f64v high = fma(n, f64_constant(-kLn2HighF64), x);
  const f64v r = fma(n, f64_constant(-kLn2LowF64), high);
  return {n, r, fma(n, f64_constant(-kLn2LowF64), high - r)};
}

// The same for x + low, where low is within the last places of x: it counts against r.
template <Float32 F>
LUMUS_INLINE Float32Reduced<F> reduce_by_ln2(F x, F low) {
  const Float32Reduced<F> part = reduce_by_ln2(x);
  const Float32Pair<F> sum = fast_two_sum(part.r, part.r_low + low);
  return {part.n, sum.hi, sum.lo};
}
LUMUS_INLINE F64Reduced reduce_by_ln2(f64v x, f64v low) {
  const F64Reduced part = reduce_by_ln2(x);
  const F64Pair sum = fast_two_sum(part.r, part.r_low + low);
  return {part.n, sum.hi, sum.lo};
}

// 2^n for an integral n whose power is a normal number.
template <Float32 F>
LUMUS_INLINE F power_of_two(F n) {
  return from_bits(bits(n + (kRoundF32 + 127.0f)) << 23);
}
LUMUS_INLINE f64v power_of_two(f64v n) { return from_bits(bits(n + (kRoundF64 + 1023.0)) << 52); }

// x * 2^n for integral |n| < 250 (2000), rounded once when the result is subnormal.
#if defined(__AVX512F__)
LUMUS_INLINE f32v scale(f32v x, f32v n) { return _mm512_maskz_scalef_ps(kAllF32, x, n); }
#else
template <Float32 F>
LUMUS_INLINE F scale(F x, F n) {
  const F half = floor(n * 0.5f);
  return x * power_of_two(half) * power_of_two(n - half);
}
#endif
LUMUS_INLINE f64v scale(f64v x, f64v n) {
#if defined(__AVX512F__)
  return _mm512_maskz_scalef_pd(kAllF64, x, n);
#else
  const f64v half = floor(n * 0.5);
  return x * power_of_two(half) * power_of_two(n - half);
#endif
}

// For x that neither overflows n nor is infinite.
template <Float32 F>
LUMUS_INLINE F exp_in_range(F x) {
  const Float32Reduced<F> part = reduce_by_ln2(x);
  const F tail = fma(polynomial(part.r, kExpF32), part.r * part.r, part.r);
  return scale(tail + 1.0f, part.n);
}
LUMUS_INLINE f64v exp_in_range(f64v x) {
  const F64Reduced part = reduce_by_ln2(x);
  const f64v tail = fma(polynomial(part.r, kExpF64), part.r * part.r, part.r);
  return scale(tail + 1.0, part.n);
}

// Beyond the bounds the result is 0 or infinite in either case.
template <Float32 F>
LUMUS_INLINE F exp(F x) {
  return exp_in_range(clamp(x, -104.0f, 89.0f));
}
LUMUS_INLINE f64v exp(f64v x) { return exp_in_range(clamp(x, -746.0, 710.0)); }

// 2^x = 2^n e^(r ln 2) with n the nearest integer to x; exact for integers.
LUMUS_INLINE f32v exp2(f32v x) {
  const f32v in_reach = clamp(x, -151.0f, 129.0f);
  const f32v n = round_even(in_reach);
  const f32v r = (in_reach - n) * 0x1.62e43p-1f;
  const f32v tail = fma(polynomial(r, kExpF32), r * r, r);
  return scale(tail + 1.0f, n);
}
LUMUS_INLINE f64v exp2(f64v x) {
  const f64v in_reach = clamp(x, -1076.0, 1025.0);
  const f64v n = round_even(in_reach);
  const f64v fraction = in_reach - n;
  const F64Pair r = two_product(fraction, f64_constant(0x1.62e42fefa39efp-1));
  const f64v r_low = fma(fraction, f64_constant(0x1.abc9e3b39803fp-56), r.lo);
  const f64v tail = fma(polynomial(r.hi, kExpF64), r.hi * r.hi, r_low) + r.hi;
  return scale(tail + 1.0, n);
}

// exp(x) - 1 as hi + lo with about 8 spare bits, for x whose 2^n is a normal number.
LUMUS_INLINE F64Pair expm1_pair(F64Reduced part, f64v power) {
  const f64v tail = fma(polynomial(part.r, kExpm1F64), part.r * part.r, part.r_low);
  const F64Pair sum = fast_two_sum(power - 1.0, power * part.r);
  return fast_two_sum(sum.hi, fma(power, tail, sum.lo));
}

// Below: exp(x) - 1 = 2 (2^(n-1) (1 + r + ...) - 1/2), as 2^n itself may overflow.
template <Float32 F>
LUMUS_INLINE F expm1(F x) {
  const Float32Reduced<F> part = reduce_by_ln2(clamp(x, -20.0f, 89.0f));
  const F half_power = power_of_two(part.n - 1.0f);
  const F tail = fma(polynomial(part.r, kExpm1F32), part.r * part.r, part.r_low);
  const Float32Pair<F> sum = fast_two_sum(half_power - 0.5f, half_power * part.r);
  const F result = 2.0f * (sum.hi + fma(half_power, tail, sum.lo));
  return choose(absolute(x) < 0x1p-30f, x, result);
}
LUMUS_INLINE f64v expm1(f64v x) {
  const F64Reduced part = reduce_by_ln2(clamp(x, -45.0, 710.0));
  const f64v half_power = power_of_two(part.n - 1.0);
  const f64v tail = fma(polynomial(part.r, kExpm1F64), part.r * part.r, part.r_low);
  const F64Pair sum = fast_two_sum(half_power - 0.5, half_power * part.r);
  const f64v result = 2.0 * (sum.hi + fma(half_power, tail, sum.lo));
  return absolute(x) < 0x1p-60 ? x : result;
}

// With -x = r - n ln 2: 2^n / (2^n + exp(r)), which neither overflows nor loses the far left tail.
// What rounding 2^n + 1 lost goes with r, so that the sum with exp(r) - 1 is rounded once.
template <Float32 F>
LUMUS_INLINE F sigmoid(F x) {
  const F near = clamp(x, -104.0f, 40.0f);
  const F n = fma(near, constant<F>(0x1.715476p+0f), constant<F>(kRoundF32)) - kRoundF32;
  const F high = fma(n, constant<F>(kLn2HighF32), -near);
  const F r = fma(n, constant<F>(kLn2LowF32), high);
  const F power = scale(constant<F>(1.0f), n);
  const F head = power + 1.0f;
  const F lost = power - (head - 1.0f);
  const F tail = fma(polynomial(r, kExpF32), r * r, r + lost);
  return power / (head + tail);
}
// e / (1 + e) or 1 / (1 + e) with e = exp(-|x|), and what rounding e and 1 + e lost: just below a
// power of two, half an ulp of e is a whole one.
LUMUS_INLINE f64v sigmoid(f64v x) {
  const F64Reduced part = reduce_by_ln2(-at_most(absolute(x), 746.0));
  const f64v tail = fma(polynomial(part.r, kExpm1F64), part.r * part.r, part.r_low);
  const F64Pair head = fast_two_sum(f64_constant(1.0), part.r);
  const F64Pair sum = fast_two_sum(head.hi, head.lo + tail);
  const f64v e = scale(sum.hi, part.n), e_low = scale(sum.lo, part.n);
  const F64Pair divisor = fast_two_sum(f64_constant(1.0), e);
  const i64v left = x < 0.0;
  const f64v quotient = (left ? e : f64_constant(1.0)) / divisor.hi;
  const f64v lost = left ? e_low : f64_constant(0.0);
  return quotient + fma(quotient, -(divisor.lo + e_low), lost);
}

// A polynomial up to 0.9, then 1 - 2 / (exp(2|x|) + 1), whose last rounding dominates.
template <Float32 F>
LUMUS_INLINE F tanh(F x) {
  const F a = absolute(x);
  const F e = exp_in_range(at_most(a + a, 20.0f));
  const F large = 1.0f - 2.0f / (e + 1.0f);
  const F square = a * a;
  const F small = fma(polynomial(square, kTanhF32), square * a, a);
  return copysign(choose(a < 0.9f, small, large), x);
}

// -t / (2 + t) with t = exp(-2|x|) - 1 in two parts, and the division's remainder carried along.
LUMUS_INLINE f64v tanh(f64v x) {
  const f64v a = absolute(x);
  const F64Reduced part = reduce_by_ln2(-at_most(a + a, 40.0));
  const F64Pair t = expm1_pair(part, power_of_two(part.n));
  const f64v divisor = t.hi + 2.0;
  const f64v divisor_low = (t.hi - (divisor - 2.0)) + t.lo;
  const f64v inverse = 1.0 / divisor;
  const f64v quotient = t.hi * inverse;
  const F64Pair back = two_product(quotient, divisor);
  const f64v rest = ((t.hi - back.hi) - back.lo) + (t.lo - quotient * divisor_low);
  return copysign(fma(rest, inverse, quotient), x);
}

}  // namespace lumus::LUMUS_ISA
