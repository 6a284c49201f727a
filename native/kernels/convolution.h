// Convolutions over up to three spatial axes, their gradients, and the windows as matrices.
#pragma once

#include <cstdint>

#include "runtime/view.h"

namespace lumus {

// Output position p meets input position p * stride - padding + tap * dilation; input positions
// that do not exist hold zeros.
struct ConvolutionAxis {
  std::int64_t input, output, taps;
  std::int64_t stride, padding, dilation;
};

struct Convolution {
  std::int64_t batch, groups;
  std::int64_t in_channels, out_channels;  // of one group
  ConvolutionAxis axes[3];                 // absent ones have length 1 and come first
};

// Arrays have five axes (batch, channels, three spatial) and one dtype, float32 or float64.
// `weight` (groups * out_channels, in_channels, taps...) and `bias`, which may be null, are
// contiguous; x and y may have any strides, but for the y of a weight's gradient. Results are
// contiguous and share no memory with the operands.
struct ConvolutionKernels {
  // y = convolution of x
  void (*forward)(const Convolution& shape, const View& x, const View& weight, const View* bias,
                  const View& y);
  // x = transposed convolution of y
  void (*transpose)(const Convolution& shape, const View& y, const View& weight, const View* bias,
                    const View& x);
  // weight = sum over batch and positions of what each tap sees times y
  void (*weight)(const Convolution& shape, const View& x, const View& y, const View& weight);
  // columns (batch, groups * in_channels * taps, output positions) of x
  void (*im2col)(const Convolution& shape, const View& x, const View& columns);
  // x = sums of contiguous columns where they lie
  void (*col2im)(const Convolution& shape, const View& columns, const View& x);
};

const ConvolutionKernels& convolution_kernels();

}  // namespace lumus
