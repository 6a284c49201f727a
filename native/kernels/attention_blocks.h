// What attention does with one block of scores, a few queries beside a few keys.
//
// Layout. Blocks of scores, and of what is computed from them, are kept with the queries side by
// side: element (key k, query q) lies at scores[k * pitch + q]. So the maximum, the sum and the
// scaling of a query's scores are operations on whole vectors, and each product of matrices reads
// keys, values and scores in place (gemm.h), only the queries being packed. The pitch is a whole
// number of vectors; lanes past the queries hold numbers that no result reads.
#pragma once

#include "kernels/attention.h"
#include "kernels/gemm.h"
#include "kernels/math.h"
#include "kernels/philox.h"

namespace lumus::LUMUS_ISA {

constexpr std::int64_t kQueries = 64;  // of a block, at most
constexpr std::int64_t kKeys = 64;     // of a block, at most; a multiple of 4, as dropout asks

template <class T>
constexpr T kInfinity = static_cast<T>(__builtin_inf());

LUMUS_INLINE std::int64_t rounded_up(std::int64_t count, std::int64_t size) {
  return divided_up(count, size) * size;
}

struct Block {
  std::int64_t query, num_queries;
  std::int64_t key, num_keys;
  std::int64_t pitch;
  bool is_causal;

  // Key k of the block may be seen by query q of the block if k <= q + lead().
  std::int64_t lead() const { return is_causal ? query - key : kKeys; }
  // Keys, from the first, that queries before `end` may see.
  std::int64_t keys_seen(std::int64_t end) const {
    return end + lead() < 0 ? 0 : smaller(end + lead(), num_keys);
  }
  // The first query that may see keys from `key` on.
  std::int64_t first_seeing(std::int64_t at) const { return at > lead() ? at - lead() : 0; }
};

// Of both float and double, a whole number of vectors.
LUMUS_INLINE std::int64_t pitch_of(std::int64_t num_queries) {
  return rounded_up(num_queries, kLanes<float>);
}

// ---- products -----------------------------------------------------------------------------------

template <class T, int kRows = kTileRows<T>>
LUMUS_INLINE Tile<T> tile_of_height(std::int64_t rows, bool is_wide) {
  if constexpr (kRows > 1) {
    if (rows != kRows) return tile_of_height<T, kRows - 1>(rows, is_wide);
  }
  return is_wide ? &tile<T, kRows, 2, true, false> : &tile<T, kRows, 1, true, false>;
}

// The part of the depth that a tile of a product needs; the rest of it adds nothing.
struct Span {
  std::int64_t begin, end;
};
struct TilePlace {
  std::int64_t row, row_end, column, column_end;
};

// c = or += a times b, where `depth_of` says what part of the depth a tile needs. Rows of b and c
// are whole vectors, `columns` of them in use.
template <class T, class DepthOf>
static void multiply_block(std::int64_t rows, std::int64_t columns, Matrix<T> a, const T* b,
                           std::int64_t b_stride, T* c, std::int64_t c_stride, bool accumulate,
                           const DepthOf& depth_of) {
  if (rows == 0) return;
  constexpr std::int64_t lanes = kLanes<T>;
  const Strips<T> strips(rows);
  TileTask<T> task;
  task.a_row_stride = a.row_stride;
  task.a_depth_stride = a.column_stride;
  task.b_stride = b_stride;
  task.packed_b = nullptr;
  task.next_b = b;
  task.next_b_stride = 0;
  task.next_b_period = INT64_MAX / 2;
  task.c_stride = c_stride;
  task.accumulate = accumulate;
  for (std::int64_t column = 0; column < columns; column += 2 * lanes) {
    const bool is_wide = columns - column > lanes;
    task.columns = is_wide ? 2 * lanes : lanes;
    std::int64_t row = 0;
    for (std::int64_t strip = 0; strip < strips.count; ++strip) {
      const std::int64_t height = strips.height + (strip < strips.num_tall);
      const Span span = depth_of(TilePlace{row, row + height, column, column + task.columns});
      task.depth = span.end - span.begin;
      task.a = a.data + row * a.row_stride + span.begin * a.column_stride;
      task.b = b + span.begin * b_stride + column;
      task.c = c + row * c_stride + column;
      if (task.depth > 0 || !accumulate) tile_of_height<T>(height, is_wide)(task);
      row += height;
    }
  }
}

// The products of a block of scores. Weights that a causal mask excludes are 0, and so left out.

// (keys x width) times (width x queries): the scores, or the gradients of the weights.
template <class T>
static void multiply_rows(const Block& block, std::int64_t width, Matrix<T> rows, const T* queries,
                          T* scores) {
  multiply_block<T>(block.num_keys, block.pitch, rows, queries, block.pitch, scores, block.pitch,
                    false, [&](TilePlace tile) {
                      const bool is_seen = tile.row < block.keys_seen(tile.column_end);
                      return Span{0, is_seen ? width : 0};
                    });
}

// to (width x queries) = or += (width x keys) times the weights.
template <class T>
static void add_weighted(const Block& block, std::int64_t width, Matrix<T> columns,
                         const T* weights, T* to, bool accumulate) {
  multiply_block<T>(width, block.pitch, columns, weights, block.pitch, to, block.pitch, accumulate,
                    [&](TilePlace tile) { return Span{0, block.keys_seen(tile.column_end)}; });
}

// to (keys x width) += the weights times (queries x width).
template <class T>
static void add_to_keys(const Block& block, std::int64_t width, const T* weights, const T* rows,
                        std::int64_t row_stride, T* to) {
  multiply_block<T>(block.num_keys, width, {weights, block.pitch, 1}, rows, row_stride, to, width,
                    true, [&](TilePlace tile) {
                      const std::int64_t first = block.first_seeing(tile.row);
                      return Span{smaller(first, block.num_queries), block.num_queries};
                    });
}

// to (queries x width) += the turned weights times (keys x width).
template <class T>
static void add_to_queries(const Block& block, std::int64_t width, const T* weights, const T* rows,
                           std::int64_t row_stride, T* to) {
  multiply_block<T>(block.num_queries, width, {weights, 1, block.pitch}, rows, row_stride, to,
                    width, true,
                    [&](TilePlace tile) { return Span{0, block.keys_seen(tile.row_end)}; });
}

// ---- operands -----------------------------------------------------------------------------------

// Row i lies at data + i * stride, in whole vectors.
template <class T>
struct Rows {
  const T* data;
  std::int64_t stride;
};

// In place where rows are whole vectors and do not fight for the same places of the cache, else a
// widened copy.
template <class Element, class T>
static Rows<T> read_rows(Matrix<Element> from, std::int64_t count, std::int64_t width, T* copy) {
  if constexpr (__is_same(Element, T)) {
    const bool lines_collide = from.row_stride * static_cast<std::int64_t>(sizeof(T)) % 4096 == 0;
    if (from.column_stride == 1 && width % kLanes<T> == 0 && !lines_collide) {
      return {from.data, from.row_stride};
    }
  }
  const std::int64_t pitch = rounded_up(width, kLanes<T>);
  pack<Element>(from.data, from.column_stride, from.row_stride, width, width, count, pitch, 0,
                copy);
  return {copy, pitch};
}

// The rows side by side: element (column, row) goes to to[column * pitch + row]; 0 past the rows.
template <class Element, class T>
static void turn_rows(Matrix<Element> from, std::int64_t count, std::int64_t width,
                      std::int64_t pitch, T* to) {
  if (count < pitch) std::memset(to, 0, static_cast<std::size_t>(width * pitch) * sizeof(T));
  pack<Element>(from.data, from.row_stride, from.column_stride, count, count, width, pitch, 0, to);
}

// What turn_rows gave, back as rows of an array, rounded to its elements.
template <class Element, class T>
static void write_turned(const T* from, std::int64_t pitch, std::int64_t count, std::int64_t width,
                         Element* to, std::int64_t row_stride, std::int64_t column_stride,
                         T* rows) {
  const std::int64_t stride = rounded_up(width, kLanes<T>);
  pack<T>(from, pitch, 1, width, width, count, stride, 0, rows);
  for (std::int64_t row = 0; row < count; ++row) {
    narrow_run<Element, T>(rows + row * stride, width, to + row * row_stride, column_stride);
  }
}

// Applies `change` to each vector of a block of numbers.
template <class T, class Change>
LUMUS_INLINE void for_each_vector(std::int64_t count, T* numbers, const Change& change) {
  for (std::int64_t i = 0; i < count; i += kLanes<T>) {
    store<T>(numbers + i, change(load<T>(numbers + i), i));
  }
}

template <class T>
static bool all_finite(Rows<T> rows, std::int64_t count, std::int64_t width) {
  Vec<T> worst = {};
  for (std::int64_t row = 0; row < count; ++row) {
    for (std::int64_t i = 0; i < width; i += kLanes<T>) {
      // x - x is 0, or NaN for what is not finite.
      const Vec<T> x =
          load_partial<T>(rows.data + row * rows.stride + i, smaller(kLanes<T>, width - i), T(0));
      worst += x - x;
    }
  }
  return !any(worst != worst);
}

// ---- who may attend to what ---------------------------------------------------------------------

// The part of a mask that belongs to one matrix of scores.
struct Mask {
  const std::byte* data = nullptr;
  bool holds_truths = false;
  std::int64_t query_stride = 0, key_stride = 0;
  bool is_causal = false;

  template <class T>
  T number(std::int64_t query, std::int64_t key) const {
    const std::int64_t place = query * query_stride + key * key_stride;
    if (holds_truths) {
      return reinterpret_cast<const std::uint8_t*>(data)[place] ? T(0) : -kInfinity<T>;
    }
    return reinterpret_cast<const T*>(data)[place];
  }

  // Whether a block may hold what is excluded.
  bool concerns(const Block& block) const { return data || block.lead() < block.num_keys - 1; }

  template <class T>
  bool allows(std::int64_t query, std::int64_t key) const {
    if (is_causal && key > query) return false;
    return !data || number<T>(query, key) != -kInfinity<T>;
  }
};

// The numbers to add to a block of scores; `rows` has room for a block.
template <class T>
static void read_mask(const Mask& mask, const Block& block, T* numbers, T* rows) {
  if (mask.query_stride == 0) {
    for (std::int64_t k = 0; k < block.num_keys; ++k) {
      const Vec<T> number = splat<T>(mask.number<T>(0, block.key + k));
      for_each_vector<T>(block.pitch, numbers + k * block.pitch,
                         [&](Vec<T>, std::int64_t) { return number; });
    }
    return;
  }
  const std::int64_t first = block.query * mask.query_stride + block.key * mask.key_stride;
  if (!mask.holds_truths) {
    const Matrix<T> from = {reinterpret_cast<const T*>(mask.data) + first, mask.query_stride,
                            mask.key_stride};
    return turn_rows<T, T>(from, block.num_queries, block.num_keys, block.pitch, numbers);
  }
  for (std::int64_t q = 0; q < block.num_queries; ++q) {
    const auto* truths =
        reinterpret_cast<const std::uint8_t*>(mask.data) + first + q * mask.query_stride;
    for (std::int64_t k = 0; k < block.num_keys; ++k) {
      rows[q * kKeys + k] = truths[k * mask.key_stride] ? T(0) : -kInfinity<T>;
    }
  }
  turn_rows<T, T>({rows, kKeys, 1}, block.num_queries, block.num_keys, block.pitch, numbers);
}

// Applies the mask to a block of scores: what is excluded becomes -inf, whatever it was. Returns
// whether anything is excluded.
template <class T>
static bool apply_mask(const Mask& mask, const Block& block, T* scores, T* numbers, T* rows) {
  bool excludes = false;
  if (mask.data) {
    read_mask(mask, block, numbers, rows);
    auto excluded = splat<T>(T(0)) != splat<T>(T(0));
    for_each_vector<T>(block.num_keys * block.pitch, scores, [&](Vec<T> score, std::int64_t i) {
      const Vec<T> number = load<T>(numbers + i);
      const auto is_out = number == -kInfinity<T>;
      excluded |= is_out;
      return is_out ? number : score + number;
    });
    excludes = any(excluded);
  }
  if (block.lead() >= block.num_keys - 1) return excludes;
  Vec<T> lane_number;
  for (std::int64_t lane = 0; lane < kLanes<T>; ++lane) lane_number[lane] = static_cast<T>(lane);
  for (std::int64_t k = 0; k < block.num_keys; ++k) {
    const T first_seeing = static_cast<T>(block.first_seeing(k));
    if (first_seeing <= 0) continue;
    for_each_vector<T>(block.pitch, scores + k * block.pitch, [&](Vec<T> score, std::int64_t q) {
      return lane_number + static_cast<T>(q) < first_seeing ? splat<T>(-kInfinity<T>) : score;
    });
  }
  return true;
}

// Adds weight[k][q] * from[q] to to[k] (or weight[k][q] * from[k] to to[q]) for the pairs that may
// attend, so that what is excluded adds nothing even where it is not finite. Slow and rare.
template <class T>
static void add_allowed(const Mask& mask, const Block& block, std::int64_t width, const T* weights,
                        Rows<T> from, bool to_keys, T* to, std::int64_t to_row_stride,
                        std::int64_t to_column_stride) {
  for (std::int64_t k = 0; k < block.num_keys; ++k) {
    for (std::int64_t q = 0; q < block.num_queries; ++q) {
      if (!mask.allows<T>(block.query + q, block.key + k)) continue;
      const T weight = weights[k * block.pitch + q];
      const T* source = from.data + (to_keys ? q : k) * from.stride;
      T* target = to + (to_keys ? k : q) * to_row_stride;
      for (std::int64_t i = 0; i < width; ++i) target[i * to_column_stride] += weight * source[i];
    }
  }
}

// Zeroes what is excluded.
template <class T>
static void zero_excluded(const Mask& mask, const Block& block, T* numbers) {
  for (std::int64_t k = 0; k < block.num_keys; ++k) {
    for (std::int64_t q = 0; q < block.num_queries; ++q) {
      if (!mask.allows<T>(block.query + q, block.key + k)) numbers[k * block.pitch + q] = 0;
    }
  }
}

// ---- dropout ------------------------------------------------------------------------------------

struct Dropout {
  bool is_active;
  std::uint64_t limit;  // words below it keep their weight
  double scale;         // of what is kept
  PhiloxStream stream;
  std::int64_t blocks_per_row;

  explicit Dropout(const AttentionArguments& arguments)
      : is_active(arguments.dropout > 0),
        limit(static_cast<std::uint64_t>((1 - arguments.dropout) * 0x1p32 + 0.5)),
        scale(1 / (1 - arguments.dropout)),
        stream(arguments.stream),
        blocks_per_row(divided_up(arguments.key.shape[arguments.key.rank - 2], 4)) {}

  // What the weights of a block are multiplied with: 0 or `scale`. `row` counts the queries over
  // all leading axes.
  template <class T>
  void fill(const Block& block, std::int64_t row, T* factors) const {
    constexpr std::int64_t lanes = kLanes<std::uint64_t>;
    u64v lane_number;
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      lane_number[lane] = static_cast<std::uint64_t>(lane);
    }
    const auto step = static_cast<std::uint64_t>(blocks_per_row);
    for (std::int64_t k = 0; k < block.num_keys; k += 4) {
      const std::uint64_t first = stream.counter + static_cast<std::uint64_t>(row) * step +
                                  static_cast<std::uint64_t>(block.key + k) / 4;
      for (std::int64_t q = 0; q < block.pitch; q += 2 * lanes) {
        u64v word[4][2];
        for (int half = 0; half < 2; ++half) {
          const auto query = static_cast<std::uint64_t>(q + half * lanes);
          word[0][half] = (lane_number + query) * step + first;
          word[1][half] = word[0][half] >> 32;
          word[2][half] = splat<std::uint64_t>(stream.counter_high);
          word[3][half] = word[2][half] >> 32;
        }
        philox_rounds(word, stream.seed);
        for (std::int64_t w = 0; w < smaller(4, block.num_keys - k); ++w) {
          keep(word[w], factors + (k + w) * block.pitch + q);
        }
      }
    }
  }

 private:
  void keep(const u64v (&words)[2], double* factors) const {
    for (int half = 0; half < 2; ++half) {
      const auto is_kept = (words[half] & 0xffffffffu) < limit;
      store<double>(factors + half * kLanes<double>, is_kept ? splat<double>(scale) : f64v{});
    }
  }
  void keep(const u64v (&words)[2], float* factors) const {
    double wide[2 * kLanes<double>];
    keep(words, wide);
    store<float>(factors, narrow(load<double>(wide), load<double>(wide + kLanes<double>)));
  }
};

// A weight that is dropped is 0, whatever it was.
template <class T>
LUMUS_INLINE Vec<T> dropped(Vec<T> weight, Vec<T> factor) {
  return factor == T(0) ? factor : weight * factor;
}

}  // namespace lumus::LUMUS_ISA
