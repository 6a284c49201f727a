// Vectors of the width of the instruction set at hand, on the compiler's vector extension.
// Arithmetic, comparison (giving integer lanes of 0 / -1), ?: selection, shifts and conversions
// (__builtin_convertvector) all work on these types directly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels/isa.h"

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

// Numbers to expand: Indices<__integer_pack(4)...> is Indices<0, 1, 2, 3>.
template <int... kIndices>
struct Indices {};

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
  // One broadcast; GCC puts the lanes of a loop in one by one. Minus keeps the sign of a zero.
  return value - Vec<T>{};
}

// The last elements of an array: absent lanes read as `fill` and are not written, so the tail runs
// through the very same vector code as the body. Masked where the instruction set can: going
// through memory stalls a small operation, since a wide load cannot be forwarded from narrow
// stores.
#if defined(__AVX512BW__) && defined(__BMI2__)

LUMUS_INLINE std::uint64_t first_lanes(std::int64_t count) {
  return _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(count));
}

template <class T>
LUMUS_INLINE Vec<T> load_partial(const T* from, std::int64_t count, T fill) {
  const __m512i filled = (__m512i)splat<T>(fill);
  const std::uint64_t mask = first_lanes(count);
  if constexpr (sizeof(T) == 8) {
    return (Vec<T>)_mm512_mask_loadu_epi64(filled, static_cast<__mmask8>(mask), from);
  } else if constexpr (sizeof(T) == 4) {
    return (Vec<T>)_mm512_mask_loadu_epi32(filled, static_cast<__mmask16>(mask), from);
  } else if constexpr (sizeof(T) == 2) {
    return (Vec<T>)_mm512_mask_loadu_epi16(filled, static_cast<__mmask32>(mask), from);
  } else {
    return (Vec<T>)_mm512_mask_loadu_epi8(filled, mask, from);
  }
}

template <class T>
LUMUS_INLINE void store_partial(T* to, Vec<T> value, std::int64_t count) {
  const __m512i bits = (__m512i)value;
  const std::uint64_t mask = first_lanes(count);
  if constexpr (sizeof(T) == 8) {
    _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(mask), bits);
  } else if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(mask), bits);
  } else if constexpr (sizeof(T) == 2) {
    _mm512_mask_storeu_epi16(to, static_cast<__mmask32>(mask), bits);
  } else {
    _mm512_mask_storeu_epi8(to, mask, bits);
  }
}

#else

#if defined(__AVX2__)
// All bits set in the first `count` lanes of eight or four bytes.
template <class T>
LUMUS_INLINE __m256i first_lanes(std::int64_t count) {
  if constexpr (sizeof(T) == 8) {
    const Vec<std::int64_t> lane = {0, 1, 2, 3};
    return (__m256i)(lane < splat<std::int64_t>(count));
  } else {
    const Vec<std::int32_t> lane = {0, 1, 2, 3, 4, 5, 6, 7};
    return (__m256i)(lane < splat<std::int32_t>(static_cast<std::int32_t>(count)));
  }
}
#endif

template <class T>
LUMUS_INLINE Vec<T> load_partial(const T* from, std::int64_t count, T fill) {
#if defined(__AVX2__)
  if constexpr (sizeof(T) == 8 || sizeof(T) == 4) {
    const __m256i mask = first_lanes<T>(count);
    __m256i loaded;
    if constexpr (sizeof(T) == 8) {
      loaded = _mm256_maskload_epi64(reinterpret_cast<const long long*>(from), mask);
    } else {
      loaded = _mm256_maskload_epi32(reinterpret_cast<const int*>(from), mask);
    }
    return (Vec<T>)_mm256_blendv_epi8((__m256i)splat<T>(fill), loaded, mask);
  }
#endif
  T lanes[kLanes<T>];
  for (std::int64_t lane = 0; lane < kLanes<T>; ++lane) lanes[lane] = fill;
  std::memcpy(lanes, from, static_cast<std::size_t>(count) * sizeof(T));
  return load<T>(lanes);
}

template <class T>
LUMUS_INLINE void store_partial(T* to, Vec<T> value, std::int64_t count) {
#if defined(__AVX2__)
  if constexpr (sizeof(T) == 8) {
    _mm256_maskstore_epi64(reinterpret_cast<long long*>(to), first_lanes<T>(count), (__m256i)value);
    return;
  } else if constexpr (sizeof(T) == 4) {
    _mm256_maskstore_epi32(reinterpret_cast<int*>(to), first_lanes<T>(count), (__m256i)value);
    return;
  }
#endif
  T lanes[kLanes<T>];
  store<T>(lanes, value);
  std::memcpy(to, lanes, static_cast<std::size_t>(count) * sizeof(T));
}

#endif

}  // namespace lumus::LUMUS_ISA
