// Vectors of the width of the instruction set at hand, on the compiler's vector extension.
// Arithmetic, comparison (giving integer lanes of 0 / -1), ?: selection, shifts and conversions
// (__builtin_convertvector) all work on these types directly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/isa.h"

#if defined(__AVX512BW__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define LUMUS_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define LUMUS_VECTOR_BYTES 32
#else
#define LUMUS_VECTOR_BYTES 16
#endif

namespace lumus::LUMUS_ISA {

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(LUMUS_VECTOR_BYTES)));
};
template <class T>
using Vec = typename VectorOf<T>::type;

template <class T>
constexpr std::int64_t kLanes = LUMUS_VECTOR_BYTES / static_cast<std::int64_t>(sizeof(T));

using f32v = Vec<float>;
using f64v = Vec<double>;
using i32v = Vec<std::int32_t>;
using i64v = Vec<std::int64_t>;
using u32v = Vec<std::uint32_t>;
using u64v = Vec<std::uint64_t>;

#define LUMUS_INLINE static inline __attribute__((always_inline))

template <class T>
LUMUS_INLINE Vec<T> load(const T* from) {
  Vec<T> value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
LUMUS_INLINE void store(T* to, Vec<T> value) {
  std::memcpy(to, &value, sizeof value);
}

template <class T>
LUMUS_INLINE Vec<T> splat(T value) {
  Vec<T> lanes;
  for (std::int64_t lane = 0; lane < kLanes<T>; ++lane) lanes[lane] = value;
  return lanes;
}

// The last elements of an array: absent lanes read as `fill` and are not written, so the tail runs
// through the very same vector code as the body.
template <class T>
LUMUS_INLINE Vec<T> load_partial(const T* from, std::int64_t count, T fill) {
#if defined(__AVX512BW__)
  const __m512i absent = (__m512i)splat<T>(fill);
  const unsigned long long present = _bzhi_u64(~0ull, static_cast<unsigned>(count));
  if constexpr (sizeof(T) == 8) {
    return (Vec<T>)_mm512_mask_loadu_epi64(absent, static_cast<__mmask8>(present), from);
  } else if constexpr (sizeof(T) == 4) {
    return (Vec<T>)_mm512_mask_loadu_epi32(absent, static_cast<__mmask16>(present), from);
  } else if constexpr (sizeof(T) == 2) {
    return (Vec<T>)_mm512_mask_loadu_epi16(absent, static_cast<__mmask32>(present), from);
  } else {
    return (Vec<T>)_mm512_mask_loadu_epi8(absent, present, from);
  }
#else
  T lanes[kLanes<T>];
  for (std::int64_t lane = 0; lane < kLanes<T>; ++lane) lanes[lane] = fill;
  std::memcpy(lanes, from, static_cast<std::size_t>(count) * sizeof(T));
  return load<T>(lanes);
#endif
}

template <class T>
LUMUS_INLINE void store_partial(T* to, Vec<T> value, std::int64_t count) {
#if defined(__AVX512BW__)
  const unsigned long long present = _bzhi_u64(~0ull, static_cast<unsigned>(count));
  if constexpr (sizeof(T) == 8) {
    _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(present), (__m512i)value);
  } else if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(present), (__m512i)value);
  } else if constexpr (sizeof(T) == 2) {
    _mm512_mask_storeu_epi16(to, static_cast<__mmask32>(present), (__m512i)value);
  } else {
    _mm512_mask_storeu_epi8(to, present, (__m512i)value);
  }
#else
  T lanes[kLanes<T>];
  store<T>(lanes, value);
  std::memcpy(to, lanes, static_cast<std::size_t>(count) * sizeof(T));
#endif
}

}  // namespace lumus::LUMUS_ISA
