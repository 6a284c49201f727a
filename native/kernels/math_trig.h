// sin, cos, tan.
//
// x = n pi/2 + (r + r_low). Up to 2^20 the multiple of pi/2 is taken off in four parts, the first
// three of 33 bits, so that their products with n are exact. A vector with a larger lane goes
// through a scalar reduction which multiplies by the bits of 2/pi that matter (Payne and Hanek).
// float32 runs in float64 from end to end.
#pragma once

#include "kernels/math_basic.h"
#include "kernels/math_coefficients.h"
#include "kernels/math_exp.h"
#include "kernels/math_log.h"

namespace lumus::LUMUS_ISA {

constexpr double kHalfPiParts[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69,
                                   0x1.b839a252049c1p-104};
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
constexpr double kLargestFastAngle = 0x1p20;

struct F64Angle {
  i64v quadrant;  // only its last two bits count
  f64v r, r_low;
};

// One angle of any finite size: |x| = mantissa 2^(exponent), times 2/pi in 192-bit fixed point
// behind the bits that are multiples of four quadrants.
struct ScalarAngle {
  std::int64_t quadrant;
  double r, r_low;
};
[[maybe_unused]] static ScalarAngle reduce_large_angle(double x) {
  std::int64_t pattern;
  std::memcpy(&pattern, &x, sizeof pattern);
  const int exponent = static_cast<int>(pattern >> 52 & 0x7ff) - 1075;
  const std::uint64_t mantissa =
      (static_cast<std::uint64_t>(pattern) & 0xfffffffffffff) | 1ull << 52;
  const int skipped = exponent < 2 ? 0 : exponent - 2;  // bits of 2/pi
  const int extra = exponent - skipped;                 // at most 2, may be negative
  const int word = skipped / 64, shift = skipped % 64;
  std::uint64_t window[3];
  for (int i = 0; i < 3; ++i)
    window[i] = shift == 0 ? kTwoOverPiBits[word + i]
                           : kTwoOverPiBits[word + i] << shift |
                                 kTwoOverPiBits[word + i + 1] >> (64 - shift);
  // mantissa * 0.window, kept as 64 bits before and 192 behind the point
  using Wide = unsigned __int128;
  const Wide low = static_cast<Wide>(mantissa) * window[2];
  const Wide middle = static_cast<Wide>(mantissa) * window[1] + (low >> 64);
  const Wide high = static_cast<Wide>(mantissa) * window[0] + (middle >> 64);
  std::uint64_t whole = static_cast<std::uint64_t>(high >> 64);
  std::uint64_t fraction[3] = {static_cast<std::uint64_t>(high), static_cast<std::uint64_t>(middle),
                               static_cast<std::uint64_t>(low)};
  // times 2^extra (the fast path takes what has extra < -51)
  if (extra > 0) {
    whole = whole << extra | fraction[0] >> (64 - extra);
    fraction[0] = fraction[0] << extra | fraction[1] >> (64 - extra);
    fraction[1] = fraction[1] << extra | fraction[2] >> (64 - extra);
    fraction[2] <<= extra;
  } else if (extra < 0) {
    const int down = -extra;
    fraction[2] = fraction[2] >> down | fraction[1] << (64 - down);
    fraction[1] = fraction[1] >> down | fraction[0] << (64 - down);
    fraction[0] = fraction[0] >> down | whole << (64 - down);
    whole >>= down;
  }
  // The nearest integer leaves a signed fraction; its size is at most 1/2.
  const bool up = fraction[0] >> 63 != 0;
  std::int64_t quadrant = static_cast<std::int64_t>(whole + (up ? 1 : 0));
  if (up) {
    fraction[2] = ~fraction[2];
    fraction[1] = ~fraction[1];
    fraction[0] = ~fraction[0];
  }
  double hi = static_cast<double>(fraction[0]) * 0x1p-64;
  double parts[3] = {
      static_cast<double>(fraction[0] & ~0x7ffull) * 0x1p-64,
      static_cast<double>((fraction[0] & 0x7ffull) << 42 | fraction[1] >> 22) * 0x1p-106,
      static_cast<double>((fraction[1] & 0x3fffff) << 31 | fraction[2] >> 33) * 0x1p-159};
  hi = parts[0] + parts[1];
  double lo = parts[1] - (hi - parts[0]);
  const double sum = hi + (lo + parts[2]);
  lo = (hi - sum) + lo + parts[2];
  hi = sum;
  // times pi/2 in two parts
  constexpr double half_pi = 0x1.921fb54442d18p+0, half_pi_low = 0x1.1a62633145c07p-54;
  const double r = hi * half_pi;
  const double r_low = __builtin_fma(hi, half_pi, -r) + (hi * half_pi_low + lo * half_pi);
  const bool negative = (pattern < 0) != up;
  if (pattern < 0) quadrant = -quadrant;
  return {quadrant, negative ? -r : r, negative ? -r_low : r_low};
}

[[maybe_unused]] static __attribute__((noinline, cold)) void reduce_large_angles(const f64v* x,
                                                                                 F64Angle* angle) {
  for (std::int64_t lane = 0; lane < kLanes<double>; ++lane) {
    const double value = (*x)[lane];
    const double size = __builtin_fabs(value);
    if (!(size > kLargestFastAngle)) continue;
    if (size < kInfinityF64) {
      const ScalarAngle one = reduce_large_angle(value);
      angle->quadrant[lane] = one.quadrant;
      angle->r[lane] = one.r;
      angle->r_low[lane] = one.r_low;
    } else {
      angle->r[lane] = kNanF64;
      angle->r_low[lane] = 0.0;
    }
  }
}

LUMUS_INLINE F64Angle reduce_angle(f64v x) {
  const f64v shifted = fma(x, f64_constant(kTwoOverPi), f64_constant(kRoundF64));
  const f64v n = shifted - kRoundF64;
  const f64v first = x - n * kHalfPiParts[0];
  const F64Pair second = two_sum(first, -n * kHalfPiParts[1]);
  const F64Pair third = two_sum(second.hi, -n * kHalfPiParts[2]);
  const f64v low = second.lo + third.lo - n * kHalfPiParts[3];
  const F64Pair sum = fast_two_sum(third.hi, low);
  F64Angle angle = {bits(shifted), sum.hi, sum.lo};
  if (any(absolute(x) > kLargestFastAngle)) reduce_large_angles(&x, &angle);
  return angle;
}

struct F64SinCos {
  f64v sine, cosine;
};
LUMUS_INLINE F64SinCos sin_and_cos(F64Angle angle) {
  const f64v r = angle.r;
  const f64v z = r * r;
  const f64v half_z = 0.5 * z;
  // r + r_low (1 - z/2) + r^3 P(z); |r_low| is below half an ulp of r
  const f64v sine = r + fma(polynomial(z, kSinF64), z * r, angle.r_low * (1.0 - half_z));
  const f64v flat = 1.0 - half_z;
  const f64v rest = ((1.0 - flat) - half_z) + fma(polynomial(z, kCosF64), z * z, -r * angle.r_low);
  return {sine, flat + rest};
}

LUMUS_INLINE f64v sin_or_cos(F64Angle angle, i64v quadrant) {
  const F64SinCos both = sin_and_cos(angle);
  const f64v result = (quadrant & 1) != 0 ? both.cosine : both.sine;
  return from_bits(bits(result) ^ (quadrant >> 1 << 63));
}

LUMUS_INLINE f64v sin(f64v x) {
  const F64Angle angle = reduce_angle(x);
  return x == 0.0 ? x : sin_or_cos(angle, angle.quadrant);
}
LUMUS_INLINE f64v cos(f64v x) {
  const F64Angle angle = reduce_angle(x);
  return sin_or_cos(angle, angle.quadrant + 1);
}

// tan(x + pi/2) = -1 / tan(x).
LUMUS_INLINE f64v tan(f64v x) {
  const F64Angle angle = reduce_angle(x);
  const F64SinCos both = sin_and_cos(angle);
  const i64v is_odd = (angle.quadrant & 1) != 0;
  const f64v result = (is_odd ? -both.cosine : both.sine) / (is_odd ? both.sine : both.cosine);
  return x == 0.0 ? x : result;
}

// For float32 results: pi/2 in two parts (33 + 53 bits) is enough.
LUMUS_INLINE F64Angle reduce_angle_for_f32(f64v x) {
  const f64v shifted = fma(x, f64_constant(kTwoOverPi), f64_constant(kRoundF64));
  const f64v n = shifted - kRoundF64;
  const f64v r = (x - n * kHalfPiParts[0]) - n * 0x1.0b4611a626331p-34;
  F64Angle angle = {bits(shifted), r, f64v{}};
  if (any(absolute(x) > kLargestFastAngle)) reduce_large_angles(&x, &angle);
  return angle;
}

LUMUS_INLINE F64SinCos sin_and_cos_for_f32(F64Angle angle) {
  const f64v z = angle.r * angle.r;
  const f64v sine = fma(polynomial(z, kSinInF64), z * angle.r, angle.r);
  const f64v cosine =
      fma(polynomial(z, kCosInF64), z * z, fma(z, f64_constant(-0.5), f64_constant(1.0)));
  return {sine, cosine};
}

LUMUS_INLINE f64v sin_or_cos_for_f32(f64v x, std::int64_t turn) {
  const F64Angle angle = reduce_angle_for_f32(x);
  const i64v quadrant = angle.quadrant + turn;
  const F64SinCos both = sin_and_cos_for_f32(angle);
  const f64v result = (quadrant & 1) != 0 ? both.cosine : both.sine;
  return from_bits(bits(result) ^ (quadrant >> 1 << 63));
}

LUMUS_INLINE f64v tan_for_f32(f64v x) {
  const F64Angle angle = reduce_angle_for_f32(x);
  const F64SinCos both = sin_and_cos_for_f32(angle);
  const i64v is_odd = (angle.quadrant & 1) != 0;
  return (is_odd ? -both.cosine : both.sine) / (is_odd ? both.sine : both.cosine);
}

LUMUS_INLINE f32v sin(f32v x) {
  const F64Pair wide = widen(x);
  const f32v result = narrow(sin_or_cos_for_f32(wide.hi, 0), sin_or_cos_for_f32(wide.lo, 0));
  return x == 0.0f ? x : result;
}
LUMUS_INLINE f32v cos(f32v x) {
  const F64Pair wide = widen(x);
  return narrow(sin_or_cos_for_f32(wide.hi, 1), sin_or_cos_for_f32(wide.lo, 1));
}
LUMUS_INLINE f32v tan(f32v x) {
  const F64Pair wide = widen(x);
  const f32v result = narrow(tan_for_f32(wide.hi), tan_for_f32(wide.lo));
  return x == 0.0f ? x : result;
}

}  // namespace lumus::LUMUS_ISA
