// Casts of rows, for each pair of element types.
//
// A cast rounds once, to nearest even, whatever the pair; float -> int truncates and saturates, NaN
// gives 0; int -> int wraps; anything but zero is true. An element's result depends on its value
// alone, not on its place in the row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/convert.h"
#include "kernels/isa.h"
#include "kernels/simd.h"
#include "kernels/strided.h"
#include "runtime/dtype.h"

namespace lumus::LUMUS_ISA {

constexpr std::int64_t kChunk =
    512;  // elements that stay in the first-level cache while they change

// Element types that C++ lacks.
struct Half {
  std::uint16_t bits;
};
struct BrainHalf {
  std::uint16_t bits;
};
struct Truth {
  std::uint8_t bits;
};

template <class T>
constexpr bool kIsHalf = __is_same(T, Half) || __is_same(T, BrainHalf);
template <class T>
constexpr bool kIsReal = __is_same(T, float) || __is_same(T, double);

template <class T>
LUMUS_INLINE T choose(bool condition, T yes, T no) {
  return condition ? yes : no;
}

// An int64 as a float64 that rounds to any shorter type as the integer would: the low bits of a
// long one are gathered into one sticky bit, which leaves 52 significant bits.
LUMUS_INLINE double with_sticky_bit(std::int64_t value) {
  const std::int64_t limit = std::int64_t{1} << 53;
  const bool is_long = value >= limit || value <= -limit;
  const std::int64_t sticky = choose<std::int64_t>((value & 0xfff) != 0, 0x800, 0);
  return static_cast<double>(choose(is_long, (value & ~std::int64_t{0xfff}) | sticky, value));
}

template <class To, class From>
LUMUS_INLINE To saturate(From value) {
  constexpr int bits = 8 * sizeof(To);
  constexpr bool is_signed = static_cast<To>(-1) < static_cast<To>(0);
  constexpr std::uint64_t most =
      (std::uint64_t{1} << (is_signed ? bits - 1 : bits)) - 1;  // To is never uint64
  constexpr From low = is_signed ? -static_cast<From>(most / 2 + 1) * 2 : 0;
  constexpr From end = static_cast<From>(most / 2 + 1) * 2;
  const From number = choose(value == value, value, From{0});
  const From raised = choose(number < low, low, number);
  const bool is_above = raised >= end;
  const From inside = choose(is_above, From{0}, raised);
  if constexpr (sizeof(To) == 8) {
    return choose(is_above, static_cast<To>(most), static_cast<To>(inside));
  } else {
    // Through int32, which the processor converts to directly. uint8 and smaller fit.
    return choose(is_above, static_cast<To>(most),
                  static_cast<To>(static_cast<std::int32_t>(inside)));
  }
}

// The compiler turns a loop over this into vectors.
template <class To, class From>
LUMUS_INLINE To convert(From value) {
  if constexpr (__is_same(From, Truth)) {
    return static_cast<To>(value.bits);
  } else if constexpr (__is_same(To, Truth)) {
    return Truth{static_cast<std::uint8_t>(value != 0)};
  } else if constexpr (kIsReal<From> && !kIsReal<To>) {
    return saturate<To, From>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class T>
LUMUS_INLINE f32v widen_halves(u16h halves) {
  if constexpr (__is_same(T, Half)) return half_to_float(halves);
  return bfloat_to_float(halves);
}
template <class T>
LUMUS_INLINE u16h round_to_halves(const float* from) {
  const f32v values = load<float>(from);
  if constexpr (__is_same(T, Half)) return float_to_half(values);
  return float_to_bfloat(values);
}
template <class T>
LUMUS_INLINE u16h round_to_halves(const double* from) {
  const f64v lower = load<double>(from);
  const f64v upper = load<double>(from + kLanes<double>);
  if constexpr (__is_same(T, Half)) return double_to_half(lower, upper);
  return double_to_bfloat(lower, upper);
}

// Either side may be misaligned.
template <class To, class From>
static inline void convert_row(std::byte* to, const std::byte* from, std::int64_t count) {
  constexpr std::int64_t to_size = sizeof(To);
  constexpr std::int64_t from_size = sizeof(From);
  constexpr std::int64_t lanes = kLanes<float>;
  if constexpr (__is_same(To, From)) {
    std::memcpy(to, from, static_cast<std::size_t>(count * to_size));
  } else if constexpr (kIsHalf<From> && __is_same(To, float)) {
    for (std::int64_t i = 0; i < count; i += lanes) {
      const std::size_t length = static_cast<std::size_t>(at_most(count - i, lanes));
      u16h halves = {};
      float values[lanes];
      if (length == lanes) {
        std::memcpy(&halves, from + 2 * i, sizeof halves);
        store<float>(reinterpret_cast<float*>(to + 4 * i), widen_halves<From>(halves));
      } else {
        std::memcpy(&halves, from + 2 * i, 2 * length);
        store<float>(values, widen_halves<From>(halves));
        std::memcpy(to + 4 * i, values, 4 * length);
      }
    }
  } else if constexpr (kIsHalf<To> && kIsReal<From>) {
    for (std::int64_t i = 0; i < count; i += lanes) {
      const std::size_t length = static_cast<std::size_t>(at_most(count - i, lanes));
      if (length == lanes) {
        const u16h halves =
            round_to_halves<To>(reinterpret_cast<const From*>(from + from_size * i));
        std::memcpy(to + 2 * i, &halves, sizeof halves);
      } else {
        From values[lanes] = {};
        std::memcpy(values, from + from_size * i, sizeof(From) * length);
        const u16h halves = round_to_halves<To>(values);
        std::memcpy(to + 2 * i, &halves, 2 * length);
      }
    }
  } else if constexpr (kIsHalf<From> || kIsHalf<To>) {
    // Through a type that holds every value of `From`, or rounds once more without harm.
    constexpr bool needs_double = __is_same(From, std::int64_t) || __is_same(From, std::int32_t);
    typedef std::conditional_t<needs_double, double, float> Wide;
    alignas(64) Wide wide[kChunk];
    std::byte* const buffer = reinterpret_cast<std::byte*>(wide);
    for (std::int64_t i = 0; i < count; i += kChunk) {
      const std::int64_t length = at_most(count - i, kChunk);
      if constexpr (__is_same(From, std::int64_t)) {
        for (std::int64_t k = 0; k < length; ++k) {
          std::int64_t value;
          std::memcpy(&value, from + 8 * (i + k), sizeof value);
          wide[k] = with_sticky_bit(value);
        }
      } else {
        convert_row<Wide, From>(buffer, from + from_size * i, length);
      }
      convert_row<To, Wide>(to + to_size * i, buffer, length);
    }
  } else {
    std::byte* __restrict results = to;
    const std::byte* __restrict values = from;
    for (std::int64_t i = 0; i < count; ++i) {
      From value;
      std::memcpy(&value, values + i * from_size, sizeof value);
      const To result = convert<To, From>(value);
      std::memcpy(results + i * to_size, &result, sizeof result);
    }
  }
}

typedef void (*ConvertRow)(std::byte* to, const std::byte* from, std::int64_t count);

#define LUMUS_CONVERT_TO(From)                                       \
  {convert_row<double, From>,       convert_row<float, From>,        \
   convert_row<Half, From>,         convert_row<BrainHalf, From>,    \
   convert_row<std::int64_t, From>, convert_row<std::int32_t, From>, \
   convert_row<std::int16_t, From>, convert_row<std::int8_t, From>,  \
   convert_row<std::uint8_t, From>, convert_row<Truth, From>}

static const ConvertRow convert_rows[kNumDTypes][kNumDTypes] = {
    LUMUS_CONVERT_TO(double),       LUMUS_CONVERT_TO(float),        LUMUS_CONVERT_TO(Half),
    LUMUS_CONVERT_TO(BrainHalf),    LUMUS_CONVERT_TO(std::int64_t), LUMUS_CONVERT_TO(std::int32_t),
    LUMUS_CONVERT_TO(std::int16_t), LUMUS_CONVERT_TO(std::int8_t),  LUMUS_CONVERT_TO(std::uint8_t),
    LUMUS_CONVERT_TO(Truth),
};

#undef LUMUS_CONVERT_TO

static inline ConvertRow convert_row_of(DType to, DType from) {
  return convert_rows[static_cast<int>(from)][static_cast<int>(to)];
}

}  // namespace lumus::LUMUS_ISA
