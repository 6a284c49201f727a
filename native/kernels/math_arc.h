// asin, acos, atan, atan2, hypot.
//
// asin(x) = x + x^3 P(x^2) up to 1/2; beyond, pi/2 - 2 asin(s) with s = sqrt((1 - x) / 2).
// atan(n / d) = b + t + t^3 P(t^2), where b is 0, pi/4 or pi/2 and t = n / d, (n - d) / (n + d) or
// -d / n, so that |t| is at most tan(pi / 8). What rounding a root, a quotient or pi loses is
// carried in a second number. float32 runs in float64, which needs none of that.
#pragma once

#include "kernels/math_basic.h"
#include "kernels/math_coefficients.h"

namespace lumus::LUMUS_ISA {

constexpr double kHalfPi = 0x1.921fb54442d18p+0;
constexpr double kHalfPiLow = 0x1.1a62633145c07p-54;
constexpr double kTanEighthPi = 0x1.a827999fcef32p-2;

// The root of x in two parts, for finite x that is not tiny.
LUMUS_INLINE F64Pair sqrt_pair(f64v x) {
  const f64v root = sqrt(x);
  const F64Pair square = two_product(root, root);
  const f64v rest = (x - square.hi) - square.lo;
  return {root, x == 0.0 ? x : rest / (root + root)};
}

// `base` - (x + tail) for |x| <= base, with base in two parts.
LUMUS_INLINE f64v from_base(double base, double base_low, f64v x, f64v tail) {
  const F64Pair head = fast_two_sum(f64_constant(base), -x);
  return head.hi + (head.lo + (base_low - tail));
}

// asin(s) = s + tail, where s is |x| or, beyond 1/2, the root.
struct F64Arc {
  i64v is_large;
  f64v s, tail;
};
LUMUS_INLINE F64Arc reduce_arc(f64v x) {
  const f64v a = absolute(x);
  const i64v is_large = a > 0.5;
  const F64Pair root = sqrt_pair(0.5 - 0.5 * a);
  const f64v s = is_large ? root.hi : a;
  const f64v z = is_large ? 0.5 - 0.5 * a : a * a;
  const f64v cubic = polynomial(z, kAsinF64) * (z * s);
  return {is_large, s, is_large ? cubic + root.lo : cubic};
}

LUMUS_INLINE f64v asin(f64v x) {
  const F64Arc arc = reduce_arc(x);
  const f64v large = from_base(kHalfPi, kHalfPiLow, 2.0 * arc.s, 2.0 * arc.tail);
  return copysign(arc.is_large ? large : arc.s + arc.tail, x);
}
LUMUS_INLINE f64v acos(f64v x) {
  const F64Arc arc = reduce_arc(x);
  const f64v small = from_base(kHalfPi, kHalfPiLow, x, copysign(arc.tail, x));
  const f64v twice = 2.0 * arc.s, twice_tail = 2.0 * arc.tail;
  const f64v left = from_base(2.0 * kHalfPi, 2.0 * kHalfPiLow, twice, twice_tail);
  return arc.is_large ? (x < 0.0 ? left : twice + twice_tail) : small;
}

// atan(n / d) in two parts, for n >= 0 and d >= 0 that are not both 0, below 2^1020.
LUMUS_INLINE F64Pair atan_of_ratio(f64v n, f64v d) {
  const i64v is_steep = n * kTanEighthPi > d;
  const i64v is_middle = (n > d * kTanEighthPi) & ~is_steep;
  const f64v zero = f64_constant(0.0);
  const F64Pair difference = two_sum(n, -d), sum = two_sum(n, d);
  const f64v top = is_steep ? -d : (is_middle ? difference.hi : n);
  const f64v top_low = is_middle ? difference.lo : zero;
  const f64v bottom = is_steep ? n : (is_middle ? sum.hi : d);
  const f64v bottom_low = is_middle ? sum.lo : zero;
  const f64v quarters = is_steep ? f64_constant(1.0) : (is_middle ? f64_constant(0.5) : zero);
  const f64v t = top / bottom;
  const F64Pair back = two_product(t, bottom);
  const f64v rest = ((top - back.hi) - back.lo) + (top_low - t * bottom_low);
  const f64v z = t * t;
  const f64v tail = fma(polynomial(z, kAtanF64), z * t, rest / bottom) + quarters * kHalfPiLow;
  const F64Pair head = fast_two_sum(quarters * kHalfPi, t);
  return {head.hi, head.lo + tail};
}

// Beyond 2^64 the result is pi/2 to the last bit.
LUMUS_INLINE f64v atan(f64v x) {
  const F64Pair result = atan_of_ratio(at_most(absolute(x), 0x1p64), f64_constant(1.0));
  return copysign(result.hi + result.lo, x);
}

// Infinities count as 1 beside 0 (or beside each other), and 0 / 0 as 0.
template <class V>
LUMUS_INLINE void settle_ratio(V* n, V* d) {
  const V zero = V{}, one = V{} + 1;
  const auto n_is_infinite = is_inf(*n), d_is_infinite = is_inf(*d);
  const V above = n_is_infinite ? one : (d_is_infinite ? zero : *n);
  const V below = d_is_infinite ? one : (n_is_infinite ? zero : *d);
  *n = above;
  *d = (above == zero) & (below == zero) ? one : below;
}

LUMUS_INLINE f64v atan2(f64v y, f64v x) {
  f64v n = absolute(y), d = absolute(x);
  settle_ratio(&n, &d);
  // The exact products and sums need room at both ends.
  const f64v largest = n > d ? n : d;
  const f64v factor = largest > 0x1p980 ? f64_constant(0x1p-40) : f64_constant(1.0);
  const f64v scale = largest < 0x1p-900 ? f64_constant(0x1p100) : factor;
  const F64Pair right = atan_of_ratio(n * scale, d * scale);
  const f64v left = from_base(2.0 * kHalfPi, 2.0 * kHalfPiLow, right.hi, right.lo);
  const f64v result = sign_bit(x) != 0 ? left : right.hi + right.lo;
  return is_nan(x) | is_nan(y) ? x + y : copysign(result, y);
}

// Scaled by a power of two where a square would overflow or lose bits.
LUMUS_INLINE f64v hypot(f64v x, f64v y) {
  const f64v a = absolute(x), b = absolute(y);
  const f64v largest = a > b ? a : b;
  const f64v one = f64_constant(1.0);
  const f64v up = largest < 0x1p-450 ? f64_constant(0x1p600) : one;
  const f64v factor = largest > 0x1p500 ? f64_constant(0x1p-600) : up;
  const f64v back = largest > 0x1p500 ? f64_constant(0x1p600)
                                      : (largest < 0x1p-450 ? f64_constant(0x1p-600) : one);
  const f64v p = a * factor, q = b * factor;
  const f64v result = sqrt(fma(p, p, q * q)) * back;
  return (a == kInfinityF64) | (b == kInfinityF64) ? f64_constant(kInfinityF64) : result;
}

// ---- float32 through float64 --------------------------------------------------------------------

LUMUS_INLINE f64v asin_for_f32(f64v x) {
  const f64v a = absolute(x);
  const i64v is_large = a > 0.5;
  const f64v half = 0.5 - 0.5 * a;
  const f64v z = is_large ? half : a * a;
  const f64v s = is_large ? sqrt(half) : a;
  const f64v arc = fma(polynomial(z, kAsinInF64), z * s, s);
  return copysign(is_large ? kHalfPi - 2.0 * arc : arc, x);
}
// Near 1 from the root: pi/2 - asin(x) would cancel there.
LUMUS_INLINE f64v acos_for_f32(f64v x) {
  const f64v a = absolute(x);
  const i64v is_large = a > 0.5;
  const f64v half = 0.5 - 0.5 * a;
  const f64v z = is_large ? half : a * a;
  const f64v s = is_large ? sqrt(half) : a;
  const f64v arc = fma(polynomial(z, kAsinInF64), z * s, s);
  const f64v large = x < 0.0 ? 2.0 * (kHalfPi - arc) : 2.0 * arc;
  return is_large ? large : kHalfPi - copysign(arc, x);
}

LUMUS_INLINE f64v atan_of_ratio_for_f32(f64v n, f64v d) {
  const i64v is_steep = n * kTanEighthPi > d;
  const i64v is_middle = (n > d * kTanEighthPi) & ~is_steep;
  const f64v base = is_middle ? f64_constant(0.5 * kHalfPi) : f64_constant(0.0);
  const f64v t =
      (is_steep ? -d : (is_middle ? n - d : n)) / (is_steep ? n : (is_middle ? n + d : d));
  const f64v z = t * t;
  return (is_steep ? f64_constant(kHalfPi) : base) + fma(polynomial(z, kAtanInF64), z * t, t);
}

LUMUS_THROUGH_F64(asin, asin_for_f32)
LUMUS_THROUGH_F64(acos, acos_for_f32)

LUMUS_INLINE f32v atan(f32v x) {
  const F64Pair wide = widen(at_most(absolute(x), 0x1p64f));
  const f64v one = f64_constant(1.0);
  const f64v lower = atan_of_ratio_for_f32(wide.hi, one);
  return copysign(narrow(lower, atan_of_ratio_for_f32(wide.lo, one)), x);
}

LUMUS_INLINE f32v atan2(f32v y, f32v x) {
  f32v n = absolute(y), d = absolute(x);
  settle_ratio(&n, &d);
  const F64Pair wide_n = widen(n), wide_d = widen(d), wide_x = widen(x);
  const auto turned = [](f64v arc, f64v of) {
    return sign_bit(of) != 0 ? 2.0 * kHalfPi - arc : arc;
  };
  const f64v lower = turned(atan_of_ratio_for_f32(wide_n.hi, wide_d.hi), wide_x.hi);
  const f64v upper = turned(atan_of_ratio_for_f32(wide_n.lo, wide_d.lo), wide_x.lo);
  return is_nan(x) | is_nan(y) ? x + y : copysign(narrow(lower, upper), y);
}

// The sum of squares is exact, or nearly so.
LUMUS_INLINE f32v hypot(f32v x, f32v y) {
  const F64Pair p = widen(x), q = widen(y);
  const f32v result =
      narrow(sqrt(fma(p.hi, p.hi, q.hi * q.hi)), sqrt(fma(p.lo, p.lo, q.lo * q.lo)));
  return is_inf(x) | is_inf(y) ? f32_constant(kInfinityF32) : result;
}

}  // namespace lumus::LUMUS_ISA
