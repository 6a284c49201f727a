// Reading and writing at index arrays. All indices are checked before the first write.
#include "kernels/index.h"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bind/conversion.h"
#include "bind/release.h"
#include "kernels/copy.h"
#include "runtime/array.h"
#include "runtime/overlap.h"

namespace nb = nanobind;

namespace lumus {
namespace {

// Raised with (value, bound, position, axis): the index as it was given, the length of the axis,
// where in the index array it stands, and which axis it indexes.
PyObject* index_out_of_range = nullptr;

[[noreturn]] void raise_outside(const View& indices, std::int64_t low, std::int64_t bound,
                                int axis) {
  std::int64_t flat = index_kernels().first_outside(indices, low, bound);
  std::int64_t place[kMaxRank];
  std::int64_t offset = 0;
  for (int other = indices.rank - 1; other >= 0; --other) {
    place[other] = flat % indices.shape[other];
    flat /= indices.shape[other];
    offset += place[other] * indices.strides[other];
  }
  std::int64_t value;
  std::memcpy(&value, indices.data + offset * 8, sizeof value);
  const nb::object arguments = nb::make_tuple(value, bound, make_tuple(indices.rank, place), axis);
  PyErr_SetObject(index_out_of_range, arguments.ptr());
  throw nb::python_error();
}

void check_inside(const View& indices, std::int64_t low, std::int64_t bound, int axis) {
  bool is_inside = true;
  run_released(num_elements(indices),
               [&] { is_inside = index_kernels().first_outside(indices, low, bound) < 0; });
  if (!is_inside) raise_outside(indices, low, bound, axis);
}

// Raises unless all are in [low, high).
void check_indices(const Array& indices, std::int64_t low, std::int64_t high) {
  check_inside(indices.view, low, high, 0);
}

Array copy_of(const Array& array) {
  Array result = make_array(array.view.dtype, array.view.rank, array.view.shape);
  run_released(num_elements(array.view), [&] { copy_kernels().copy(result.view, array.view); });
  return result;
}

Array cast_to(const Array& array, DType dtype) {
  if (array.view.dtype == dtype) return array;
  Array result = make_array(dtype, array.view.rank, array.view.shape);
  run_released(num_elements(array.view), [&] { copy_kernels().cast(result.view, array.view); });
  return result;
}

std::vector<Array> read_indices(nb::list list) {
  std::vector<Array> indices;
  indices.reserve(list.size());
  for (nb::handle entry : list) {
    indices.push_back(cast_to(nb::cast<const Array&>(entry), DType::int64));
  }
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

Positions resolve(const std::vector<Array>& indices, const std::int64_t* bounds,
                  const std::int64_t* strides) {
  Positions positions;
  for (const Array& index : indices) positions.rank = std::max(positions.rank, index.view.rank);
  std::fill(positions.shape, positions.shape + positions.rank, 1);
  for (const Array& index : indices) {
    const int added = positions.rank - index.view.rank;
    for (int axis = 0; axis < index.view.rank; ++axis) {
      if (index.view.shape[axis] != 1) positions.shape[axis + added] = index.view.shape[axis];
    }
  }
  for (int axis = 0; axis < positions.rank; ++axis) positions.count *= positions.shape[axis];
  positions.offsets = make_array(DType::int64, 1, &positions.count);
  if (indices.empty()) positions.data()[0] = 0;
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const View spread = broadcasted(indices[k], positions.rank, positions.shape).view;
    bool is_inside = true;
    run_released(positions.count, [&] {
      is_inside = index_kernels().resolve(positions.data(), spread, bounds[k], strides[k], k > 0);
    });
    if (!is_inside) raise_outside(indices[k].view, -bounds[k], bounds[k], static_cast<int>(k));
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
  std::copy(block.shape, block.shape + block.rank, shape + 1);
}

Array index_rows(const Array& x, nb::list list) {
  const std::vector<Array> indices = read_indices(list);
  const int num_indexed = static_cast<int>(indices.size());
  if (num_indexed == 0) return copy_of(x);
  const Positions positions = resolve(indices, x.view.shape, x.view.strides);
  View block = block_of(x.view, num_indexed);
  std::int64_t shape[2 * kMaxRank];
  std::copy(positions.shape, positions.shape + positions.rank, shape);
  std::copy(block.shape, block.shape + block.rank, shape + positions.rank);
  if (positions.rank + block.rank > kMaxRank) throw nb::value_error("an array has at most 16 axes");
  Array result = make_array(x.view.dtype, positions.rank + block.rank, shape);
  View rows = result.view;
  rows.rank = block.rank + 1;
  flat_shape(positions, block, rows.shape);
  std::int64_t stride = 1;
  for (int axis = rows.rank - 1; axis >= 0; --axis) {
    rows.strides[axis] = stride;
    stride *= rows.shape[axis];
  }
  run_released(num_elements(rows), [&] { index_kernels().gather(rows, block, positions.data()); });
  return result;
}

// `values` broadcast to (S..., rest...), as (count, rest...).
Array as_rows(const Array& values, const Positions& positions, const View& block) {
  std::int64_t shape[2 * kMaxRank];
  std::copy(positions.shape, positions.shape + positions.rank, shape);
  std::copy(block.shape, block.shape + block.rank, shape + positions.rank);
  const Array spread = broadcasted(values, positions.rank + block.rank, shape);
  std::int64_t flat[kMaxRank];
  flat_shape(positions, block, flat);
  Array rows;
  if (reshaped_view(spread, block.rank + 1, flat, &rows)) return rows;
  reshaped_view(copy_of(spread), block.rank + 1, flat, &rows);
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
  const Array terms = cast_to(rows, DType::float32);
  run_released(num_elements(terms.view), [&] {
    index_kernels().gather(narrow.view, block, cells.data());
    copy_kernels().cast(wide.view, narrow.view);
    for (std::int64_t p = 0; p < positions.count; ++p) positions.data()[p] *= wide.view.strides[0];
    index_kernels().accumulate(block_of(wide.view, 1), terms.view, positions.data());
    copy_kernels().cast(narrow.view, wide.view);
    index_kernels().put(block, narrow.view, cells.data());
  });
}

void write_at(const View& x, const Array& values, int num_indexed, const Positions& positions,
              bool accumulate) {
  const View block = block_of(x, num_indexed);
  if (positions.count == 0 || num_elements(block) == 0) return;
  const Array rows = as_rows(values, positions, block);
  if (accumulate && is_half(x.dtype)) {
    accumulate_halves(block, positions, rows);
    return;
  }
  run_released(num_elements(rows.view), [&] {
    const auto write = accumulate ? index_kernels().accumulate : index_kernels().put;
    write(block, rows.view, positions.data());
  });
}

Array index_put(const Array& x, nb::list list, const Array& values, bool accumulate) {
  const std::vector<Array> indices = read_indices(list);
  Array result = make_array(x.view.dtype, x.view.rank, x.view.shape);
  const Positions positions = resolve(indices, x.view.shape, result.view.strides);
  run_released(num_elements(x.view), [&] { copy_kernels().copy(result.view, x.view); });
  write_at(result.view, values, static_cast<int>(indices.size()), positions, accumulate);
  return result;
}

void index_put_into(const Array& x, nb::list list, const Array& values, bool accumulate) {
  const std::vector<Array> indices = read_indices(list);
  const Positions positions = resolve(indices, x.view.shape, x.view.strides);
  const Array source = views_overlap(x.view, values.view) ? copy_of(values) : values;
  write_at(x.view, source, static_cast<int>(indices.size()), positions, accumulate);
}

Array last_writer(nb::tuple prefix, nb::list list) {
  std::int64_t bounds[kMaxRank];
  const int rank = read_integers(prefix, bounds);
  std::int64_t strides[kMaxRank];
  std::int64_t cells = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    strides[axis] = cells;
    cells *= bounds[axis];
  }
  const Positions positions = resolve(read_indices(list), bounds, strides);
  Array result = make_array(DType::boolean, positions.rank, positions.shape);
  run_released(positions.count, [&] {
    // The table is not initialised, so a large one costs no more than the cells that are named; one
    // that is far larger than the list of positions is replaced by numbering the cells.
    if (cells > 16 * positions.count + (1 << 20)) {
      cells = static_cast<std::int64_t>(number_offsets(positions.data(), positions.count).size());
    }
    const std::unique_ptr<std::int64_t[]> table(new std::int64_t[static_cast<std::size_t>(cells)]);
    index_kernels().mark_last(data_of<bool>(result.view), positions.data(), positions.count,
                              table.get());
  });
  return result;
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

Array take_along_axis(const Array& x, const Array& given, int axis) {
  const Array indices = cast_to(given, DType::int64);
  check_inside(indices.view, -x.view.shape[axis], x.view.shape[axis], axis);
  std::int64_t shape[kMaxRank];
  for (int other = 0; other < x.view.rank; ++other) {
    const bool is_indices = other == axis || x.view.shape[other] == 1;
    shape[other] = is_indices ? indices.view.shape[other] : x.view.shape[other];
  }
  Array result = make_array(x.view.dtype, x.view.rank, shape);
  const View source = stretched(x.view, shape, axis);
  const View places = stretched(indices.view, shape, -1);
  run_released(num_elements(result.view),
               [&] { index_kernels().take_along_axis(result.view, source, places, axis); });
  return result;
}

Array scatter_add(const Array& x, const Array& given, const Array& values, int axis) {
  const Array indices = cast_to(given, DType::int64);
  check_inside(indices.view, -x.view.shape[axis], x.view.shape[axis], axis);
  const bool is_wide = is_half(x.view.dtype);
  const DType dtype = is_wide ? DType::float32 : x.view.dtype;
  const Array terms = cast_to(values, dtype);
  const View spread = broadcasted(terms, indices.view.rank, indices.view.shape).view;
  const Array sums = is_wide ? cast_to(x, dtype) : copy_of(x);
  run_released(num_elements(indices.view),
               [&] { index_kernels().scatter_add(sums.view, indices.view, spread, axis); });
  return is_wide ? cast_to(sums, x.view.dtype) : sums;
}

// -------------------------------------------------------------------------------------- masks

nb::tuple nonzero(const Array& array) {
  Array mask = cast_to(array, DType::boolean);
  if (!is_contiguous(mask.view)) mask = copy_of(mask);
  const std::int64_t size = num_elements(mask.view);
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
  index_out_of_range =
      PyErr_NewExceptionWithDoc("lumus._native.IndexOutOfRange",
                                "args: (value, bound, position, axis)", PyExc_IndexError, nullptr);
  m.attr("IndexOutOfRange") = nb::borrow(index_out_of_range);
  m.def("check_indices", check_indices);
  m.def("index", index_rows);
  m.def("index_put", index_put);
  m.def("index_put_into", index_put_into);
  m.def("last_writer", last_writer);
  m.def("take_along_axis", take_along_axis);
  m.def("scatter_add", scatter_add);
  m.def("nonzero", nonzero);
}
