// Matrix products and the BLAS library behind them.
#include "kernels/matmul.h"

#include <nanobind/nanobind.h>

#include "bind/release.h"
#include "executor/step.h"
#include "runtime/blas.h"
#include "runtime/copies.h"

namespace nb = nanobind;

namespace lumus {
namespace {

// Below this many multiply-adds a product ends before another thread would notice a free
// interpreter.
constexpr std::int64_t kReleaseProducts = 1 << 18;

Array multiply(const Array& left, const Array& right, const View* bias) {
  const View& a = left.view;
  const View& b = right.view;
  std::int64_t shape[kMaxRank];
  const int a_batch = a.rank > 2 ? a.rank - 2 : 0;
  const int b_batch = b.rank > 2 ? b.rank - 2 : 0;
  const int batch_rank = a_batch > b_batch ? a_batch : b_batch;
  for (int axis = 0; axis < batch_rank; ++axis) {
    const int a_axis = axis - (batch_rank - a_batch);
    const int b_axis = axis - (batch_rank - b_batch);
    const std::int64_t a_size = a_axis >= 0 ? a.shape[a_axis] : 1;
    shape[axis] = a_size == 1 && b_axis >= 0 ? b.shape[b_axis] : a_size;
  }
  int rank = batch_rank;
  if (a.rank > 1) shape[rank++] = a.shape[a.rank - 2];
  if (b.rank > 1) shape[rank++] = b.shape[b.rank - 1];
  Array out = make_array(a.dtype, rank, shape);

  if (num_elements(out.view) * a.shape[a.rank - 1] < kReleaseProducts) {
    matmul_kernels().matmul(a, b, bias, out.view);
  } else {
    const ReleasedLock unlocked;
    matmul_kernels().matmul(a, b, bias, out.view);
  }
  return out;
}

Array matmul(const Array& left, const Array& right) { return multiply(left, right, nullptr); }

// left @ right + bias, for a `right` of two axes.
Array matmul_bias(const Array& left, const Array& right, const Array& bias) {
  return multiply(left, right, &bias.view);
}

View with_last_axes_swapped(const View& view) {
  View swapped;
  copy_view(view, &swapped);
  const int row = view.rank - 2, column = view.rank - 1;
  swapped.shape[row] = view.shape[column];
  swapped.shape[column] = view.shape[row];
  swapped.strides[row] = view.strides[column];
  swapped.strides[column] = view.strides[row];
  return swapped;
}

// The inputs, converted to the dtype of the output; `transposed` swaps the last axes of the second.
Step* matmul_step(bool transposed, bool has_bias) {
  const auto run = [=](Views inputs, Views outputs) {
    const DType dtype = outputs[0]->dtype;
    const Array a = converted(*inputs[0], dtype), b = converted(*inputs[1], dtype);
    const View right = transposed ? with_last_axes_swapped(b.view) : b.view;
    if (!has_bias) return matmul_kernels().matmul(a.view, right, nullptr, *outputs[0]);
    const Array bias = converted(*inputs[2], dtype);
    matmul_kernels().matmul(a.view, right, &bias.view, *outputs[0]);
  };
  const auto work = [](Views inputs, Views outputs) {
    const std::int64_t products = num_elements(*outputs[0]) * inputs[0]->shape[inputs[0]->rank - 1];
    return products / (kReleaseProducts / kReleaseFrom);
  };
  return make_step({has_bias ? 3 : 2}, run, work);
}

void load(const char* path) {
  const char* problem = nullptr;
  if (!load_blas(path, &problem)) {
    PyErr_SetString(PyExc_OSError, problem);
    throw nb::python_error();
  }
}

// The version and processor kernels of the library in use; None before one is loaded.
nb::object blas_info() {
  const Blas* const library = blas();
  if (!library) return nb::none();
  nb::dict info;
  info["config"] = library->config;
  info["core"] = library->core_name;
  return info;
}

}  // namespace
}  // namespace lumus

void bind_matmul(nb::module_& m) {
  m.def("matmul", lumus::matmul);
  m.def("matmul_bias", lumus::matmul_bias);
  m.def("matmul_step", lumus::matmul_step);
  m.def("load_blas", lumus::load);
  m.def("blas_info", lumus::blas_info);
  m.def("needs_blas", [] { return lumus::matmul_kernels().uses_blas; });
}
