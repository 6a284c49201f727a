// Vectors of every second element: two streams taken apart and put together.
#pragma once

#include <cstdint>

#include "kernels/simd.h"

namespace lumus::LUMUS_ISA {

template <class T>
using IntOf = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

// Lane l is start + l * step, and where `low` and `high` are given, every other lane counts from
// the second vector.
template <class T>
LUMUS_INLINE Vec<IntOf<T>> ramp(IntOf<T> start, IntOf<T> step) {
  Vec<IntOf<T>> lanes;
  for (std::int64_t lane = 0; lane < kLanes<T>; ++lane) {
    lanes[lane] = start + static_cast<IntOf<T>>(lane) * step;
  }
  return lanes;
}

// Elements 0, 2, 4, ... of two vectors in a row.
template <class T>
LUMUS_INLINE Vec<T> evens(Vec<T> low, Vec<T> high) {
  return __builtin_shuffle(low, high, ramp<T>(0, 2));
}

// Elements 1, 3, 5, ... of two vectors in a row.
template <class T>
LUMUS_INLINE Vec<T> odds(Vec<T> low, Vec<T> high) {
  return __builtin_shuffle(low, high, ramp<T>(1, 2));
}

// first[0], second[0], first[1], ...: the lower and the upper vector of them.
template <class T>
LUMUS_INLINE Vec<T> interleave_low(Vec<T> first, Vec<T> second) {
  Vec<IntOf<T>> order;
  for (std::int64_t lane = 0; lane < kLanes<T>; ++lane) {
    order[lane] = static_cast<IntOf<T>>(lane / 2 + (lane % 2) * kLanes<T>);
  }
  return __builtin_shuffle(first, second, order);
}
template <class T>
LUMUS_INLINE Vec<T> interleave_high(Vec<T> first, Vec<T> second) {
  Vec<IntOf<T>> order;
  for (std::int64_t lane = 0; lane < kLanes<T>; ++lane) {
    order[lane] = static_cast<IntOf<T>>((lane + kLanes<T>) / 2 + (lane % 2) * kLanes<T>);
  }
  return __builtin_shuffle(first, second, order);
}

}  // namespace lumus::LUMUS_ISA
