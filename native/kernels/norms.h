// Norms over any axes, and distances between rows.
#pragma once

#include <cstdint>

#include "runtime/view.h"

namespace lumus {

struct NormsKernels {
  // (sum |x|^p)^(1/p) over the axes whose bits are set, for any p that is not NaN; for infinite p
  // the largest or smallest magnitude, for 0 how many are not 0. `output` has the dtype of `input`
  // and the other axes; it is contiguous. Over no elements the norm is 0.
  void (*norm)(const View& input, double p, std::uint32_t reduced_axes, const View& output);
  // output[..., i, j] is the norm of x[..., i, :] - y[..., j, :]. All have one floating dtype and
  // the same axes before these; `output` is contiguous.
  void (*distances)(const View& x, const View& y, double p, const View& output);
};

const NormsKernels& norms_kernels();

}  // namespace lumus
