// Sorting, positions of the sorted, the largest, and search.
#include "kernels/sort.h"

#include <nanobind/nanobind.h>

#include "bind/release.h"
#include "executor/step.h"
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

std::int64_t work_of_search(const View& values) { return num_elements(values) * 8; }

Array searchsorted(const Array& sorted, const Array& values, bool from_right) {
  Array output = like(values, DType::int64);
  run_released(work_of_search(values.view), [&] {
    sort_kernels().searchsorted(sorted.view, values.view, from_right, output.view);
  });
  return output;
}

Step* sort_step(int axis, bool descends) {
  return make_step({1}, [=](Views inputs, Views outputs) {
    sort_kernels().sort(*inputs[0], axis, descends, *outputs[0]);
  });
}

Step* argsort_step(int axis, bool descends) {
  return make_step({1}, [=](Views inputs, Views outputs) {
    sort_kernels().argsort(*inputs[0], axis, descends, *outputs[0]);
  });
}

Step* topk_step(int axis, bool is_largest) {
  return make_step({1, 2}, [=](Views inputs, Views outputs) {
    sort_kernels().topk(*inputs[0], axis, is_largest, *outputs[0], *outputs[1]);
  });
}

Step* searchsorted_step(bool from_right) {
  return make_step(
      {2},
      [=](Views inputs, Views outputs) {
        sort_kernels().searchsorted(*inputs[0], *inputs[1], from_right, *outputs[0]);
      },
      [](Views inputs, Views) { return work_of_search(*inputs[1]); });
}

}  // namespace
}  // namespace lumus

void bind_sort(nb::module_& m) {
  using namespace lumus;
  m.def("sort", sort);
  m.def("argsort", argsort);
  m.def("topk", topk);
  m.def("searchsorted", searchsorted);
  m.def("sort_step", sort_step);
  m.def("argsort_step", argsort_step);
  m.def("topk_step", topk_step);
  m.def("searchsorted_step", searchsorted_step);
}
