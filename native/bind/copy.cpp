// Copies, casts, fills, joins and ramps.
#include "kernels/copy.h"

#include <nanobind/nanobind.h>

#include <array>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/conversion.h"
#include "bind/release.h"
#include "bind/scalar.h"
#include "executor/step.h"
#include "runtime/copies.h"

namespace nb = nanobind;

namespace lumus {
namespace {

void run_copy(const View& to, const View& from) {
  run_released(num_elements(to), [&] { copy_kernels().copy(to, from); });
}

Array copy(const Array& array) {
  Array result = make_array(array.view.dtype, array.view.rank, array.view.shape);
  run_copy(result.view, array.view);
  return result;
}

void copy_into(const Array& to, const Array& from) {
  run_released(num_elements(to.view), [&] { assign(to.view, from.view); });
}

Array cast(const Array& array, int dtype) {
  Array result = make_array(static_cast<DType>(dtype), array.view.rank, array.view.shape);
  run_released(num_elements(array.view), [&] { copy_kernels().cast(result.view, array.view); });
  return result;
}

// The input, broadcast to the output.
Step* copy_step() {
  return make_step({1, 1, InPlace::all, OutputLayout::strided},
                   [](Views inputs, Views outputs) { assign(*outputs[0], *inputs[0]); });
}

// To the dtype of the output.
Step* cast_step() {
  return make_step({1, 1, InPlace::none, OutputLayout::strided}, [](Views inputs, Views outputs) {
    copy_kernels().cast(*outputs[0], *inputs[0]);
  });
}

void fill_with(const View& to, nb::handle number) {
  Scalar value(number);
  value.convert(to.dtype);
  View source = to;
  source.data = value.view().data;
  for (int axis = 0; axis < source.rank; ++axis) source.strides[axis] = 0;
  run_copy(to, source);
}

void fill(const Array& array, nb::handle number) { fill_with(array.view, number); }

Array full(int dtype, nb::tuple shape, nb::handle number) {
  std::int64_t sizes[kMaxRank];
  const int rank = read_integers(shape, sizes);
  Array result = make_array(static_cast<DType>(dtype), rank, sizes);
  fill_with(result.view, number);
  return result;
}

// The parts one after the other along the axis.
void write_joined(Views parts, int count, int axis, const View& to) {
  View place;
  copy_view(to, &place);
  const std::int64_t stride = to.strides[axis] * itemsize(to.dtype);
  for (int at = 0; at < count; ++at) {
    place.shape[axis] = parts[at]->shape[axis];
    copy_kernels().copy(place, *parts[at]);
    place.data += place.shape[axis] * stride;
  }
}

Array concat(nb::list arrays, int axis) {
  // A tuple of our own: another thread may change the caller's list while the lock is released.
  const nb::tuple kept(arrays);
  const Array& first = nb::cast<const Array&>(kept[0]);
  std::int64_t shape[kMaxRank];
  for (int other = 0; other < first.view.rank; ++other) shape[other] = first.view.shape[other];
  shape[axis] = 0;
  for (nb::handle array : kept) shape[axis] += nb::cast<const Array&>(array).view.shape[axis];
  Array result = make_array(first.view.dtype, first.view.rank, shape);
  std::vector<const View*> parts;
  for (nb::handle array : kept) parts.push_back(&nb::cast<const Array&>(array).view);
  run_released(num_elements(result.view), [&] {
    write_joined(parts.data(), static_cast<int>(parts.size()), axis, result.view);
  });
  return result;
}

Step* concat_step(int count, int axis) {
  return make_step(
      {count, 1, InPlace::none, OutputLayout::strided},
      [=](Views inputs, Views outputs) { write_joined(inputs, count, axis, *outputs[0]); });
}

struct Window {
  std::int64_t starts[kMaxRank], steps[kMaxRank];

  Window(nb::tuple from, nb::tuple by) {
    read_integers(from, starts);
    read_integers(by, steps);
  }
  View of(const View& view, const std::int64_t* sizes) const {
    return sliced(borrowed(view), starts, sizes, steps).view;
  }
};

// Zeros with the input in a slice of them.
Step* unslice_step(nb::tuple starts, nb::tuple steps) {
  const Window window(starts, steps);
  return make_step({1, 1, InPlace::none, OutputLayout::strided}, [=](Views inputs, Views outputs) {
    if (num_elements(*inputs[0]) < num_elements(*outputs[0])) clear(*outputs[0]);
    copy_kernels().copy(window.of(*outputs[0], inputs[0]->shape), *inputs[0]);
  });
}

// Of (x, values): x with values, broadcast, in a slice of it.
Step* slice_put_step(nb::tuple starts, nb::tuple lengths, nb::tuple steps) {
  const Window window(starts, steps);
  std::array<std::int64_t, kMaxRank> sizes;
  read_integers(lengths, sizes.data());
  return make_step({2, 1, InPlace::first, OutputLayout::strided}, [=](Views inputs, Views outputs) {
    assign(*outputs[0], *inputs[0]);
    assign(window.of(*outputs[0], sizes.data()), *inputs[1]);
  });
}

// start, start + step, ... of one dtype, into dense memory.
void write_ramp(const View& to, const Scalar& start, const Scalar& step) {
  if (start.is_integer() && step.is_integer() && !is_float(to.dtype)) {
    copy_kernels().ramp_integer(to, start.integer(), step.integer());
  } else {
    copy_kernels().ramp_real(to, start.real(), step.real());
  }
}

Array arange(int dtype, nb::handle start, nb::handle step, std::int64_t count) {
  const Scalar first(start);
  const Scalar distance(step);
  Array result = make_array(static_cast<DType>(dtype), 1, &count);
  run_released(count, [&] { write_ramp(result.view, first, distance); });
  return result;
}

Step* arange_step(nb::handle start, nb::handle step) {
  const auto numbers = std::make_shared<const std::pair<Scalar, Scalar>>(
      std::piecewise_construct, std::forward_as_tuple(start), std::forward_as_tuple(step));
  return make_step(
      {0}, [=](Views, Views outputs) { write_ramp(*outputs[0], numbers->first, numbers->second); });
}

// Evenly from first to last, which is met exactly.
void write_even(const View& to, double first, const Scalar& last) {
  const std::int64_t count = to.shape[0];
  const double step = count > 1 ? (last.real() - first) / static_cast<double>(count - 1) : 0.0;
  copy_kernels().ramp_real(to, first, step);
  if (count <= 1) return;
  View end = last.view();
  end.dtype = to.dtype;
  end.data = to.data + (count - 1) * to.strides[0] * itemsize(to.dtype);
  copy_kernels().cast(end, last.view());
}

Array linspace(int dtype, nb::handle start, nb::handle stop, std::int64_t count) {
  const double first = Scalar(start).real();
  const Scalar last(stop);
  Array result = make_array(static_cast<DType>(dtype), 1, &count);
  run_released(count, [&] { write_even(result.view, first, last); });
  return result;
}

Step* linspace_step(nb::handle start, nb::handle stop) {
  const double first = Scalar(start).real();
  const auto last = std::make_shared<const Scalar>(stop);
  return make_step({0}, [=](Views, Views outputs) { write_even(*outputs[0], first, *last); });
}

}  // namespace
}  // namespace lumus

void bind_copy(nb::module_& m) {
  using namespace lumus;
  m.def("copy", copy);
  m.def("copy_into", copy_into);
  m.def("cast", cast);
  m.def("fill", fill);
  m.def("full", full);
  m.def("concat", concat);
  m.def("arange", arange);
  m.def("linspace", linspace);
  m.def("arange_step", arange_step);
  m.def("linspace_step", linspace_step);
  m.def("copy_step", copy_step);
  m.def("cast_step", cast_step);
  m.def("concat_step", concat_step);
  m.def("unslice_step", unslice_step);
  m.def("slice_put_step", slice_put_step);
}
