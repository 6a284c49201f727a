// Positions of maxima and minima.
//
// Layout. Any strided view. Where the reduced axis is the fastest, or everything is reduced, blocks
// of a row are compared by their extremum and the position is looked up in the winning block alone;
// otherwise columns run side by side in the lanes of vectors, with their positions.
//
// Threads. Rows and chunks of columns are shared out; a long row is cut in pieces of kPiece
// elements that are compared in order.
//
// Numerics. The first of equal values wins, a NaN beats every number.
#include "kernels/reduce.h"
#include "kernels/reduce_source.h"
#include "runtime/scratch.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {
namespace {

constexpr std::int64_t kScanned = 32;  // rows up to this length are scanned value by value

// Whether `value`, found later, replaces `best`: greater (smaller), or the first NaN.
template <class T, bool kIsMax>
LUMUS_INLINE bool beats(T value, T best) {
  if (best != best) return false;
  return value != value || (kIsMax ? value > best : value < best);
}

template <class T, bool kIsMax>
struct ExtremumOf {
  using type = Maximum<T>;
};
template <class T>
struct ExtremumOf<T, false> {
  using type = Minimum<T>;
};

template <class T>
struct Extremum {
  T value;
  std::int64_t index;
};

// First position of `value` (which is there) among `count` contiguous values.
template <class T>
std::int64_t find_first(const T* values, std::int64_t count, T value) {
  constexpr std::int64_t width = kLanes<T>;
  const Vec<T> wanted = splat<T>(value);
  const bool is_nan = value != value;
  std::int64_t i = 0;
  if (!is_nan) {
    for (; i + 4 * width <= count; i += 4 * width) {
      const auto low = (load<T>(values + i) == wanted) | (load<T>(values + i + width) == wanted);
      const auto high =
          (load<T>(values + i + 2 * width) == wanted) | (load<T>(values + i + 3 * width) == wanted);
      if (any(low | high)) break;
    }
  }
  while (is_nan ? values[i] == values[i] : values[i] != value) ++i;
  return i;
}

// Few contiguous values.
template <class T, bool kIsMax>
Extremum<T> scan(const T* values, std::int64_t count) {
  Extremum<T> found = {values[0], 0};
  for (std::int64_t i = 1; i < count; ++i) {
    if (beats<T, kIsMax>(values[i], found.value)) found = {values[i], i};
  }
  return found;
}

// Positions [begin, end) in row-major order of `axes` (strides of any sign), from element `base`
// on. Blocks are compared by their extremum; the position is looked up only in the block that wins.
template <class T, bool kIsMax>
Extremum<T> find_extremum(const Source& source, const Axes& axes, std::int64_t base,
                          std::int64_t begin, std::int64_t end) {
  using Op = typename ExtremumOf<T, kIsMax>::type;
  alignas(64) T tile[kTile];
  const int inner = axes.rank - 1;
  const std::int64_t length = inner >= 0 ? axes.shape[inner] : 1;
  const std::int64_t stride = inner >= 0 ? axes.strides[inner] : 1;
  const auto fetch = [&](std::int64_t at, std::int64_t count) -> const T* {
    if (length - at % length >= count) {
      return static_cast<const T*>(
          source.values(base + axes.offset(at, nullptr), stride, count, tile));
    }
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t now = smaller(length - (at + done) % length, count - done);
      const std::int64_t offset = base + axes.offset(at + done, nullptr);
      source.pack(offset, stride, now, tile + done);
      done += now;
    }
    return tile;
  };
  std::int64_t winner = begin;
  std::int64_t winner_count = 0;
  T best = T(0);
  for (std::int64_t at = begin; at < end; at += kTile) {
    const std::int64_t count = smaller(kTile, end - at);
    const T* values = fetch(at, count);
    T value;
    if (count <= kShortRow) {
      value = values[0];
      for (std::int64_t i = 1; i < count; ++i) {
        if (beats<T, kIsMax>(values[i], value)) value = values[i];
      }
    } else {
      PlainAccumulator<Op> accumulator;
      accumulator.clear();
      accumulator.feed(values, count);
      value = accumulator.finish();
    }
    if (at == begin || beats<T, kIsMax>(value, best)) {
      best = value;
      winner = at;
      winner_count = count;
      if (best != best) break;
    }
  }
  return {best, winner + find_first<T>(fetch(winner, winner_count), winner_count, best)};
}

template <class T, bool kIsMax>
void arg_by_rows(const Source& source, const Plan& plan, std::int64_t* out) {
  const std::int64_t length = plan.reduced.count;
  if (length <= kScanned && source.is_direct && plan.reduced.rank <= 1 &&
      (plan.reduced.rank == 0 || plan.reduced.strides[0] == 1)) {
    parallel_for(
        plan.kept.count, larger(1, kGrain / length), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t output = begin; output < end; ++output) {
            std::int64_t out_offset;
            const std::int64_t offset = plan.in_offset + plan.kept.offset(output, &out_offset);
            const T* values = reinterpret_cast<const T*>(source.at(offset));
            out[plan.out_offset + out_offset] = scan<T, kIsMax>(values, length).index;
          }
        });
    return;
  }
  if (length >= 2 * kPiece) {
    const std::int64_t pieces = divide_up(length, kPiece);
    Scratch scratch(pieces * static_cast<std::int64_t>(sizeof(Extremum<T>)));
    auto* found = scratch.as<Extremum<T>>();
    for (std::int64_t output = 0; output < plan.kept.count; ++output) {
      std::int64_t out_offset;
      const std::int64_t base = plan.in_offset + plan.kept.offset(output, &out_offset);
      parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t piece = begin; piece < end; ++piece) {
          found[piece] = find_extremum<T, kIsMax>(source, plan.reduced, base, piece * kPiece,
                                                  smaller((piece + 1) * kPiece, length));
        }
      });
      Extremum<T> best = found[0];
      for (std::int64_t piece = 1; piece < pieces; ++piece) {
        if (beats<T, kIsMax>(found[piece].value, best.value)) best = found[piece];
      }
      out[plan.out_offset + out_offset] = best.index;
    }
    return;
  }
  parallel_for(plan.kept.count, larger(1, kGrain / length),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t output = begin; output < end; ++output) {
                   std::int64_t out_offset;
                   const std::int64_t base = plan.in_offset + plan.kept.offset(output, &out_offset);
                   out[plan.out_offset + out_offset] =
                       find_extremum<T, kIsMax>(source, plan.reduced, base, 0, length).index;
                 }
               });
}

template <class T>
struct IndexOf {
  using type = std::int32_t;
};
template <>
struct IndexOf<double> {
  using type = std::int64_t;
};
template <>
struct IndexOf<std::int64_t> {
  using type = std::int64_t;
};

constexpr std::int64_t kArgColumns = 256;

// Rows [0, num_rows) of at most kArgColumns neighbouring columns; the reduced axis has rank 1.
template <class T, bool kIsMax>
void arg_chunk(const Source& source, std::int64_t base, std::int64_t column_stride,
               std::int64_t num_columns, std::int64_t row_stride, std::int64_t num_rows,
               std::int64_t* out, std::int64_t out_stride) {
  using Index = typename IndexOf<T>::type;
  constexpr std::int64_t width = kLanes<T>;
  alignas(64) T tiles[kRows][kArgColumns];
  alignas(64) T best[kArgColumns];
  alignas(64) Index where[kArgColumns];
  std::memcpy(best, source.values(base, column_stride, num_columns, tiles[0]),
              static_cast<std::size_t>(num_columns) * sizeof(T));
  for (std::int64_t c = num_columns; c < kArgColumns; ++c) best[c] = T(0);
  std::memset(where, 0, sizeof where);
  for (std::int64_t row = 1; row < num_rows; row += kRows) {
    const int now = static_cast<int>(smaller(kRows, num_rows - row));
    const T* rows[kRows];
    for (int i = 0; i < now; ++i) {
      rows[i] = static_cast<const T*>(
          source.values(base + (row + i) * row_stride, column_stride, num_columns, tiles[i]));
    }
    for (std::int64_t c = 0; c < num_columns; c += width) {
      const std::int64_t left = num_columns - c;
      Vec<T> top = load<T>(best + c);
      Vec<Index> at = load<Index>(where + c);
      Vec<Index> index = splat<Index>(static_cast<Index>(row));
      for (int i = 0; i < now; ++i, index += 1) {
        const Vec<T> values =
            left >= width ? load<T>(rows[i] + c) : load_partial<T>(rows[i] + c, left, T(0));
        // With floats: greater or unordered, unless the best is NaN already.
        auto wins = kIsMax ? values > top : values < top;
        if constexpr (kIsFloat<T>) wins |= (values != values) & (top == top);
        top = wins ? values : top;
        at = wins ? index : at;
      }
      store<T>(best + c, top);
      store<Index>(where + c, at);
    }
  }
  for (std::int64_t c = 0; c < num_columns; ++c) out[c * out_stride] = where[c];
}

template <class T, bool kIsMax>
void arg_by_columns(const Source& source, const Plan& plan, std::int64_t* out) {
  const int inner = plan.kept.rank - 1;
  Axes outer = plan.kept;
  outer.rank = inner;
  outer.count = plan.kept.count / plan.kept.shape[inner];
  const std::int64_t width = plan.kept.shape[inner];
  const std::int64_t stride = plan.kept.strides[inner];
  const std::int64_t out_stride = plan.kept.out_strides[inner];
  const std::int64_t chunk = smaller(width, kArgColumns);
  const std::int64_t chunks = divide_up(width, chunk);
  const std::int64_t num_rows = plan.reduced.count;
  parallel_for(outer.count * chunks, larger(1, kGrain / (chunk * num_rows)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t item = begin; item < end; ++item) {
                   const std::int64_t first = item % chunks * chunk;
                   std::int64_t out_offset;
                   const std::int64_t base =
                       plan.in_offset + outer.offset(item / chunks, &out_offset) + first * stride;
                   arg_chunk<T, kIsMax>(source, base, stride, smaller(chunk, width - first),
                                        plan.reduced.strides[0], num_rows,
                                        out + plan.out_offset + out_offset + first * out_stride,
                                        out_stride);
                 }
               });
}

template <class T>
void arg_of_type(bool is_max, bool is_by_columns, const Source& source, const Plan& plan,
                 std::int64_t* out) {
  if (is_by_columns) {
    is_max ? arg_by_columns<T, true>(source, plan, out)
           : arg_by_columns<T, false>(source, plan, out);
  } else {
    is_max ? arg_by_rows<T, true>(source, plan, out) : arg_by_rows<T, false>(source, plan, out);
  }
}

}  // namespace

void arg_reduce(bool is_max, const View& input, int axis, const View& output) {
  // Positions count along the reduced axes, so those are neither flipped nor reordered.
  Plan plan;
  if (axis < 0) {
    for (int i = 0; i < input.rank; ++i) {
      if (input.shape[i] == 1) continue;
      const int at = plan.reduced.rank++;
      plan.reduced.shape[at] = input.shape[i];
      plan.reduced.strides[at] = input.strides[i];
      plan.reduced.out_strides[at] = 0;
      plan.reduced.count *= input.shape[i];
    }
    merge_axes(plan.reduced, false);
  } else {
    View kept = input;
    kept.shape[axis] = 1;
    make_plan(kept, 0u, plan);
    plan.reduced.rank = 1;
    plan.reduced.shape[0] = input.shape[axis];
    plan.reduced.strides[0] = input.strides[axis];
    plan.reduced.count = input.shape[axis];
  }
  if (plan.kept.count == 0) return;
  const int code = static_cast<int>(input.dtype);
  Source source = {input.data, itemsize(input.dtype), false, nullptr, nullptr, 0};
  const int inner = plan.kept.rank - 1;
  const std::int64_t reduced_stride =
      plan.reduced.rank > 0 ? plan.reduced.strides[plan.reduced.rank - 1] : 1;
  const bool is_by_columns =
      axis >= 0 && inner >= 0 && plan.reduced.count < INT32_MAX &&
      goes_before(reduced_stride < 0 ? -reduced_stride : reduced_stride, plan.kept.strides[inner]);
  auto* out = reinterpret_cast<std::int64_t*>(output.data);
  switch (input.dtype) {
    case DType::float64:
      source.is_direct = true;
      source.fill = kWideners<double>[code];
      arg_of_type<double>(is_max, is_by_columns, source, plan, out);
      break;
    case DType::float32:
    case DType::float16:
    case DType::bfloat16:
      source.is_direct = input.dtype == DType::float32;
      source.fill = kWideners<float>[code];
      arg_of_type<float>(is_max, is_by_columns, source, plan, out);
      break;
    case DType::int64:
      source.is_direct = true;
      source.fill = kWideners<std::int64_t>[code];
      arg_of_type<std::int64_t>(is_max, is_by_columns, source, plan, out);
      break;
    default:
      source.is_direct = input.dtype == DType::int32;
      source.fill = kWideners<std::int32_t>[code];
      arg_of_type<std::int32_t>(is_max, is_by_columns, source, plan, out);
      break;
  }
}

}  // namespace lumus::LUMUS_ISA
