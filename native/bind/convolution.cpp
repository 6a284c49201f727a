// Convolutions: what Python knows of one is prepared once, for steps to run.
#include "kernels/convolution.h"

#include <nanobind/nanobind.h>

#include "bind/conversion.h"
#include "executor/step.h"
#include "runtime/copies.h"

namespace nb = nanobind;

namespace lumus {
namespace {

// Half types are computed in float32, and rounded at the end.
DType computed(DType dtype) { return is_half(dtype) ? DType::float32 : dtype; }

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

  // Operands are converted to the dtype of the result, which is dense.

  void write_forward(const View& given, const View& weight, const View* bias,
                     const View& output) const {
    const DType dtype = computed(output.dtype);
    const Array x = converted(given, dtype), weights = dense(weight, dtype);
    const Array biases = bias ? dense(*bias, dtype) : Array();
    const Convolution shape = with_channels(given.shape[0], weight);
    write_rounded(output, dtype, [&](const View& y) {
      convolution_kernels().forward(shape, widened(x.view), widened(weights.view),
                                    bias ? &biases.view : nullptr, widened(y));
    });
  }

  void write_transpose(const View& given, const View& weight, const View* bias,
                       const View& output) const {
    const DType dtype = computed(output.dtype);
    const Array y = converted(given, dtype), weights = dense(weight, dtype);
    const Array biases = bias ? dense(*bias, dtype) : Array();
    const Convolution shape = with_channels(given.shape[0], weight);
    write_rounded(output, dtype, [&](const View& x) {
      convolution_kernels().transpose(shape, widened(y.view), widened(weights.view),
                                      bias ? &biases.view : nullptr, widened(x));
    });
  }

  void write_weight(const View& given, const View& grad, const View& output) const {
    const DType dtype = computed(output.dtype);
    const Array x = converted(given, dtype), y = dense(grad, dtype);
    const Convolution shape = between(given, grad);
    write_rounded(output, dtype, [&](const View& weight) {
      convolution_kernels().weight(shape, widened(x.view), widened(y.view), widened(weight));
    });
  }

  void write_columns(const View& given, const View& output) const {
    const DType dtype = computed(output.dtype);
    const Array x = converted(given, dtype);
    const Convolution shape = of_planes(given.shape[0], given.shape[1]);
    write_rounded(output, dtype, [&](const View& columns) {
      convolution_kernels().im2col(shape, widened(x.view), columns);
    });
  }

  void write_summed_columns(const View& given, const View& output) const {
    const DType dtype = computed(output.dtype);
    const Array columns = dense(given, dtype);
    const Convolution shape = of_planes(given.shape[0], output.shape[1]);
    write_rounded(output, dtype, [&](const View& x) {
      convolution_kernels().col2im(shape, columns.view, widened(x));
    });
  }

  // Multiply-adds.
  std::int64_t work(const View& given, const View& weight) const {
    return work(with_channels(given.shape[0], weight));
  }
  std::int64_t work_of_weight(const View& given, const View& grad) const {
    return work(between(given, grad));
  }

 private:
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

  // Of the product of a picture and the gradient of what became of it.
  Convolution between(const View& x, const View& y) const {
    Convolution shape = shape_;
    shape.batch = x.shape[0];
    shape.in_channels = x.shape[1] / shape.groups;
    shape.out_channels = y.shape[1] / shape.groups;
    return shape;
  }

  std::int64_t work(const Convolution& shape) const {
    return shape.batch * shape.groups * shape.in_channels * shape.out_channels *
           product(&ConvolutionAxis::taps) * product(&ConvolutionAxis::output);
  }

  int rank_;
  Convolution shape_;
};

// Of (x, weight, [bias]). The steps hold a copy of what they are made of.
Step* forward_step(const BoundConvolution& bound, bool has_bias) {
  return make_step(
      {has_bias ? 3 : 2},
      [=](Views inputs, Views outputs) {
        bound.write_forward(*inputs[0], *inputs[1], has_bias ? inputs[2] : nullptr, *outputs[0]);
      },
      [=](Views inputs, Views) { return bound.work(*inputs[0], *inputs[1]); });
}

// Of (y, weight, [bias]).
Step* transpose_step(const BoundConvolution& bound, bool has_bias) {
  return make_step(
      {has_bias ? 3 : 2},
      [=](Views inputs, Views outputs) {
        bound.write_transpose(*inputs[0], *inputs[1], has_bias ? inputs[2] : nullptr, *outputs[0]);
      },
      [=](Views inputs, Views) { return bound.work(*inputs[0], *inputs[1]); });
}

// Of (x, grad).
Step* weight_step(const BoundConvolution& bound) {
  return make_step(
      {2},
      [=](Views inputs, Views outputs) { bound.write_weight(*inputs[0], *inputs[1], *outputs[0]); },
      [=](Views inputs, Views) { return bound.work_of_weight(*inputs[0], *inputs[1]); });
}

Step* im2col_step(const BoundConvolution& bound) {
  return make_step(
      {1}, [=](Views inputs, Views outputs) { bound.write_columns(*inputs[0], *outputs[0]); });
}

Step* col2im_step(const BoundConvolution& bound) {
  return make_step({1}, [=](Views inputs, Views outputs) {
    bound.write_summed_columns(*inputs[0], *outputs[0]);
  });
}

}  // namespace
}  // namespace lumus

void bind_convolution(nb::module_& m) {
  using Bound = lumus::BoundConvolution;
  nb::class_<Bound>(m, "Convolution")
      .def(nb::init<nb::tuple, nb::tuple, nb::tuple, nb::tuple, nb::tuple, nb::tuple,
                    std::int64_t>())
      .def("forward_step", lumus::forward_step)
      .def("transpose_step", lumus::transpose_step)
      .def("weight_step", lumus::weight_step)
      .def("im2col_step", lumus::im2col_step)
      .def("col2im_step", lumus::col2im_step);
}
