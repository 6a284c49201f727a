// The cross-entropy of rows of logits with target classes, and its gradient.
#include "kernels/cross_entropy.h"

#include <nanobind/nanobind.h>

#include "executor/step.h"
#include "runtime/copies.h"
#include "runtime/step_error.h"

namespace nb = nanobind;

namespace lumus {
namespace {

// What does not change between calls.
struct Options {
  bool has_ignored;
  std::int64_t ignored;
  double smoothing;
  LossReduction reduction;

  Options(nb::object ignored_target, double smoothed, int reduced)
      : has_ignored(!ignored_target.is_none()),
        ignored(has_ignored ? nb::cast<std::int64_t>(ignored_target) : 0),
        smoothing(smoothed),
        reduction(static_cast<LossReduction>(reduced)) {}

  CrossEntropyTask task(const Array& logits, const Array& targets) const {
    CrossEntropyTask task{};
    copy_view(logits.view, &task.logits);
    task.targets = data_of<std::int64_t>(targets.view);
    task.has_ignored = has_ignored;
    task.ignored = ignored;
    task.smoothing = smoothing;
    task.reduction = reduction;
    return task;
  }
};

// Exponentials.
std::int64_t work_of(const View& logits) { return num_elements(logits) * 4; }

// Of (logits, targets): (result, stats, divisor).
Step* cross_entropy_step(nb::object ignored, double smoothing, int reduction) {
  const Options options(ignored, smoothing, reduction);
  const auto run = [=](Views inputs, Views outputs) {
    const Array logits = dense(*inputs[0]), targets = dense(*inputs[1], DType::int64);
    const std::int64_t wrong = cross_entropy_kernels().forward(
        options.task(logits, targets), *outputs[0], *outputs[1], data_of<double>(*outputs[2]));
    if (wrong < 0) return;
    OutsideIndex outside;
    outside.value = data_of<std::int64_t>(targets.view)[wrong];
    outside.bound = logits.view.shape[1];
    outside.rank = outside.axis = 1;
    outside.position[0] = wrong;
    throw outside;
  };
  return make_step({2, 3}, run, [](Views inputs, Views) { return work_of(*inputs[0]); });
}

// Of (grad, logits, targets, stats, divisor).
Step* cross_entropy_grad_step(nb::object ignored, double smoothing, int reduction) {
  const Options options(ignored, smoothing, reduction);
  const auto run = [=](Views inputs, Views outputs) {
    const Array grad = dense(*inputs[0]), logits = dense(*inputs[1]);
    const Array targets = dense(*inputs[2], DType::int64), stats = dense(*inputs[3]);
    cross_entropy_kernels().backward(options.task(logits, targets), grad.view, stats.view,
                                     *data_of<double>(*inputs[4]), *outputs[0]);
  };
  return make_step({5}, run, [](Views inputs, Views) { return work_of(*inputs[1]); });
}

}  // namespace
}  // namespace lumus

void bind_cross_entropy(nb::module_& m) {
  m.def("cross_entropy_step", lumus::cross_entropy_step, nb::arg().none(), nb::arg(), nb::arg());
  m.def("cross_entropy_grad_step", lumus::cross_entropy_grad_step, nb::arg().none(), nb::arg(),
        nb::arg());
}
