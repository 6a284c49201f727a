// Conversions between element types, a whole vector at a time.
//
//   half_to_float, bfloat_to_float: u16h -> f32v (exact; NaN stays NaN)
//   float_to_half, float_to_bfloat: f32v -> u16h (nearest even, overflow to infinity, subnormal
//     results right, NaN stays NaN)
//   double_to_half, double_to_bfloat: two f64v (lower and upper lanes) -> u16h, rounded once
//   truncate_to<Int>(f32v or f64v) -> as many lanes of Int: towards zero, saturated, NaN gives 0
//   widen(f32v), narrow(lower, upper): math_basic.h
//
// u16h holds the 16-bit patterns of as many elements as f32v has lanes.
#pragma once

#include <cstdint>

#include "kernels/math_basic.h"

namespace lumus::LUMUS_ISA {

template <class T, std::int64_t N>
struct LanesOf {
  typedef T type __attribute__((vector_size(sizeof(T) * N)));
};
// N lanes of T, whatever the width of the registers.
template <class T, std::int64_t N>
using Lanes = typename LanesOf<T, N>::type;

using u16h = Lanes<std::uint16_t, kLanes<float>>;

// ---- float16 ------------------------------------------------------------------------------------

LUMUS_INLINE f32v half_to_float(u16h half) {
#if defined(__AVX512F__)
  return _mm512_maskz_cvtph_ps(kAllF32, reinterpret_cast<__m256i>(half));
#elif defined(__F16C__)
  return _mm256_cvtph_ps(reinterpret_cast<__m128i>(half));
#else
  const u32v wide = __builtin_convertvector(half, u32v);
  const u32v size = (wide & 0x7fff) << 13;
  // As a float32 the pattern is 2^112 too small, subnormals included; the largest exponent stands
  // for infinity and NaN in both formats.
  const i32v scaled = bits(from_bits(reinterpret_cast<i32v>(size)) * 0x1p112f);
  const u32v special = size >= (0x7c00u << 13) ? size | 0x7f800000 : u32v{};
  return from_bits(scaled | reinterpret_cast<i32v>(special | (wide & 0x8000) << 16));
#endif
}

LUMUS_INLINE u16h float_to_half(f32v x) {
#if defined(__AVX512F__)
  return reinterpret_cast<u16h>(_mm512_maskz_cvtps_ph(kAllF32, x, 0));
#elif defined(__F16C__)
  return reinterpret_cast<u16h>(_mm256_cvtps_ph(x, 0));
#else
  const f32v absolute_x = absolute(x);
  const u32v size = reinterpret_cast<u32v>(absolute_x);
  const u32v normal = ((size + 0xfff + (size >> 13 & 1)) >> 13) - (112u << 10);
  // The last place of 1/2 is 2^-24, that of a subnormal half: the sum rounds to it.
  const u32v subnormal = reinterpret_cast<u32v>(absolute_x + 0.5f) - 0x3f000000u;
  u32v result = size < 0x38800000u ? subnormal : normal;
  result = size >= 0x477ff000u ? u32v{} + 0x7c00u : result;  // 65520 and beyond
  result = size > 0x7f800000u ? 0x7e00u | (size >> 13 & 0x3ff) : result;
  result |= reinterpret_cast<u32v>(sign_bit(x)) >> 16;
  return __builtin_convertvector(result, u16h);
#endif
}

// ---- bfloat16 -----------------------------------------------------------------------------------

LUMUS_INLINE f32v bfloat_to_float(u16h x) {
  return reinterpret_cast<f32v>(__builtin_convertvector(x, u32v) << 16);
}

LUMUS_INLINE u16h float_to_bfloat(f32v x) {
  const u32v pattern = reinterpret_cast<u32v>(x);
  const u32v nearest = (pattern + 0x7fff + (pattern >> 16 & 1)) >> 16;
  const u32v quiet = pattern >> 16 | 0x40;
  const u32v result = (pattern & 0x7fffffff) > 0x7f800000u ? quiet : nearest;
  return __builtin_convertvector(result, u16h);
}

// ---- float64 to the 16-bit types ----------------------------------------------------------------

// float32 by rounding to odd: an inexact result gets an odd last bit, so that rounding it again to
// fewer bits gives what rounding once would.
LUMUS_INLINE f32v narrow_to_odd(f64v lower, f64v upper) {
  using Half = Lanes<std::int32_t, kLanes<double>>;
  const f32v nearest = narrow(lower, upper);
  const F64Pair back = widen(nearest);
  // +1 where the nearest is too small in magnitude, -1 where it is too large, 0 where exact or NaN
  const i64v lower_step =
      (absolute(back.hi) > absolute(lower)) - (absolute(back.hi) < absolute(lower));
  const i64v upper_step =
      (absolute(back.lo) > absolute(upper)) - (absolute(back.lo) < absolute(upper));
  const Half steps[2] = {__builtin_convertvector(lower_step, Half),
                         __builtin_convertvector(upper_step, Half)};
  i32v step;
  std::memcpy(&step, steps, sizeof step);
  const i32v even = (bits(nearest) & 1) == 0;
  return from_bits(bits(nearest) + (step & even));
}

LUMUS_INLINE u16h double_to_half(f64v lower, f64v upper) {
  return float_to_half(narrow_to_odd(lower, upper));
}
LUMUS_INLINE u16h double_to_bfloat(f64v lower, f64v upper) {
  return float_to_bfloat(narrow_to_odd(lower, upper));
}

// ---- to integers --------------------------------------------------------------------------------

template <class Int>
LUMUS_INLINE Lanes<Int, kLanes<double>> truncate_to(f64v x) {
  using Result = Lanes<Int, kLanes<double>>;
  x = is_nan(x) ? f64v{} : x;
  if constexpr (sizeof(Int) == 8) {
    // The largest int64 is no float64: what is not below 2^63 is filled in behind the conversion.
    const i64v above = x >= 0x1p63;
    const i64v inside = __builtin_convertvector(clamp(x, -0x1p63, 0x1.fffffffffffffp62), i64v);
    return above ? i64v{} + INT64_MAX : inside;
  } else {
    using Wide = Lanes<std::int32_t, kLanes<double>>;
    constexpr double low =
        Int(-1) < Int(0) ? -static_cast<double>(1ull << (8 * sizeof(Int) - 1)) : 0.0;
    constexpr double high = low == 0.0 ? 255.0 : -low - 1.0;
    return __builtin_convertvector(__builtin_convertvector(clamp(x, low, high), Wide), Result);
  }
}

template <class Int>
LUMUS_INLINE Lanes<Int, kLanes<float>> truncate_to(f32v x) {
  using Result = Lanes<Int, kLanes<float>>;
  if constexpr (sizeof(Int) == 8) {
    const F64Pair wide = widen(x);
    const i64v halves[2] = {truncate_to<Int>(wide.hi), truncate_to<Int>(wide.lo)};
    Result result;
    std::memcpy(&result, halves, sizeof result);
    return result;
  } else {
    x = is_nan(x) ? f32v{} : x;
    if constexpr (sizeof(Int) == 4) {
      const i32v above = x >= 0x1p31f;
      const i32v inside = __builtin_convertvector(clamp(x, -0x1p31f, 0x1.fffffep30f), i32v);
      return above ? i32v{} + INT32_MAX : inside;
    } else {
      constexpr float low =
          Int(-1) < Int(0) ? -static_cast<float>(1u << (8 * sizeof(Int) - 1)) : 0.0f;
      constexpr float high = low == 0.0f ? 255.0f : -low - 1.0f;
      return __builtin_convertvector(__builtin_convertvector(clamp(x, low, high), i32v), Result);
    }
  }
}

}  // namespace lumus::LUMUS_ISA
