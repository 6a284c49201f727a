// Connectionist temporal classification: the log-probability that frames spell their targets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/dtype.h"

namespace lumus {

// Everything is contiguous. Labels are the targets with blanks between and around them.
struct CtcTask {
  DType dtype;                  // float32 or float64
  const std::byte* logarithms;  // (num_frames, batch, classes)
  std::int64_t num_frames, batch, classes;
  const std::int64_t* labels;  // (batch, num_labels), each a class
  std::int64_t num_labels;
  const std::int64_t* num_counted;  // of each row's frames
  const std::int64_t* num_targets;  // of each row; 2 * num_targets + 1 labels count
};

struct CtcKernels {
  // losses[row] = -log P(targets), infinite where no path spells them.
  void (*forward)(const CtcTask& task, std::byte* losses);
  // grads[row] is the gradient of a row's loss; `output`, like the logarithms, is overwritten.
  // Where a loss is infinite it has no gradient.
  void (*backward)(const CtcTask& task, const std::byte* grads, std::byte* output);
};

const CtcKernels& ctc_kernels();

}  // namespace lumus
