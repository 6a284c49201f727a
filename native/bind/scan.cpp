// Running sums, products, logsumexps and extremes; linear recurrences.
#include "kernels/scan.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>

#include <string_view>

#include "bind/release.h"
#include "executor/step.h"
#include "runtime/array.h"

namespace nb = nanobind;

namespace lumus {
namespace {

ScanKind kind_of(std::string_view name) {
  constexpr std::string_view names[] = {"sum", "prod", "logsumexp"};
  for (int code = 0; code < 3; ++code) {
    if (name == names[code]) return static_cast<ScanKind>(code);
  }
  throw nb::value_error("a kind of scan that does not exist");
}

Array like(const Array& array, DType dtype) {
  return make_array(dtype, array.view.rank, array.view.shape);
}

Array scan(std::string_view kind, const Array& array, int axis, bool reverse) {
  const ScanKind code = kind_of(kind);
  const DType dtype = array.view.dtype;
  Array output = like(array, is_float(dtype) ? dtype : DType::int64);
  run_released(num_elements(array.view),
               [&] { scan_kernels().scan(code, array.view, axis, reverse, output.view); });
  return output;
}

nb::tuple running_extreme(std::string_view kind, const Array& array, int axis) {
  Array values = like(array, array.view.dtype);
  Array positions = like(array, DType::int64);
  run_released(num_elements(array.view), [&] {
    scan_kernels().running_extreme(kind == "max", array.view, axis, values.view, positions.view);
  });
  return nb::make_tuple(std::move(values), std::move(positions));
}

Array recurrence(const Array& coefficients, const Array& terms, int axis, bool reverse) {
  Array output = like(terms, terms.view.dtype);
  run_released(num_elements(terms.view), [&] {
    scan_kernels().recurrence(coefficients.view, terms.view, axis, reverse, output.view);
  });
  return output;
}

Step* scan_step(std::string_view kind, int axis, bool reverse) {
  const ScanKind code = kind_of(kind);
  return make_step({1}, [=](Views inputs, Views outputs) {
    scan_kernels().scan(code, *inputs[0], axis, reverse, *outputs[0]);
  });
}

Step* running_extreme_step(std::string_view kind, int axis) {
  const bool is_max = kind == "max";
  return make_step({1, 2}, [=](Views inputs, Views outputs) {
    scan_kernels().running_extreme(is_max, *inputs[0], axis, *outputs[0], *outputs[1]);
  });
}

Step* recurrence_step(int axis, bool reverse) {
  return make_step({2}, [=](Views inputs, Views outputs) {
    scan_kernels().recurrence(*inputs[0], *inputs[1], axis, reverse, *outputs[0]);
  });
}

}  // namespace
}  // namespace lumus

void bind_scan(nb::module_& m) {
  using namespace lumus;
  m.def("scan", scan);
  m.def("running_extreme", running_extreme);
  m.def("recurrence", recurrence);
  m.def("scan_step", scan_step);
  m.def("running_extreme_step", running_extreme_step);
  m.def("recurrence_step", recurrence_step);
}
