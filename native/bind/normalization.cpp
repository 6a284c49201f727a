// Normalisation: an object that holds everything that does not change between calls.
#include "kernels/normalization.h"

#include <nanobind/nanobind.h>

#include <utility>

#include "bind/conversion.h"
#include "bind/release.h"
#include "executor/step.h"
#include "runtime/copies.h"

namespace nb = nanobind;

namespace lumus {
namespace {

constexpr int kMaxArrays = 5;

// The inputs of a call in order, made dense; those that are not there are skipped.
class Arguments {
 public:
  explicit Arguments(Views inputs) : inputs_(inputs) {}

  const std::byte* next(bool is_there = true) {
    if (!is_there) return nullptr;
    held_[at_] = dense(*inputs_[at_]);
    return held_[at_++].view.data;
  }

 private:
  Views inputs_;
  Array held_[kMaxArrays];
  int at_ = 0;
};

// The memory of the outputs in order.
class Results {
 public:
  explicit Results(Views outputs) : outputs_(outputs) {}

  std::byte* next(bool is_there = true) { return is_there ? (*outputs_++)->data : nullptr; }

 private:
  Views outputs_;
};

// The views of arrays, which somebody else holds.
struct ViewList {
  const View* views[kMaxArrays];
  int count = 0;

  void add(const Array& array) { views[count++] = &array.view; }
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

  int num_statistics() const { return is_centered_ ? 2 : 1; }
  int num_inputs(bool has_weight, bool has_bias) const {
    return 1 + (is_measured_ ? 0 : 2) + has_weight + has_bias;
  }
  int num_outputs() const { return is_measured_ ? 1 + num_statistics() : 1; }
  int num_grad_inputs(bool has_weight) const { return 2 + num_statistics() + has_weight; }

  // Of (x, [mean, variance,] [weight,] [bias]): y, with the statistics behind it if measured.
  void write(bool has_weight, bool has_bias, Views inputs, Views outputs) const {
    Arguments arguments(inputs);
    Results results(outputs);
    NormCall call = {};
    call.shape = shape_of(*inputs[0]);
    call.eps = eps_;
    call.x = arguments.next();
    call.y = results.next();
    if (is_measured_) {
      call.mean = results.next(is_centered_);
      call.spread = results.next();
    } else {  // only read
      std::byte* const mean = const_cast<std::byte*>(arguments.next());
      call.mean = is_centered_ ? mean : nullptr;
      call.spread = const_cast<std::byte*>(arguments.next());
    }
    call.weight = arguments.next(has_weight);
    call.bias = arguments.next(has_bias);
    const NormalizationKernels& kernels = normalization_kernels();
    const auto kernel = is_of_rows_    ? kernels.rows
                        : is_measured_ ? kernels.channels
                                       : kernels.channels_fixed;
    kernel(call);
  }

  // Of (grad, x, [mean,] spread, [weight]): the gradients that are wanted.
  void write_grad(bool has_weight, bool wants_x, bool wants_weight, bool wants_bias, Views inputs,
                  Views outputs) const {
    Arguments arguments(inputs);
    Results results(outputs);
    NormGradCall call = {};
    call.shape = shape_of(*inputs[1]);
    call.eps = eps_;
    call.grad = arguments.next();
    call.x = arguments.next();
    call.mean = arguments.next(is_centered_);
    call.spread = arguments.next();
    call.weight = arguments.next(has_weight);
    call.grad_x = results.next(wants_x);
    call.grad_weight = results.next(wants_weight);
    call.grad_bias = results.next(wants_bias);
    const NormalizationKernels& kernels = normalization_kernels();
    const auto kernel = is_of_rows_    ? kernels.rows_grad
                        : is_measured_ ? kernels.channels_grad
                                       : kernels.channels_fixed_grad;
    kernel(call);
  }

  nb::object run(bool has_weight, bool has_bias, nb::args arrays) const {
    const ViewList inputs = read(arrays, num_inputs(has_weight, has_bias));
    const View& x = *inputs.views[0];
    const int count = num_outputs();
    Array results[3];
    results[0] = make_array(x.dtype, x.rank, x.shape);
    for (int at = 1; at < count; ++at) results[at] = make_statistics(x);
    const ViewList outputs = list(results, count);
    run_released(num_elements(x),
                 [&] { write(has_weight, has_bias, inputs.views, outputs.views); });
    return given(results, count);
  }

  nb::object run_grad(bool has_weight, nb::tuple weight_shape, bool wants_x, bool wants_weight,
                      bool wants_bias, nb::args arrays) const {
    const ViewList inputs = read(arrays, num_grad_inputs(has_weight));
    const View& x = *inputs.views[1];
    std::int64_t sizes[kMaxRank];
    const int rank = read_integers(weight_shape, sizes);
    Array results[3];
    int count = 0;
    if (wants_x) results[count++] = make_array(x.dtype, x.rank, x.shape);
    if (wants_weight) results[count++] = make_array(x.dtype, rank, sizes);
    if (wants_bias) results[count++] = make_array(x.dtype, rank, sizes);
    const ViewList outputs = list(results, count);
    run_released(num_elements(x), [&] {
      write_grad(has_weight, wants_x, wants_weight, wants_bias, inputs.views, outputs.views);
    });
    return given(results, count);
  }

 private:
  static ViewList read(const nb::args& arrays, int count) {
    if (static_cast<int>(arrays.size()) != count) {
      throw nb::value_error("a normalisation got another number of arrays than it takes");
    }
    ViewList views;
    for (nb::handle array : arrays) views.add(nb::cast<const Array&>(array));
    return views;
  }
  static ViewList list(const Array* arrays, int count) {
    ViewList views;
    for (int at = 0; at < count; ++at) views.add(arrays[at]);
    return views;
  }
  static nb::object given(Array* results, int count) {
    if (count == 1) return nb::cast(std::move(results[0]));
    if (count == 2) return nb::make_tuple(std::move(results[0]), std::move(results[1]));
    return nb::make_tuple(std::move(results[0]), std::move(results[1]), std::move(results[2]));
  }

  NormShape shape_of(const View& x) const {
    NormShape shape = shape_;
    shape.dtype = x.dtype;
    return shape;
  }
  Array make_statistics(const View& x) const {
    const std::int64_t count = is_of_rows_ ? shape_.outer * shape_.groups : shape_.channels;
    const bool is_double = x.dtype == DType::float64;
    return make_array(is_double ? DType::float64 : DType::float32, 1, &count);
  }

  NormShape shape_;
  double eps_;
  bool is_of_rows_;
  bool is_centered_;
  bool is_measured_;
};

// The steps hold a copy of what they are made of.

Step* normalization_step(const Normalization& normalization, bool has_weight, bool has_bias) {
  const StepTraits traits = {normalization.num_inputs(has_weight, has_bias),
                             normalization.num_outputs()};
  return make_step(traits, [=](Views inputs, Views outputs) {
    normalization.write(has_weight, has_bias, inputs, outputs);
  });
}

Step* normalization_grad_step(const Normalization& normalization, bool has_weight, bool wants_x,
                              bool wants_weight, bool wants_bias) {
  const StepTraits traits = {normalization.num_grad_inputs(has_weight),
                             wants_x + wants_weight + wants_bias};
  return make_step(traits, [=](Views inputs, Views outputs) {
    normalization.write_grad(has_weight, wants_x, wants_weight, wants_bias, inputs, outputs);
  });
}

}  // namespace
}  // namespace lumus

void bind_normalization(nb::module_& m) {
  using lumus::Normalization;
  nb::class_<Normalization>(m, "Normalization")
      .def(nb::init<nb::tuple, double, bool, bool, bool>())
      .def("run", &Normalization::run)
      .def("run_grad", &Normalization::run_grad)
      .def("step", lumus::normalization_step)
      .def("grad_step", lumus::normalization_grad_step);
}
