// log, log1p, log2, log10, pow.
//
// x = 2^k m with m around 1. float32: log(1 + f) = f - f^2 / 2 + f^3 P(f), f = m - 1, m in [2/3,
// 4/3). float64: log(1 + f) = f - (f^2 / 2 - s (f^2 / 2 + w P(w))), s = f / (2 + f), w = s^2, m in
// [sqrt(1/2), sqrt(2)). In both the large terms are exact and the small ones are summed first.
// log2, log10: the logarithm in two numbers times 1 / log(base) in two, so that powers of the base
// give integers. pow: exp(y log|x|) with the logarithm in two float64 (about 2^-65), or, for
// float32, in one.
#pragma once

#include "kernels/math_basic.h"
#include "kernels/math_coefficients.h"
#include "kernels/math_exp.h"

namespace lumus::LUMUS_ISA {

// x = 2^k m, for positive normal x.
struct F32Split {
  f32v k, m;
};
struct F64Split {
  f64v k, m;
};

// m in [2/3, 4/3). Unsigned, as the sum may wrap where x is not positive.
LUMUS_INLINE F32Split split_exponent(f32v x) {
  const i32v shifted = reinterpret_cast<i32v>(reinterpret_cast<u32v>(x) - 0x3f2aaaabu);
  const i32v exponent = shifted >> 23;
  return {__builtin_convertvector(exponent, f32v), from_bits((shifted & 0x7fffff) + 0x3f2aaaab)};
}
// m in [sqrt(1/2), sqrt(2)).
LUMUS_INLINE F64Split split_exponent(f64v x) {
  const u64v shifted = reinterpret_cast<u64v>(x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
  const u64v exponent = shifted >> 52;  // k + 1023
  const f64v k = reinterpret_cast<f64v>(exponent | 0x4330000000000000u);
  const f64v m = reinterpret_cast<f64v>((shifted & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu);
  return {k - (0x1p52 + 1023.0), m};
}

// Lanes that are zero, subnormal, negative, infinite or NaN.
LUMUS_INLINE i32v is_unusual(f32v x) {
  return reinterpret_cast<u32v>(bits(x)) - 0x00800000u >= 0x7f000000u;
}
LUMUS_INLINE i64v is_unusual(f64v x) {
  return reinterpret_cast<u64v>(bits(x)) - 0x0010000000000000u >= 0x7fe0000000000000u;
}

// k ln 2 + log(1 + f) + low.
LUMUS_INLINE f32v log_sum(f32v k, f32v f, f32v low) {
  const f32v square = f * f;
  const f32v cubic = fma(polynomial(f, kLogF32), square * f, fma(k, f32_constant(kLn2LowF32), low));
  const f32v small = fma(square, f32_constant(-0.5f), cubic);
  return fma(k, f32_constant(kLn2HighF32), f + small);
}
LUMUS_INLINE f64v log_sum(f64v k, f64v f, f64v low) {
  const f64v s = f / (f + 2.0);
  const f64v w = s * s;
  const f64v half_square = 0.5 * f * f;
  const f64v rest = s * fma(polynomial(w, kLogF64), w, half_square);
  const f64v small = rest + fma(k, f64_constant(kLn2LowF64), low);
  return k * kLn2HighF64 - ((half_square - small) - f);
}

LUMUS_INLINE f32v log_edges(f32v x, f32v result) {
  result = x == kInfinityF32 ? x : result;
  result = x == 0.0f ? f32_constant(-kInfinityF32) : result;
  return (x < 0.0f) | is_nan(x) ? f32_constant(kNanF32) : result;
}
LUMUS_INLINE f64v log_edges(f64v x, f64v result) {
  result = x == kInfinityF64 ? x : result;
  result = x == 0.0 ? f64_constant(-kInfinityF64) : result;
  return (x < 0.0) | is_nan(x) ? f64_constant(kNanF64) : result;
}

// Vectors with an unusual lane pay for the scaling of subnormals and for the edges; others do not.
LUMUS_INLINE f32v log(f32v x) {
  const bool unusual = any(is_unusual(x));
  f32v normal = x, offset = {};
  if (__builtin_expect(unusual, 0)) {
    const i32v tiny = x < 0x1p-126f;
    normal = tiny ? x * 0x1p24f : x;
    offset = tiny ? f32_constant(-24.0f) : offset;
  }
  const F32Split part = split_exponent(normal);
  const f32v result = log_sum(part.k + offset, part.m - 1.0f, f32v{});
  return __builtin_expect(unusual, 0) ? log_edges(x, result) : result;
}
LUMUS_INLINE f64v log(f64v x) {
  const bool unusual = any(is_unusual(x));
  f64v normal = x, offset = {};
  if (__builtin_expect(unusual, 0)) {
    const i64v tiny = x < 0x1p-1022;
    normal = tiny ? x * 0x1p54 : x;
    offset = tiny ? f64_constant(-54.0) : offset;
  }
  const F64Split part = split_exponent(normal);
  const f64v result = log_sum(part.k + offset, part.m - 1.0, f64v{});
  return __builtin_expect(unusual, 0) ? log_edges(x, result) : result;
}

// 1 + x = u + c exactly; both are scaled by 2^-k, and f = (m - 1) + c is x itself while k = 0.
LUMUS_INLINE f32v log1p(f32v x) {
  const F32Pair one_plus = two_sum(x, f32_constant(1.0f));
  const F32Split part = split_exponent(one_plus.hi);
  const f32v scaled = one_plus.lo * power_of_two(-clamp(part.k, -120.0f, 120.0f));
  const F32Pair f = fast_two_sum(part.m - 1.0f, scaled);
  f32v result = log_sum(part.k, f.hi, f.lo);
  if (any(is_unusual(one_plus.hi))) result = log_edges(one_plus.hi, result);
  return absolute(x) < 0x1p-30f ? x : result;
}
// log(hi + lo) + k ln 2 for lo far below hi; the edges are those of log(hi).
LUMUS_INLINE f64v log_of_pair(f64v hi, f64v lo, f64v k) {
  const F64Split part = split_exponent(hi);
  const f64v scaled = lo * power_of_two(-clamp(part.k, -1020.0, 1020.0));
  const F64Pair f = fast_two_sum(part.m - 1.0, scaled);
  const f64v result = log_sum(part.k + k, f.hi, f.lo);
  return any(is_unusual(hi)) ? log_edges(hi, result) : result;
}
LUMUS_INLINE f64v log1p(f64v x) {
  const F64Pair one_plus = two_sum(x, f64_constant(1.0));
  const f64v result = log_of_pair(one_plus.hi, one_plus.lo, f64v{});
  return absolute(x) < 0x1p-60 ? x : result;
}

// ---- other bases --------------------------------------------------------------------------------

// 1 / log(base), and log_base(2), each in two parts; the high part of the latter times k is exact.
struct Base {
  double inverse, inverse_low, of_two, of_two_low;
};
constexpr Base kBaseTwo = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56, 1.0, 0.0};
constexpr Base kBaseTen = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, 0x1.34413509f8p-2,
                           -0x1.80433b83b532ap-44};

// k log_base(2) + log_base(1 + f).
LUMUS_INLINE f64v log_sum_in(Base base, f64v k, f64v f) {
  const f64v s = f / (f + 2.0);
  const f64v w = s * s;
  const F64Pair square = two_product(f, f);
  const f64v half_square = 0.5 * square.hi;
  const f64v rest = s * fma(polynomial(w, kLogF64), w, half_square);
  const F64Pair head = fast_two_sum(f, -half_square);
  const F64Pair natural = fast_two_sum(head.hi, head.lo + (rest - 0.5 * square.lo));
  const F64Pair product = two_product(natural.hi, f64_constant(base.inverse));
  const f64v product_low =
      product.lo + fma(natural.hi, f64_constant(base.inverse_low), natural.lo * base.inverse);
  const F64Pair sum = fast_two_sum(k * base.of_two, product.hi);
  return sum.hi + (sum.lo + (product_low + k * base.of_two_low));
}

LUMUS_INLINE f64v log_in(Base base, f64v x) {
  const bool unusual = any(is_unusual(x));
  f64v normal = x, offset = {};
  if (__builtin_expect(unusual, 0)) {
    const i64v tiny = x < 0x1p-1022;
    normal = tiny ? x * 0x1p54 : x;
    offset = tiny ? f64_constant(-54.0) : offset;
  }
  const F64Split part = split_exponent(normal);
  const f64v result = log_sum_in(base, part.k + offset, part.m - 1.0);
  return __builtin_expect(unusual, 0) ? log_edges(x, result) : result;
}
LUMUS_INLINE f64v log2(f64v x) { return log_in(kBaseTwo, x); }
LUMUS_INLINE f64v log10(f64v x) { return log_in(kBaseTen, x); }

// For positive normal x, with a relative error near 2^-31.
LUMUS_INLINE f64v log2_for_f32(f64v x) {
  const F64Split part = split_exponent(x);
  const f64v f = part.m - 1.0;
  const f64v s = f / (f + 2.0);
  return fma(polynomial(s * s, kLog2InF64), s, part.k);
}
LUMUS_INLINE f64v log_for_f32(f64v x) { return log2_for_f32(x) * 0x1.62e42fefa39efp-1; }
// A subnormal float32 is a normal float64.
LUMUS_INLINE f32v log2(f32v x) {
  const F64Pair wide = widen(x);
  const f32v result = narrow(log2_for_f32(wide.hi), log2_for_f32(wide.lo));
  return any(is_unusual(x)) ? log_edges(x, result) : result;
}
LUMUS_INLINE f32v log10(f32v x) {
  constexpr double log10_of_two = 0x1.34413509f79ffp-2;
  const F64Pair wide = widen(x);
  const f32v result =
      narrow(log2_for_f32(wide.hi) * log10_of_two, log2_for_f32(wide.lo) * log10_of_two);
  return any(is_unusual(x)) ? log_edges(x, result) : result;
}

// ---- pow ----------------------------------------------------------------------------------------

// log(x) + offset ln 2 = hi + lo for positive normal x. The series' first two terms are carried in
// two parts.
LUMUS_INLINE F64Pair log_pair(f64v x, f64v offset) {
  F64Split part = split_exponent(x);
  part.k = part.k + offset;
  const f64v f = part.m - 1.0;
  const F64Pair divisor = fast_two_sum(f64_constant(2.0), f);
  const f64v s = f / divisor.hi;
  const F64Pair back = two_product(s, divisor.hi);
  const f64v s_low = (((f - back.hi) - back.lo) - s * divisor.lo) / divisor.hi;
  const F64Pair square = two_product(s, s);
  const F64Pair w = fast_two_sum(square.hi, fma(s + s, s_low, square.lo));
  // 2/3 + w P(w)
  const F64Pair third =
      fast_two_sum(f64_constant(0x1.5555555555555p-1),
                   fma(polynomial(w.hi, kPowLogF64), w.hi, f64_constant(0x1.5555555555555p-55)));
  const F64Pair bend = two_product(third.hi, w.hi);
  const f64v bend_low = fma(third.hi, w.lo, fma(third.lo, w.hi, bend.lo));
  const F64Pair curve = two_product(bend.hi, s);
  const f64v curve_low = fma(bend.hi, s_low, fma(bend_low, s, curve.lo));
  const F64Pair inner = fast_two_sum(s + s, curve.hi);
  const f64v inner_low = inner.lo + (s_low + s_low + curve_low);
  const F64Pair outer = fast_two_sum(part.k * kLn2HighF64, inner.hi);
  const f64v outer_low = outer.lo + fma(part.k, f64_constant(kLn2LowF64), inner_low);
  return fast_two_sum(outer.hi, outer_low);
}

// For positive normal x; y log x beyond reach is clamped.
LUMUS_INLINE f64v power_of_normal(f64v x, f64v offset, f64v y) {
  const F64Pair logarithm = log_pair(x, offset);
  const F64Pair product = two_product(logarithm.hi, y);
  // An exponent too large for the product of two parts has a base of 1, or is beyond reach.
  const i64v beyond = ~(absolute(product.hi) < 800.0) | (absolute(y) > 0x1p990);
  const f64v hi = clamp(product.hi, -800.0, 800.0);
  const f64v lo = beyond ? f64_constant(0.0) : fma(logarithm.lo, y, product.lo);
  const F64Reduced part = reduce_by_ln2(hi, lo);
  const f64v tail = fma(polynomial(part.r, kExpm1F64), part.r * part.r, part.r_low);
  return scale((part.r + tail) + 1.0, part.n);
}

// The cases of IEEE 754: pow(x, 0) = 1 = pow(1, y) whatever the other is; pow(-1, inf) = 1;
// a negative base takes integers only, and their parity decides the sign, also of zero.
// `result` is that of the absolute base where base and exponent are finite and not zero.
LUMUS_INLINE f32v power_edges(f32v x, f32v y, f32v result) {
  const f32v base = absolute(x), half = 0.5f * y;
  const f32v zero = f32_constant(0.0f), one = f32_constant(1.0f);
  const f32v infinity = f32_constant(kInfinityF32);
  const i32v vanishes = (base < 1.0f) ^ (y < 0.0f);
  const i32v extreme = (base == 0.0f) | (base == kInfinityF32) | is_inf(y);
  result = extreme ? (vanishes ? zero : infinity) : result;
  result = base == 1.0f ? one : result;
  const i32v whole = trunc(y) == y;
  const i32v odd = whole & (trunc(half) != half);
  result = from_bits(bits(result) ^ (odd & sign_bit(x)));
  result = (x < 0.0f) & ~whole & is_finite(x) ? f32_constant(kNanF32) : result;
  result = is_nan(x) | is_nan(y) ? x + y : result;
  return (y == 0.0f) | (x == 1.0f) ? one : result;
}
LUMUS_INLINE f64v power_edges(f64v x, f64v y, f64v result) {
  const f64v base = absolute(x), half = 0.5 * y;
  const f64v zero = f64_constant(0.0), one = f64_constant(1.0);
  const f64v infinity = f64_constant(kInfinityF64);
  const i64v vanishes = (base < 1.0) ^ (y < 0.0);
  const i64v extreme = (base == 0.0) | (base == kInfinityF64) | is_inf(y);
  result = extreme ? (vanishes ? zero : infinity) : result;
  result = base == 1.0 ? one : result;
  const i64v whole = trunc(y) == y;
  const i64v odd = whole & (trunc(half) != half);
  result = from_bits(bits(result) ^ (odd & sign_bit(x)));
  result = (x < 0.0) & ~whole & is_finite(x) ? f64_constant(kNanF64) : result;
  result = is_nan(x) | is_nan(y) ? x + y : result;
  return (y == 0.0) | (x == 1.0) ? one : result;
}

LUMUS_INLINE f64v pow(f64v x, f64v y) {
  const bool unusual = any(is_unusual(x) | ~is_finite(y));
  f64v base = x, offset = {};
  if (__builtin_expect(unusual, 0)) {
    const i64v tiny = absolute(x) < 0x1p-1022;
    base = absolute(tiny ? x * 0x1p54 : x);
    offset = tiny ? f64_constant(-54.0) : offset;
  }
  const f64v result = power_of_normal(base, offset, y);
  return __builtin_expect(unusual, 0) ? power_edges(x, y, result) : result;
}

// ---- float32 through float64 --------------------------------------------------------------------

// x^y for positive normal x with a relative error near 2^-31; y log2 x beyond reach is clamped.
LUMUS_INLINE f64v power_for_f32(f64v x, f64v y) {
  const f64v exponent = clamp(y * log2_for_f32(x), -200.0, 200.0);
  const f64v n = (exponent + kRoundF64) - kRoundF64;
  const f64v r = exponent - n;
  return fma(polynomial(r, kExp2InF64), r, f64_constant(1.0)) * power_of_two(n);
}

// A subnormal float32 is a normal float64.
LUMUS_INLINE f32v pow(f32v x, f32v y) {
  const F64Pair wide_x = widen(absolute(x)), wide_y = widen(y);
  const f32v result =
      narrow(power_for_f32(wide_x.hi, wide_y.hi), power_for_f32(wide_x.lo, wide_y.lo));
  const bool unusual = any(~(x > 0.0f) | ~is_finite(x) | ~is_finite(y));
  return __builtin_expect(unusual, 0) ? power_edges(x, y, result) : result;
}

}  // namespace lumus::LUMUS_ISA
