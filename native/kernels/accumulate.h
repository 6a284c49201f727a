// Operations that reduce (sum, product, maximum, minimum) and accumulators of contiguous values.
//
// An operation has a Value, an identity, and combine() of two values or two vectors of them. An
// accumulator takes Elements of an array, loads them as Values, and ends in a Partial; it states
// how a sum stays accurate.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/sizes.h"
#include "kernels/tile_io.h"

namespace lumus::LUMUS_ISA {

LUMUS_INLINE std::int64_t larger(std::int64_t a, std::int64_t b) { return a > b ? a : b; }
LUMUS_INLINE std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// ---- operations
// -----------------------------------------------------------------------------------

template <class T>
struct Limits;
template <>
struct Limits<double> {
  static constexpr double lowest = -__builtin_inf(), highest = __builtin_inf();
};
template <>
struct Limits<float> {
  static constexpr float lowest = -__builtin_inff(), highest = __builtin_inff();
};
template <>
struct Limits<std::int64_t> {
  static constexpr std::int64_t lowest = INT64_MIN, highest = INT64_MAX;
};
template <>
struct Limits<std::int32_t> {
  static constexpr std::int32_t lowest = INT32_MIN, highest = INT32_MAX;
};
template <>
struct Limits<std::int16_t> {
  static constexpr std::int16_t lowest = INT16_MIN, highest = INT16_MAX;
};
template <>
struct Limits<std::int8_t> {
  static constexpr std::int8_t lowest = INT8_MIN, highest = INT8_MAX;
};
template <>
struct Limits<std::uint8_t> {
  static constexpr std::uint8_t lowest = 0, highest = UINT8_MAX;
};

template <class T>
constexpr bool kIsFloat = false;
template <>
constexpr bool kIsFloat<float> = true;
template <>
constexpr bool kIsFloat<double> = true;

// int64 is added and multiplied as unsigned: overflow wraps.
template <class V>
struct UnsignedOf {
  typedef std::uint64_t type __attribute__((vector_size(sizeof(V))));
};
template <>
struct UnsignedOf<std::int64_t> {
  typedef std::uint64_t type;
};
template <class T, class V>
struct Wrapping {
  typedef V type;
};
template <class V>
struct Wrapping<std::int64_t, V> : UnsignedOf<V> {};

// combine() takes a V that is T itself or any vector of T.
template <class T>
struct Sum {
  using Value = T;
  // -0.0 is the identity: -0.0 + x is x for x = -0.0, too.
  static constexpr T identity = kIsFloat<T> ? static_cast<T>(-0.0) : T(0);
  template <class V>
  LUMUS_INLINE V combine(V a, V b) {
    using U = typename Wrapping<T, V>::type;
    return (V)((U)a + (U)b);
  }
};

template <class T>
struct Product {
  using Value = T;
  static constexpr T identity = T(1);
  template <class V>
  LUMUS_INLINE V combine(V a, V b) {
    using U = typename Wrapping<T, V>::type;
    return (V)((U)a * (U)b);
  }
};

// b > a ? b : a and b < a ? b : a, lane by lane: what the instructions of x86 compute, which the
// compiler does not find by itself.
#if defined(__SSE2__)
#if defined(__AVX512F__)
LUMUS_INLINE f32v select_greater(f32v a, f32v b) { return _mm512_maskz_max_ps(kAllF32, b, a); }
LUMUS_INLINE f64v select_greater(f64v a, f64v b) { return _mm512_maskz_max_pd(kAllF64, b, a); }
LUMUS_INLINE f32v select_less(f32v a, f32v b) { return _mm512_maskz_min_ps(kAllF32, b, a); }
LUMUS_INLINE f64v select_less(f64v a, f64v b) { return _mm512_maskz_min_pd(kAllF64, b, a); }
#endif
#if defined(__AVX2__)
LUMUS_INLINE __m256 select_greater(__m256 a, __m256 b) { return _mm256_max_ps(b, a); }
LUMUS_INLINE __m256d select_greater(__m256d a, __m256d b) { return _mm256_max_pd(b, a); }
LUMUS_INLINE __m256 select_less(__m256 a, __m256 b) { return _mm256_min_ps(b, a); }
LUMUS_INLINE __m256d select_less(__m256d a, __m256d b) { return _mm256_min_pd(b, a); }
#endif
LUMUS_INLINE __m128 select_greater(__m128 a, __m128 b) { return _mm_max_ps(b, a); }
LUMUS_INLINE __m128d select_greater(__m128d a, __m128d b) { return _mm_max_pd(b, a); }
LUMUS_INLINE __m128 select_less(__m128 a, __m128 b) { return _mm_min_ps(b, a); }
LUMUS_INLINE __m128d select_less(__m128d a, __m128d b) { return _mm_min_pd(b, a); }
#endif
template <class V>
LUMUS_INLINE V select_greater(V a, V b) {
  return b > a ? b : a;
}
template <class V>
LUMUS_INLINE V select_less(V a, V b) {
  return b < a ? b : a;
}

// `a` is the accumulator; once it is NaN no comparison is true and it stays.
template <class T>
struct Maximum {
  using Value = T;
  static constexpr T identity = Limits<T>::lowest;
  template <class V>
  LUMUS_INLINE V combine(V a, V b) {
    const V extreme = select_greater(a, b);
    if constexpr (kIsFloat<T>) return b != b ? b : extreme;
    return extreme;
  }
};

template <class T>
struct Minimum {
  using Value = T;
  static constexpr T identity = Limits<T>::highest;
  template <class V>
  LUMUS_INLINE V combine(V a, V b) {
    const V extreme = select_less(a, b);
    if constexpr (kIsFloat<T>) return b != b ? b : extreme;
    return extreme;
  }
};

// ---- folding a vector
// -----------------------------------------------------------------------------

template <int kIndex>
struct Index {
  constexpr operator int() const { return kIndex; }
};

// body(Index<0>), ..., body(Index<kCount - 1>): a loop whose index is a constant from the start, so
// that arrays of vectors are taken apart into registers.
template <class Body, int... kIndices>
LUMUS_INLINE void unroll_over(const Body& body, Indices<kIndices...>) {
  (body(Index<kIndices>{}), ...);
}
template <int kCount, class Body>
LUMUS_INLINE void unroll(const Body& body) {
  unroll_over(body, Indices<__integer_pack(kCount)...>{});
}

template <int kFirst, class V, int... kIndices>
LUMUS_INLINE auto pick_lanes(V values, Indices<kIndices...>) {
  return __builtin_shufflevector(values, values, (kFirst + kIndices)...);
}

// Combines the lanes of a vector: the upper half onto the lower one until one is left.
template <class Op, int kCount, class V>
LUMUS_INLINE typename Op::Value fold_vector(V values) {
  using T = typename Op::Value;
  if constexpr (kCount * sizeof(T) <= 16) {
    T each[kCount];
    std::memcpy(each, &values, sizeof each);
    for (int width = kCount / 2; width >= 1; width /= 2) {
      for (int lane = 0; lane < width; ++lane) {
        each[lane] = Op::combine(each[lane], each[lane + width]);
      }
    }
    return each[0];
  } else {
    using Half = Indices<__integer_pack(kCount / 2)...>;
    return fold_vector<Op, kCount / 2>(
        Op::combine(pick_lanes<0>(values, Half{}), pick_lanes<kCount / 2>(values, Half{})));
  }
}

// ---- accumulating contiguous values -------------------------------------------------------------

// An accumulator has lanes for this many bytes of values, as many as fit the registers beside the
// loads. From AVX2 on the order of additions does not depend on the instruction set.
constexpr std::int64_t kLaneBytes = LUMUS_VECTOR_BYTES >= 32 ? 256 : 128;
constexpr std::int64_t kLaneVectors = kLaneBytes / LUMUS_VECTOR_BYTES;

// Adds `count` elements to kLaneVectors running vectors. All loops over vectors are unrolled, so
// that the running vectors of the caller stay in registers.
template <class Op, class Element>
LUMUS_INLINE void accumulate(Vec<typename Op::Value>* lanes, const Element* values,
                             std::int64_t count) {
  using T = typename Op::Value;
  constexpr std::int64_t width = kLanes<T>;
  std::int64_t i = 0;
#pragma GCC unroll 2
  for (; i + width * kLaneVectors <= count; i += width * kLaneVectors) {
    unroll<kLaneVectors>([&](auto v) __attribute__((always_inline)) {
      lanes[v] = Op::combine(lanes[v], load_values(values + i + v * width));
    });
  }
  unroll<kLaneVectors - 1>([&](auto v) __attribute__((always_inline)) {
    if (i + width > count) return;
    lanes[v] = Op::combine(lanes[v], load_values(values + i));
    i += width;
  });
  if (i < count) {
    constexpr int last = kLaneVectors - 1;
    lanes[last] = Op::combine(lanes[last], load_left(values + i, count - i, Op::identity));
  }
}

// Combines kCount vectors, the upper half onto the lower one, until kLeft are left.
template <class Op, int kCount, int kLeft, class V>
LUMUS_INLINE void fold_halves(V* lanes) {
  if constexpr (kCount > kLeft) {
    unroll<kCount / 2>([&](auto v) __attribute__((always_inline)) {
      lanes[v] = Op::combine(lanes[v], lanes[v + kCount / 2]);
    });
    fold_halves<Op, kCount / 2, kLeft>(lanes);
  }
}

// Exact operations and products: one running set of lanes.
template <class Op, class E = typename Op::Value>
struct PlainAccumulator {
  using Element = E;
  using Value = typename Op::Value;
  using Partial = Value;
  using RowOp = Op;
  static constexpr Partial identity = Op::identity;

  Vec<Value> lanes[kLaneVectors];

  LUMUS_INLINE Partial combine(Partial a, Partial b) { return Op::combine(a, b); }
  void clear() {
    unroll<kLaneVectors>(
        [&](auto v) __attribute__((always_inline)) { lanes[v] = splat<Value>(Op::identity); });
  }
  void feed(const Element* values, std::int64_t count) {
    Vec<Value> running[kLaneVectors];
    unroll<kLaneVectors>([&](auto v) __attribute__((always_inline)) { running[v] = lanes[v]; });
    accumulate<Op>(running, values, count);
    unroll<kLaneVectors>([&](auto v) __attribute__((always_inline)) { lanes[v] = running[v]; });
  }
  Partial finish() {
    fold_halves<Op, kLaneVectors, 1>(lanes);
    return fold_vector<Op, kLanes<Value>>(lanes[0]);
  }
  // What is accumulated for a vector of columns.
  using Columns = Vec<Value>;
  LUMUS_INLINE Columns no_columns() { return splat<Value>(Op::identity); }
  LUMUS_INLINE Columns load_columns(const Partial* partials) { return load<Value>(partials); }
  LUMUS_INLINE void store_columns(Partial* partials, Columns sums) { store<Value>(partials, sums); }
  LUMUS_INLINE Columns added(Columns sums, Vec<Value> values) { return Op::combine(sums, values); }
};

// Elements that are added up before they join the lanes of the whole.
constexpr std::int64_t kSumBlock = 1024;

// float64 sums: lanes of a block, added to the lanes of the whole after each block.
struct DoubleSumAccumulator : PlainAccumulator<Sum<double>> {
  void feed(const double* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += kSumBlock) {
      f64v inner[kLaneVectors];
      unroll<kLaneVectors>([&](auto v)
                               __attribute__((always_inline)) { inner[v] = splat<double>(-0.0); });
      accumulate<Sum<double>>(inner, values + i, smaller(kSumBlock, count - i));
      unroll<kLaneVectors>([&](auto v) __attribute__((always_inline)) { lanes[v] += inner[v]; });
    }
  }
};

// Sums of float32 and the half types: float32 lanes for at most 32 additions, then 16 lanes of
// float64.
template <class E>
struct FloatSumAccumulator {
  using Element = E;
  using Value = float;
  using Partial = double;
  using RowOp = Sum<float>;
  static constexpr Partial identity = -0.0;
  static constexpr int kVectors = 16 / kLanes<float>;

  f64v lanes[2 * kVectors];

  LUMUS_INLINE double combine(double a, double b) { return a + b; }
  void clear() {
    unroll<2 * kVectors>([&](auto v)
                             __attribute__((always_inline)) { lanes[v] = splat<double>(-0.0); });
  }
  void feed(const Element* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += kSumBlock) {
      f32v inner[kLaneVectors];
      unroll<kLaneVectors>([&](auto v)
                               __attribute__((always_inline)) { inner[v] = splat<float>(-0.0f); });
      accumulate<RowOp>(inner, values + i, smaller(kSumBlock, count - i));
      fold_halves<RowOp, kLaneVectors, kVectors>(inner);
      unroll<kVectors>([&](auto v) __attribute__((always_inline)) {
        const F64Pair wide = widen(inner[v]);
        lanes[2 * v] += wide.hi;
        lanes[2 * v + 1] += wide.lo;
      });
    }
  }
  double finish() {
    fold_halves<Sum<double>, 2 * kVectors, 1>(lanes);
    return fold_vector<Sum<double>, kLanes<double>>(lanes[0]);
  }
  using Columns = F64Pair;
  LUMUS_INLINE Columns no_columns() { return {splat<double>(-0.0), splat<double>(-0.0)}; }
  LUMUS_INLINE Columns load_columns(const double* partials) {
    return {load<double>(partials), load<double>(partials + kLanes<double>)};
  }
  LUMUS_INLINE void store_columns(double* partials, Columns sums) {
    store<double>(partials, sums.hi);
    store<double>(partials + kLanes<double>, sums.lo);
  }
  LUMUS_INLINE Columns added(Columns sums, f32v values) {
    const F64Pair wide = widen(values);
    return {sums.hi + wide.hi, sums.lo + wide.lo};
  }
};

}  // namespace lumus::LUMUS_ISA
