// Sorting, positions of the sorted, the largest, and search.
#include "kernels/sort.h"

#include <nanobind/nanobind.h>

#include "bind/release.h"
#include "runtime/array.h"

namespace nb = nanobind;

namespace lumus {
namespace {

Array like(const Array& array, DType dtype) {
  return make_array(dtype, array.view.rank, array.view.shape);
}

Array sort(const Array& array, int axis, bool descends) {
  Array output = like(array, array.view.dtype);
  run_released(num_elements(array.view),
               [&] { sort_kernels().sort(array.view, axis, descends, output.view); });
  return output;
}

Array argsort(const Array& array, int axis, bool descends) {
  Array output = like(array, DType::int64);
  run_released(num_elements(array.view),
               [&] { sort_kernels().argsort(array.view, axis, descends, output.view); });
  return output;
}

nb::tuple topk(const Array& array, std::int64_t count, int axis, bool is_largest) {
  View shape = array.view;
  shape.shape[axis] = count;
  Array values = make_array(shape.dtype, shape.rank, shape.shape);
  Array positions = make_array(DType::int64, shape.rank, shape.shape);
  run_released(num_elements(array.view), [&] {
    sort_kernels().topk(array.view, axis, is_largest, values.view, positions.view);
  });
  return nb::make_tuple(std::move(values), std::move(positions));
}

Array searchsorted(const Array& sorted, const Array& values, bool from_right) {
  Array output = like(values, DType::int64);
  run_released(num_elements(values.view) * 8, [&] {
    sort_kernels().searchsorted(sorted.view, values.view, from_right, output.view);
  });
  return output;
}

}  // namespace
}  // namespace lumus

void bind_sort(nb::module_& m) {
  using namespace lumus;
  m.def("sort", sort);
  m.def("argsort", argsort);
  m.def("topk", topk);
  m.def("searchsorted", searchsorted);
}
