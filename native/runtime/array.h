// A strided array: a view on a storage that it keeps alive. Passed by value; views of it are cheap.
#pragma once

#include <cstdint>

#include "runtime/storage.h"
#include "runtime/view.h"

namespace lumus {

// Only the axes in use: arrays are made for every small operation, and a view is 280 bytes.
static inline void copy_view(const View& from, View* to) {
  to->data = from.data;
  to->dtype = from.dtype;
  to->rank = from.rank;
  for (int axis = 0; axis < from.rank; ++axis) {
    to->shape[axis] = from.shape[axis];
    to->strides[axis] = from.strides[axis];
  }
}

struct Array {
  StorageRef storage;
  View view;
  // This view refuses writes, although its storage may allow them to others.
  bool readonly = false;

  Array() { view.rank = 0; }
  Array(StorageRef on, const View& window, bool is_readonly = false)
      : storage(static_cast<StorageRef&&>(on)), readonly(is_readonly) {
    copy_view(window, &view);
  }
  Array(const Array& other) : storage(other.storage), readonly(other.readonly) {
    copy_view(other.view, &view);
  }
  Array(Array&& other) noexcept
      : storage(static_cast<StorageRef&&>(other.storage)), readonly(other.readonly) {
    copy_view(other.view, &view);
  }
  Array& operator=(Array other) noexcept {
    storage = static_cast<StorageRef&&>(other.storage);
    readonly = other.readonly;
    copy_view(other.view, &view);
    return *this;
  }
};

// Uninitialised, contiguous.
Array make_array(DType dtype, int rank, const std::int64_t* shape);

template <class T>
inline T* data_of(const View& view) {
  return reinterpret_cast<T*>(view.data);
}

// Views: share storage, copy nothing. Arguments are already checked.
Array permuted(const Array& array, const int* axes);
Array sliced(const Array& array, const std::int64_t* starts, const std::int64_t* sizes,
             const std::int64_t* steps);
// Windows of `size` elements along an axis: it counts every `step`-th of them, a new last axis
// their elements. Read-only where they overlap.
Array windowed(const Array& array, int axis, std::int64_t size, std::int64_t step);
Array broadcasted(const Array& array, int rank, const std::int64_t* shape);
// True and `*result` when the new shape can be had without copying.
bool reshaped_view(const Array& array, int rank, const std::int64_t* shape, Array* result);

}  // namespace lumus
