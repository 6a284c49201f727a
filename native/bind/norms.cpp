// Norms and distances.
#include "kernels/norms.h"

#include <nanobind/nanobind.h>

#include "bind/axes.h"
#include "bind/release.h"
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

// The axes before the last two of x and y are equal.
Array distances(const Array& x, const Array& y, double p) {
  View shape = x.view;
  shape.shape[shape.rank - 1] = y.view.shape[y.view.rank - 2];
  Array output = make_array(shape.dtype, shape.rank, shape.shape);
  run_released(num_elements(output.view) * x.view.shape[x.view.rank - 1],
               [&] { norms_kernels().distances(x.view, y.view, p, output.view); });
  return output;
}

}  // namespace
}  // namespace lumus

void bind_norms(nb::module_& m) {
  using namespace lumus;
  m.def("norm", norm);
  m.def("distances", distances);
}
