// A strided window on memory: plain data, owned by nobody. This is what every kernel takes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/dtype.h"

namespace lumus {

constexpr int kMaxRank = 16;

// Strides count elements, not bytes; they may be zero (broadcast) or negative (flipped).
// `data` points at the element with index (0, ..., 0).
struct View {
  std::byte* data;
  DType dtype;
  int rank;
  std::int64_t shape[kMaxRank];
  std::int64_t strides[kMaxRank];
};

// Static: kernel sources call these, and a copy of them compiled for one instruction set must not
// be what the linker picks for all.
static inline std::int64_t num_elements(const View& view) {
  std::int64_t count = 1;
  for (int axis = 0; axis < view.rank; ++axis) count *= view.shape[axis];
  return count;
}

// Row-major and dense. Axes of length 1 may have any stride; an empty view is contiguous.
static inline bool is_contiguous(const View& view) {
  std::int64_t expected = 1;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    if (view.shape[axis] == 0) return true;
    if (view.shape[axis] != 1) {
      if (view.strides[axis] != expected) return false;
      expected *= view.shape[axis];
    }
  }
  return true;
}

}  // namespace lumus
