// erf, erfc, erfinv.
//
// erf, float32: 1 - exp(-(|x| + |x| P(|x|))); float64: x + x P(x^2) up to 1, then 1 - erfc(|x|).
// erfc(|x|) = exp(-x^2) (1 + P(t)) / (1 + 2|x|) with t = (|x| - 2.5) / (|x| + 2.5): one polynomial
// from 0 to the underflow; x^2 is carried in two parts, since exp would magnify its rounding.
// erfinv(x) = x P(w), w = -log(1 - x^2), in three pieces (in the root of w from 6.25 up).
#pragma once

#include "kernels/math_basic.h"
#include "kernels/math_coefficients.h"
#include "kernels/math_exp.h"
#include "kernels/math_log.h"

namespace lumus::LUMUS_ISA {

LUMUS_INLINE f64v erfc_of_absolute(f64v a) {
  a = at_most(a, 28.0);
  const F64Pair square = two_product(a, a);
  const f64v t = (a - 2.5) / (a + 2.5);
  const f64v inverse = 1.0 / fma(a, f64_constant(2.0), f64_constant(1.0));
  const f64v ratio = fma(polynomial(t, kErfcF64), inverse, inverse);
  const F64Reduced part = reduce_by_ln2(-square.hi, -square.lo);
  const f64v tail = fma(polynomial(part.r, kExpm1F64), part.r * part.r, part.r_low) + part.r;
  return scale(fma(tail, ratio, ratio), part.n);  // scaled last: a subnormal result rounds once
}

LUMUS_INLINE f64v erfc(f64v x) {
  const f64v a = absolute(x);
  const f64v tail = erfc_of_absolute(a);
  const f64v large = x < 0.0 ? 2.0 - tail : tail;
  const f64v small = 1.0 - fma(polynomial(x * x, kErfF64), x, x);
  return a < 0.5 ? small : large;
}
LUMUS_INLINE f64v erf(f64v x) {
  const f64v a = absolute(x);
  const f64v large = 1.0 - erfc_of_absolute(a);
  const f64v small = fma(polynomial(a * a, kErfF64), a, a);
  return copysign(a < 1.0 ? small : large, x);
}

// 1 - exp(p) with p = log(erfc(|x|)); as -expm1(p) it is right next to zero, too.
template <Float32 F>
LUMUS_INLINE F erf(F x) {
  const F a = at_most(absolute(x), 4.0f);
  const Float32Reduced<F> part = reduce_by_ln2(-fma(polynomial(a, kLogErfcF32), a, a));
  const F power = power_of_two(part.n);
  const F tail = fma(polynomial(part.r, kExpm1F32), part.r * part.r, part.r);
  return copysign(fma(-power, tail, 1.0f - power), x);
}

template <Float32 F>
LUMUS_INLINE F erfc(F x) {
  const F a = at_most(absolute(x), 10.5f);
  const F high = from_bits(bits(a) & static_cast<std::int32_t>(0xfffff000));  // 12 bits
  const F low = a - high;
  const Float32Pair<F> square = fast_two_sum(high * high, low * (a + high));
  const F t = (a - 2.5f) / (a + 2.5f);
  const F inverse = 1.0f / fma(a, constant<F>(2.0f), constant<F>(1.0f));
  const F ratio = fma(polynomial(t, kErfcF32), inverse, inverse);
  const Float32Reduced<F> part = reduce_by_ln2(-square.hi, -square.lo);
  const F tail = fma(polynomial(part.r, kExpm1F32), part.r * part.r, part.r_low) + part.r;
  const F tail_scaled = scale(fma(tail, ratio, ratio), part.n);
  const F large = choose(x < 0.0f, 2.0f - tail_scaled, tail_scaled);
  const F small = 1.0f - fma(polynomial(x * x, kErfF32), x, x);
  return choose(a < 0.5f, small, large);
}

// Vectors with a lane beyond 6.25 or 16 pay for the pieces there; others do not.
LUMUS_INLINE f64v erfinv(f64v x) {
  const f64v a = absolute(x);
  const f64v w = -log((1.0 - a) * (1.0 + a));
  f64v ratio = polynomial(w - 3.125, kErfinvNear);
  if (any(w > 6.25)) {
    const f64v root = sqrt(w);
    ratio = w > 6.25 ? polynomial(root - 3.25, kErfinvFar) : ratio;
    if (any(w > 16.0)) ratio = w > 16.0 ? polynomial(root - 5.0, kErfinvFarther) : ratio;
  }
  const f64v edge = a == 1.0 ? f64_constant(kInfinityF64) : f64_constant(kNanF64);
  return a < 1.0 ? x * ratio : copysign(edge, x);
}
// In float32 1 - |x| is at least 2^-24 or 0, so that w stays below 16.
LUMUS_INLINE f64v erfinv_for_f32(f64v x) {
  const f64v a = absolute(x);
  const f64v w = -log_for_f32((1.0 - a) * (1.0 + a));
  f64v ratio = polynomial(w - 3.125, kErfinvNearInF64);
  if (any(w > 6.25)) {
    ratio = w > 6.25 ? polynomial(sqrt(w) - 3.25, kErfinvFarInF64) : ratio;
  }
  const f64v edge = a == 1.0 ? f64_constant(kInfinityF64) : f64_constant(kNanF64);
  return a < 1.0 ? x * ratio : copysign(edge, x);
}
LUMUS_THROUGH_F64(erfinv, erfinv_for_f32)

}  // namespace lumus::LUMUS_ISA
