// Connectionist temporal classification and its gradient. Arrays are contiguous.
#include "kernels/ctc.h"

#include <nanobind/nanobind.h>

#include "bind/release.h"
#include "runtime/array.h"

namespace nb = nanobind;

namespace lumus {
namespace {

constexpr std::int64_t kCostOfLabel = 16;  // exponentials and logarithms, in elements moved

CtcTask describe(const Array& logarithms, const Array& labels, const Array& num_counted,
                 const Array& num_targets) {
  CtcTask task{};
  task.dtype = logarithms.view.dtype;
  task.logarithms = logarithms.view.data;
  task.num_frames = logarithms.view.shape[0];
  task.batch = logarithms.view.shape[1];
  task.classes = logarithms.view.shape[2];
  task.labels = data_of<std::int64_t>(labels.view);
  task.num_labels = labels.view.shape[1];
  task.num_counted = data_of<std::int64_t>(num_counted.view);
  task.num_targets = data_of<std::int64_t>(num_targets.view);
  return task;
}

std::int64_t cost_of(const CtcTask& task) {
  return task.num_frames * task.batch * task.num_labels * kCostOfLabel;
}

Array ctc(const Array& logarithms, const Array& labels, const Array& num_counted,
          const Array& num_targets) {
  const CtcTask task = describe(logarithms, labels, num_counted, num_targets);
  Array losses = make_array(task.dtype, 1, &task.batch);
  run_released(cost_of(task), [&] { ctc_kernels().forward(task, losses.view.data); });
  return losses;
}

Array ctc_grad(const Array& grads, const Array& logarithms, const Array& labels,
               const Array& num_counted, const Array& num_targets) {
  const CtcTask task = describe(logarithms, labels, num_counted, num_targets);
  Array output = make_array(task.dtype, 3, logarithms.view.shape);
  run_released(cost_of(task) + num_elements(output.view),
               [&] { ctc_kernels().backward(task, grads.view.data, output.view.data); });
  return output;
}

}  // namespace
}  // namespace lumus

void bind_ctc(nb::module_& m) {
  m.def("ctc", lumus::ctc);
  m.def("ctc_grad", lumus::ctc_grad);
}
