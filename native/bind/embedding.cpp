// The gradient of a table of rows.
#include "kernels/embedding.h"

#include <nanobind/nanobind.h>

#include "bind/index_check.h"
#include "executor/step.h"
#include "runtime/copies.h"

namespace nb = nanobind;

namespace lumus {
namespace {

// Of (grad (..., width), ids (...)): the sums of rows by their number, into a table. The ids are
// checked here too: of a compiled function the lookup itself may have been left out.
Step* embedding_grad_step(std::int64_t skipped, bool averages) {
  return make_step({2}, [=](Views inputs, Views outputs) {
    const Array values = dense(*inputs[0]), ids = dense(*inputs[1], DType::int64);
    check_inside(ids.view, 0, outputs[0]->shape[0], 0);
    View rows = values.view, flat = ids.view;
    const std::int64_t width = rows.shape[rows.rank - 1];
    rows.rank = 2;
    rows.shape[0] = flat.shape[0] = num_elements(ids.view);
    rows.shape[1] = rows.strides[0] = width;
    rows.strides[1] = 1;
    flat.rank = 1;
    flat.strides[0] = 1;
    embedding_kernels().sum_rows(rows, flat, skipped, averages, *outputs[0]);
  });
}

}  // namespace
}  // namespace lumus

void bind_embedding(nb::module_& m) { m.def("embedding_grad_step", lumus::embedding_grad_step); }
