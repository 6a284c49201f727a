// Conversions between all element types. Integers wrap; floating numbers become integers by
// truncation, saturating, NaN as 0; anything that is not 0 is true. Every result is rounded once,
// from the exact value: what could be rounded twice on its way through float32 is rounded to odd
// there, which leaves the second rounding to decide (float32 has more than two bits beyond either
// half type).
#include "kernels/elementwise_steps.h"
#include "kernels/tile_io.h"

namespace lumus::LUMUS_ISA {
namespace {

template <class T>
constexpr bool kIsFloating = false;
template <>
constexpr bool kIsFloating<float> = true;
template <>
constexpr bool kIsFloating<double> = true;

// 2^digits of an integer type's positive range; as a floating number exact, and the first too
// large.
template <class Int>
constexpr double kBeyond = sizeof(Int) == 8                             ? 9223372036854775808.0
                           : sizeof(Int) == 4                           ? 2147483648.0
                           : sizeof(Int) == 2                           ? 32768.0
                           : static_cast<Int>(-1) < static_cast<Int>(0) ? 128.0
                                                                        : 256.0;

template <class Int, class Float>
LUMUS_INLINE Int saturated(Float x) {
  constexpr bool is_signed = static_cast<Int>(-1) < static_cast<Int>(0);
  constexpr Float beyond = static_cast<Float>(kBeyond<Int>);
  constexpr Float lowest = is_signed ? -beyond : Float(0);
  if constexpr (sizeof(Int) < 4) {
    // Fits int32 after clamping, which converts in vectors on every processor.
    Float fitting = x < lowest ? lowest : x;
    fitting = fitting > beyond - 1 ? beyond - 1 : fitting;
    fitting = x != x ? Float(0) : fitting;
    return static_cast<Int>(static_cast<std::int32_t>(fitting));
  } else {
    constexpr Int highest = static_cast<Int>(~(Int(1) << (sizeof(Int) * 8 - 1)));
    const bool is_high = x >= beyond;
    Float fitting = x < lowest ? lowest : x;
    fitting = is_high || x != x ? Float(0) : fitting;
    const Int value = static_cast<Int>(fitting);
    return is_high ? highest : value;
  }
}

struct Convert {
  template <class Out, class In>
  LUMUS_INLINE Out of(In x) {
    if constexpr (kIsFloating<In> && !kIsFloating<Out>) {
      return saturated<Out>(x);
    } else {
      return static_cast<Out>(x);
    }
  }
};

// From 2^53 on the low bits are replaced by one that tells whether any was set, far below the last
// bit of a half type and within the 53 bits of float64.
LUMUS_INLINE double with_sticky_bit(std::int64_t x) {
  const std::int64_t magnitude = x < 0 ? -(x + 1) : x;
  const std::int64_t low = x & 0xfff;
  const std::int64_t reduced = (x - low) | (low != 0 ? 0x800 : 0);
  return static_cast<double>(magnitude >= (std::int64_t(1) << 52) ? reduced : x);
}

// A float32 from which rounding to a half type gives what rounding the number itself would.
template <class In>
LUMUS_INLINE float towards_half(In x) {
  if constexpr (sizeof(In) == 8 && !kIsFloating<In>) {
    return round_to_odd(with_sticky_bit(x));
  } else if constexpr (sizeof(In) == 8 || (sizeof(In) == 4 && !kIsFloating<In>)) {
    return round_to_odd(static_cast<double>(x));
  } else {
    return static_cast<float>(x);
  }
}

constexpr std::int64_t kChunk = 64;

template <class T>
constexpr bool kIsHalf = false;
template <>
constexpr bool kIsHalf<Float16> = true;
template <>
constexpr bool kIsHalf<BFloat16> = true;

template <class In, class Out>
void cast_elements(std::byte* result, const std::byte* first, const std::byte*, const std::byte*,
                   std::int64_t count, unsigned) {
  Out* const to = reinterpret_cast<Out*>(result);
  const In* const x = reinterpret_cast<const In*>(first);
  if constexpr (kIsHalf<In> || kIsHalf<Out>) {
    for (std::int64_t begin = 0; begin < count; begin += kChunk) {
      const std::int64_t length = count - begin < kChunk ? count - begin : kChunk;
      alignas(64) float floats[kChunk];
      if constexpr (kIsHalf<In>) {
        widen_run<float, In>(x + begin, 1, length, floats);
      } else {
        for (std::int64_t index = 0; index < length; ++index) {
          floats[index] = towards_half(x[begin + index]);
        }
      }
      if constexpr (kIsHalf<Out>) {
        narrow_run<Out, float>(floats, length, to + begin, 1);
      } else {
        for (std::int64_t index = 0; index < length; ++index) {
          to[begin + index] = Convert::of<Out>(floats[index]);
        }
      }
    }
  } else {
#pragma GCC ivdep
    for (std::int64_t index = 0; index < count; ++index) to[index] = Convert::of<Out>(x[index]);
  }
}

// Any byte but 0 is true and counts as 1.
template <class Out>
void cast_booleans(std::byte* result, const std::byte* first, const std::byte*, const std::byte*,
                   std::int64_t count, unsigned) {
  Out* const to = reinterpret_cast<Out*>(result);
  const auto* const x = reinterpret_cast<const std::uint8_t*>(first);
#pragma GCC ivdep
  for (std::int64_t index = 0; index < count; ++index) {
    to[index] = static_cast<Out>(x[index] != 0 ? 1 : 0);
  }
}

// `kOne` is the number one in the half type.
template <std::uint16_t kOne>
void cast_booleans_to_half(std::byte* result, const std::byte* first, const std::byte*,
                           const std::byte*, std::int64_t count, unsigned) {
  auto* const to = reinterpret_cast<std::uint16_t*>(result);
  const auto* const x = reinterpret_cast<const std::uint8_t*>(first);
#pragma GCC ivdep
  for (std::int64_t index = 0; index < count; ++index) to[index] = x[index] != 0 ? kOne : 0;
}

template <class In>
void cast_to_booleans(std::byte* result, const std::byte* first, const std::byte*, const std::byte*,
                      std::int64_t count, unsigned) {
  auto* const to = reinterpret_cast<std::uint8_t*>(result);
  const In* const x = reinterpret_cast<const In*>(first);
#pragma GCC ivdep
  for (std::int64_t index = 0; index < count; ++index) {
    if constexpr (kIsHalf<In>) {
      to[index] = (x[index].bits & 0x7fff) != 0;  // either zero is false
    } else {
      to[index] = x[index] != 0;
    }
  }
}

template <class In>
StepFunction find(DType target) {
  switch (target) {
    case DType::float64:
      return cast_elements<In, double>;
    case DType::float32:
      return cast_elements<In, float>;
    case DType::float16:
      return cast_elements<In, Float16>;
    case DType::bfloat16:
      return cast_elements<In, BFloat16>;
    case DType::int64:
      return cast_elements<In, std::int64_t>;
    case DType::int32:
      return cast_elements<In, std::int32_t>;
    case DType::int16:
      return cast_elements<In, std::int16_t>;
    case DType::int8:
      return cast_elements<In, std::int8_t>;
    case DType::uint8:
      return cast_elements<In, std::uint8_t>;
    case DType::boolean:
      return cast_to_booleans<In>;
  }
  return nullptr;
}

StepFunction find_from_boolean(DType target) {
  switch (target) {
    case DType::float64:
      return cast_booleans<double>;
    case DType::float32:
      return cast_booleans<float>;
    case DType::float16:
      return cast_booleans_to_half<0x3c00>;
    case DType::bfloat16:
      return cast_booleans_to_half<0x3f80>;
    case DType::int64:
      return cast_booleans<std::int64_t>;
    case DType::int32:
      return cast_booleans<std::int32_t>;
    case DType::int16:
      return cast_booleans<std::int16_t>;
    default:
      return cast_booleans<std::uint8_t>;  // int8, uint8, boolean
  }
}

}  // namespace

StepFunction find_cast_step(DType source, DType target) {
  if (source == target && source != DType::boolean) return find_copy_step(itemsize(source));
  switch (source) {
    case DType::float64:
      return find<double>(target);
    case DType::float32:
      return find<float>(target);
    case DType::float16:
      return find<Float16>(target);
    case DType::bfloat16:
      return find<BFloat16>(target);
    case DType::int64:
      return find<std::int64_t>(target);
    case DType::int32:
      return find<std::int32_t>(target);
    case DType::int16:
      return find<std::int16_t>(target);
    case DType::int8:
      return find<std::int8_t>(target);
    case DType::uint8:
      return find<std::uint8_t>(target);
    case DType::boolean:
      return find_from_boolean(target);
  }
  return nullptr;
}

}  // namespace lumus::LUMUS_ISA
