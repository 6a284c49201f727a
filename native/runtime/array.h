// A strided array: a view on a storage that it keeps alive. Passed by value; views of it are cheap.
#pragma once

#include <cstdint>

#include "runtime/storage.h"
#include "runtime/view.h"

namespace lumus {

struct Array {
  StorageRef storage;
  View view;
  // This view refuses writes, although its storage may allow them to others.
  bool readonly = false;
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
Array broadcasted(const Array& array, int rank, const std::int64_t* shape);
// True and `*result` when the new shape can be had without copying.
bool reshaped_view(const Array& array, int rank, const std::int64_t* shape, Array* result);

}  // namespace lumus
