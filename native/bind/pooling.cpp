// Pooling and resampling: objects that hold the windows or the tables, and what runs over them.
#include "kernels/pooling.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "bind/release.h"
#include "kernels/copy.h"
#include "kernels/resample.h"
#include "runtime/array.h"

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

// The array itself if it is contiguous, else a copy.
Array dense(const Array& array) {
  if (is_contiguous(array.view)) return array;
  Array result = make_array(array.view.dtype, array.view.rank, array.view.shape);
  run_released(num_elements(array.view), [&] { copy_kernels().copy(result.view, array.view); });
  return result;
}

// The same contiguous memory as (planes, depth, height, width), of which the last `num_axes` are
// axes of the array.
View as_planes(const Array& array, int num_axes) {
  View view;
  view.data = array.view.data;
  view.dtype = array.view.dtype;
  view.rank = 4;
  for (int axis = 0; axis < 4; ++axis) view.shape[axis] = 1;
  for (int axis = 0; axis < array.view.rank; ++axis) {
    const bool is_leading = axis < array.view.rank - num_axes;
    view.shape[is_leading ? 0 : axis - array.view.rank + 4] *= array.view.shape[axis];
  }
  std::int64_t stride = 1;
  for (int axis = 3; axis >= 0; --axis) {
    view.strides[axis] = stride;
    stride *= view.shape[axis];
  }
  return view;
}

// The shape of an array with other lengths of its last axes.
template <class Length>
Array resized(const Array& array, DType dtype, int num_axes, const Length& length) {
  const int leading = array.view.rank - num_axes;
  std::int64_t shape[kMaxRank];
  for (int axis = 0; axis < array.view.rank; ++axis) {
    shape[axis] = axis < leading ? array.view.shape[axis] : length(axis - leading + 3 - num_axes);
  }
  return make_array(dtype, array.view.rank, shape);
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

  std::pair<Array, Array> max(const Array& input) const {
    const Array from = dense(input);
    Array output = pooled(from, from.view.dtype);
    Array places = pooled(from, place_dtype());
    run_released(num_elements(from.view), [&] {
      max_pool_kernels().max(windows_, planes(from), planes(output), planes(places));
    });
    return {output, places};
  }

  Array max_grad(const Array& grad, const Array& places) const {
    const Array from = dense(grad);
    const Array at = dense(places);
    Array output = unpooled(from);
    run_released(num_elements(output.view), [&] {
      max_pool_kernels().max_grad(windows_, planes(from), planes(at), planes(output));
    });
    return output;
  }

  Array take(const Array& input, const Array& places) const {
    const Array from = dense(input);
    const Array at = dense(places);
    Array output = pooled(from, from.view.dtype);
    run_released(num_elements(output.view), [&] {
      max_pool_kernels().take(windows_, planes(from), planes(at), planes(output));
    });
    return output;
  }

  Array mean(const Array& input) const {
    const Array from = dense(input);
    Array output = pooled(from, from.view.dtype);
    run_released(num_elements(from.view),
                 [&] { mean_pool_kernels().mean(windows_, planes(from), planes(output)); });
    return output;
  }

  Array mean_grad(const Array& grad) const {
    const Array from = dense(grad);
    Array output = unpooled(from);
    run_released(num_elements(output.view),
                 [&] { mean_pool_kernels().mean_grad(windows_, planes(from), planes(output)); });
    return output;
  }

 private:
  // An axis that is not there: one window of one cell.
  static PoolAxis whole() {
    static const std::int64_t zero = 0, one = 1;
    static const double divisor = 1;
    return {1, 1, 1, 1, 1, &zero, &zero, &one, &divisor};
  }

  DType place_dtype() const {
    std::int64_t taps = 1;
    for (const PoolAxis& axis : windows_.axes) taps *= axis.window;
    return taps <= 256 ? DType::uint8 : DType::int32;
  }

  Array pooled(const Array& input, DType dtype) const {
    return resized(input, dtype, num_axes_, [&](int axis) { return windows_.axes[axis].count; });
  }

  Array unpooled(const Array& grad) const {
    return resized(grad, grad.view.dtype, num_axes_,
                   [&](int axis) { return windows_.axes[axis].length; });
  }

  View planes(const Array& array) const { return as_planes(array, num_axes_); }

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

  Array run(const Array& input) const {
    const Array from = dense(input);
    Array output =
        resized(from, from.view.dtype, num_axes_, [&](int axis) { return tables_[axis].count; });
    run_released(num_elements(from.view) + num_elements(output.view), [&] {
      resample_kernels().resample(tables_, as_planes(from, num_axes_),
                                  as_planes(output, num_axes_));
    });
    return output;
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

}  // namespace
}  // namespace lumus

void bind_pooling(nb::module_& m) {
  using namespace lumus;
  nb::class_<Axis>(m, "PoolAxis")
      .def(nb::init<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                    std::int64_t, bool, std::optional<double>>(),
           nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
           nb::arg().none());
  nb::class_<Pooling>(m, "Pooling")
      .def(nb::init<nb::tuple>())
      .def("max", &Pooling::max)
      .def("max_grad", &Pooling::max_grad)
      .def("take", &Pooling::take)
      .def("mean", &Pooling::mean)
      .def("mean_grad", &Pooling::mean_grad);
  nb::class_<TableAxis>(m, "ResampleAxis")
      .def(nb::init<std::int64_t, const Array&, const Array&>());
  nb::class_<Resampling>(m, "Resampling").def(nb::init<nb::tuple>()).def("run", &Resampling::run);
}
