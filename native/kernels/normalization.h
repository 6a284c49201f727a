// Normalisation: each element less the mean of its group, over the group's deviation, times a
// weight, plus a bias; and the gradients.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/dtype.h"

namespace lumus {

// The elements as (outer, groups, channels, inner), contiguous. Over rows, a statistic is that of
// one (outer, group), and weight and bias have groups * channels elements; over channels
// (groups = 1), a statistic is that of one channel.
struct NormShape {
  DType dtype;  // of all but the statistics, which are float32 (float64 for that)
  std::int64_t outer;
  std::int64_t groups;
  std::int64_t channels;
  std::int64_t inner;
};

// Null: no weight, no bias, and with rms (mean is null) the mean is taken for 0.
struct NormCall {
  NormShape shape;
  double eps;
  const std::byte* x;
  const std::byte* weight;
  const std::byte* bias;
  std::byte* y;
  std::byte* mean;
  std::byte* spread;  // over rows 1 / sqrt(variance + eps), over channels the variance
};

// Null: what is not wanted, or is not there.
struct NormGradCall {
  NormShape shape;
  double eps;
  const std::byte* grad;
  const std::byte* x;
  const std::byte* mean;
  const std::byte* spread;
  const std::byte* weight;
  std::byte* grad_x;
  std::byte* grad_weight;
  std::byte* grad_bias;
};

// Outputs share no memory with inputs. The variance is that of the population (divided by the
// count).
struct NormalizationKernels {
  void (*rows)(const NormCall& call);
  void (*rows_grad)(const NormGradCall& call);
  void (*channels)(const NormCall& call);
  void (*channels_grad)(const NormGradCall& call);
  // With mean and variance given, and constants for the gradient.
  void (*channels_fixed)(const NormCall& call);
  void (*channels_fixed_grad)(const NormGradCall& call);
};

const NormalizationKernels& normalization_kernels();

}  // namespace lumus
