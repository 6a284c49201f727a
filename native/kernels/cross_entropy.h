// The cross-entropy of the softmax of rows of logits with target classes, and its gradient.
#pragma once

#include <cstdint>

#include "runtime/view.h"

namespace lumus {

enum class LossReduction : int { none, sum, mean };

// `logits` is (rows, classes), contiguous and floating; `targets` are contiguous and int64.
struct CrossEntropyTask {
  View logits;
  const std::int64_t* targets;
  bool has_ignored;
  std::int64_t ignored;  // rows with this target do not count
  double smoothing;      // the share of the target that is spread evenly over all classes
  LossReduction reduction;
};

struct CrossEntropyKernels {
  // Writes the losses of all rows, or the only one, to `result`; the largest logit and the sum of
  // the exponentials that are left when it is taken out to `stats`, (rows, 2) of float64 or
  // float32; what a mean divides by to `*divisor`. Returns the first row whose target is no class,
  // and then the results are not to be used, or -1.
  std::int64_t (*forward)(const CrossEntropyTask& task, const View& result, const View& stats,
                          double* divisor);
  // `grad` is that of the result, contiguous; `output` has the shape of the logits.
  void (*backward)(const CrossEntropyTask& task, const View& grad, const View& stats,
                   double divisor, const View& output);
};

const CrossEntropyKernels& cross_entropy_kernels();

}  // namespace lumus
