// Copies of arrays where a kernel needs another layout or dtype, and assignment. No interpreter
// lock is touched.
#pragma once

#include "runtime/array.h"

namespace lumus {

// An array that does not keep its memory alive.
static inline Array borrowed(const View& view) { return Array(StorageRef(), view); }

// The same elements, dense and in row-major order: the memory itself where they lie so, or a copy.
Array dense(const View& view);
Array copy_of(const View& view);
// The same elements in another dtype, in any layout: the memory itself or dense.
Array converted(const View& view, DType dtype);

// The values of `from`, broadcast, into `to`, of one dtype. Their memory may overlap.
void assign(const View& to, const View& from);

// Zeros everywhere.
void clear(const View& to);

// Same first element, shape and strides.
bool is_same_view(const View& a, const View& b);

// body(view) for memory of that dtype, which then becomes the values of `output`.
template <class Body>
inline void write_rounded(const View& output, DType dtype, const Body& body) {
  if (output.dtype == dtype) {
    body(output);
    return;
  }
  const Array wide = make_array(dtype, output.rank, output.shape);
  body(wide.view);
  assign(output, converted(wide.view, output.dtype).view);
}

}  // namespace lumus
