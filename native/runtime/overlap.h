// Do two strided windows on memory share an element?
#pragma once

#include <cstdint>

#include "runtime/view.h"

namespace lumus {

// Half-open range of the bytes that a view's elements lie in; low == high for an empty view.
struct ByteHull {
  const std::byte* low;
  const std::byte* high;
};
ByteHull hull_of(const View& view);

// Exact: disjoint columns of one matrix do not overlap.
bool views_overlap(const View& a, const View& b);

}  // namespace lumus
