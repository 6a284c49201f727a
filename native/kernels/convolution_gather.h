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

template <class T>
constexpr bool kRowsHavePointers = kTileRows<T> <= 6;

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

// Rows in groups of `kGroup`, each of which follows the one before: a group has one pointer, and
// its rows distances from it that the instructions hold.
template <class T, int kRows, int kGroup>
class GroupedRows {
 public:
  explicit GroupedRows(const GatherTask<T>& task) {
#pragma GCC unroll 4
    for (int i = 0; i < kRows / kGroup; ++i) {
      groups_[i] = task.source + task.row_offsets[i * kGroup];
    }
  }
  void keep() {
#pragma GCC unroll 4
    for (int i = 0; i < kRows / kGroup; ++i) asm("" : "+r"(groups_[i]));
  }
  T at(int row, std::int64_t offset) const { return groups_[row / kGroup][offset + row % kGroup]; }
  void move(std::int64_t distance) {
#pragma GCC unroll 4
    for (int i = 0; i < kRows / kGroup; ++i) groups_[i] += distance;
  }

 private:
  const T* groups_[kRows / kGroup];
};

// All rows follow each other, from the source and the result on.
constexpr int kRun = 0;

template <class T>
class RunOfRows {
 public:
  explicit RunOfRows(const GatherTask<T>& task) : source_(task.source) {}
  void keep() {}
  T at(int row, std::int64_t offset) const { return source_[offset + row]; }
  void move(std::int64_t distance) { source_ += distance; }

 private:
  const T* source_;
};

template <class T, int kRows, int kGroup>
struct RowsOf {
  using type = GroupedRows<T, kRows, kGroup>;
};
template <class T, int kRows>
struct RowsOf<T, kRows, 1> {
  using type = LeftRows<T, kRows>;
};
template <class T, int kRows>
struct RowsOf<T, kRows, kRun> {
  using type = RunOfRows<T>;
};

template <class T, int kRows, int kVectors, int kGroup>
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
  typename RowsOf<T, kRows, kGroup>::type rows(task);
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
    T* const to = task.result + (kGroup == kRun ? i : task.row_numbers[i]) * pitch;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      store<T>(to + v * lanes, task.accumulate ? load<T>(to + v * lanes) + sums[i][v] : sums[i][v]);
    }
  }
}

template <class T>
using GatherTile = void (*)(const GatherTask<T>&);

// In the tallest tile there are fewer rows for some groups.
template <class T, int kGroup>
constexpr int kGroupedRows = kGroup > 1 ? kTileRows<T> / kGroup * kGroup : kTileRows<T>;

template <class T, int kGroup = 1, int kRows = kGroupedRows<T, kGroup>>
LUMUS_INLINE GatherTile<T> gather_tile_of(std::int64_t rows, int vectors) {
  constexpr int step = kGroup > 1 ? kGroup : 1;
  if constexpr (kRows > step) {
    if (rows != kRows) return gather_tile_of<T, kGroup, kRows - step>(rows, vectors);
  }
  return vectors == 2 ? &gather_tile<T, kRows, 2, kGroup> : &gather_tile<T, kRows, 1, kGroup>;
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

// The same for `rows` that follow each other from the task's source and result on.
template <class T>
static void gather_run(std::int64_t rows, int vectors, GatherTask<T> task) {
  const Strips<T> strips(rows);
  for (std::int64_t strip = 0; strip < strips.count; ++strip) {
    const std::int64_t height = strips.height + (strip < strips.num_tall);
    gather_tile_of<T, kRun>(height, vectors)(task);
    task.source += height;
    task.result += height * vectors * kLanes<T>;
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
