// The cross-entropy of rows of logits with target classes, in one pass over the logits.
//
// Layout. Everything is contiguous; a row passes through the level-1 cache.
//
// Aliasing. Results share nothing with the inputs.
//
// Threads. Rows are shared out by size. The losses are added up afterwards, in their order, so the
// bits do not depend on the number of threads.
//
// Numerics. The largest logit is taken out first, and the loss is log(sum) - (x[target] - largest):
// no digits are lost of a loss that is small beside the logits. Half types compute in float32; a
// mean is rounded once. A row with a NaN or +inf, or with nothing but -inf, gives NaN.
#include "kernels/cross_entropy.h"

#include "kernels/runs.h"
#include "runtime/scratch.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {
namespace {

constexpr std::int64_t kGrain = 8192;    // elements a thread takes at once
constexpr std::int64_t kBlock = 1024;    // elements of a row handled at once
constexpr std::int64_t kRowsAtOnce = 8;  // logarithms taken together

bool counts(const CrossEntropyTask& task, std::int64_t row) {
  return !task.has_ignored || task.targets[row] != task.ignored;
}

bool is_class(const CrossEntropyTask& task, std::int64_t target) {
  return target >= 0 && target < task.logits.shape[1];
}

template <class Element>
Compute<Element> largest_of(const Element* row, std::int64_t length) {
  PlainAccumulator<Maximum<Compute<Element>>, Element> accumulator;
  accumulator.clear();
  accumulator.feed(row, length);
  return accumulator.finish();
}

// The sum of exp(x - shift), and with kSums that of x - shift besides.
template <bool kSums, class Element>
double exp_sum(const Element* row, std::int64_t length, Compute<Element> shift, double* sum) {
  using T = Compute<Element>;
  const Vec<T> shifts = splat<T>(shift);
  double total = 0;
  for (std::int64_t begin = 0; begin < length; begin += kBlock) {
    const std::int64_t count = smaller(kBlock, length - begin);
    const Element* x = row + begin;
    total += sum_block<T>(count, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
      return exp(load_some<kIsFull>(x + i, present, Limits<T>::lowest) - shifts);
    });
    if constexpr (kSums) {
      *sum += sum_block<T>(count, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
        return load_some<kIsFull>(x + i, present, shift) - shifts;
      });
    }
  }
  return total;
}

// Losses of `count` rows from `first` on, at most kRowsAtOnce.
template <class Element>
void lose_rows(const CrossEntropyTask& task, std::int64_t first, std::int64_t count,
               Compute<Element>* stats, double* losses) {
  using T = Compute<Element>;
  const std::int64_t classes = task.logits.shape[1];
  const Element* row = reinterpret_cast<const Element*>(task.logits.data) + first * classes;
  double sums[kRowsAtOnce], known[kRowsAtOnce];
  for (double& sum : sums) sum = 1;
  for (std::int64_t r = 0; r < count; ++r, row += classes) {
    const T shift = largest_of(row, classes);
    double even = 0;
    sums[r] = task.smoothing > 0 ? exp_sum<true>(row, classes, shift, &even)
                                 : exp_sum<false>(row, classes, shift, &even);
    stats[2 * (first + r)] = shift;
    stats[2 * (first + r) + 1] = static_cast<T>(sums[r]);
    const std::int64_t target = task.targets[first + r];
    known[r] = 0;
    if (!is_class(task, target)) continue;
    known[r] = static_cast<double>(widen<T>(row[target]) - shift);
    if (task.smoothing > 0) {
      known[r] =
          (1 - task.smoothing) * known[r] + task.smoothing * (even / static_cast<double>(classes));
    }
  }
  for (std::int64_t r = 0; r < kRowsAtOnce; r += kLanes<double>) {
    store<double>(sums + r, log(load<double>(sums + r)));
  }
  for (std::int64_t r = 0; r < count; ++r) {
    losses[first + r] = counts(task, first + r) ? sums[r] - known[r] : 0;
  }
}

template <class Element>
std::int64_t forward_of(const CrossEntropyTask& task, const View& result, const View& stats,
                        double* divisor) {
  using T = Compute<Element>;
  const std::int64_t num_rows = task.logits.shape[0];
  std::int64_t counted = 0;
  for (std::int64_t row = 0; row < num_rows; ++row) {
    if (!counts(task, row)) continue;
    if (!is_class(task, task.targets[row])) return row;
    counted += 1;
  }
  // With every row ignored a mean is 0; of no rows at all it is NaN.
  *divisor = static_cast<double>(counted > 0 || num_rows == 0 ? counted : 1);
  const Scratch scratch((num_rows + 1) * static_cast<std::int64_t>(sizeof(double)));
  double* const losses = scratch.as<double>();
  T* const kept = reinterpret_cast<T*>(stats.data);
  const std::int64_t groups = divide_up(num_rows, kRowsAtOnce);
  const std::int64_t grain = 1 + kGrain / (kRowsAtOnce * (task.logits.shape[1] + 1));
  parallel_for(groups, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = begin; group < end; ++group) {
      const std::int64_t first = group * kRowsAtOnce;
      lose_rows<Element>(task, first, smaller(kRowsAtOnce, num_rows - first), kept, losses);
    }
  });
  Element* const to = reinterpret_cast<Element*>(result.data);
  if (task.reduction == LossReduction::none) {
    for (std::int64_t row = 0; row < num_rows; ++row) to[row] = Narrow<Element>::from(losses[row]);
    return -1;
  }
  double total = 0;
  for (std::int64_t row = 0; row < num_rows; ++row) total += losses[row];
  if (task.reduction == LossReduction::mean) total /= *divisor;
  *to = Narrow<Element>::from(total);
  return -1;
}

// One row of coefficient * (softmax(x) - target).
template <class Element>
void grad_row(const CrossEntropyTask& task, std::int64_t row, Compute<Element> shift, double sum,
              double coefficient, Element* out) {
  using T = Compute<Element>;
  const std::int64_t classes = task.logits.shape[1];
  const Element* const x = reinterpret_cast<const Element*>(task.logits.data) + row * classes;
  const T even = static_cast<T>(coefficient * task.smoothing / static_cast<double>(classes));
  const Vec<T> shifts = splat<T>(shift);
  const Vec<T> scale = splat<T>(static_cast<T>(coefficient / sum));
  for_vectors<T>(classes, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
    const Vec<T> value = load_some<kIsFull>(x + i, present, T(0));
    store_some<kIsFull>(out + i, exp(value - shifts) * scale - even, present);
  });
  const std::int64_t target = task.targets[row];
  const Vec<T> at = splat<T>(widen<T>(x[target]));
  const T share = static_cast<T>(coefficient * (1 - task.smoothing));
  out[target] = Narrow<Element>::from((exp(at - shifts) * scale - even)[0] - share);
}

template <class Element>
void backward_of(const CrossEntropyTask& task, const View& grad, const View& stats, double divisor,
                 const View& output) {
  using T = Compute<Element>;
  const std::int64_t num_rows = task.logits.shape[0];
  const std::int64_t classes = task.logits.shape[1];
  const Element* const grads = reinterpret_cast<const Element*>(grad.data);
  const T* const kept = reinterpret_cast<const T*>(stats.data);
  Element* const out = reinterpret_cast<Element*>(output.data);
  const bool is_shared = task.reduction != LossReduction::none;
  const double scale = task.reduction == LossReduction::mean ? 1 / divisor : 1;
  parallel_for(num_rows, 1 + kGrain / (classes + 1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      Element* const to = out + row * classes;
      if (!counts(task, row)) {
        std::memset(to, 0, static_cast<std::size_t>(classes) * sizeof(Element));
        continue;
      }
      const double coefficient = scale * static_cast<double>(widen<T>(grads[is_shared ? 0 : row]));
      grad_row<Element>(task, row, kept[2 * row], static_cast<double>(kept[2 * row + 1]),
                        coefficient, to);
    }
  });
}

std::int64_t forward(const CrossEntropyTask& task, const View& result, const View& stats,
                     double* divisor) {
  switch (task.logits.dtype) {
    case DType::float64:
      return forward_of<double>(task, result, stats, divisor);
    case DType::float32:
      return forward_of<float>(task, result, stats, divisor);
    case DType::float16:
      return forward_of<Float16>(task, result, stats, divisor);
    default:
      return forward_of<BFloat16>(task, result, stats, divisor);
  }
}

void backward(const CrossEntropyTask& task, const View& grad, const View& stats, double divisor,
              const View& output) {
  switch (task.logits.dtype) {
    case DType::float64:
      return backward_of<double>(task, grad, stats, divisor, output);
    case DType::float32:
      return backward_of<float>(task, grad, stats, divisor, output);
    case DType::float16:
      return backward_of<Float16>(task, grad, stats, divisor, output);
    default:
      return backward_of<BFloat16>(task, grad, stats, divisor, output);
  }
}

}  // namespace

extern const CrossEntropyKernels cross_entropy_table;
const CrossEntropyKernels cross_entropy_table = {&forward, &backward};

}  // namespace lumus::LUMUS_ISA
