// softmax, log_softmax, their gradients, and logsumexp.
#include "kernels/rows.h"

#include <nanobind/nanobind.h>

#include "bind/axes.h"
#include "bind/release.h"
#include "executor/step.h"
#include "runtime/array.h"

namespace nb = nanobind;

namespace lumus {
namespace {

Array softmax(const Array& array, int axis) {
  Array output = make_array(array.view.dtype, array.view.rank, array.view.shape);
  run_released(num_elements(array.view),
               [&] { rows_kernels().softmax(array.view, axis, output.view); });
  return output;
}

Array log_softmax(const Array& array, int axis) {
  Array output = make_array(array.view.dtype, array.view.rank, array.view.shape);
  run_released(num_elements(array.view),
               [&] { rows_kernels().log_softmax(array.view, axis, output.view); });
  return output;
}

Array softmax_grad(const Array& grad, const Array& y, int axis) {
  Array output = make_array(y.view.dtype, y.view.rank, y.view.shape);
  run_released(num_elements(y.view),
               [&] { rows_kernels().softmax_grad(grad.view, y.view, axis, output.view); });
  return output;
}

Array log_softmax_grad(const Array& grad, const Array& y, int axis) {
  Array output = make_array(y.view.dtype, y.view.rank, y.view.shape);
  run_released(num_elements(y.view),
               [&] { rows_kernels().log_softmax_grad(grad.view, y.view, axis, output.view); });
  return output;
}

Array logsumexp(const Array& array, nb::tuple axes, bool keepdims) {
  const std::uint32_t reduced = axis_mask(axes);
  Array output =
      make_reduced_array(array.view.rank, array.view.shape, reduced, keepdims, array.view.dtype);
  run_released(num_elements(array.view),
               [&] { rows_kernels().logsumexp(array.view, reduced, output.view); });
  return output;
}

Step* softmax_step(int axis, bool is_log) {
  const auto kernel = is_log ? rows_kernels().log_softmax : rows_kernels().softmax;
  return make_step({1},
                   [=](Views inputs, Views outputs) { kernel(*inputs[0], axis, *outputs[0]); });
}

Step* softmax_grad_step(int axis, bool is_log) {
  const auto kernel = is_log ? rows_kernels().log_softmax_grad : rows_kernels().softmax_grad;
  return make_step(
      {2}, [=](Views inputs, Views outputs) { kernel(*inputs[0], *inputs[1], axis, *outputs[0]); });
}

Step* logsumexp_step(nb::tuple axes) {
  const std::uint32_t reduced = axis_mask(axes);
  return make_step({1}, [=](Views inputs, Views outputs) {
    rows_kernels().logsumexp(*inputs[0], reduced, *outputs[0]);
  });
}

}  // namespace
}  // namespace lumus

void bind_rows(nb::module_& m) {
  using namespace lumus;
  m.def("softmax", softmax);
  m.def("log_softmax", log_softmax);
  m.def("softmax_grad", softmax_grad);
  m.def("log_softmax_grad", log_softmax_grad);
  m.def("logsumexp", logsumexp);
  m.def("softmax_step", softmax_step);
  m.def("softmax_grad_step", softmax_grad_step);
  m.def("logsumexp_step", logsumexp_step);
}
