// A product whose left operand is never laid out: its element (row, depth) lies at the sum of two
// offsets, the row's and the depth's. The right operand is packed into panels of one or two vectors
// of columns with the depth outermost; the result has a row of them for each row of the left.
//
// For a convolution rows are points, the depth is channels by taps, columns are the channels of the
// result: no element of the source is ever repeated in memory, and no lane is lost to narrow
// pictures. For the gradient of the weights rows are channels by taps, and the depth is points.
//
// Numerics. As in gemm.h: a chain of multiply-adds in the order of the depth, cut into blocks of
// kGatherDepth.
#pragma once

#include "kernels/convolution_blocks.h"

namespace lumus::LUMUS_ISA {

constexpr std::int64_t kGatherDepth = 384;

template <class T>
struct GatherTask {
  std::int64_t depth;
  const T* source;
  const std::int64_t* row_offsets;
  const std::int64_t* depth_offsets;
  const T* panel;
  T* result;
  const std::int64_t* row_numbers;  // of each row in the result; null if one after the other
  bool accumulate;
};

template <class T, int kRows, int kVectors>
static void gather_tile(const GatherTask<T>& task) {
  constexpr std::int64_t lanes = kLanes<T>;
  Vec<T> sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[i][v] = Vec<T>{};
  }
  std::int64_t rows[kRows];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) rows[i] = task.row_offsets[i];
  const T* panel = task.panel;
  for (std::int64_t k = 0; k < task.depth; ++k, panel += kVectors * lanes) {
    const T* const at = task.source + task.depth_offsets[k];
    Vec<T> right[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) right[v] = load<T>(panel + v * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const Vec<T> left = broadcast<T>(at[rows[i]]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[i][v] = multiply_add<T>(left, right[v], sums[i][v]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    const std::int64_t number = task.row_numbers ? task.row_numbers[i] : i;
    T* const to = task.result + number * (kVectors * lanes);
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      store<T>(to + v * lanes, task.accumulate ? load<T>(to + v * lanes) + sums[i][v] : sums[i][v]);
    }
  }
}

template <class T>
using GatherTile = void (*)(const GatherTask<T>&);

template <class T, int kRows = kTileRows<T>>
LUMUS_INLINE GatherTile<T> gather_tile_of(std::int64_t rows, int vectors) {
  if constexpr (kRows > 1) {
    if (rows != kRows) return gather_tile_of<T, kRows - 1>(rows, vectors);
  }
  return vectors == 2 ? &gather_tile<T, kRows, 2> : &gather_tile<T, kRows, 1>;
}

// All `rows` of the result for one panel and one block of the depth.
template <class T>
static void gather_rows(std::int64_t rows, int vectors, GatherTask<T> task) {
  if (rows == 0) return;
  const Strips<T> strips(rows);
  for (std::int64_t strip = 0; strip < strips.count; ++strip) {
    const std::int64_t height = strips.height + (strip < strips.num_tall);
    gather_tile_of<T>(height, vectors)(task);
    task.row_offsets += height;
    if (task.row_numbers) {
      task.row_numbers += height;
    } else {
      task.result += height * vectors * kLanes<T>;
    }
  }
}

// ---- panels -------------------------------------------------------------------------------------

// Panels of columns: two vectors each, but for a last one.
template <class T>
LUMUS_INLINE int panel_vectors(std::int64_t columns) {
  return columns > kLanes<T> ? 2 : 1;
}
template <class T>
LUMUS_INLINE std::int64_t padded_columns(std::int64_t columns) {
  return divided_up(columns, kLanes<T>) * kLanes<T>;
}

// ---- the way back -------------------------------------------------------------------------------

// Sums of `rows` rows of `pitch` columns, plus bias, written column by column: element (row,
// column) to to[column * column_stride + row].
template <class Element>
static void write_columns(const Computed<Element>* sums, std::int64_t pitch, std::int64_t rows,
                          std::int64_t columns, const Computed<Element>* bias, Element* to,
                          std::int64_t column_stride) {
  using T = Computed<Element>;
  constexpr std::int64_t lanes = kLanes<T>;
  for (std::int64_t row = 0; row < rows; row += lanes) {
    const std::int64_t height = smaller(lanes, rows - row);
    for (std::int64_t column = 0; column < columns; column += lanes) {
      const std::int64_t width = smaller(lanes, columns - column);
      const Vec<T> added = bias ? load<T>(bias + column) : Vec<T>{};
      Vec<T> square[lanes];
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i) {
        square[i] = load<T>(sums + (row + smaller(i, height - 1)) * pitch + column);
        if (bias) square[i] += added;
      }
      transpose_lanes<T>(square);
      for (std::int64_t i = 0; i < width; ++i) {
        Element* const at = to + (column + i) * column_stride + row;
        if (height == lanes) {
          store_values<Element>(at, square[i]);
        } else {
          store_left<Element>(at, square[i], height);
        }
      }
    }
  }
}

}  // namespace lumus::LUMUS_ISA
