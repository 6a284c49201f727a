// Moving elements between layouts and dtypes.
#pragma once

#include <cstdint>

#include "runtime/view.h"

namespace lumus {

// `to` and `from` have the same shape; `to` names no cell twice; their memory does not overlap,
// unless both are the same view.
struct CopyKernels {
  // Equal item sizes. A `from` with zero strides is how a fill is said.
  void (*copy)(const View& to, const View& from);
  // Any two dtypes, by the rules of cast_rows.h.
  void (*cast)(const View& to, const View& from);
  // to[i] = start + i * step, computed in float64 or (wrapping) int64, then cast. Rank 1.
  void (*ramp_real)(const View& to, double start, double step);
  void (*ramp_integer)(const View& to, std::int64_t start, std::int64_t step);
};

const CopyKernels& copy_kernels();

}  // namespace lumus
