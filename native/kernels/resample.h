// Planes brought to another size: each of the last three axes by a table of weighted elements.
#pragma once

#include <cstdint>

#include "runtime/view.h"

namespace lumus {

// Output o is the sum over t < taps of weight[t * count + o] times element index[t * count + o]. A
// weight of 0 stands for no element (its index is a valid one): what is there does not matter.
struct ResampleAxis {
  std::int64_t length;  // of the input
  std::int64_t count;   // of the output
  std::int64_t taps;
  const std::int32_t* index;
  const double* weight;
};

// Arrays are contiguous, of one floating dtype, with four axes, the first of which counts planes.
struct ResampleKernels {
  void (*resample)(const ResampleAxis* axes, const View& input, const View& output);
};

const ResampleKernels& resample_kernels();

}  // namespace lumus
