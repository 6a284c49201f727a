#include "runtime/array.h"

#include <limits>
#include <new>

namespace lumus {

Array make_array(DType dtype, int rank, const std::int64_t* shape) {
  Array array;
  array.view.dtype = dtype;
  array.view.rank = rank;
  std::int64_t count = 1;
  bool overflow = false;
  for (int axis = rank - 1; axis >= 0; --axis) {
    array.view.shape[axis] = shape[axis];
    array.view.strides[axis] = count;
    // An axis of length zero must not reset an overflow seen so far into a valid stride product.
    overflow |= __builtin_mul_overflow(count, shape[axis] ? shape[axis] : 1, &count);
  }
  bool empty = false;
  for (int axis = 0; axis < rank; ++axis) empty |= shape[axis] == 0;
  std::int64_t nbytes = 0;
  if (!empty) {
    overflow |= __builtin_mul_overflow(count, itemsize(dtype), &nbytes);
    if (overflow) throw std::bad_alloc();
  }
  array.storage = StorageRef(Storage::allocate(nbytes));
  array.view.data = array.storage->data();
  return array;
}

Array permuted(const Array& array, const int* axes) {
  Array result = array;
  for (int axis = 0; axis < array.view.rank; ++axis) {
    result.view.shape[axis] = array.view.shape[axes[axis]];
    result.view.strides[axis] = array.view.strides[axes[axis]];
  }
  return result;
}

Array sliced(const Array& array, const std::int64_t* starts, const std::int64_t* sizes,
             const std::int64_t* steps) {
  Array result = array;
  std::int64_t offset = 0;
  bool empty = false;
  for (int axis = 0; axis < array.view.rank; ++axis) {
    offset += starts[axis] * array.view.strides[axis];
    result.view.shape[axis] = sizes[axis];
    // The step of an axis with at most one element never counts, and may be too large to multiply.
    result.view.strides[axis] =
        sizes[axis] > 1 ? array.view.strides[axis] * steps[axis] : array.view.strides[axis];
    empty |= sizes[axis] == 0;
  }
  // The start of an empty slice may lie outside the storage.
  if (!empty) result.view.data += offset * itemsize(array.view.dtype);
  return result;
}

Array windowed(const Array& array, int axis, std::int64_t size, std::int64_t step) {
  Array result = array;
  View& view = result.view;
  const std::int64_t stride = view.strides[axis];
  const std::int64_t count = (view.shape[axis] - size) / step + 1;
  view.shape[axis] = count;
  // The step of a single window never counts, and may be too large to multiply.
  if (count > 1) view.strides[axis] = stride * step;
  view.shape[view.rank] = size;
  view.strides[view.rank++] = stride;
  result.readonly |= count > 1 && step < size;
  return result;
}

Array broadcasted(const Array& array, int rank, const std::int64_t* shape) {
  Array result = array;
  result.view.rank = rank;
  const int added = rank - array.view.rank;
  for (int axis = rank - 1; axis >= 0; --axis) {
    const bool stretched = axis < added || array.view.shape[axis - added] != shape[axis];
    result.view.shape[axis] = shape[axis];
    result.view.strides[axis] = stretched ? 0 : array.view.strides[axis - added];
  }
  return result;
}

bool reshaped_view(const Array& array, int rank, const std::int64_t* shape, Array* result) {
  const View& from = array.view;
  View to;
  to.data = from.data;
  to.dtype = from.dtype;
  to.rank = rank;
  for (int axis = 0; axis < rank; ++axis) to.shape[axis] = shape[axis];

  if (is_contiguous(from)) {
    std::int64_t stride = 1;
    for (int axis = rank - 1; axis >= 0; --axis) {
      to.strides[axis] = stride;
      if (shape[axis]) stride *= shape[axis];
    }
  } else {
    // Axes of length 1 carry no layout. Then match groups of old axes to groups of new axes with
    // the same number of elements; a group can be had as a view when its old axes are evenly
    // strided.
    std::int64_t old_shape[kMaxRank], old_strides[kMaxRank];
    int old_rank = 0;
    for (int axis = 0; axis < from.rank; ++axis) {
      if (from.shape[axis] == 1) continue;
      old_shape[old_rank] = from.shape[axis];
      old_strides[old_rank++] = from.strides[axis];
    }
    int old_axis = old_rank - 1;
    int new_axis = rank - 1;
    while (new_axis >= 0) {
      if (shape[new_axis] == 1) {
        to.strides[new_axis--] = 1;
        continue;
      }
      if (old_axis < 0) return false;
      std::int64_t group = old_shape[old_axis];
      const std::int64_t inner_stride = old_strides[old_axis];
      std::int64_t covered = 1;
      // Give out new axes; take in old ones while the group is too small.
      std::int64_t stride = inner_stride;
      while (true) {
        while (new_axis >= 0 && (shape[new_axis] == 1 || covered * shape[new_axis] <= group)) {
          to.strides[new_axis] = stride;
          covered *= shape[new_axis];
          stride *= shape[new_axis];
          --new_axis;
          if (covered == group) break;
        }
        if (covered == group) break;
        if (old_axis == 0) return false;
        if (old_strides[old_axis - 1] != old_strides[old_axis] * old_shape[old_axis]) return false;
        --old_axis;
        group *= old_shape[old_axis];
      }
      --old_axis;
    }
    if (old_axis >= 0) return false;
  }
  result->storage = array.storage;
  result->view = to;
  result->readonly = array.readonly;
  return true;
}

}  // namespace lumus
