// sinh, cosh, asinh, acosh, atanh.
//
// sinh(x) = x + x^3 P(x^2) up to 1, beyond it from h = e^|x| / 2 in two parts: h - 1 / (4 h).
// The inverses are logarithms of 1 + u with u in two parts, which near u = 0 lose nothing:
// asinh: u = x + x^2 / (1 + sqrt(1 + x^2)); acosh: u = t + sqrt(t (t + 2)), t = x - 1;
// atanh: u = 2 x / (1 - x), halved. float32 runs in float64.
#pragma once

#include "kernels/math_arc.h"
#include "kernels/math_basic.h"
#include "kernels/math_coefficients.h"
#include "kernels/math_exp.h"
#include "kernels/math_log.h"

namespace lumus::LUMUS_ISA {

// e^a / 2 in two parts, for a >= 0; infinite where cosh(a) is.
LUMUS_INLINE F64Pair half_exp_pair(f64v a) {
  const F64Reduced part = reduce_by_ln2(at_most(a, 712.0));
  const f64v tail = fma(polynomial(part.r, kExpm1F64), part.r * part.r, part.r_low);
  const F64Pair head = fast_two_sum(f64_constant(1.0), part.r);
  const F64Pair sum = fast_two_sum(head.hi, head.lo + tail);
  const f64v n = part.n - 1.0;
  return {scale(sum.hi, n), scale(sum.lo, n)};
}

LUMUS_INLINE f64v sinh(f64v x) {
  const f64v a = absolute(x);
  const F64Pair half = half_exp_pair(a);
  const F64Pair head = fast_two_sum(half.hi, -0.25 / half.hi);
  const f64v large = half.hi == kInfinityF64 ? half.hi : head.hi + (head.lo + half.lo);
  const f64v square = a * a;
  const f64v small = fma(polynomial(square, kSinhF64), square * a, a);
  return copysign(a < 1.0 ? small : large, x);
}
LUMUS_INLINE f64v cosh(f64v x) {
  const F64Pair half = half_exp_pair(absolute(x));
  return half.hi == kInfinityF64 ? half.hi : half.hi + (0.25 / half.hi + half.lo);
}

LUMUS_INLINE f64v asinh(f64v x) {
  const f64v a = absolute(x);
  const i64v is_large = a > 0x1p28;
  const f64v curve = a * a / (1.0 + sqrt(fma(a, a, f64_constant(1.0))));
  const F64Pair u = fast_two_sum(a, curve);
  const F64Pair sum = two_sum(u.hi, f64_constant(1.0));
  // log(2 a) beyond 2^28
  const f64v one = f64_constant(1.0), zero = f64_constant(0.0);
  const f64v result =
      log_of_pair(is_large ? a : sum.hi, is_large ? zero : sum.lo + u.lo, is_large ? one : zero);
  return a < 0x1p-30 ? x : copysign(result, x);
}
LUMUS_INLINE f64v acosh(f64v x) {
  const i64v is_large = x > 0x1p28;
  const f64v t = x - 1.0;
  const F64Pair square = two_product(t, t);
  const F64Pair inside = two_sum(t + t, square.hi);
  const F64Pair root = sqrt_pair(inside.hi);
  const f64v root_low = root.hi == 0.0 ? root.hi : 0.5 * (inside.lo + square.lo) / root.hi;
  const F64Pair u = two_sum(root.hi, t);
  const F64Pair sum = two_sum(u.hi, f64_constant(1.0));
  const f64v low = sum.lo + (u.lo + (root.lo + root_low));
  const f64v one = f64_constant(1.0), zero = f64_constant(0.0);
  const f64v result =
      log_of_pair(is_large ? x : sum.hi, is_large ? zero : low, is_large ? one : zero);
  return x < 1.0 ? f64_constant(kNanF64) : result;
}
LUMUS_INLINE f64v atanh(f64v x) {
  const f64v a = absolute(x);
  const F64Pair divisor = two_sum(f64_constant(1.0), -a);
  const f64v u = (a + a) / divisor.hi;
  const F64Pair back = two_product(u, divisor.hi);
  const f64v u_low = (((a + a) - back.hi) - back.lo - u * divisor.lo) / divisor.hi;
  const F64Pair sum = two_sum(u, f64_constant(1.0));
  const f64v result = 0.5 * log_of_pair(sum.hi, sum.lo + u_low, f64_constant(0.0));
  const f64v inside = a < 0x1p-30 ? x : copysign(result, x);
  return a == 1.0 ? copysign(f64_constant(kInfinityF64), x) : inside;
}

// ---- float32 through float64 --------------------------------------------------------------------

// e^a for 0 <= a <= 100 with a relative error near 2^-31.
LUMUS_INLINE f64v exp_for_f32(f64v a) {
  const f64v exponent = a * 0x1.71547652b82fep+0;
  const f64v n = (exponent + kRoundF64) - kRoundF64;
  const f64v r = exponent - n;
  return fma(polynomial(r, kExp2InF64), r, f64_constant(1.0)) * power_of_two(n);
}
LUMUS_INLINE f64v sinh_for_f32(f64v x) {
  const f64v a = at_most(absolute(x), 100.0);
  const f64v power = exp_for_f32(a);
  const f64v square = a * a;
  const f64v small = fma(polynomial(square, kSinhInF64), square * a, a);
  return copysign(a < 1.0 ? small : 0.5 * (power - 1.0 / power), x);
}
LUMUS_INLINE f64v cosh_for_f32(f64v x) {
  const f64v power = exp_for_f32(at_most(absolute(x), 100.0));
  return 0.5 * (power + 1.0 / power);
}
// Small arguments by two terms of the series, where 1 + u has lost too much.
LUMUS_INLINE f64v asinh_for_f32(f64v x) {
  const f64v a = absolute(x);
  const f64v result = log_for_f32(a + sqrt(fma(a, a, f64_constant(1.0))));
  const f64v small = a - a * a * a * (1.0 / 6.0);
  return copysign(a < 0x1p-12 ? small : (a < kInfinityF64 ? result : a), x);
}
LUMUS_INLINE f64v acosh_for_f32(f64v x) {
  const f64v t = x - 1.0;
  const f64v result = log_for_f32(x + sqrt(t * (t + 2.0)));
  return x < kInfinityF64 ? (x < 1.0 ? f64_constant(kNanF64) : result) : x;
}
LUMUS_INLINE f64v atanh_for_f32(f64v x) {
  const f64v a = absolute(x);
  const f64v result = 0.5 * log_for_f32((1.0 + a) / (1.0 - a));
  const f64v small = a + a * a * a * (1.0 / 3.0);
  const f64v edge = a == 1.0 ? f64_constant(kInfinityF64) : f64_constant(kNanF64);
  return copysign(a < 0x1p-12 ? small : (a < 1.0 ? result : edge), x);
}
LUMUS_THROUGH_F64(sinh, sinh_for_f32)
LUMUS_THROUGH_F64(cosh, cosh_for_f32)
LUMUS_THROUGH_F64(asinh, asinh_for_f32)
LUMUS_THROUGH_F64(acosh, acosh_for_f32)
LUMUS_THROUGH_F64(atanh, atanh_for_f32)

}  // namespace lumus::LUMUS_ISA
