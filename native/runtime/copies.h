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
// The same, with their dtype changed.
Array dense(const View& view, DType dtype);
// The same elements in another dtype, in any layout: the memory itself or dense.
Array converted(const View& view, DType dtype);

// A view, or if it is of another dtype a converted copy of it.
class InDType {
 public:
  InDType(const View& view, DType dtype) : view_(&view) {
    if (view.dtype == dtype) return;
    converted_ = converted(view, dtype);
    view_ = &converted_.view;
  }
  InDType(const InDType&) = delete;
  InDType& operator=(const InDType&) = delete;

  const View& view() const { return *view_; }

 private:
  Array converted_;
  const View* view_;
};

// The values of `from`, broadcast, into `to`, of one dtype. Their memory may overlap.
void assign(const View& to, const View& from);

// Zeros everywhere.
void clear(const View& to);

// Same first element, shape and strides.
bool is_same_view(const View& a, const View& b);

// Memory of a wider dtype that becomes the values of `output`, or that of the output itself.
class Rounded {
 public:
  Rounded(const View& output, DType dtype)
      : output_(output),
        wide_(output.dtype == dtype ? borrowed(output)
                                    : make_array(dtype, output.rank, output.shape)) {}

  const View& view() const { return wide_.view; }
  void finish() const {
    if (wide_.view.dtype != output_.dtype)
      assign(output_, converted(wide_.view, output_.dtype).view);
  }

 private:
  const View& output_;
  Array wide_;
};

template <class Body>
inline void write_rounded(const View& output, DType dtype, const Body& body) {
  const Rounded rounded(output, dtype);
  body(rounded.view());
  rounded.finish();
}

}  // namespace lumus
