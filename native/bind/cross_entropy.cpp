// The cross-entropy of rows of logits with target classes, and its gradient.
#include "kernels/cross_entropy.h"

#include <nanobind/nanobind.h>

#include "bind/release.h"
#include "runtime/array.h"

namespace nb = nanobind;

namespace lumus {
namespace {

CrossEntropyTask describe(const Array& logits, const Array& targets, nb::object ignored,
                          double smoothing, int reduction) {
  CrossEntropyTask task{};
  copy_view(logits.view, &task.logits);
  task.targets = data_of<std::int64_t>(targets.view);
  task.has_ignored = !ignored.is_none();
  if (task.has_ignored) task.ignored = nb::cast<std::int64_t>(ignored);
  task.smoothing = smoothing;
  task.reduction = static_cast<LossReduction>(reduction);
  return task;
}

// (result, stats, divisor), or the number of the first row whose target is no class.
nb::object cross_entropy(const Array& logits, const Array& targets, nb::object ignored,
                         double smoothing, int reduction) {
  const CrossEntropyTask task = describe(logits, targets, ignored, smoothing, reduction);
  const DType dtype = logits.view.dtype;
  const DType wide = dtype == DType::float64 ? DType::float64 : DType::float32;
  const std::int64_t stats_shape[] = {logits.view.shape[0], 2};
  Array result =
      make_array(dtype, task.reduction == LossReduction::none ? 1 : 0, logits.view.shape);
  Array stats = make_array(wide, 2, stats_shape);
  Array divisor = make_array(DType::float64, 0, stats_shape);
  std::int64_t wrong = -1;
  run_released(num_elements(logits.view) * 4, [&] {
    wrong = cross_entropy_kernels().forward(task, result.view, stats.view,
                                            data_of<double>(divisor.view));
  });
  if (wrong >= 0) return nb::cast(wrong);
  return nb::make_tuple(result, stats, divisor);
}

Array cross_entropy_grad(const Array& grad, const Array& logits, const Array& targets,
                         const Array& stats, const Array& divisor, nb::object ignored,
                         double smoothing, int reduction) {
  const CrossEntropyTask task = describe(logits, targets, ignored, smoothing, reduction);
  Array output = make_array(logits.view.dtype, 2, logits.view.shape);
  run_released(num_elements(logits.view) * 4, [&] {
    cross_entropy_kernels().backward(task, grad.view, stats.view, *data_of<double>(divisor.view),
                                     output.view);
  });
  return output;
}

}  // namespace
}  // namespace lumus

void bind_cross_entropy(nb::module_& m) {
  m.def("cross_entropy", lumus::cross_entropy, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(),
        nb::arg());
  m.def("cross_entropy_grad", lumus::cross_entropy_grad, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
}
