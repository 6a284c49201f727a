// Sorting along one axis, the order of the elements, the largest of them, and search in what is
// sorted.
#pragma once

#include <cstdint>

#include "runtime/view.h"

namespace lumus {

// NaN counts as greater than every number. Equal elements (zeros of either sign are equal) keep
// their order, also when it descends. Inputs may be strided; outputs are contiguous and share no
// memory with them.
struct SortKernels {
  // `output` has the shape and dtype of `input`.
  void (*sort)(const View& input, int axis, bool descends, const View& output);
  // `output` holds int64 positions along the axis.
  void (*argsort)(const View& input, int axis, bool descends, const View& output);
  // The first `values.shape[axis]` elements in ascending or descending order, and their int64
  // positions.
  void (*topk)(const View& input, int axis, bool is_largest, const View& values,
               const View& positions);
  // For each value the first position of its line in `sorted` whose element is not less than it,
  // or, from the right, is greater. All but the last axes of `sorted` are those of `values`, or
  // `sorted` has one axis. Both have one dtype, `output` is int64.
  void (*searchsorted)(const View& sorted, const View& values, bool from_right, const View& output);
};

const SortKernels& sort_kernels();

}  // namespace lumus
