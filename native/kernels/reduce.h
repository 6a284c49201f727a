// Reductions of strided arrays: sum, mean, prod, max, min, any, all over any set of axes, and the
// position of an extremum.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/view.h"

namespace lumus {

enum class ReduceKind : std::uint8_t { sum, mean, prod, max, min, any, all };

// Values that are computed where they are needed, from inputs that are broadcast to one shape
// (their strides are 0 along axes that they lack).
struct ComputedValues {
  // Value k of `count`, from the elements inputs[i] + k * strides[i], into dense `result`.
  void (*evaluate)(const void* context, const std::byte* const* inputs, const std::int64_t* strides,
                   std::int64_t count, std::byte* result);
  const void* context;
  DType dtype;  // of the values
  int rank;
  const std::int64_t* shape;
  int num_inputs;  // at most kMaxComputedInputs
  const View* inputs;
};

constexpr int kMaxComputedInputs = 96;

struct ReduceKernels {
  // Bit `axis` of `reduced_axes` is set for an axis that disappears. `output` is contiguous and
  // holds one element for each index of the remaining axes, in row-major order; it shares no memory
  // with `input`. Its dtype is free for sum, mean and prod, that of `input` for max and min, and
  // bool for any and all.
  void (*reduce)(ReduceKind kind, const View& input, std::uint32_t reduced_axes,
                 const View& output);
  // The same for values that are computed tile by tile and never stored.
  void (*reduce_computed)(ReduceKind kind, const ComputedValues& values, std::uint32_t reduced_axes,
                          const View& output);
  // First index of the maximum or minimum along `axis`, or in row-major order over everything when
  // `axis` is negative. A NaN beats every number. `output` is int64 and contiguous.
  void (*arg_reduce)(bool is_max, const View& input, int axis, const View& output);
};

const ReduceKernels& reduce_kernels();

}  // namespace lumus
