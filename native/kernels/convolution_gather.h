// A product whose left operand is never laid out: its element (row, depth) lies at the sum of two
// offsets, the row's and the depth's. The right operand lies in panels of one or two vectors of
// columns, of which the depth picks rows; the result has a row for each row of the left operand.
//
// For a convolution rows are points, the depth is taps for each channel, columns are the channels
// of the result: nothing of the source is ever repeated in memory, and no lane is lost to narrow
// pictures. For the gradient of the weights rows are channels by taps, and the depth is points.
//
// Numerics. As in gemm.h: a chain of multiply-adds in the order of the depth, cut into blocks.
#pragma once

#include "kernels/convolution_tables.h"

namespace lumus::LUMUS_ISA {

constexpr std::int64_t kGatherDepth = 384;  // of a chain of sums

template <class T>
struct GatherTask {
  // Element (row, repeat, depth) of the left operand.
  const T* source;
  const std::int64_t* row_offsets;
  const std::int64_t* depth_offsets;
  std::int64_t depth;
  std::int64_t repeats, repeat_offset;
  // Rows of the right one, in vectors of one column of its panel.
  const T* panel;
  const std::int64_t* depth_numbers;
  std::int64_t repeat_number;
  // Rows of the result.
  T* result;
  const std::int64_t* row_numbers;
  bool accumulate;
};

// The rows of the left operand, of which `at` reads an element. Six have a pointer each, in general
// registers; of more the offsets are read again each time.
template <class T, int kRows, bool kHasPointers = (kRows <= 6)>
class LeftRows {
 public:
  explicit LeftRows(const GatherTask<T>& task) {
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) rows_[i] = task.source + task.row_offsets[i];
  }
  // Otherwise they would go to vector registers and back.
  void keep() {
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) asm("" : "+r"(rows_[i]));
  }
  T at(int row, std::int64_t offset) const { return rows_[row][offset]; }
  void move(std::int64_t distance) {
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) rows_[i] += distance;
  }

 private:
  const T* rows_[kRows];
};

template <class T, int kRows>
class LeftRows<T, kRows, false> {
 public:
  explicit LeftRows(const GatherTask<T>& task) : source_(task.source), rows_(task.row_offsets) {}
  void keep() { asm("" : "+r"(rows_)); }
  T at(int row, std::int64_t offset) const { return source_[offset + rows_[row]]; }
  void move(std::int64_t distance) { source_ += distance; }

 private:
  const T* source_;
  const std::int64_t* rows_;
};

template <class T, int kRows, int kVectors>
static void gather_tile(const GatherTask<T>& task) {
  constexpr std::int64_t lanes = kLanes<T>;
  constexpr std::int64_t pitch = kVectors * lanes;
  Vec<T> sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[i][v] = Vec<T>{};
  }
  const std::int64_t depth = task.depth;
  LeftRows<T, kRows> rows(task);
  const T* panel = task.panel;
  for (std::int64_t repeat = 0; repeat < task.repeats; ++repeat) {
    for (std::int64_t k = 0; k < depth; ++k) {
      const std::int64_t offset = task.depth_offsets[k];
      const T* const from = panel + task.depth_numbers[k] * pitch;
      rows.keep();
      Vec<T> right[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) right[v] = load<T>(from + v * lanes);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const Vec<T> left = broadcast<T>(rows.at(i, offset));
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) {
          sums[i][v] = multiply_add<T>(left, right[v], sums[i][v]);
        }
      }
    }
    rows.move(task.repeat_offset);
    panel += task.repeat_number * pitch;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    T* const to = task.result + task.row_numbers[i] * pitch;
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

// All `rows` of the task, a tile at a time.
template <class T>
static void gather_rows(std::int64_t rows, int vectors, GatherTask<T> task) {
  const Strips<T> strips(rows);
  for (std::int64_t strip = 0; strip < strips.count; ++strip) {
    const std::int64_t height = strips.height + (strip < strips.num_tall);
    gather_tile_of<T>(height, vectors)(task);
    task.row_offsets += height;
    task.row_numbers += height;
  }
}

// ---- panels -------------------------------------------------------------------------------------

// Panels of columns: two vectors each, but for a last one.
template <class T>
constexpr std::int64_t kPanel = 2 * kLanes<T>;

template <class T>
LUMUS_INLINE int panel_vectors(std::int64_t columns) {
  return columns > kLanes<T> ? 2 : 1;
}
template <class T>
LUMUS_INLINE std::int64_t padded_columns(std::int64_t columns) {
  return divided_up(columns, kLanes<T>) * kLanes<T>;
}

// Sums of `rows` rows of `pitch` columns, plus bias if there is one, written column by column:
// element (row, column) goes to to[column * column_stride + row].
template <class T>
static void write_columns(const T* sums, std::int64_t pitch, std::int64_t rows,
                          std::int64_t columns, const T* bias, T* to, std::int64_t column_stride) {
  constexpr std::int64_t lanes = kLanes<T>;
  for (std::int64_t column = 0; column < columns; column += lanes) {
    const std::int64_t width = smaller(lanes, columns - column);
    const Vec<T> added = bias ? load<T>(bias + column) : Vec<T>{};
    for (std::int64_t row = 0; row < rows; row += lanes) {
      const std::int64_t height = smaller(lanes, rows - row);
      Vec<T> square[lanes];
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i) {
        square[i] = load<T>(sums + (row + smaller(i, height - 1)) * pitch + column);
        if (bias) square[i] += added;
      }
      transpose_lanes<T>(square);
      for (std::int64_t i = 0; i < width; ++i) {
        T* const at = to + (column + i) * column_stride + row;
        if (height == lanes) {
          store<T>(at, square[i]);
        } else {
          store_first<T>(at, square[i], height);
        }
      }
    }
  }
}

}  // namespace lumus::LUMUS_ISA
