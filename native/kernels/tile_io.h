// Moving elements between arrays of any dtype and contiguous tiles of a compute type.
//
// Tiles live in the level-1 cache and hold float, double or an integer; arrays may be strided.
// Widening is exact. Narrowing a double to a half type rounds once: the double is first rounded to
// odd in float32, whose extra bits make the second rounding (to nearest even) the right one.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/convert.h"
#include "runtime/dtype.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace lumus::LUMUS_ISA {

struct Float16 {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};
struct Boolean {
  std::uint8_t value;  // 0 or 1
};

LUMUS_INLINE float float_from_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

LUMUS_INLINE std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

LUMUS_INLINE float to_float(Float16 half) {
  // Shifted into place the exponent is 112 too small; a product with 2^112 mends subnormals as
  // well.
  const std::uint32_t magnitude = half.bits & 0x7fffu;
  std::uint32_t bits = bits_of(float_from_bits(magnitude << 13) * 0x1p112f);
  if (magnitude >= 0x7c00u) bits |= 0x7f800000u;
  return float_from_bits(bits | static_cast<std::uint32_t>(half.bits & 0x8000u) << 16);
}

LUMUS_INLINE float to_float(BFloat16 half) {
  return float_from_bits(static_cast<std::uint32_t>(half.bits) << 16);
}

LUMUS_INLINE Float16 to_float16(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t half;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u;
  } else if (magnitude >= 0x477ff000u) {
    half = 0x7c00u;
  } else if (magnitude < 0x38800000u) {
    // A float in [0.5, 1) has the spacing of a subnormal half, so the addition rounds for us.
    half = bits_of(float_from_bits(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    half = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
  }
  return Float16{static_cast<std::uint16_t>(half | sign)};
}

LUMUS_INLINE BFloat16 to_bfloat16(float value) {
  const std::uint32_t bits = bits_of(value);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const std::uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1u);
  return BFloat16{static_cast<std::uint16_t>((is_nan ? (bits | 0x400000u) : rounded) >> 16)};
}

// The float nearest to `value` with an odd last bit unless `value` is a float itself.
LUMUS_INLINE float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = static_cast<double>(nearest);
  if (back == value || value != value) return nearest;
  std::uint32_t bits = bits_of(nearest);
  const double excess = value < 0 ? value - back : back - value;
  if (excess > 0) bits -= 1;  // toward zero
  return float_from_bits(bits | 1u);
}

// ---- one element: array type -> tile type -------------------------------------------------------

template <class Tile, class Element>
LUMUS_INLINE Tile widen(Element element) {
  return static_cast<Tile>(element);
}
template <class Tile>
LUMUS_INLINE Tile widen(Float16 element) {
  return static_cast<Tile>(to_float(element));
}
template <class Tile>
LUMUS_INLINE Tile widen(BFloat16 element) {
  return static_cast<Tile>(to_float(element));
}
template <class Tile>
LUMUS_INLINE Tile widen(Boolean element) {
  return static_cast<Tile>(element.value);
}

// ---- one element: tile type -> array type -------------------------------------------------------

template <class Element>
struct Narrow {
  template <class Tile>
  LUMUS_INLINE Element from(Tile value) {
    return static_cast<Element>(value);
  }
};
template <>
struct Narrow<Float16> {
  LUMUS_INLINE Float16 from(double value) { return to_float16(round_to_odd(value)); }
  LUMUS_INLINE Float16 from(float value) { return to_float16(value); }
  LUMUS_INLINE Float16 from(std::int64_t value) { return from(static_cast<double>(value)); }
};
template <>
struct Narrow<BFloat16> {
  LUMUS_INLINE BFloat16 from(double value) { return to_bfloat16(round_to_odd(value)); }
  LUMUS_INLINE BFloat16 from(float value) { return to_bfloat16(value); }
  LUMUS_INLINE BFloat16 from(std::int64_t value) { return from(static_cast<double>(value)); }
};
template <>
struct Narrow<Boolean> {
  template <class Tile>
  LUMUS_INLINE Boolean from(Tile value) {
    return Boolean{static_cast<std::uint8_t>(value != 0)};
  }
};

// ---- runs of elements ---------------------------------------------------------------------------

#if defined(__F16C__)
LUMUS_INLINE __m256 load_float16x8(const Float16* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
LUMUS_INLINE void store_float16x8(Float16* to, const float* from) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT));
}
#endif

template <class Tile, class Element>
static void widen_run(const Element* from, std::int64_t stride, std::int64_t count, Tile* to) {
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = widen<Tile>(from[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = widen<Tile>(from[i * stride]);
  }
}

#if defined(__F16C__)
template <>
[[maybe_unused]] void widen_run<float, Float16>(const Float16* from, std::int64_t stride,
                                                std::int64_t count, float* to) {
  std::int64_t i = 0;
  if (stride == 1) {
    for (; i + 8 <= count; i += 8) _mm256_storeu_ps(to + i, load_float16x8(from + i));
  }
  for (; i < count; ++i) {
    to[i] = _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(from[i * stride].bits)));
  }
}
#endif

template <class Element, class Tile>
static void narrow_run(const Tile* from, std::int64_t count, Element* to, std::int64_t stride) {
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = Narrow<Element>::from(from[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * stride] = Narrow<Element>::from(from[i]);
  }
}

#if defined(__F16C__)
template <>
[[maybe_unused]] void narrow_run<Float16, float>(const float* from, std::int64_t count, Float16* to,
                                                 std::int64_t stride) {
  std::int64_t i = 0;
  if (stride == 1) {
    for (; i + 8 <= count; i += 8) store_float16x8(to + i, from + i);
  }
  for (; i < count; ++i) {
    const __m128i half = _mm_cvtps_ph(_mm_set_ss(from[i]), _MM_FROUND_TO_NEAREST_INT);
    to[i * stride] = Float16{static_cast<std::uint16_t>(_mm_cvtsi128_si32(half))};
  }
}
#endif

// Truth values: anything but zero, NaN included, is true.
template <class Element>
LUMUS_INLINE std::uint8_t is_true(Element element) {
  return element != 0;
}
LUMUS_INLINE std::uint8_t is_true(Float16 element) { return (element.bits & 0x7fffu) != 0; }
LUMUS_INLINE std::uint8_t is_true(BFloat16 element) { return (element.bits & 0x7fffu) != 0; }
LUMUS_INLINE std::uint8_t is_true(Boolean element) { return element.value; }

template <class Element>
static void truth_run(const Element* from, std::int64_t stride, std::int64_t count,
                      std::uint8_t* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = is_true(from[i * stride]);
}

// ---- vectors of an element type -----------------------------------------------------------------
//
// Half types are loaded as float32. `fill` stands in for absent lanes.

template <class Element>
LUMUS_INLINE auto load_values(const Element* from) {
  if constexpr (std::is_class_v<Element>) {
    u16h halves;
    std::memcpy(&halves, from, sizeof halves);
    if constexpr (std::is_same_v<Element, Float16>) return half_to_float(halves);
    if constexpr (std::is_same_v<Element, BFloat16>) return bfloat_to_float(halves);
  } else {
    return load<Element>(from);
  }
}

template <class Element, class T>
LUMUS_INLINE Vec<T> load_left(const Element* from, std::int64_t count, T fill) {
  if constexpr (sizeof(Element) == sizeof(T)) {
    return load_partial<T>(from, count, fill);
  } else {
    Element padded[kLanes<T>] = {};
    std::memcpy(padded, from, static_cast<std::size_t>(count) * sizeof(Element));
    // Put in behind the conversion: the fill may be no number of a half type.
    i32v lane;
    for (std::int32_t i = 0; i < kLanes<T>; ++i) lane[i] = i;
    return lane < static_cast<std::int32_t>(count) ? load_values(padded) : splat<T>(fill);
  }
}

template <class Element, class V>
LUMUS_INLINE void store_values(Element* to, V values) {
  if constexpr (std::is_same_v<Element, Float16>) {
    const u16h halves = float_to_half(values);
    std::memcpy(to, &halves, sizeof halves);
  } else if constexpr (std::is_same_v<Element, BFloat16>) {
    const u16h halves = float_to_bfloat(values);
    std::memcpy(to, &halves, sizeof halves);
  } else {
    store<Element>(to, values);
  }
}

template <class Element, class V>
LUMUS_INLINE void store_left(Element* to, V values, std::int64_t count) {
  if constexpr (std::is_class_v<Element>) {
    Element all[kLanes<float>];
    store_values(all, values);
    std::memcpy(to, all, static_cast<std::size_t>(count) * sizeof(Element));
  } else {
    store_partial<Element>(to, values, count);
  }
}

}  // namespace lumus::LUMUS_ISA
