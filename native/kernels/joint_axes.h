// The axes that several arrays of one shape have beside the axis that a kernel works along.
#pragma once

#include <cstdint>

#include "kernels/simd.h"
#include "runtime/view.h"

namespace lumus::LUMUS_ISA {

constexpr int kMaxJointArrays = 3;

// Axes of several arrays of one shape; neighbours are merged where every array allows it.
struct JointAxes {
  int rank = 0;
  std::int64_t count = 1;
  std::int64_t shape[kMaxRank];
  std::int64_t strides[kMaxJointArrays][kMaxRank];

  void add(std::int64_t length, const std::int64_t* steps, int num_arrays) {
    count *= length;
    if (length == 1) return;
    bool joins = rank > 0;
    for (int i = 0; i < num_arrays && joins; ++i) {
      joins = strides[i][rank - 1] == steps[i] * length;
    }
    if (joins) {
      shape[rank - 1] *= length;
    } else {
      shape[rank++] = length;
    }
    for (int i = 0; i < num_arrays; ++i) strides[i][rank - 1] = steps[i];
  }

  void locate(std::int64_t index, int num_arrays, std::int64_t* offsets) const {
    for (int i = 0; i < num_arrays; ++i) offsets[i] = 0;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const std::int64_t at = index % shape[axis];
      index /= shape[axis];
      for (int i = 0; i < num_arrays; ++i) offsets[i] += at * strides[i][axis];
    }
  }
};

}  // namespace lumus::LUMUS_ISA
