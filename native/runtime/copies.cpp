#include "runtime/copies.h"

#include "kernels/copy.h"
#include "runtime/overlap.h"

namespace lumus {

Array copy_of(const View& view) {
  Array copy = make_array(view.dtype, view.rank, view.shape);
  copy_kernels().copy(copy.view, view);
  return copy;
}

Array dense(const View& view) { return is_contiguous(view) ? borrowed(view) : copy_of(view); }

Array dense(const View& view, DType dtype) {
  return view.dtype == dtype ? dense(view) : converted(view, dtype);
}

Array converted(const View& view, DType dtype) {
  if (view.dtype == dtype) return borrowed(view);
  Array result = make_array(dtype, view.rank, view.shape);
  copy_kernels().cast(result.view, view);
  return result;
}

bool is_same_view(const View& a, const View& b) {
  if (a.data != b.data || a.rank != b.rank) return false;
  for (int axis = 0; axis < a.rank; ++axis) {
    if (a.shape[axis] != b.shape[axis] || a.strides[axis] != b.strides[axis]) return false;
  }
  return true;
}

void assign(const View& to, const View& from) {
  if (is_same_view(to, from)) return;
  const Array source = views_overlap(to, from) ? copy_of(from) : borrowed(from);
  copy_kernels().copy(to, broadcasted(source, to.rank, to.shape).view);
}

void clear(const View& to) {
  alignas(8) std::byte zero[8] = {};
  View source;
  copy_view(to, &source);
  source.data = zero;
  for (int axis = 0; axis < source.rank; ++axis) source.strides[axis] = 0;
  copy_kernels().copy(to, source);
}

}  // namespace lumus
