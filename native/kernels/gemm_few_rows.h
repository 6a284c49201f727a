// A product of few rows with a matrix whose columns are dense: a batch of one times a weight that
// is stored output by output, or a matrix times a vector.
//
// Reading the matrix is the whole cost, so it is read once, where it lies, and never packed. A
// group is a vector of 32 bytes of columns. Its columns are loaded 16 bytes at a time and
// transposed in registers, so that memory is read in its order and the sums run in theirs (gemm.h).
// A chain of sums waits for itself, so several run side by side: those of several groups, or, where
// columns lie such that their lines fight for the same places in the cache, of several blocks of
// the depth.
//
// Layout, aliasing, threads and numerics are those of gemm.h, to the bit.
#pragma once

#include "kernels/simd.h"
#include "kernels/sizes.h"

#if defined(__AVX2__)

namespace lumus::LUMUS_ISA {

template <class T>
struct GroupOf {
  typedef T type __attribute__((vector_size(32)));
};
template <class T>
using Group = typename GroupOf<T>::type;

template <class T>
constexpr int kGroupColumns = 32 / sizeof(T);
template <class T>
constexpr int kGroupDepth = 16 / sizeof(T);  // steps of the depth that are read at a time

// Where the sums of a group find registers on all instruction sets. Against packing the matrix, one
// row of 784 by 256 columns takes a third of the time and four rows 0.6.
constexpr int kMaxFewRows = 4;

LUMUS_INLINE __m256 load_halves(const float* low, const float* high) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
}
LUMUS_INLINE __m256d load_halves(const double* low, const double* high) {
  return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(low)), _mm_loadu_pd(high), 1);
}

LUMUS_INLINE Group<float> group_multiply_add(float x, Group<float> y, Group<float> sum) {
  return (Group<float>)_mm256_fmadd_ps(_mm256_set1_ps(x), (__m256)y, (__m256)sum);
}
LUMUS_INLINE Group<double> group_multiply_add(double x, Group<double> y, Group<double> sum) {
  return (Group<double>)_mm256_fmadd_pd(_mm256_set1_pd(x), (__m256d)y, (__m256d)sum);
}

LUMUS_INLINE void store_group_first(float* to, Group<float> value, std::int64_t count) {
  const Group<std::int32_t> lane = {0, 1, 2, 3, 4, 5, 6, 7};
  const Group<std::int32_t> mask = lane < static_cast<std::int32_t>(smaller(count, 8));
  _mm256_maskstore_ps(to, (__m256i)mask, (__m256)value);
}
LUMUS_INLINE void store_group_first(double* to, Group<double> value, std::int64_t count) {
  const Group<std::int64_t> lane = {0, 1, 2, 3};
  _mm256_maskstore_pd(to, (__m256i)(lane < count), (__m256d)value);
}

// Where the columns of a whole group lie, in bytes from its first; only the multiples that an
// address cannot take by itself are held.
struct WholeGroup {
  std::int64_t one, three, five, seven;
  explicit WholeGroup(std::int64_t stride)
      : one(stride), three(3 * stride), five(5 * stride), seven(7 * stride) {}
  __attribute__((always_inline)) std::int64_t operator[](int column) const {
    return column == 7   ? seven
           : column == 6 ? 2 * three
           : column == 5 ? five
           : column == 3 ? three
                         : column * one;
  }
};

// The same for a matrix of fewer columns than a group: the last one stands in for those it lacks.
struct PartOfGroup {
  std::int64_t offsets[8];
  PartOfGroup(std::int64_t stride, std::int64_t columns) {
    for (std::int64_t i = 0; i < 8; ++i) offsets[i] = smaller(i, columns - 1) * stride;
  }
  __attribute__((always_inline)) std::int64_t operator[](int column) const {
    return offsets[column];
  }
};

template <class T>
LUMUS_INLINE const T* moved(const T* from, std::int64_t bytes) {
  return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(from) + bytes);
}

// steps[k] = element k of each column of the group.
template <class Columns>
LUMUS_INLINE void load_steps(const float* from, const Columns& columns, Group<float>* steps) {
  const auto pair = [&](int low, int high) __attribute__((always_inline)) {
    return load_halves(moved(from, columns[low]), moved(from, columns[high]));
  };
  const __m256 columns_0_4 = pair(0, 4), columns_1_5 = pair(1, 5);
  const __m256 columns_2_6 = pair(2, 6), columns_3_7 = pair(3, 7);
  const __m256d early_01 = (__m256d)_mm256_unpacklo_ps(columns_0_4, columns_1_5);
  const __m256d late_01 = (__m256d)_mm256_unpackhi_ps(columns_0_4, columns_1_5);
  const __m256d early_23 = (__m256d)_mm256_unpacklo_ps(columns_2_6, columns_3_7);
  const __m256d late_23 = (__m256d)_mm256_unpackhi_ps(columns_2_6, columns_3_7);
  steps[0] = (Group<float>)_mm256_unpacklo_pd(early_01, early_23);
  steps[1] = (Group<float>)_mm256_unpackhi_pd(early_01, early_23);
  steps[2] = (Group<float>)_mm256_unpacklo_pd(late_01, late_23);
  steps[3] = (Group<float>)_mm256_unpackhi_pd(late_01, late_23);
}

template <class Columns>
LUMUS_INLINE void load_steps(const double* from, const Columns& columns, Group<double>* steps) {
  const __m256d columns_0_2 = load_halves(from, moved(from, columns[2]));
  const __m256d columns_1_3 = load_halves(moved(from, columns[1]), moved(from, columns[3]));
  steps[0] = (Group<double>)_mm256_unpacklo_pd(columns_0_2, columns_1_3);
  steps[1] = (Group<double>)_mm256_unpackhi_pd(columns_0_2, columns_1_3);
}

template <class T>
struct FewRows {
  const T* a;
  std::int64_t a_row_stride, a_depth_stride;
  std::int64_t depth, block;  // the depth, and what it is cut into
};

template <class T, int kRows, int kGroups>
using Sums = Group<T>[kGroups][kRows];

// Adds steps [begin, end) of kBlocks blocks of the depth to a sum for each block, group and row.
template <class T, int kRows, int kGroups, int kBlocks, class Columns>
LUMUS_INLINE void add_steps(const FewRows<T>& task, const Columns& columns,
                            const T* const (&groups)[kGroups], std::int64_t first_block,
                            std::int64_t begin, std::int64_t end, Sums<T, kRows, kGroups>* sums) {
  constexpr int depth = kGroupDepth<T>;
  const std::int64_t a_row_stride = task.a_row_stride;
  const std::int64_t a_stride = task.a_depth_stride;
  const T* a[kBlocks];
  const T* b[kBlocks][kGroups];
#pragma GCC unroll 4
  for (int block = 0; block < kBlocks; ++block) {
    const std::int64_t k = (first_block + block) * task.block + begin;
    a[block] = task.a + k * a_stride;
#pragma GCC unroll 4
    for (int group = 0; group < kGroups; ++group) b[block][group] = groups[group] + k;
  }
#pragma GCC unroll 1
  for (std::int64_t k = begin; k < end; k += depth) {
#pragma GCC unroll 4
    for (int block = 0; block < kBlocks; ++block) {
#pragma GCC unroll 4
      for (int group = 0; group < kGroups; ++group) {
        Group<T> steps[depth];
        load_steps(b[block][group], columns, steps);
        b[block][group] += depth;
#pragma GCC unroll 4
        for (int row = 0; row < kRows; ++row) {
          Group<T>* const sum = &sums[block][group][row];
#pragma GCC unroll 4
          for (int step = 0; step < depth; ++step) {
            const T value = a[block][row * a_row_stride + step * a_stride];
            *sum = group_multiply_add(value, steps[step], *sum);
          }
        }
      }
      a[block] += depth * a_stride;
    }
  }
}

// The last steps of the depth, fewer than are read at a time.
template <class T, int kRows, int kGroups, class Columns>
LUMUS_INLINE void add_last_steps(const FewRows<T>& task, const Columns& columns,
                                 const T* const (&groups)[kGroups], std::int64_t begin,
                                 std::int64_t end, Sums<T, kRows, kGroups>* sums) {
#pragma GCC unroll 1
  for (std::int64_t k = begin; k < end; ++k) {
#pragma GCC unroll 4
    for (int group = 0; group < kGroups; ++group) {
      Group<T> step;
#pragma GCC unroll 8
      for (int i = 0; i < kGroupColumns<T>; ++i) step[i] = *moved(groups[group] + k, columns[i]);
#pragma GCC unroll 4
      for (int row = 0; row < kRows; ++row) {
        Group<T>* const sum = &(*sums)[group][row];
        const T value = task.a[row * task.a_row_stride + k * task.a_depth_stride];
        *sum = group_multiply_add(value, step, *sum);
      }
    }
  }
}

// Sums kBlocks blocks of the depth side by side and adds them to the totals, one after another.
template <class T, int kRows, int kGroups, int kBlocks, class Columns>
LUMUS_INLINE void add_blocks(const FewRows<T>& task, const Columns& columns,
                             const T* const (&groups)[kGroups], std::int64_t first,
                             Sums<T, kRows, kGroups>* totals) {
  Sums<T, kRows, kGroups> sums[kBlocks] = {};
  // The last block may be a shorter one; what the others have more follows by itself.
  const std::int64_t last_begin = (first + kBlocks - 1) * task.block;
  const std::int64_t last_size = smaller(task.block, task.depth - last_begin);
  const std::int64_t common = last_size - last_size % kGroupDepth<T>;
  add_steps<T, kRows, kGroups, kBlocks>(task, columns, groups, first, 0, common, sums);
#pragma GCC unroll 4
  for (int block = 0; block < kBlocks; ++block) {
    if (block < kBlocks - 1) {
      add_steps<T, kRows, kGroups, 1>(task, columns, groups, first + block, common, task.block,
                                      &sums[block]);
    } else {
      add_last_steps<T, kRows, kGroups>(task, columns, groups, last_begin + common,
                                        last_begin + last_size, &sums[block]);
    }
#pragma GCC unroll 4
    for (int group = 0; group < kGroups; ++group) {
#pragma GCC unroll 4
      for (int row = 0; row < kRows; ++row) {
        Group<T>* const total = &(*totals)[group][row];
        *total = first + block == 0 ? sums[block][group][row] : *total + sums[block][group][row];
      }
    }
  }
}

// Blocks of the depth that are summed side by side, where one group alone has too few chains.
template <class T>
constexpr int kBlocksAtOnce(int rows, int groups) {
  return groups > 1 || rows > 2 ? 1 : rows == 2 ? 2 : 3;
}

template <class T, int kRows, int kGroups, class Columns>
static void sum_groups(const FewRows<T>& task, const Columns& columns,
                       const T* const (&groups)[kGroups], Sums<T, kRows, kGroups>* totals) {
  constexpr int at_once = kBlocksAtOnce<T>(kRows, kGroups);
  const std::int64_t num_blocks = divided_up(task.depth, task.block);
  std::int64_t block = 0;
  for (; block + at_once <= num_blocks; block += at_once) {
    add_blocks<T, kRows, kGroups, at_once>(task, columns, groups, block, totals);
  }
  if (at_once > 2 && block + 2 <= num_blocks) {
    add_blocks<T, kRows, kGroups, 2>(task, columns, groups, block, totals);
    block += 2;
  }
  if (at_once > 1 && block < num_blocks) {
    add_blocks<T, kRows, kGroups, 1>(task, columns, groups, block, totals);
  }
}

// kGroups groups from column `first` on. Where the last one would stick out it begins earlier and
// gives some columns again.
template <class T, int kRows, int kGroups>
static void few_rows_times_groups(const FewRows<T>& task, const T* b, std::int64_t b_column_stride,
                                  std::int64_t first, std::int64_t num_columns, T* c,
                                  std::int64_t c_stride) {
  std::int64_t column[kGroups];
  const T* groups[kGroups];
#pragma GCC unroll 4
  for (int group = 0; group < kGroups; ++group) {
    column[group] = smaller(first + group * kGroupColumns<T>, num_columns - kGroupColumns<T>);
    groups[group] = b + column[group] * b_column_stride;
  }
  const WholeGroup columns(b_column_stride * static_cast<std::int64_t>(sizeof(T)));
  Sums<T, kRows, kGroups> totals = {};
  sum_groups<T, kRows, kGroups>(task, columns, groups, &totals);
  for (int group = 0; group < kGroups; ++group) {
    for (int row = 0; row < kRows; ++row) {
      std::memcpy(c + row * c_stride + column[group], &totals[group][row], sizeof(Group<T>));
    }
  }
}

// Groups whose lines find places in the level-1 cache side by side: eight at each distance within a
// page, as on all processors with these instructions.
template <class T>
LUMUS_INLINE std::int64_t groups_side_by_side(std::int64_t column_stride) {
  const std::int64_t bytes = column_stride * static_cast<std::int64_t>(sizeof(T)) | 4096;
  const std::int64_t places = 4096 / (bytes & -bytes);
  return smaller(4, places * 8 / kGroupColumns<T>);
}

template <class T, int kRows>
static void few_rows(const FewRows<T>& task, std::int64_t columns, const T* b,
                     std::int64_t b_column_stride, T* c, std::int64_t c_stride) {
  if (columns < kGroupColumns<T>) {
    const T* const groups[1] = {b};
    const PartOfGroup part(b_column_stride * static_cast<std::int64_t>(sizeof(T)), columns);
    Sums<T, kRows, 1> totals = {};
    sum_groups<T, kRows, 1>(task, part, groups, &totals);
    for (int row = 0; row < kRows; ++row) {
      store_group_first(c + row * c_stride, totals[0][row], columns);
    }
    return;
  }
  const std::int64_t fitting = groups_side_by_side<T>(b_column_stride);
  for (std::int64_t column = 0; column < columns;) {
    const std::int64_t groups = smaller(fitting, divided_up(columns - column, kGroupColumns<T>));
    if (kRows == 1 && groups == 4) {
      constexpr int four = kRows == 1 ? 4 : 1;  // with more rows two groups have chains enough
      few_rows_times_groups<T, kRows, four>(task, b, b_column_stride, column, columns, c, c_stride);
      column += four * kGroupColumns<T>;
    } else if (groups >= 2) {
      few_rows_times_groups<T, kRows, 2>(task, b, b_column_stride, column, columns, c, c_stride);
      column += 2 * kGroupColumns<T>;
    } else {
      few_rows_times_groups<T, kRows, 1>(task, b, b_column_stride, column, columns, c, c_stride);
      column += kGroupColumns<T>;
    }
  }
}

// c[rows][columns] = a times a matrix of dense columns, for rows <= kMaxFewRows.
template <class T>
static void few_rows_times_dense_columns(std::int64_t rows, std::int64_t columns,
                                         const FewRows<T>& task, const T* b,
                                         std::int64_t b_column_stride, T* c,
                                         std::int64_t c_stride) {
  switch (rows) {
    case 1:
      return few_rows<T, 1>(task, columns, b, b_column_stride, c, c_stride);
    case 2:
      return few_rows<T, 2>(task, columns, b, b_column_stride, c, c_stride);
    case 3:
      return few_rows<T, 3>(task, columns, b, b_column_stride, c, c_stride);
    default:
      return few_rows<T, 4>(task, columns, b, b_column_stride, c, c_stride);
  }
}

}  // namespace lumus::LUMUS_ISA

#endif
