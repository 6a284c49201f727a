// Pooling and resampling: objects that hold the windows or the tables, and what runs over them.
#include "kernels/pooling.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "executor/step.h"
#include "kernels/resample.h"
#include "runtime/copies.h"

namespace nb = nanobind;

namespace lumus {
namespace {

// The windows along one axis, with the lists that PoolAxis points to. A `stride` of 0 divides the
// axis among the windows. The divisor of each is the one given, or counts its taps.
class Axis {
 public:
  Axis(std::int64_t length, std::int64_t count, std::int64_t window, std::int64_t stride,
       std::int64_t padding, std::int64_t dilation, bool counts_padding,
       std::optional<double> divisor) {
    const auto size = static_cast<std::size_t>(count);
    first_.resize(size);
    begin_.resize(size);
    end_.resize(size);
    divisor_.resize(size);
    for (std::int64_t o = 0; o < count; ++o) {
      const std::int64_t first = stride ? o * stride - padding : o * length / count;
      const std::int64_t stop =
          stride ? first + window * dilation : ((o + 1) * length + count - 1) / count;
      const std::int64_t begin = first < 0 ? (-first + dilation - 1) / dilation : 0;
      const std::int64_t end = (std::min(stop, length) - first + dilation - 1) / dilation;
      const std::int64_t counted =
          counts_padding ? std::min(stop, length + padding) - first : end - begin;
      const auto place = static_cast<std::size_t>(o);
      first_[place] = first;
      begin_[place] = begin;
      end_[place] = end;
      divisor_[place] = divisor.value_or(static_cast<double>(counted));
    }
    axis_ = {length,        count,         window,      dilation,       stride,
             first_.data(), begin_.data(), end_.data(), divisor_.data()};
  }

  const PoolAxis& get() const { return axis_; }

 private:
  std::vector<std::int64_t> first_, begin_, end_;
  std::vector<double> divisor_;
  PoolAxis axis_;
};

// The same contiguous memory as (planes, depth, height, width), of which the last `num_axes` are
// axes of the array.
View as_planes(const View& array, int num_axes) {
  View view;
  view.data = array.data;
  view.dtype = array.dtype;
  view.rank = 4;
  for (int axis = 0; axis < 4; ++axis) view.shape[axis] = 1;
  for (int axis = 0; axis < array.rank; ++axis) {
    const bool is_leading = axis < array.rank - num_axes;
    view.shape[is_leading ? 0 : axis - array.rank + 4] *= array.shape[axis];
  }
  std::int64_t stride = 1;
  for (int axis = 3; axis >= 0; --axis) {
    view.strides[axis] = stride;
    stride *= view.shape[axis];
  }
  return view;
}

// Windows of the last one to three axes; those before them count planes.
class Pooling {
 public:
  explicit Pooling(nb::tuple axes)
      : axes_(axes),
        num_axes_(static_cast<int>(nb::len(axes))),
        windows_{whole(), whole(), whole()} {
    for (int axis = 0; axis < num_axes_; ++axis) {
      windows_.axes[3 - num_axes_ + axis] = nb::cast<const Axis&>(axes[axis]).get();
    }
  }

  // Results are dense.

  void write_max(const View& input, const View& output, const View& places) const {
    const Array from = dense(input);
    max_pool_kernels().max(windows_, planes(from.view), planes(output), planes(places));
  }

  void write_max_grad(const View& grad, const View& places, const View& output) const {
    const Array from = dense(grad), at = dense(places);
    max_pool_kernels().max_grad(windows_, planes(from.view), planes(at.view), planes(output));
  }

  void write_taken(const View& input, const View& places, const View& output) const {
    const Array from = dense(input), at = dense(places);
    max_pool_kernels().take(windows_, planes(from.view), planes(at.view), planes(output));
  }

  void write_mean(const View& input, const View& output) const {
    const Array from = dense(input);
    mean_pool_kernels().mean(windows_, planes(from.view), planes(output));
  }

  void write_mean_grad(const View& grad, const View& output) const {
    const Array from = dense(grad);
    mean_pool_kernels().mean_grad(windows_, planes(from.view), planes(output));
  }

 private:
  // An axis that is not there: one window of one cell.
  static PoolAxis whole() {
    static const std::int64_t zero = 0, one = 1;
    static const double divisor = 1;
    return {1, 1, 1, 1, 1, &zero, &zero, &one, &divisor};
  }

  View planes(const View& array) const { return as_planes(array, num_axes_); }

  nb::tuple axes_;
  int num_axes_;
  PoolWindows windows_;
};

// An axis brought to another length, with the arrays of its table.
class TableAxis {
 public:
  TableAxis(std::int64_t length, const Array& indices, const Array& weights)
      : indices_(indices), weights_(weights) {
    const View& view = indices.view;
    if (view.rank != 2 || view.dtype != DType::int32 || !is_contiguous(view) ||
        weights.view.dtype != DType::float64 || !is_contiguous(weights.view) ||
        num_elements(view) != num_elements(weights.view)) {
      throw nb::value_error("a table of resampling is two arrays (taps, outputs)");
    }
    axis_ = {length, view.shape[1], view.shape[0], data_of<const std::int32_t>(view),
             data_of<const double>(weights.view)};
  }

  const ResampleAxis& get() const { return axis_; }

 private:
  Array indices_, weights_;
  ResampleAxis axis_;
};

// The last one to three axes brought to other lengths; those before them count planes.
class Resampling {
 public:
  explicit Resampling(nb::tuple axes)
      : axes_(axes),
        num_axes_(static_cast<int>(nb::len(axes))),
        tables_{whole(), whole(), whole()} {
    for (int axis = 0; axis < num_axes_; ++axis) {
      tables_[3 - num_axes_ + axis] = nb::cast<const TableAxis&>(axes[axis]).get();
    }
  }

  void write(const View& input, const View& output) const {
    const Array from = dense(input);
    resample_kernels().resample(tables_, as_planes(from.view, num_axes_),
                                as_planes(output, num_axes_));
  }

 private:
  // An axis that is not there: one element, as it is.
  static ResampleAxis whole() {
    static const std::int32_t index = 0;
    static const double weight = 1;
    return {1, 1, 1, &index, &weight};
  }

  nb::tuple axes_;
  int num_axes_;
  ResampleAxis tables_[3];
};

// Steps of objects that outlive them.

Step* max_step(const Pooling& pooling) {
  return make_step({1, 2}, [&pooling](Views inputs, Views outputs) {
    pooling.write_max(*inputs[0], *outputs[0], *outputs[1]);
  });
}

Step* max_grad_step(const Pooling& pooling) {
  return make_step({2}, [&pooling](Views inputs, Views outputs) {
    pooling.write_max_grad(*inputs[0], *inputs[1], *outputs[0]);
  });
}

Step* take_step(const Pooling& pooling) {
  return make_step({2}, [&pooling](Views inputs, Views outputs) {
    pooling.write_taken(*inputs[0], *inputs[1], *outputs[0]);
  });
}

Step* mean_step(const Pooling& pooling) {
  return make_step({1}, [&pooling](Views inputs, Views outputs) {
    pooling.write_mean(*inputs[0], *outputs[0]);
  });
}

Step* mean_grad_step(const Pooling& pooling) {
  return make_step({1}, [&pooling](Views inputs, Views outputs) {
    pooling.write_mean_grad(*inputs[0], *outputs[0]);
  });
}

Step* resample_step(const Resampling& resampling) {
  return make_step({1}, [&resampling](Views inputs, Views outputs) {
    resampling.write(*inputs[0], *outputs[0]);
  });
}

}  // namespace
}  // namespace lumus

void bind_pooling(nb::module_& m) {
  using namespace lumus;
  using lives = nb::keep_alive<0, 1>;
  nb::class_<Axis>(m, "PoolAxis")
      .def(nb::init<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                    std::int64_t, bool, std::optional<double>>(),
           nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
           nb::arg().none());
  nb::class_<Pooling>(m, "Pooling")
      .def(nb::init<nb::tuple>())
      .def("max_step", max_step, lives())
      .def("max_grad_step", max_grad_step, lives())
      .def("take_step", take_step, lives())
      .def("mean_step", mean_step, lives())
      .def("mean_grad_step", mean_grad_step, lives());
  nb::class_<TableAxis>(m, "ResampleAxis")
      .def(nb::init<std::int64_t, const Array&, const Array&>());
  nb::class_<Resampling>(m, "Resampling")
      .def(nb::init<nb::tuple>())
      .def("step", resample_step, lives());
}
