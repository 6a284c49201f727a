// Kernels that work along one axis: the lines along it, one by one, or many columns side by side.
#pragma once

#include <cstdint>

#include "kernels/accumulate.h"
#include "kernels/joint_axes.h"
#include "runtime/thread_pool.h"
#include "runtime/view.h"

namespace lumus::LUMUS_ISA {

constexpr std::int64_t kLineGrain = 8192;   // elements a thread takes at once
constexpr std::int64_t kLineColumns = 256;  // at most, of a chunk
constexpr std::int64_t kLeastColumns = 16;  // fewer are lines of their own

// How kNumArrays arrays of one shape are walked along an axis. Where at least kLeastColumns
// neighbouring columns lie beside each other in the last array, they are taken in chunks.
template <int kNumArrays>
struct Lines {
  JointAxes outer;  // all other axes, or those without the columns
  std::int64_t length;
  std::int64_t steps[kNumArrays];  // along the axis
  std::int64_t column_steps[kNumArrays];
  std::int64_t width = 0;  // columns; 0 where lines are walked one by one

  Lines(const View* const* arrays, int axis) {
    const View& last = *arrays[kNumArrays - 1];
    length = last.shape[axis];
    JointAxes inner;
    for (int other = 0; other < last.rank; ++other) {
      std::int64_t strides[kNumArrays];
      for (int i = 0; i < kNumArrays; ++i) strides[i] = arrays[i]->strides[other];
      if (other == axis) {
        for (int i = 0; i < kNumArrays; ++i) steps[i] = strides[i];
      } else {
        (other < axis ? outer : inner).add(last.shape[other], strides, kNumArrays);
      }
    }
    const int columns = inner.rank - 1;
    const bool is_by_columns = columns >= 0 && inner.shape[columns] >= kLeastColumns;
    for (int before = 0; before < inner.rank; ++before) {
      std::int64_t strides[kNumArrays];
      for (int i = 0; i < kNumArrays; ++i) strides[i] = inner.strides[i][before];
      if (is_by_columns && before == columns) {
        width = inner.shape[columns];
        for (int i = 0; i < kNumArrays; ++i) column_steps[i] = strides[i];
      } else {
        outer.add(inner.shape[before], strides, kNumArrays);
      }
    }
  }

  // lines(offsets, count): `count` <= kTogether lines, whose first elements are at
  // offsets[line][i].
  template <int kTogether, class Body>
  void for_lines(const Body& lines) const {
    const std::int64_t groups = divide_up(outer.count, kTogether);
    parallel_for(groups, larger(1, kLineGrain / (length * kTogether)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t group = begin; group < end; ++group) {
                     std::int64_t offsets[kTogether][kNumArrays];
                     const std::int64_t first = group * kTogether;
                     const int count = static_cast<int>(smaller(kTogether, outer.count - first));
                     for (int i = 0; i < count; ++i) {
                       outer.locate(first + i, kNumArrays, offsets[i]);
                     }
                     lines(offsets, count);
                   }
                 });
  }

  // chunk(offsets, num_columns): at most kLineColumns columns, whose first elements are at
  // offsets[i].
  template <class Body>
  void for_columns(const Body& chunk) const {
    const std::int64_t chunks = divide_up(width, kLineColumns);
    const std::int64_t columns = smaller(width, kLineColumns);
    parallel_for(outer.count * chunks, larger(1, kLineGrain / (length * columns)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t item = begin; item < end; ++item) {
                     const std::int64_t first = item % chunks * kLineColumns;
                     std::int64_t offsets[kNumArrays];
                     outer.locate(item / chunks, kNumArrays, offsets);
                     for (int i = 0; i < kNumArrays; ++i) offsets[i] += first * column_steps[i];
                     chunk(offsets, smaller(kLineColumns, width - first));
                   }
                 });
  }
};

}  // namespace lumus::LUMUS_ISA
