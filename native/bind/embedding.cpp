// The gradient of a table of rows.
#include "kernels/embedding.h"

#include <nanobind/nanobind.h>

#include "bind/release.h"
#include "kernels/copy.h"
#include "runtime/array.h"

namespace nb = nanobind;

namespace lumus {
namespace {

Array dense(const Array& array) {
  if (is_contiguous(array.view)) return array;
  Array copy = make_array(array.view.dtype, array.view.rank, array.view.shape);
  run_released(num_elements(array.view), [&] { copy_kernels().copy(copy.view, array.view); });
  return copy;
}

// `grad` (..., width) summed by `ids` (...), int64 and in range, into a table of `num_rows` rows.
Array embedding_grad(const Array& grad, const Array& ids, std::int64_t num_rows,
                     std::int64_t skipped, bool averages) {
  const Array values = dense(grad), numbers = dense(ids);
  const std::int64_t width = grad.view.shape[grad.view.rank - 1];
  const std::int64_t shape[] = {num_rows, width};
  const Array table = make_array(grad.view.dtype, 2, shape);
  View rows = values.view, flat = numbers.view;
  rows.rank = 2;
  rows.shape[0] = flat.shape[0] = num_elements(numbers.view);
  rows.shape[1] = rows.strides[0] = width;
  rows.strides[1] = 1;
  flat.rank = 1;
  flat.strides[0] = 1;
  run_released(num_elements(table.view) + num_elements(rows),
               [&] { embedding_kernels().sum_rows(rows, flat, skipped, averages, table.view); });
  return table;
}

}  // namespace
}  // namespace lumus

void bind_embedding(nb::module_& m) {
  using namespace lumus;
  m.def("embedding_grad", embedding_grad);
}
