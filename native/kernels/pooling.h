// Maxima and means over windows of the last three axes.
#pragma once

#include <cstdint>

#include "runtime/view.h"

namespace lumus {

// The windows along one axis. Tap k of window o is the cell first[o] + k * dilation of the input,
// which is there for begin[o] <= k < end[o] (at least one tap is); the others are padding.
struct PoolAxis {
  std::int64_t length;    // of the input
  std::int64_t count;     // windows
  std::int64_t window;    // taps, of the largest window
  std::int64_t dilation;  // between taps
  std::int64_t stride;    // between windows; 0 where they are spaced unevenly
  const std::int64_t* first;
  const std::int64_t* begin;
  const std::int64_t* end;
  const double* divisor;  // of the mean over each window: their product over the axes
};

struct PoolWindows {
  PoolAxis axes[3];
};

// Arrays are contiguous, of one floating dtype; their last three axes are those of the windows.
// `places` (uint8, or int32 for more than 256 taps) says which tap of each window is meant:
// (depth * height + row) * width + column, counted from first[o], in windows of the largest size.
struct MaxPoolKernels {
  // The first maximum in row-major order, NaN above all; never in the padding.
  void (*max)(const PoolWindows& windows, const View& input, const View& output,
              const View& places);
  // What max transposes to: each element of `grad` added at its place.
  void (*max_grad)(const PoolWindows& windows, const View& grad, const View& places,
                   const View& output);
  // The cells of the input at the places.
  void (*take)(const PoolWindows& windows, const View& input, const View& places,
               const View& output);
};

// The windows are spaced evenly.
struct MeanPoolKernels {
  void (*mean)(const PoolWindows& windows, const View& input, const View& output);
  // What mean transposes to.
  void (*mean_grad)(const PoolWindows& windows, const View& grad, const View& output);
};

const MaxPoolKernels& max_pool_kernels();
const MeanPoolKernels& mean_pool_kernels();

}  // namespace lumus
