// The axes of an array, in the order in which memory is best walked.
#pragma once

#include <cstdint>

#include "kernels/simd.h"
#include "runtime/view.h"

namespace lumus::LUMUS_ISA {

struct Axes {
  int rank = 0;
  std::int64_t shape[kMaxRank];
  std::int64_t strides[kMaxRank];      // of the input, never negative
  std::int64_t out_strides[kMaxRank];  // of the output; kept axes only
  std::int64_t count = 1;

  std::int64_t offset(std::int64_t index, std::int64_t* out_offset) const {
    std::int64_t in = 0;
    std::int64_t out = 0;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const std::int64_t at = index % shape[axis];
      index /= shape[axis];
      in += at * strides[axis];
      if (out_offset) out += at * out_strides[axis];
    }
    if (out_offset) *out_offset = out;
    return in;
  }
};

// Outermost first: broadcast axes, then by falling stride.
LUMUS_INLINE bool goes_before(std::int64_t stride, std::int64_t other) {
  if (other == 0) return false;
  return stride == 0 || stride > other;
}

LUMUS_INLINE void insert_axis(Axes& axes, std::int64_t length, std::int64_t stride,
                              std::int64_t out) {
  int at = axes.rank++;
  for (; at > 0 && goes_before(stride, axes.strides[at - 1]); --at) {
    axes.shape[at] = axes.shape[at - 1];
    axes.strides[at] = axes.strides[at - 1];
    axes.out_strides[at] = axes.out_strides[at - 1];
  }
  axes.shape[at] = length;
  axes.strides[at] = stride;
  axes.out_strides[at] = out;
  axes.count *= length;
}

LUMUS_INLINE void merge_axes(Axes& axes, bool is_kept) {
  int last = 0;
  for (int axis = 1; axis < axes.rank; ++axis) {
    const std::int64_t length = axes.shape[axis];
    const bool joins = axes.strides[last] == axes.strides[axis] * length &&
                       (!is_kept || axes.out_strides[last] == axes.out_strides[axis] * length);
    if (joins) {
      axes.shape[last] *= length;
    } else {
      ++last;
      axes.shape[last] = length;
    }
    axes.strides[last] = axes.strides[axis];
    axes.out_strides[last] = axes.out_strides[axis];
  }
  if (axes.rank > 0) axes.rank = last + 1;
}

struct Plan {
  Axes kept;
  Axes reduced;
  std::int64_t in_offset = 0;  // of the first element after flips
  std::int64_t out_offset = 0;
};

LUMUS_INLINE void make_plan(const View& input, std::uint32_t reduced_axes, Plan& plan) {
  std::int64_t out_stride = 1;
  for (int axis = input.rank - 1; axis >= 0; --axis) {
    const std::int64_t length = input.shape[axis];
    const bool is_reduced = reduced_axes >> axis & 1u;
    const std::int64_t this_out = out_stride;
    if (!is_reduced) out_stride *= length;
    if (length == 1) continue;
    std::int64_t stride = input.strides[axis];
    const bool is_flipped = stride < 0;
    if (is_flipped) {
      plan.in_offset += (length - 1) * stride;
      stride = -stride;
    }
    if (is_reduced) {
      insert_axis(plan.reduced, length, stride, 0);
    } else {
      if (is_flipped) plan.out_offset += (length - 1) * this_out;
      insert_axis(plan.kept, length, stride, is_flipped ? -this_out : this_out);
    }
  }
  merge_axes(plan.reduced, false);
  merge_axes(plan.kept, true);
}

}  // namespace lumus::LUMUS_ISA
