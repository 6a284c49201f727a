// Reading and writing at index arrays. All indices are checked before the first write.
#include "kernels/index.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "bind/conversion.h"
#include "bind/exceptions.h"
#include "bind/index_check.h"
#include "bind/release.h"
#include "executor/step.h"
#include "kernels/copy.h"
#include "runtime/copies.h"
#include "runtime/overlap.h"
#include "runtime/step_error.h"

namespace nb = nanobind;

namespace lumus {

PyObject* index_out_of_range = nullptr;

namespace {

void translate(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const OutsideIndex& outside) {
    const nb::object arguments =
        nb::make_tuple(outside.value, outside.bound, make_tuple(outside.rank, outside.position),
                       outside.axis, outside.step);
    PyErr_SetObject(index_out_of_range, arguments.ptr());
  }
}

[[noreturn]] void raise_outside(const View& indices, std::int64_t low, std::int64_t bound,
                                int axis) {
  OutsideIndex outside;
  outside.bound = bound;
  outside.axis = axis;
  outside.rank = indices.rank;
  std::int64_t flat = index_kernels().first_outside(indices, low, bound);
  std::int64_t offset = 0;
  for (int other = indices.rank - 1; other >= 0; --other) {
    outside.position[other] = flat % indices.shape[other];
    flat /= indices.shape[other];
    offset += outside.position[other] * indices.strides[other];
  }
  std::memcpy(&outside.value, indices.data + offset * 8, sizeof outside.value);
  throw outside;
}

}  // namespace

void check_inside(const View& indices, std::int64_t low, std::int64_t bound, int axis) {
  if (index_kernels().first_outside(indices, low, bound) >= 0) {
    raise_outside(indices, low, bound, axis);
  }
}

namespace {

// Raises unless all are in [low, high).
void check_indices(const Array& indices, std::int64_t low, std::int64_t high) {
  run_released(num_elements(indices.view), [&] { check_inside(indices.view, low, high, 0); });
}

// Of arrays that a tuple of ours holds: another thread may change the caller's list while the lock
// is released.
std::vector<const View*> views_of(nb::tuple arrays) {
  std::vector<const View*> views;
  for (nb::handle array : arrays) views.push_back(&nb::cast<const Array&>(array).view);
  return views;
}

using Indices = std::vector<Array>;

Indices read_indices(Views views, int count) {
  Indices indices;
  indices.reserve(static_cast<std::size_t>(count));
  for (int k = 0; k < count; ++k) indices.push_back(converted(*views[k], DType::int64));
  return indices;
}

// Where index arrays, broadcast together, point to: element offsets from the start of the array
// whose first axes they index.
struct Positions {
  int rank = 0;
  std::int64_t shape[kMaxRank];
  std::int64_t count = 1;
  Array offsets;

  std::int64_t* data() const { return data_of<std::int64_t>(offsets.view); }
};

// The shape that index arrays broadcast to.
template <class ViewOf>
void broadcast_indices(int count, const ViewOf& view_of, Positions* positions) {
  for (int k = 0; k < count; ++k) positions->rank = std::max(positions->rank, view_of(k).rank);
  std::fill(positions->shape, positions->shape + positions->rank, 1);
  for (int k = 0; k < count; ++k) {
    const View& view = view_of(k);
    const int added = positions->rank - view.rank;
    for (int axis = 0; axis < view.rank; ++axis) {
      if (view.shape[axis] != 1) positions->shape[axis + added] = view.shape[axis];
    }
  }
  for (int axis = 0; axis < positions->rank; ++axis) positions->count *= positions->shape[axis];
}

Positions resolve(const Indices& indices, const std::int64_t* bounds, const std::int64_t* strides) {
  Positions positions;
  broadcast_indices(
      static_cast<int>(indices.size()),
      [&](int k) -> const View& { return indices[static_cast<std::size_t>(k)].view; }, &positions);
  positions.offsets = make_array(DType::int64, 1, &positions.count);
  if (indices.empty()) positions.data()[0] = 0;
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const View spread = broadcasted(indices[k], positions.rank, positions.shape).view;
    if (!index_kernels().resolve(positions.data(), spread, bounds[k], strides[k], k > 0)) {
      raise_outside(indices[k].view, -bounds[k], bounds[k], static_cast<int>(k));
    }
  }
  return positions;
}

// The block of x that one position selects.
View block_of(const View& x, int num_indexed) {
  View block = x;
  block.rank = x.rank - num_indexed;
  for (int axis = 0; axis < block.rank; ++axis) {
    block.shape[axis] = x.shape[axis + num_indexed];
    block.strides[axis] = x.strides[axis + num_indexed];
  }
  return block;
}

// (S..., rest...) as (count, rest...).
void flat_shape(const Positions& positions, const View& block, std::int64_t* shape) {
  shape[0] = positions.count;
  for (int axis = 0; axis < block.rank; ++axis) shape[1 + axis] = block.shape[axis];
}

// The first axes of x at the indices, into dense memory.
void write_indexed(const View& x, const Indices& indices, const View& to) {
  const int num_indexed = static_cast<int>(indices.size());
  if (num_indexed == 0) return assign(to, x);
  const Positions positions = resolve(indices, x.shape, x.strides);
  const View block = block_of(x, num_indexed);
  View rows = to;
  rows.rank = block.rank + 1;
  flat_shape(positions, block, rows.shape);
  std::int64_t stride = 1;
  for (int axis = rows.rank - 1; axis >= 0; --axis) {
    rows.strides[axis] = stride;
    stride *= rows.shape[axis];
  }
  index_kernels().gather(rows, block, positions.data());
}

Array index_rows(const Array& x, nb::list list) {
  const nb::tuple kept(list);
  const std::vector<const View*> views = views_of(kept);
  const int num_indexed = static_cast<int>(views.size());
  Positions positions;
  broadcast_indices(
      num_indexed, [&](int k) -> const View& { return *views[static_cast<std::size_t>(k)]; },
      &positions);
  const View block = block_of(x.view, num_indexed);
  if (positions.rank + block.rank > kMaxRank) throw nb::value_error("an array has at most 16 axes");
  std::int64_t shape[2 * kMaxRank];
  std::copy(positions.shape, positions.shape + positions.rank, shape);
  std::copy(block.shape, block.shape + block.rank, shape + positions.rank);
  Array result = make_array(x.view.dtype, positions.rank + block.rank, shape);
  run_released(num_elements(result.view) + positions.count, [&] {
    write_indexed(x.view, read_indices(views.data(), num_indexed), result.view);
  });
  return result;
}

Step* index_step(int num_indices) {
  return make_step({1 + num_indices}, [=](Views inputs, Views outputs) {
    write_indexed(*inputs[0], read_indices(inputs + 1, num_indices), *outputs[0]);
  });
}

// Of (ids, table): rows by their numbers, which do not count from the end.
Step* embedding_step() {
  return make_step({2}, [](Views inputs, Views outputs) {
    const Indices ids = read_indices(inputs, 1);
    check_inside(ids[0].view, 0, inputs[1]->shape[0], 0);
    write_indexed(*inputs[1], ids, *outputs[0]);
  });
}

// Of numbers of classes: int64 rows that are 1 there, and 0 beside it.
Step* one_hot_step(std::int64_t num_classes) {
  return make_step({1}, [=](Views inputs, Views outputs) {
    const Array ids = dense(*inputs[0], DType::int64);
    check_inside(ids.view, 0, num_classes, 0);
    clear(*outputs[0]);
    const std::int64_t count = num_elements(ids.view);
    const std::int64_t* const classes = data_of<std::int64_t>(ids.view);
    std::int64_t* const rows = data_of<std::int64_t>(*outputs[0]);
    for (std::int64_t p = 0; p < count; ++p) rows[p * num_classes + classes[p]] = 1;
  });
}

// `values` broadcast to (S..., rest...), as (count, rest...).
Array as_rows(const View& values, const Positions& positions, const View& block) {
  std::int64_t shape[2 * kMaxRank];
  std::copy(positions.shape, positions.shape + positions.rank, shape);
  std::copy(block.shape, block.shape + block.rank, shape + positions.rank);
  const Array spread = broadcasted(borrowed(values), positions.rank + block.rank, shape);
  std::int64_t flat[kMaxRank];
  flat_shape(positions, block, flat);
  Array rows;
  if (reshaped_view(spread, block.rank + 1, flat, &rows)) return rows;
  reshaped_view(copy_of(spread.view), block.rank + 1, flat, &rows);
  return rows;
}

// Numbers the distinct offsets in increasing order: `offsets` become these numbers, the result
// lists what they stand for.
std::vector<std::int64_t> number_offsets(std::int64_t* offsets, std::int64_t count) {
  std::vector<std::int64_t> distinct(offsets, offsets + count);
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (std::int64_t p = 0; p < count; ++p) {
    offsets[p] = std::lower_bound(distinct.begin(), distinct.end(), offsets[p]) - distinct.begin();
  }
  return distinct;
}

// Sums of half precision: the cells that are written go to float32, receive all their values there,
// and are rounded once.
void accumulate_halves(const View& block, const Positions& positions, const Array& rows) {
  const std::vector<std::int64_t> cells = number_offsets(positions.data(), positions.count);
  std::int64_t shape[kMaxRank];
  flat_shape(positions, block, shape);
  shape[0] = static_cast<std::int64_t>(cells.size());
  const Array narrow = make_array(block.dtype, block.rank + 1, shape);
  const Array wide = make_array(DType::float32, block.rank + 1, shape);
  const Array terms = converted(rows.view, DType::float32);
  index_kernels().gather(narrow.view, block, cells.data());
  copy_kernels().cast(wide.view, narrow.view);
  for (std::int64_t p = 0; p < positions.count; ++p) positions.data()[p] *= wide.view.strides[0];
  index_kernels().accumulate(block_of(wide.view, 1), terms.view, positions.data());
  copy_kernels().cast(narrow.view, wide.view);
  index_kernels().put(block, narrow.view, cells.data());
}

// The values, broadcast, to x at the indices. They share no memory with x.
void write_at(const View& x, const View& values, const Indices& indices, bool accumulate) {
  const Positions positions = resolve(indices, x.shape, x.strides);
  const View block = block_of(x, static_cast<int>(indices.size()));
  if (positions.count == 0 || num_elements(block) == 0) return;
  const Array rows = as_rows(values, positions, block);
  if (accumulate && is_half(x.dtype)) return accumulate_halves(block, positions, rows);
  const auto write = accumulate ? index_kernels().accumulate : index_kernels().put;
  write(block, rows.view, positions.data());
}

Array index_put(const Array& x, nb::list list, const Array& values, bool accumulate) {
  const nb::tuple kept(list);
  const std::vector<const View*> views = views_of(kept);
  Array result = make_array(x.view.dtype, x.view.rank, x.view.shape);
  run_released(num_elements(x.view) + num_elements(values.view), [&] {
    assign(result.view, x.view);
    write_at(result.view, values.view, read_indices(views.data(), static_cast<int>(views.size())),
             accumulate);
  });
  return result;
}

void index_put_into(const Array& x, nb::list list, const Array& values, bool accumulate) {
  const nb::tuple kept(list);
  const std::vector<const View*> views = views_of(kept);
  run_released(num_elements(values.view), [&] {
    const bool overlaps = views_overlap(x.view, values.view);
    const Array source = overlaps ? copy_of(values.view) : borrowed(values.view);
    write_at(x.view, source.view, read_indices(views.data(), static_cast<int>(views.size())),
             accumulate);
  });
}

// Of (x, values, indices...).
Step* index_put_step(int num_indices, bool accumulate) {
  return make_step({2 + num_indices, 1, InPlace::first, OutputLayout::strided},
                   [=](Views inputs, Views outputs) {
                     const Indices indices = read_indices(inputs + 2, num_indices);
                     assign(*outputs[0], *inputs[0]);
                     write_at(*outputs[0], *inputs[1], indices, accumulate);
                   });
}

// The cells that indices name, in a grid of the shape `bounds`.
class Cells {
 public:
  explicit Cells(nb::tuple prefix) : rank_(read_integers(prefix, bounds_)) {
    for (int axis = rank_ - 1; axis >= 0; --axis) {
      strides_[axis] = count_;
      count_ *= bounds_[axis];
    }
  }

  // Dense truths: no later position names the same cell.
  void mark_last(const Indices& indices, const View& to) const {
    const Positions positions = resolve(indices, bounds_, strides_);
    // The table is not initialised, so a large one costs no more than the cells that are named; one
    // that is far larger than the list of positions is replaced by numbering the cells.
    std::int64_t count = count_;
    if (count > 16 * positions.count + (1 << 20)) {
      count = static_cast<std::int64_t>(number_offsets(positions.data(), positions.count).size());
    }
    const std::unique_ptr<std::int64_t[]> table(new std::int64_t[static_cast<std::size_t>(count)]);
    index_kernels().mark_last(data_of<bool>(to), positions.data(), positions.count, table.get());
  }

 private:
  std::int64_t bounds_[kMaxRank], strides_[kMaxRank];
  std::int64_t count_ = 1;
  int rank_;
};

Array last_writer(nb::tuple prefix, nb::list list) {
  const Cells cells(prefix);
  const nb::tuple kept(list);
  const std::vector<const View*> views = views_of(kept);
  Positions positions;
  broadcast_indices(
      static_cast<int>(views.size()),
      [&](int k) -> const View& { return *views[static_cast<std::size_t>(k)]; }, &positions);
  Array result = make_array(DType::boolean, positions.rank, positions.shape);
  run_released(positions.count, [&] {
    cells.mark_last(read_indices(views.data(), static_cast<int>(views.size())), result.view);
  });
  return result;
}

Step* last_writer_step(nb::tuple prefix, int num_indices) {
  const Cells cells(prefix);
  return make_step({num_indices}, [=](Views inputs, Views outputs) {
    cells.mark_last(read_indices(inputs, num_indices), *outputs[0]);
  });
}

// ------------------------------------------------------------------------------ along an axis

View stretched(const View& view, const std::int64_t* shape, int except) {
  View result = view;
  for (int axis = 0; axis < view.rank; ++axis) {
    if (axis == except || view.shape[axis] == shape[axis]) continue;
    result.shape[axis] = shape[axis];
    if (view.shape[axis] == 1) result.strides[axis] = 0;
  }
  return result;
}

void write_taken(const View& x, const View& given, int axis, const View& to) {
  const Array indices = converted(given, DType::int64);
  check_inside(indices.view, -x.shape[axis], x.shape[axis], axis);
  const View source = stretched(x, to.shape, axis);
  const View places = stretched(indices.view, to.shape, -1);
  index_kernels().take_along_axis(to, source, places, axis);
}

Array take_along_axis(const Array& x, const Array& indices, int axis) {
  std::int64_t shape[kMaxRank];
  for (int other = 0; other < x.view.rank; ++other) {
    const bool is_indices = other == axis || x.view.shape[other] == 1;
    shape[other] = is_indices ? indices.view.shape[other] : x.view.shape[other];
  }
  Array result = make_array(x.view.dtype, x.view.rank, shape);
  run_released(num_elements(result.view) + num_elements(indices.view),
               [&] { write_taken(x.view, indices.view, axis, result.view); });
  return result;
}

Step* take_along_axis_step(int axis) {
  return make_step({2}, [=](Views inputs, Views outputs) {
    write_taken(*inputs[0], *inputs[1], axis, *outputs[0]);
  });
}

// x with the values, broadcast to the indices, added along the axis.
void write_scattered(const View& x, const View& given, const View& values, int axis,
                     const View& to) {
  const Array indices = converted(given, DType::int64);
  check_inside(indices.view, -x.shape[axis], x.shape[axis], axis);
  const DType dtype = is_half(x.dtype) ? DType::float32 : x.dtype;
  const Array terms = converted(values, dtype);
  const View spread = broadcasted(terms, indices.view.rank, indices.view.shape).view;
  write_rounded(to, dtype, [&](const View& sums) {
    assign(sums, converted(x, dtype).view);
    index_kernels().scatter_add(sums, indices.view, spread, axis);
  });
}

Array scatter_add(const Array& x, const Array& indices, const Array& values, int axis) {
  Array result = make_array(x.view.dtype, x.view.rank, x.view.shape);
  run_released(num_elements(x.view) + num_elements(indices.view),
               [&] { write_scattered(x.view, indices.view, values.view, axis, result.view); });
  return result;
}

Step* scatter_add_step(int axis) {
  return make_step({3, 1, InPlace::first, OutputLayout::strided}, [=](Views inputs, Views outputs) {
    write_scattered(*inputs[0], *inputs[1], *inputs[2], axis, *outputs[0]);
  });
}

// -------------------------------------------------------------------------------------- masks

nb::tuple nonzero(const Array& array) {
  const std::int64_t size = num_elements(array.view);
  Array mask;
  run_released(size, [&] {
    const Array truths = converted(array.view, DType::boolean);
    mask = is_contiguous(truths.view) ? truths : copy_of(truths.view);
  });
  std::vector<std::int64_t> starts(static_cast<std::size_t>(size / kMaskPiece + 1));
  run_released(size, [&] { index_kernels().count_true(mask.view, starts.data()); });
  std::int64_t count = 0;
  for (std::int64_t& start : starts) count += std::exchange(start, count);
  Array lists[kMaxRank];
  std::int64_t* coordinates[kMaxRank];
  for (int axis = 0; axis < mask.view.rank; ++axis) {
    lists[axis] = make_array(DType::int64, 1, &count);
    coordinates[axis] = data_of<std::int64_t>(lists[axis].view);
  }
  run_released(size, [&] { index_kernels().list_true(mask.view, starts.data(), coordinates); });
  nb::list result;
  for (int axis = 0; axis < mask.view.rank; ++axis) result.append(std::move(lists[axis]));
  return nb::tuple(result);
}

}  // namespace
}  // namespace lumus

void bind_index(nb::module_& m) {
  using namespace lumus;
  index_out_of_range = PyErr_NewExceptionWithDoc("lumus._native.IndexOutOfRange",
                                                 "args: (value, bound, position, axis, step)",
                                                 PyExc_IndexError, nullptr);
  m.attr("IndexOutOfRange") = nb::borrow(index_out_of_range);
  nb::register_exception_translator(translate);
  m.def("check_indices", check_indices);
  m.def("index", index_rows);
  m.def("index_put", index_put);
  m.def("index_put_into", index_put_into);
  m.def("last_writer", last_writer);
  m.def("take_along_axis", take_along_axis);
  m.def("scatter_add", scatter_add);
  m.def("nonzero", nonzero);
  m.def("index_step", index_step);
  m.def("embedding_step", embedding_step);
  m.def("one_hot_step", one_hot_step);
  m.def("index_put_step", index_put_step);
  m.def("last_writer_step", last_writer_step);
  m.def("take_along_axis_step", take_along_axis_step);
  m.def("scatter_add_step", scatter_add_step);
}
