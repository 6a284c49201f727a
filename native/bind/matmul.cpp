// Matrix products and the BLAS library behind them.
#include "kernels/matmul.h"

#include <nanobind/nanobind.h>

#include "bind/program.h"
#include "bind/release.h"
#include "executor/step.h"
#include "runtime/blas.h"
#include "runtime/copies.h"
#include "runtime/denormals.h"

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

  const KernelScope scope;
  if (num_elements(out.view) * a.shape[a.rank - 1] < kReleaseProducts) {
    matmul_kernels().matmul(a, b, bias, nullptr, out.view);
  } else {
    const ReleasedLock unlocked;
    matmul_kernels().matmul(a, b, bias, nullptr, out.view);
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

// Of the inputs converted to the dtype of the output; `transposed` swaps the last axes of the
// second. A bias comes third, and then, as it is, what the epilogue reads besides the product: one
// element, or one for each column.
class MatmulStep final : public Step {
 public:
  // `epilogue` belongs to the caller, and outlives this; null for none.
  MatmulStep(bool transposed, bool has_bias, const ElementwiseProgram* epilogue)
      : Step({2 + has_bias + (epilogue ? epilogue->num_inputs - 1 : 0)}),
        transposed_(transposed),
        has_bias_(has_bias),
        program_(epilogue) {
    if (program_ && (program_->num_inputs > kMaxEpilogueInputs || program_->num_outputs != 1)) {
      throw std::invalid_argument("an epilogue has one output, and not more than 8 inputs");
    }
  }

  void check(Views inputs, Views outputs) const override {
    if (!program_) return;
    const View& result = *outputs[0];
    if (result.rank == 0) throw std::invalid_argument("an epilogue of a product without axes");
    if (program_->input_dtypes[0] != result.dtype || program_->output_dtypes[0] != result.dtype) {
      throw std::invalid_argument("an epilogue has another dtype than the product");
    }
    for (int input = 1; input < program_->num_inputs; ++input) {
      const View& view = *inputs[1 + has_bias_ + input];
      if (view.dtype != program_->input_dtypes[input]) {
        throw std::invalid_argument("an input of an epilogue has another dtype than the program");
      }
      const std::int64_t count = num_elements(view);
      if (count != 1 && count != result.shape[result.rank - 1]) {
        throw std::invalid_argument("an input of an epilogue is not one element for each column");
      }
    }
  }

  void run(Views inputs, Views outputs) const override {
    const View& result = *outputs[0];
    const InDType a(*inputs[0], result.dtype), b(*inputs[1], result.dtype);
    const InDType bias(*inputs[has_bias_ ? 2 : 0], result.dtype);
    const View right = transposed_ ? with_last_axes_swapped(b.view()) : b.view();
    const View* const added = has_bias_ ? &bias.view() : nullptr;
    if (!program_) return matmul_kernels().matmul(a.view(), right, added, nullptr, result);
    Epilogue epilogue;
    epilogue.program = program_;
    epilogue.operands[0] = {result.data, result.dtype, 1};
    Array kept[kMaxEpilogueInputs];
    for (int input = 1; input < program_->num_inputs; ++input) {
      kept[input] = dense(*inputs[1 + has_bias_ + input]);
      const View& view = kept[input].view;
      epilogue.operands[input] = {view.data, view.dtype, num_elements(view) > 1};
    }
    matmul_kernels().matmul(a.view(), right, added, &epilogue, result);
  }

  std::int64_t work(Views inputs, Views outputs) const override {
    const std::int64_t products = num_elements(*outputs[0]) * inputs[0]->shape[inputs[0]->rank - 1];
    return products / (kReleaseProducts / kReleaseFrom);
  }

 private:
  bool transposed_;
  bool has_bias_;
  const ElementwiseProgram* program_;
};

Step* matmul_step(bool transposed, bool has_bias, nb::object epilogue) {
  return new MatmulStep(transposed, has_bias, program_or_null(epilogue));
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
  m.def("matmul_step", lumus::matmul_step, nb::arg(), nb::arg(), nb::arg().none(),
        nb::keep_alive<0, 3>());
  m.def("load_blas", lumus::load);
  m.def("blas_info", lumus::blas_info);
  m.def("needs_blas", [] { return lumus::matmul_kernels().uses_blas; });
}
