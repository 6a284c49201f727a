// A packed matrix product for one piece of the result, for every element type.
//
// Layout. Operands may have any strides (zero and negative included) and are packed into dense
// panels: A into strips of up to kTileRows rows and B into panels of up to two vectors of columns,
// both with the depth outermost, so that the tile reads them in order. Operands with a unit stride
// are packed by vector copies or register transposes. The result is row-major with a row stride.
// Aliasing. The result shares no memory with the operands.
// Threads. None here: the caller cuts the result into pieces, and each packs what it needs.
// Numerics. An element of the result is one chain of multiply-adds (fused where the processor can)
// in the order of the depth, cut into the same blocks wherever the element lies and however the
// operands are laid out: its bits depend on the values and the depth alone. Nothing is skipped: 0 *
// NaN is NaN. Half types are widened while packing, accumulate in float32 and are rounded once;
// integers wrap.
#pragma once

#include "kernels/gemm_few_rows.h"
#include "kernels/simd.h"
#include "kernels/sizes.h"
#include "kernels/tile_io.h"

#if defined(__FMA__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace lumus::LUMUS_ISA {

// The type that products of `Element` are computed in; integers are unsigned, so that they wrap.
template <class Element>
struct ComputedAs {
  using type = Element;
};
template <>
struct ComputedAs<Float16> {
  using type = float;
};
template <>
struct ComputedAs<BFloat16> {
  using type = float;
};
template <class Element>
using Computed = typename ComputedAs<Element>::type;

template <class T>
constexpr bool is_floating = __is_same(T, float) || __is_same(T, double);

// Element (row, column) lies at data[row * row_stride + column * column_stride].
template <class Element>
struct Matrix {
  const Element* data;
  std::int64_t row_stride;
  std::int64_t column_stride;
};

// Floats fill the registers with sums: 14 x 2 of 32, or 6 x 2 of 16. Integers make do with 4 x 2.
template <class T>
constexpr int kTileRows = 4;
template <>
constexpr int kTileRows<float> = LUMUS_VECTOR_BYTES == 64 ? 14 : 6;
template <>
constexpr int kTileRows<double> = LUMUS_VECTOR_BYTES == 64 ? 14 : 6;

constexpr std::int64_t kDepthBlock = 384;  // a panel of B stays in the level-1 or -2 cache

template <class T>
constexpr std::int64_t kPanelColumns = 2 * kLanes<T>;

// ---- vectors ------------------------------------------------------------------------------------

// x - 0 is x for every x, and this form is the one that becomes a broadcast from memory.
template <class T>
LUMUS_INLINE Vec<T> broadcast(T value) {
  return value - Vec<T>{};
}

#if defined(__AVX2__) && !defined(__AVX512F__)
template <class T>
constexpr Vec<T> kLaneNumbers = {};
template <>
constexpr Vec<std::int32_t> kLaneNumbers<std::int32_t> = {0, 1, 2, 3, 4, 5, 6, 7};
template <>
constexpr Vec<std::int64_t> kLaneNumbers<std::int64_t> = {0, 1, 2, 3};
#endif

template <class T>
LUMUS_INLINE Vec<T> multiply_add(Vec<T> x, Vec<T> y, Vec<T> sum) {
#if defined(__AVX512F__)
  if constexpr (sizeof(Vec<T>) == 64) {
    if constexpr (__is_same(T, float))
      return (Vec<T>)_mm512_fmadd_ps((__m512)x, (__m512)y, (__m512)sum);
    if constexpr (__is_same(T, double))
      return (Vec<T>)_mm512_fmadd_pd((__m512d)x, (__m512d)y, (__m512d)sum);
  }
#elif defined(__FMA__)
  if constexpr (__is_same(T, float))
    return (Vec<T>)_mm256_fmadd_ps((__m256)x, (__m256)y, (__m256)sum);
  if constexpr (__is_same(T, double))
    return (Vec<T>)_mm256_fmadd_pd((__m256d)x, (__m256d)y, (__m256d)sum);
#elif defined(__aarch64__)
  if constexpr (__is_same(T, float))
    return (Vec<T>)vfmaq_f32((float32x4_t)sum, (float32x4_t)x, (float32x4_t)y);
  if constexpr (__is_same(T, double))
    return (Vec<T>)vfmaq_f64((float64x2_t)sum, (float64x2_t)x, (float64x2_t)y);
#endif
  return x * y + sum;
}

// The first `count` lanes; absent ones read as zero and are not written. Masks, since products with
// narrow sides spend much of their time here.
template <class T>
LUMUS_INLINE Vec<T> load_first(const T* from, std::int64_t count) {
#if defined(__AVX512F__)
  if constexpr (__is_same(T, float)) {
    return (Vec<T>)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), from);
  } else if constexpr (__is_same(T, double)) {
    return (Vec<T>)_mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << count) - 1), from);
  }
#elif defined(__AVX2__)
  if constexpr (__is_same(T, float)) {
    return (Vec<T>)_mm256_maskload_ps(
        from, (__m256i)(kLaneNumbers<std::int32_t> < static_cast<std::int32_t>(count)));
  } else if constexpr (__is_same(T, double)) {
    return (Vec<T>)_mm256_maskload_pd(from, (__m256i)(kLaneNumbers<std::int64_t> < count));
  }
#endif
  return load_partial<T>(from, count, T{});
}

template <class T>
LUMUS_INLINE void store_first(T* to, Vec<T> value, std::int64_t count) {
#if defined(__AVX512F__)
  if constexpr (__is_same(T, float)) {
    return _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << count) - 1), (__m512)value);
  } else if constexpr (__is_same(T, double)) {
    return _mm512_mask_storeu_pd(to, static_cast<__mmask8>((1u << count) - 1), (__m512d)value);
  }
#elif defined(__AVX2__)
  if constexpr (__is_same(T, float)) {
    return _mm256_maskstore_ps(
        to, (__m256i)(kLaneNumbers<std::int32_t> < static_cast<std::int32_t>(count)),
        (__m256)value);
  } else if constexpr (__is_same(T, double)) {
    return _mm256_maskstore_pd(to, (__m256i)(kLaneNumbers<std::int64_t> < count), (__m256d)value);
  }
#endif
  store_partial<T>(to, value, count);
}

// Up to a vector of elements, widened.
template <class Element>
LUMUS_INLINE Vec<Computed<Element>> load_widened(const Element* from, std::int64_t count) {
  using T = Computed<Element>;
  if constexpr (__is_same(Element, T)) {
    return count >= kLanes<T> ? load<T>(from) : load_first<T>(from, count);
  } else {
    alignas(64) T lanes[kLanes<T>] = {};
    widen_run<T, Element>(from, 1, smaller(count, kLanes<T>), lanes);
    return load<T>(lanes);
  }
}

template <int kBytes>
struct IndexOf {
  using type = std::int32_t;
};
template <>
struct IndexOf<8> {
  using type = std::int64_t;
};

// Square of lanes: vectors[i][j] and vectors[j][i] change places. Each round interleaves vector i
// with vector i + half, like shuffling two halves of a deck.
template <class T>
LUMUS_INLINE void transpose_lanes(Vec<T>* vectors) {
  constexpr int lanes = static_cast<int>(kLanes<T>);
  using Index = typename IndexOf<sizeof(T)>::type;
  Vec<Index> low = {}, high = {};
  for (int lane = 0; lane < lanes; ++lane) {
    low[lane] = static_cast<Index>((lane & 1) * lanes + lane / 2);
    high[lane] = static_cast<Index>((lane & 1) * lanes + (lane + lanes) / 2);
  }
  for (int round = 1; round < lanes; round *= 2) {
    Vec<T> next[lanes];
#pragma GCC unroll 16
    for (int i = 0; i < lanes / 2; ++i) {
      next[2 * i] = __builtin_shuffle(vectors[i], vectors[i + lanes / 2], low);
      next[2 * i + 1] = __builtin_shuffle(vectors[i], vectors[i + lanes / 2], high);
    }
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) vectors[i] = next[i];
  }
}

// ---- packing ------------------------------------------------------------------------------------

// Packs `width` columns of depth `depth` into panels of `pitch` columns that lie `panel_size`
// elements apart: element (k, w) goes to to[w / pitch * panel_size + k * pitch + w % pitch]. No
// result reads the lanes past the width, but the tile computes with them: they hold zeros, or what
// follows in the operand, since what lay in memory may be denormal as a number, and slow.
// `readable` elements may be read along the width. Writes up to one vector beyond a panel, before
// the next one is written.
template <class Element>
static void pack(const Element* from, std::int64_t width_stride, std::int64_t depth_stride,
                 std::int64_t width, std::int64_t readable, std::int64_t depth, std::int64_t pitch,
                 std::int64_t panel_size, Computed<Element>* to) {
  using T = Computed<Element>;
  constexpr std::int64_t lanes = kLanes<T>;
  if (width_stride == 1 && pitch % lanes == 0) {
    // Whole rows at a time, since rows far apart cost a page and a few lines each.
    for (std::int64_t k = 0; k < depth; ++k, from += depth_stride, to += pitch) {
      T* panel = to;
      for (std::int64_t w = 0; w < width; w += pitch, panel += panel_size) {
        const std::int64_t stored = smaller(pitch, width - w);
        for (std::int64_t lane = 0; lane < stored; lane += lanes) {
          store<T>(panel + lane, load_widened(from + w + lane, readable - w - lane));
        }
      }
    }
    return;
  }
  for (; width > 0;
       width -= pitch, readable -= pitch, from += pitch * width_stride, to += panel_size) {
    const std::int64_t stored = smaller(pitch, width);
    std::int64_t k = 0;
    if (width_stride == 1) {
      // Ascending: what a store writes past the pitch, the next row overwrites.
      for (; k < depth; ++k) {
        for (std::int64_t w = 0; w < stored; w += lanes) {
          store<T>(to + k * pitch + w, load_widened(from + k * depth_stride + w, readable - w));
        }
      }
    } else if (sizeof(T) >= 4 && depth_stride == 1) {
      if constexpr (sizeof(T) >= 4) {
        for (; k + lanes <= depth; k += lanes) {
          // Descending: what the last store of a row writes past the pitch, the first of the next
          // overwrites.
          for (std::int64_t w = (stored - 1) / lanes * lanes; w >= 0; w -= lanes) {
            Vec<T> square[lanes];
#pragma GCC unroll 16
            for (int i = 0; i < lanes; ++i) {
              __builtin_prefetch(from + (w + i) * width_stride + k + 4 * lanes, 0, 2);
              square[i] = w + i < stored ? load_widened(from + (w + i) * width_stride + k, lanes)
                                         : Vec<T>{};
            }
            transpose_lanes<T>(square);
#pragma GCC unroll 16
            for (int i = 0; i < lanes; ++i) store<T>(to + (k + i) * pitch + w, square[i]);
          }
        }
      }
    }
    const std::int64_t padded = smaller(pitch, divided_up(stored, lanes) * lanes);
    for (; k < depth; ++k) {
      for (std::int64_t w = 0; w < stored; ++w) {
        to[k * pitch + w] = widen<T>(from[w * width_stride + k * depth_stride]);
      }
      for (std::int64_t w = stored; w < padded; ++w) to[k * pitch + w] = T{};
    }
  }
}

// ---- the tile -----------------------------------------------------------------------------------

// What a tile computes: c[rows][columns] = or += A (rows x depth) times B (depth x columns).
template <class T>
struct TileTask {
  std::int64_t depth;
  // Packed, element (i, k) of A lies at a[k * rows + i]; in place, where the strides say.
  const T* a;
  std::int64_t a_row_stride;
  std::int64_t a_depth_stride;
  // Whole vectors of B are read, so `columns` short of them needs packed B.
  const T* b;
  std::int64_t b_stride;
  T* packed_b;  // where a tile that packs puts B
  // Every `next_b_period` steps of the depth a row of the next panel is fetched.
  const T* next_b;
  std::int64_t next_b_stride;
  std::int64_t next_b_period;
  T* c;
  std::int64_t c_stride;
  std::int64_t columns;
  bool accumulate;
};

constexpr std::int64_t kPrefetchRows = 8;

// With kPacks the tile also packs the B that it reads, for the strips that follow: the stores are
// free beside the arithmetic, and the arithmetic hides the loads.
template <class T, int kRows, int kVectors, bool kInPlace, bool kPacks>
static void tile(const TileTask<T>& task) {
  constexpr std::int64_t lanes = kLanes<T>;
  const T* b = task.b;
  const std::int64_t b_stride = task.b_stride;
  T* packed = task.packed_b;
  Vec<T> sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sums[i][v] = Vec<T>{};
  }
  // In place, one pointer serves four rows, since an address has room for one more stride.
  constexpr int num_quads = kInPlace ? (kRows + 3) / 4 : 1;
  const std::int64_t a_row_stride = task.a_row_stride;
  const std::int64_t three_rows = 3 * a_row_stride;
  const std::int64_t step = kInPlace ? task.a_depth_stride : kRows;
  const T* quads[num_quads];
#pragma GCC unroll 4
  for (int quad = 0; quad < num_quads; ++quad) quads[quad] = task.a + 4 * quad * a_row_stride;
  // The rows of the result, and while this panel is used the next one, come from afar.
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) __builtin_prefetch(task.c + i * task.c_stride, 1);
  const T* next = task.next_b;
  for (std::int64_t k = 0; k < task.depth;) {
    __builtin_prefetch(next, 0, 2);
    __builtin_prefetch(next + lanes, 0, 2);
    __builtin_prefetch(next + 2 * lanes - 1, 0, 2);  // rows need not start at a line
    next += task.next_b_stride;
    const std::int64_t end = smaller(k + task.next_b_period, task.depth);
#pragma GCC unroll 1
    for (; k < end; ++k) {
      Vec<T> right[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) right[v] = load<T>(b + v * lanes);
      if constexpr (kPacks) {
        // Rows of B lie apart, where the processor does not see them coming.
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          __builtin_prefetch(b + kPrefetchRows * b_stride + v * lanes);
          store<T>(packed + v * lanes, right[v]);
        }
        packed += kVectors * lanes;
      }
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const T* const quad = quads[kInPlace ? i / 4 : 0];
        const T* const at = !kInPlace    ? quad + i
                            : i % 4 == 3 ? quad + three_rows
                                         : quad + i % 4 * a_row_stride;
        const Vec<T> left = broadcast<T>(*at);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums[i][v] = multiply_add<T>(left, right[v], sums[i][v]);
      }
#pragma GCC unroll 4
      for (int quad = 0; quad < num_quads; ++quad) quads[quad] += step;
      b += b_stride;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      T* const to = task.c + i * task.c_stride + v * lanes;
      const std::int64_t count = task.columns - v * lanes;
      if (count >= lanes) {
        store<T>(to, task.accumulate ? load<T>(to) + sums[i][v] : sums[i][v]);
      } else if (count > 0) {
        store_first<T>(to, task.accumulate ? load_first<T>(to, count) + sums[i][v] : sums[i][v],
                       count);
      }
    }
  }
}

template <class T>
using Tile = void (*)(const TileTask<T>&);

// Few rows leave registers for wider panels, which hide the latency of the sums.
template <class T>
constexpr int kMaxVectors(int rows) {
  constexpr int registers = LUMUS_VECTOR_BYTES == 64 ? 24 : 12;
  return !is_floating<T> ? 2 : rows * 8 <= registers ? 8 : rows * 4 <= registers ? 4 : 2;
}

template <class T, int kRows>
LUMUS_INLINE Tile<T> tile_of_width(int vectors, bool in_place, bool packs) {
  if constexpr (is_floating<T>) {
    if (packs) {
      return in_place ? &tile<T, kRows, 2, true, true> : &tile<T, kRows, 2, false, true>;
    }
    if (in_place) {
      if constexpr (kMaxVectors<T>(kRows) >= 8) {
        if (vectors == 8) return &tile<T, kRows, 8, true, false>;
      }
      if constexpr (kMaxVectors<T>(kRows) >= 4) {
        if (vectors == 4) return &tile<T, kRows, 4, true, false>;
      }
      return vectors == 2 ? &tile<T, kRows, 2, true, false> : &tile<T, kRows, 1, true, false>;
    }
  }
  return vectors == 2 ? &tile<T, kRows, 2, false, false> : &tile<T, kRows, 1, false, false>;
}

template <class T, int kRows = kTileRows<T>>
LUMUS_INLINE Tile<T> tile_of(std::int64_t rows, int vectors, bool in_place, bool packs) {
  if constexpr (kRows > 1) {
    if (rows != kRows) return tile_of<T, kRows - 1>(rows, vectors, in_place, packs);
  }
  return tile_of_width<T, kRows>(vectors, in_place, packs);
}

// ---- the piece ----------------------------------------------------------------------------------

constexpr std::int64_t kGroupPanels = 4;  // panels of B that are packed at a time

// Elements of scratch that a piece needs.
template <class Element>
LUMUS_INLINE std::int64_t piece_scratch(std::int64_t rows, std::int64_t columns,
                                        std::int64_t depth) {
  using T = Computed<Element>;
  const std::int64_t block = smaller(depth, kDepthBlock) + 16;
  const std::int64_t group =
      smaller(kGroupPanels * kPanelColumns<T>, divided_up(columns, kLanes<T>) * kLanes<T>);
  std::int64_t elements = block * (rows + group) + 2 * kLanes<T>;
  if constexpr (!__is_same(Element, T)) elements += rows * columns;
  return elements;
}

// The strips that a piece's rows are cut into: `num_tall` of height + 1, then the others of height.
template <class T>
struct Strips {
  std::int64_t count, height, num_tall;
  explicit Strips(std::int64_t rows)
      : count(divided_up(rows, kTileRows<T>)), height(rows / count), num_tall(rows % count) {}
};

// Runs the tiles of one panel of B over all strips of A; with `packs` the first packs B for the
// others.
template <class T>
static void run_strips(const Strips<T>& strips, int vectors, bool in_place, bool packs,
                       TileTask<T> task) {
  const std::int64_t row_step = in_place ? task.a_row_stride : task.depth;
  std::int64_t height = strips.height + (strips.num_tall > 0);
  Tile<T> run = tile_of<T>(height, vectors, in_place, packs);
  for (std::int64_t strip = 0; strip < strips.count; ++strip) {
    if (strip == strips.num_tall || (packs && strip == 1)) {
      height = strips.height + (strip < strips.num_tall);
      run = tile_of<T>(height, vectors, in_place, packs && strip == 0);
    }
    run(task);
    if (packs && strip == 0) {
      const T* const source = task.b;
      task.b = task.packed_b;
      task.next_b_stride = task.b_stride;
      task.b_stride = vectors * kLanes<T>;
      task.next_b = source + vectors * kLanes<T>;
      task.next_b_period = strips.count - 1;
    } else if (packs) {
      task.next_b += task.next_b_stride * divided_up(task.depth, task.next_b_period);
    }
    task.a += height * row_step;
    task.c += height * task.c_stride;
  }
}

template <class T, class Element>
static void sum_piece(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                      Matrix<Element> a, Matrix<Element> b, T* c, std::int64_t c_stride,
                      T* scratch) {
  constexpr std::int64_t lanes = kLanes<T>;
  constexpr std::int64_t panel_columns = kPanelColumns<T>;
  constexpr bool has_in_place = __is_same(Element, T) && is_floating<T>;
  const std::int64_t num_blocks = divided_up(depth, kDepthBlock);
  const std::int64_t block = divided_up(divided_up(depth, num_blocks), 16) * 16;
#if defined(__AVX2__)
  if constexpr (has_in_place) {
    if (rows <= kMaxFewRows && b.row_stride == 1 && (columns == 1 || b.column_stride != 1)) {
      const FewRows<T> task = {a.data, a.row_stride, a.column_stride, depth, block};
      return few_rows_times_dense_columns<T>(rows, columns, task, b.data, b.column_stride, c,
                                             c_stride);
    }
  }
#endif
  const Strips<T> strips(rows);
  // The tile reads A in place as fast as a packed copy, but for lines whole pages apart, which
  // would fight for the same places in the cache, and for many panels, where fewer streams are
  // better.
  const std::int64_t a_far_stride = a.row_stride == 1 ? a.column_stride : a.row_stride;
  const bool lines_collide =
      rows > 8 && a_far_stride * static_cast<std::int64_t>(sizeof(T)) % 4096 == 0;
  const bool a_in_place =
      has_in_place && (rows == 1 || (columns <= 8 * panel_columns && !lines_collide));
  // Rows of B are read in place by the first strip, which packs them if there are others.
  const bool b_in_place = has_in_place && b.column_stride == 1;
  const bool packs_b = strips.count > 1;
  int max_vectors = 2;
  if (a_in_place && !packs_b) max_vectors = kMaxVectors<T>(static_cast<int>(rows));
  T* const packed_b = scratch;
  T* const packed_a =
      scratch + block * smaller(kGroupPanels * panel_columns, divided_up(columns, lanes) * lanes);

  TileTask<T> task;
  task.next_b = packed_b;
  task.next_b_stride = 0;
  task.next_b_period = depth;
  task.c_stride = c_stride;
  for (std::int64_t k = 0; k < depth; k += block) {
    const std::int64_t size = smaller(block, depth - k);
    const Element* const a_block = a.data + k * a.column_stride;
    const Element* const b_block = b.data + k * b.row_stride;
    task.depth = size;
    task.accumulate = k > 0;
    if (a_in_place) {
      if constexpr (has_in_place) task.a = a_block;
      task.a_row_stride = a.row_stride;
      task.a_depth_stride = a.column_stride;
    } else {
      task.a = packed_a;
      std::int64_t row = 0;
      for (std::int64_t strip = 0; strip < strips.count; ++strip) {
        const std::int64_t height = strips.height + (strip < strips.num_tall);
        pack<Element>(a_block + row * a.row_stride, a.row_stride, a.column_stride, height,
                      rows - row, size, height, 0, packed_a + row * size);
        row += height;
      }
    }
    for (std::int64_t column = 0; column < columns;) {
      const std::int64_t remaining = columns - column;
      task.c = c + column;
      if constexpr (has_in_place) {
        if (b_in_place && (remaining >= panel_columns || (!packs_b && remaining >= lanes))) {
          int vectors = max_vectors;
          while (vectors * lanes > remaining) vectors /= 2;
          task.b = b_block + column;
          task.b_stride = b.row_stride;
          task.packed_b = packed_b;
          task.columns = vectors * lanes;
          if (!packs_b) {
            task.next_b = task.b + 2 * kPrefetchRows * b.row_stride;
            task.next_b_stride = b.row_stride;
            task.next_b_period = vectors >= 4 ? size : 1;
          }
          run_strips<T>(strips, vectors, a_in_place, packs_b, task);
          column += vectors * lanes;
          continue;
        }
      }
      // A last panel of one vector goes alone, with the tile that is one vector wide.
      const std::int64_t pitch = remaining > lanes ? panel_columns : lanes;
      const std::int64_t odd = remaining % panel_columns;
      const std::int64_t even = odd > lanes || remaining <= lanes ? remaining : remaining - odd;
      const std::int64_t group = smaller(even, kGroupPanels * panel_columns);
      pack<Element>(b_block + column * b.column_stride, b.column_stride, b.row_stride, group,
                    remaining, size, pitch, size * pitch, packed_b);
      for (std::int64_t w = 0; w < group; w += pitch) {
        task.b = packed_b + w * size;
        task.b_stride = pitch;
        task.c = c + column + w;
        task.columns = smaller(pitch, group - w);
        run_strips<T>(strips, pitch > lanes ? 2 : 1, a_in_place, false, task);
      }
      column += group;
    }
  }
}

// c[rows][columns] = a times b, depth > 0.
template <class Element>
static void multiply_piece(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                           Matrix<Element> a, Matrix<Element> b, Element* c, std::int64_t c_stride,
                           Computed<Element>* scratch) {
  using T = Computed<Element>;
  if constexpr (__is_same(Element, T)) {
    sum_piece<T, Element>(rows, columns, depth, a, b, c, c_stride, scratch);
  } else {
    T* const sums = scratch;
    sum_piece<T, Element>(rows, columns, depth, a, b, sums, columns, scratch + rows * columns);
    for (std::int64_t row = 0; row < rows; ++row) {
      narrow_run<Element, T>(sums + row * columns, columns, c + row * c_stride, 1);
    }
  }
}

}  // namespace lumus::LUMUS_ISA
