// Runs of elements taken a vector at a time, computed in float32 or float64.
#pragma once

#include <cstdint>

#include "kernels/accumulate.h"
#include "kernels/math.h"
#include "kernels/tile_io.h"

namespace lumus::LUMUS_ISA {

// What elements are computed in: half types in float32.
template <class Element>
struct ComputeOf {
  using type = float;
};
template <>
struct ComputeOf<double> {
  using type = double;
};
template <class Element>
using Compute = typename ComputeOf<Element>::type;

LUMUS_INLINE double fold_sum(f32v values) {
  const F64Pair wide = widen(values);
  return fold_vector<Sum<double>, kLanes<double>>(wide.hi + wide.lo);
}
LUMUS_INLINE double fold_sum(f64v values) {
  return fold_vector<Sum<double>, kLanes<double>>(values);
}

// Adds a vector to as many float64 sums.
LUMUS_INLINE void add_wide(double* sums, f32v values) {
  const F64Pair wide = widen(values);
  constexpr std::int64_t width = kLanes<double>;
  store<double>(sums, load<double>(sums) + wide.hi);
  store<double>(sums + width, load<double>(sums + width) + wide.lo);
}
LUMUS_INLINE void add_wide(double* sums, f64v values) {
  store<double>(sums, load<double>(sums) + values);
}

// Calls body<is_full>(i, present) for each vector of `count` elements.
template <class T, class Body>
LUMUS_INLINE void for_vectors(std::int64_t count, const Body& body) {
  std::int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) body.template operator()<true>(i, kLanes<T>);
  if (i < count) body.template operator()<false>(i, count - i);
}

template <bool kIsFull, class Element, class T>
LUMUS_INLINE Vec<T> load_some(const Element* from, std::int64_t present, T fill) {
  if constexpr (kIsFull) return load_values(from);
  return load_left(from, present, fill);
}

template <bool kIsFull, class Element, class V>
LUMUS_INLINE void store_some(Element* to, V values, std::int64_t present) {
  if constexpr (kIsFull) {
    store_values(to, values);
  } else {
    store_left(to, values, present);
  }
}

// The sum of value<is_full>(i, present) over a block; a lane adds up a quarter of its vectors in
// its own precision.
template <class T, class Value>
LUMUS_INLINE double sum_block(std::int64_t count, const Value& value) {
  constexpr std::int64_t width = kLanes<T>;
  Vec<T> sums[4] = {};
  std::int64_t i = 0;
  for (; i + 4 * width <= count; i += 4 * width) {
    unroll<4>([&](auto v) __attribute__((always_inline)) {
      sums[v] += value.template operator()<true>(i + v * width, width);
    });
  }
  for (; i + width <= count; i += width) sums[0] += value.template operator()<true>(i, width);
  if (i < count) sums[1] += value.template operator()<false>(i, count - i);
  return fold_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

}  // namespace lumus::LUMUS_ISA
