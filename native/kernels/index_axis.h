// Gather and scatter along one axis, an index for each element.
//
// Layout: any strides. Reading goes in the order of the output. Writing goes line by line where the
// axis is the innermost, and otherwise for as many neighbouring lines at once as stay in the cache.
// Threads: reads are cut by output, writes by line, so that a cell's values come in order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/index_cells.h"
#include "kernels/isa.h"
#include "kernels/simd.h"
#include "kernels/strided.h"
#include "runtime/thread_pool.h"
#include "runtime/view.h"

namespace lumus::LUMUS_ISA {

constexpr std::int64_t kIndexPiece = 32768;
constexpr std::int64_t kRun = 256;
constexpr std::int64_t kCacheBytes = 256 * 1024;

// A run of cells to walk: the first and the distance to the next.
struct Walk {
  std::byte* first;
  std::int64_t step;
};

// By value, so that no store can be thought to change a stride.
template <class T>
static void take_run(Walk to, Walk x, Walk indices, std::int64_t bound, std::int64_t x_stride,
                     std::int64_t count) {
  typedef Loose<T> Cell;
  if (to.step == static_cast<std::int64_t>(sizeof(T)) && x.step == 0 && indices.step == 8 &&
      x_stride == static_cast<std::int64_t>(sizeof(T))) {
    Cell* __restrict results = reinterpret_cast<Cell*>(to.first);
    const Cell* __restrict cells = reinterpret_cast<const Cell*>(x.first);
    const auto* __restrict places = reinterpret_cast<const Loose<std::int64_t>*>(indices.first);
    for (std::int64_t i = 0; i < count; ++i) results[i] = cells[from_start(places[i], bound)];
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t place = from_start(read_index(indices.first + i * indices.step), bound);
    *reinterpret_cast<Cell*>(to.first + i * to.step) =
        *reinterpret_cast<const Cell*>(x.first + i * x.step + place * x_stride);
  }
}

template <class T>
static void take_lines(const View& to, const View& x, const View& indices, int axis) {
  const std::int64_t size = sizeof(T);
  const std::int64_t bound = x.shape[axis];
  const std::int64_t x_stride = x.strides[axis] * size;
  View lines = x;
  lines.strides[axis] = 0;
  const View* const views[] = {&to, &lines, &indices};
  Nest<3> nest = make_nest<3>(views);
  if (nest.rank == 0) {
    nest.rank = 1;
    nest.shape[0] = 1;
    nest.strides[0][0] = nest.strides[1][0] = nest.strides[2][0] = 0;
  }
  if (nest.count() == 0) return;
  const int inner = nest.rank - 1;
  const std::int64_t length = nest.shape[inner];
  const std::int64_t to_step = nest.strides[0][inner];
  const std::int64_t x_step = nest.strides[1][inner];
  const std::int64_t index_step = nest.strides[2][inner];
  const std::int64_t piece = at_most(length, kIndexPiece);
  const std::int64_t pieces = ceil_divide(length, piece);
  parallel_for(nest.count(inner) * pieces, ceil_divide(kIndexPiece, piece),
               [&](std::int64_t begin, std::int64_t end) {
                 Odometer<3> position(nest, inner, begin / pieces);
                 for (std::int64_t unit = begin; unit < end; ++unit) {
                   const std::int64_t start = unit % pieces * piece;
                   const std::int64_t count = at_most(length - start, piece);
                   take_run<T>({position.at[0] + start * to_step, to_step},
                               {position.at[1] + start * x_step, x_step},
                               {position.at[2] + start * index_step, index_step}, bound, x_stride,
                               count);
                   if ((unit + 1) % pieces == 0) position.step(nest, inner);
                 }
               });
}

static void take_along_axis(const View& to, const View& x, const View& indices, int axis) {
  switch (itemsize(to.dtype)) {
    case 1:
      return take_lines<std::uint8_t>(to, x, indices, axis);
    case 2:
      return take_lines<std::uint16_t>(to, x, indices, axis);
    case 4:
      return take_lines<std::uint32_t>(to, x, indices, axis);
    default:
      return take_lines<std::uint64_t>(to, x, indices, axis);
  }
}

// How many neighbouring lines of `depth` cells, each cell in a cache line of its own but for its
// neighbours, stay in the cache together.
LUMUS_INLINE std::int64_t run_within_cache(std::int64_t depth, std::int64_t size) {
  const std::int64_t run = kCacheBytes / (depth * size + 1);
  return run < 64 / size ? 64 / size : at_most(run, kRun);
}

template <class T>
static void scatter_run(Walk sums, Walk terms, Walk indices, std::int64_t bound,
                        std::int64_t x_stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t place = from_start(read_index(indices.first + i * indices.step), bound);
    add_cell<T>(sums.first + i * sums.step + place * x_stride, terms.first + i * terms.step);
  }
}

template <class T>
static void scatter_lines(const View& x, const View& indices, const View& values, int axis) {
  const std::int64_t size = sizeof(T);
  const std::int64_t bound = x.shape[axis];
  const std::int64_t depth = indices.shape[axis];
  const std::int64_t x_stride = x.strides[axis] * size;
  const std::int64_t value_stride = values.strides[axis] * size;
  const std::int64_t index_stride = indices.strides[axis] * 8;
  View lines = x;
  for (int other = 0; other < x.rank; ++other) lines.shape[other] = indices.shape[other];
  const View* const views[] = {&lines, &values, &indices};
  Nest<3> nest = make_nest<3>(views, axis);
  if (nest.rank == 0) {
    nest.rank = 1;
    nest.shape[0] = 1;
    nest.strides[0][0] = nest.strides[1][0] = nest.strides[2][0] = 0;
  }
  if (depth == 0 || nest.count() == 0) return;
  const int inner = nest.rank - 1;
  const std::int64_t length = nest.shape[inner];
  const std::int64_t x_step = nest.strides[0][inner];
  const std::int64_t value_step = nest.strides[1][inner];
  const std::int64_t index_step = nest.strides[2][inner];
  const bool is_axis_fast = magnitude(x_stride) <= magnitude(x_step);
  const std::int64_t piece = at_most(length, is_axis_fast ? kRun : run_within_cache(bound, size));
  const std::int64_t pieces = ceil_divide(length, piece);
  parallel_for(
      nest.count(inner) * pieces, ceil_divide(kIndexPiece, piece * depth),
      [&](std::int64_t begin, std::int64_t end) {
        Odometer<3> position(nest, inner, begin / pieces);
        for (std::int64_t unit = begin; unit < end; ++unit) {
          const std::int64_t start = unit % pieces * piece;
          const std::int64_t count = at_most(length - start, piece);
          const Walk sums = {position.at[0] + start * x_step, x_step};
          const Walk terms = {position.at[1] + start * value_step, value_step};
          const Walk places = {position.at[2] + start * index_step, index_step};
          if (is_axis_fast) {
            for (std::int64_t i = 0; i < count; ++i) {
              scatter_run<T>({sums.first + i * x_step, 0},
                             {terms.first + i * value_step, value_stride},
                             {places.first + i * index_step, index_stride}, bound, x_stride, depth);
            }
          } else {
            for (std::int64_t k = 0; k < depth; ++k) {
              scatter_run<T>(sums, {terms.first + k * value_stride, value_step},
                             {places.first + k * index_stride, index_step}, bound, x_stride, count);
            }
          }
          if ((unit + 1) % pieces == 0) position.step(nest, inner);
        }
      });
}

static void scatter_add(const View& x, const View& indices, const View& values, int axis) {
  switch (x.dtype) {
    case DType::float64:
      return scatter_lines<double>(x, indices, values, axis);
    case DType::float32:
      return scatter_lines<float>(x, indices, values, axis);
    case DType::int64:
      return scatter_lines<std::int64_t>(x, indices, values, axis);
    case DType::int32:
      return scatter_lines<std::int32_t>(x, indices, values, axis);
    case DType::int16:
      return scatter_lines<std::uint16_t>(x, indices, values, axis);
    case DType::int8:
    case DType::uint8:
      return scatter_lines<std::uint8_t>(x, indices, values, axis);
    case DType::boolean:
      return scatter_lines<Truth>(x, indices, values, axis);
    case DType::float16:
    case DType::bfloat16:
      __builtin_unreachable();
  }
}

}  // namespace lumus::LUMUS_ISA
