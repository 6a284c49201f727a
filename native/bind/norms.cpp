// Norms and distances.
#include "kernels/norms.h"

#include <nanobind/nanobind.h>

#include "bind/axes.h"
#include "bind/release.h"
#include "executor/step.h"
#include "runtime/array.h"

namespace nb = nanobind;

namespace lumus {
namespace {

Array norm(const Array& array, double p, nb::tuple axes, bool keepdims) {
  const View& view = array.view;
  const std::uint32_t reduced = axis_mask(axes);
  Array output = make_reduced_array(view.rank, view.shape, reduced, keepdims, view.dtype);
  run_released(num_elements(view), [&] { norms_kernels().norm(view, p, reduced, output.view); });
  return output;
}

Step* norm_step(double p, nb::tuple axes) {
  const std::uint32_t reduced = axis_mask(axes);
  return make_step({1}, [=](Views inputs, Views outputs) {
    norms_kernels().norm(*inputs[0], p, reduced, *outputs[0]);
  });
}

std::int64_t work_of_distances(const View& x, const View& output) {
  return num_elements(output) * x.shape[x.rank - 1];
}

// The axes before the last two of x and y are equal.
Array distances(const Array& x, const Array& y, double p) {
  View shape = x.view;
  shape.shape[shape.rank - 1] = y.view.shape[y.view.rank - 2];
  Array output = make_array(shape.dtype, shape.rank, shape.shape);
  run_released(work_of_distances(x.view, output.view),
               [&] { norms_kernels().distances(x.view, y.view, p, output.view); });
  return output;
}

Step* distances_step(double p) {
  return make_step(
      {2},
      [=](Views inputs, Views outputs) {
        norms_kernels().distances(*inputs[0], *inputs[1], p, *outputs[0]);
      },
      [](Views inputs, Views outputs) { return work_of_distances(*inputs[0], *outputs[0]); });
}

}  // namespace
}  // namespace lumus

void bind_norms(nb::module_& m) {
  using namespace lumus;
  m.def("norm", norm);
  m.def("norm_step", norm_step);
  m.def("distances", distances);
  m.def("distances_step", distances_step);
}
