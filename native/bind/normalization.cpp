// Normalisation: an object that holds everything that does not change between calls.
#include "kernels/normalization.h"

#include <nanobind/nanobind.h>

#include "bind/conversion.h"
#include "bind/release.h"
#include "kernels/copy.h"
#include "runtime/array.h"

namespace nb = nanobind;

namespace lumus {
namespace {

Array contiguous(const Array& array) {
  if (is_contiguous(array.view)) return array;
  Array dense = make_array(array.view.dtype, array.view.rank, array.view.shape);
  run_released(num_elements(dense.view), [&] { copy_kernels().copy(dense.view, array.view); });
  return dense;
}

// The arrays of a call in order; those that are not there are skipped and stay empty.
class Arguments {
 public:
  explicit Arguments(nb::args arrays) : arrays_(arrays) {}

  const std::byte* next(Array* held, bool is_there = true) {
    if (!is_there) return nullptr;
    *held = contiguous(nb::cast<const Array&>(arrays_[at_++]));
    return held->view.data;
  }

 private:
  nb::args arrays_;
  std::size_t at_ = 0;
};

class Normalization {
 public:
  // `extents` are (outer, groups, channels, inner); statistics of rows or of channels, with the
  // mean taken for 0 if not centred, and measured or given.
  Normalization(nb::tuple extents, double eps, bool is_of_rows, bool is_centered, bool is_measured)
      : eps_(eps), is_of_rows_(is_of_rows), is_centered_(is_centered), is_measured_(is_measured) {
    std::int64_t sizes[kMaxRank];
    if (read_integers(extents, sizes) != 4) throw nb::value_error("four extents are needed");
    shape_ = {DType::float32, sizes[0], sizes[1], sizes[2], sizes[3]};
  }

  // Of (x, [mean, variance,] [weight,] [bias]): y, with the statistics behind it if measured.
  nb::object run(bool has_weight, bool has_bias, nb::args arrays) const {
    Arguments arguments(arrays);
    Array x, mean, spread, weight, bias;
    NormCall call = {};
    call.eps = eps_;
    call.x = arguments.next(&x);
    call.shape = shape_of(x);
    if (is_measured_) {
      if (is_centered_) mean = make_statistics(x);
      spread = make_statistics(x);
    } else {
      arguments.next(&mean);
      arguments.next(&spread);
    }
    call.weight = arguments.next(&weight, has_weight);
    call.bias = arguments.next(&bias, has_bias);
    call.mean = is_centered_ ? mean.view.data : nullptr;
    call.spread = spread.view.data;
    Array y = make_array(x.view.dtype, x.view.rank, x.view.shape);
    call.y = y.view.data;
    const NormalizationKernels& kernels = normalization_kernels();
    const auto kernel = is_of_rows_    ? kernels.rows
                        : is_measured_ ? kernels.channels
                                       : kernels.channels_fixed;
    run_released(num_elements(x.view), [&] { kernel(call); });
    if (!is_measured_) return nb::cast(std::move(y));
    if (!is_centered_) return nb::make_tuple(std::move(y), std::move(spread));
    return nb::make_tuple(std::move(y), std::move(mean), std::move(spread));
  }

  // Of (grad, x, [mean,] spread, [weight]): the gradients that are wanted.
  nb::object run_grad(bool has_weight, nb::tuple weight_shape, bool wants_x, bool wants_weight,
                      bool wants_bias, nb::args arrays) const {
    Arguments arguments(arrays);
    Array grad, x, mean, spread, weight, grad_x, grad_weight, grad_bias;
    NormGradCall call = {};
    call.eps = eps_;
    call.grad = arguments.next(&grad);
    call.x = arguments.next(&x);
    call.shape = shape_of(x);
    call.mean = arguments.next(&mean, is_centered_);
    call.spread = arguments.next(&spread);
    call.weight = arguments.next(&weight, has_weight);
    std::int64_t sizes[kMaxRank];
    const int rank = read_integers(weight_shape, sizes);
    const DType dtype = x.view.dtype;
    nb::list results;
    if (wants_x) {
      grad_x = make_array(dtype, x.view.rank, x.view.shape);
      call.grad_x = grad_x.view.data;
      results.append(grad_x);
    }
    if (wants_weight) {
      grad_weight = make_array(dtype, rank, sizes);
      call.grad_weight = grad_weight.view.data;
      results.append(grad_weight);
    }
    if (wants_bias) {
      grad_bias = make_array(dtype, rank, sizes);
      call.grad_bias = grad_bias.view.data;
      results.append(grad_bias);
    }
    const NormalizationKernels& kernels = normalization_kernels();
    const auto kernel = is_of_rows_    ? kernels.rows_grad
                        : is_measured_ ? kernels.channels_grad
                                       : kernels.channels_fixed_grad;
    run_released(num_elements(x.view), [&] { kernel(call); });
    if (nb::len(results) == 1) return nb::object(results[0]);
    return nb::tuple(results);
  }

 private:
  NormShape shape_of(const Array& x) const {
    NormShape shape = shape_;
    shape.dtype = x.view.dtype;
    return shape;
  }
  Array make_statistics(const Array& x) const {
    const std::int64_t count = is_of_rows_ ? shape_.outer * shape_.groups : shape_.channels;
    const bool is_double = x.view.dtype == DType::float64;
    return make_array(is_double ? DType::float64 : DType::float32, 1, &count);
  }

  NormShape shape_;
  double eps_;
  bool is_of_rows_;
  bool is_centered_;
  bool is_measured_;
};

}  // namespace
}  // namespace lumus

void bind_normalization(nb::module_& m) {
  using lumus::Normalization;
  nb::class_<Normalization>(m, "Normalization")
      .def(nb::init<nb::tuple, double, bool, bool, bool>())
      .def("run", &Normalization::run)
      .def("run_grad", &Normalization::run_grad);
}
