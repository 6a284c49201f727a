// Sets of axes, and the arrays that are left when they are reduced.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "bind/conversion.h"
#include "runtime/array.h"

namespace lumus {

// Bit `axis` is set for each axis of the tuple.
inline std::uint32_t axis_mask(nb::handle axes) {
  std::int64_t values[kMaxRank];
  const int count = read_integers(axes, values);
  std::uint32_t mask = 0;
  for (int i = 0; i < count; ++i) mask |= 1u << values[i];
  return mask;
}

// A new array of the shape that reducing `axes` of `shape` leaves.
inline Array make_reduced_array(int rank, const std::int64_t* shape, std::uint32_t axes,
                                bool keepdims, DType dtype) {
  std::int64_t left[kMaxRank];
  int left_rank = 0;
  for (int axis = 0; axis < rank; ++axis) {
    if (!(axes >> axis & 1u)) {
      left[left_rank++] = shape[axis];
    } else if (keepdims) {
      left[left_rank++] = 1;
    }
  }
  return make_array(dtype, left_rank, left);
}

}  // namespace lumus
