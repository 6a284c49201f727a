// Running sums, products, logarithms of sums of exponentials and extremes along one axis, and
// linear recurrences.
#pragma once

#include <cstdint>

#include "runtime/view.h"

namespace lumus {

enum class ScanKind : std::uint8_t { sum, prod, logsumexp };

// The arrays of a call have one shape. Inputs may be strided; outputs are contiguous and share no
// memory with them. Reversed, everything runs from the end of the axis.
struct ScanKernels {
  // `output` has the dtype of a floating input, and is int64 for ints and bools; there is no
  // logsumexp of those.
  void (*scan)(ScanKind kind, const View& input, int axis, bool is_reversed, const View& output);
  // The largest or smallest element so far, NaN before all, and the int64 position of the first
  // such.
  void (*running_extreme)(bool is_max, const View& input, int axis, const View& values,
                          const View& positions);
  // s[i] = b[i] + a[i] s[i-1], from s[0] = b[0] on. Reversed it is the transpose of that:
  // s[i] = b[i] + a[i+1] s[i+1]. All floating and of one dtype.
  void (*recurrence)(const View& coefficients, const View& terms, int axis, bool is_reversed,
                     const View& output);
};

const ScanKernels& scan_kernels();

}  // namespace lumus
