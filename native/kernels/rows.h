// Functions of whole rows along one axis: softmax, its logarithm, their gradients; and the
// logarithm of a sum of exponentials over any axes.
#pragma once

#include <cstdint>

#include "runtime/view.h"

namespace lumus {

// The arrays of a call have one floating dtype; but for logsumexp they have one shape, too. Inputs
// may be strided; `output` is contiguous and shares no memory with them.
struct RowsKernels {
  void (*softmax)(const View& input, int axis, const View& output);
  void (*log_softmax)(const View& input, int axis, const View& output);
  // y (g - sum(g y)), with y the softmax
  void (*softmax_grad)(const View& grad, const View& y, int axis, const View& output);
  // g - exp(y) sum(g), with y the logarithm of the softmax
  void (*log_softmax_grad)(const View& grad, const View& y, int axis, const View& output);
  // log(sum(exp(x))) over the axes whose bits are set; `output` has the other axes.
  void (*logsumexp)(const View& input, std::uint32_t reduced_axes, const View& output);
};

const RowsKernels& rows_kernels();

}  // namespace lumus
