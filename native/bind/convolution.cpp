// Convolutions: what Python knows of one is prepared once, and then called with arrays.
#include "kernels/convolution.h"

#include <nanobind/nanobind.h>

#include <utility>

#include "bind/conversion.h"
#include "bind/release.h"
#include "kernels/copy.h"
#include "runtime/array.h"

namespace nb = nanobind;

namespace lumus {
namespace {

Array converted(const Array& array, DType dtype) {
  Array result = make_array(dtype, array.view.rank, array.view.shape);
  run_released(num_elements(array.view), [&] { copy_kernels().cast(result.view, array.view); });
  return result;
}

// What kernels take: half types are computed in float32, and rounded at the end.
Array computed(const Array& array) {
  return is_half(array.view.dtype) ? converted(array, DType::float32) : array;
}

Array rounded(Array array, DType dtype) {
  return array.view.dtype == dtype ? array : converted(array, dtype);
}

Array dense(const Array& given) {
  const Array array = computed(given);
  if (is_contiguous(array.view)) return array;
  Array result = make_array(array.view.dtype, array.view.rank, array.view.shape);
  run_released(num_elements(array.view), [&] { copy_kernels().copy(result.view, array.view); });
  return result;
}

// The view with its spatial axes made three.
View widened(const View& view) {
  View wide;
  copy_view(view, &wide);
  wide.rank = 5;
  const int missing = 5 - view.rank;
  for (int axis = 4; axis >= 2; --axis) {
    const bool is_there = axis - missing >= 2;
    wide.shape[axis] = is_there ? view.shape[axis - missing] : 1;
    wide.strides[axis] = is_there ? view.strides[axis - missing] : 0;
  }
  return wide;
}

class BoundConvolution {
 public:
  BoundConvolution(nb::tuple input, nb::tuple output, nb::tuple taps, nb::tuple stride,
                   nb::tuple padding, nb::tuple dilation, std::int64_t groups) {
    rank_ = static_cast<int>(nb::len(input));
    shape_.groups = groups;
    for (ConvolutionAxis& axis : shape_.axes) axis = {1, 1, 1, 1, 0, 1};
    ConvolutionAxis* const axes = shape_.axes + 3 - rank_;
    std::int64_t values[kMaxRank];
    const auto read = [&](nb::tuple numbers, std::int64_t ConvolutionAxis::* member) {
      if (read_integers(numbers, values) != rank_) throw nb::value_error("as many as axes");
      for (int axis = 0; axis < rank_; ++axis) axes[axis].*member = values[axis];
    };
    read(input, &ConvolutionAxis::input);
    read(output, &ConvolutionAxis::output);
    read(taps, &ConvolutionAxis::taps);
    read(stride, &ConvolutionAxis::stride);
    read(padding, &ConvolutionAxis::padding);
    read(dilation, &ConvolutionAxis::dilation);
  }

  Array forward(const Array& given, const Array& weight, const Array* bias) const {
    const Array x = computed(given), weights = dense(weight);
    const Array biases = bias ? dense(*bias) : Array();
    const Convolution shape = with_channels(x.view.shape[0], weight.view);
    Array y = make_picture(x.view, shape.groups * shape.out_channels, &ConvolutionAxis::output);
    run_released(work(shape), [&] {
      convolution_kernels().forward(shape, widened(x.view), widened(weights.view),
                                    bias ? &biases.view : nullptr, widened(y.view));
    });
    return rounded(std::move(y), given.view.dtype);
  }

  Array transpose(const Array& given, const Array& weight, const Array* bias) const {
    const Array y = computed(given), weights = dense(weight);
    const Array biases = bias ? dense(*bias) : Array();
    const Convolution shape = with_channels(y.view.shape[0], weight.view);
    Array x = make_picture(y.view, shape.groups * shape.in_channels, &ConvolutionAxis::input);
    run_released(work(shape), [&] {
      convolution_kernels().transpose(shape, widened(y.view), widened(weights.view),
                                      bias ? &biases.view : nullptr, widened(x.view));
    });
    return rounded(std::move(x), given.view.dtype);
  }

  Array weight(const Array& given, const Array& grad) const {
    const Array x = computed(given), y = dense(grad);
    Convolution shape = shape_;
    shape.batch = x.view.shape[0];
    shape.in_channels = x.view.shape[1] / shape.groups;
    shape.out_channels = y.view.shape[1] / shape.groups;
    std::int64_t lengths[5] = {y.view.shape[1], shape.in_channels};
    for (int axis = 0; axis < rank_; ++axis) lengths[2 + axis] = axis_of(axis).taps;
    Array result = make_array(x.view.dtype, 2 + rank_, lengths);
    run_released(work(shape), [&] {
      convolution_kernels().weight(shape, widened(x.view), widened(y.view), widened(result.view));
    });
    return rounded(std::move(result), given.view.dtype);
  }

  Array im2col(const Array& given) const {
    const Array x = computed(given);
    const Convolution shape = of_planes(x.view.shape[0], x.view.shape[1]);
    const std::int64_t lengths[3] = {shape.batch,
                                     shape.in_channels * product(&ConvolutionAxis::taps),
                                     product(&ConvolutionAxis::output)};
    Array columns = make_array(x.view.dtype, 3, lengths);
    run_released(num_elements(columns.view),
                 [&] { convolution_kernels().im2col(shape, widened(x.view), columns.view); });
    return rounded(std::move(columns), given.view.dtype);
  }

  Array col2im(const Array& given) const {
    const Array columns = dense(given);
    const std::int64_t channels = columns.view.shape[1] / product(&ConvolutionAxis::taps);
    const Convolution shape = of_planes(columns.view.shape[0], channels);
    Array x = make_picture(columns.view, channels, &ConvolutionAxis::input);
    run_released(num_elements(columns.view),
                 [&] { convolution_kernels().col2im(shape, columns.view, widened(x.view)); });
    return rounded(std::move(x), given.view.dtype);
  }

 private:
  const ConvolutionAxis& axis_of(int axis) const { return shape_.axes[3 - rank_ + axis]; }

  std::int64_t product(std::int64_t ConvolutionAxis::* member) const {
    return shape_.axes[0].*member * (shape_.axes[1].*member) * (shape_.axes[2].*member);
  }

  Convolution with_channels(std::int64_t batch, const View& weight) const {
    Convolution shape = shape_;
    shape.batch = batch;
    shape.out_channels = weight.shape[0] / shape.groups;
    shape.in_channels = weight.shape[1];
    return shape;
  }

  Convolution of_planes(std::int64_t batch, std::int64_t channels) const {
    Convolution shape = shape_;
    shape.batch = batch;
    shape.groups = 1;
    shape.in_channels = channels;
    shape.out_channels = 0;
    return shape;
  }

  // Multiply-adds.
  std::int64_t work(const Convolution& shape) const {
    return shape.batch * shape.groups * shape.in_channels * shape.out_channels *
           product(&ConvolutionAxis::taps) * product(&ConvolutionAxis::output);
  }

  Array make_picture(const View& like, std::int64_t channels,
                     std::int64_t ConvolutionAxis::* member) const {
    std::int64_t lengths[5] = {like.shape[0], channels};
    for (int axis = 0; axis < rank_; ++axis) lengths[2 + axis] = axis_of(axis).*member;
    return make_array(like.dtype, 2 + rank_, lengths);
  }

  int rank_;
  Convolution shape_;
};

}  // namespace
}  // namespace lumus

void bind_convolution(nb::module_& m) {
  using Bound = lumus::BoundConvolution;
  nb::class_<Bound>(m, "Convolution")
      .def(nb::init<nb::tuple, nb::tuple, nb::tuple, nb::tuple, nb::tuple, nb::tuple,
                    std::int64_t>())
      .def("forward", &Bound::forward, nb::arg(), nb::arg(), nb::arg() = nb::none())
      .def("transpose", &Bound::transpose, nb::arg(), nb::arg(), nb::arg() = nb::none())
      .def("weight", &Bound::weight)
      .def("im2col", &Bound::im2col)
      .def("col2im", &Bound::col2im);
}
