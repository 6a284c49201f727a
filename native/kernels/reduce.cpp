// Reductions over any axes of an array of any dtype and layout.
//
// Layout. The input is any strided view. Axes are flipped, sorted by stride and merged, which
// leaves one of two cases: the fastest axis is reduced ("rows": each output consumes runs of
// neighbours) or it is kept ("columns": neighbours belong to different outputs and rows are added
// lane by lane). Elements that are not contiguous, or not of the type that is accumulated, pass
// through a tile in the level-1 cache. Narrow dense columns are read several rows at a
// time as one wide row.
//
// Aliasing. The output is contiguous and shares nothing with the input.
//
// Threads. Outputs are shared out in groups of about kGrain elements; a long reduction is cut in
// pieces of kPiece elements whose results combine in a fixed binary tree. All cuts depend on the
// shape and the layout alone, so the bits do not depend on the number of threads.
//
// Numerics. float32 and half sums add at most 32 float32 numbers in a lane, then continue in
// float64, and round once at the end; means divide before that rounding. float64 sums are blocked
// (at most 64 additions in a lane, 64 blocks, then the tree). Computed values have the same bits
// as an array of them: they are cut alike, and a block of a sum is no longer than a tile. Products
// of floating types run in float64. Integer sums and products wrap in int64. A NaN makes max and
// min NaN.
#include "kernels/reduce.h"

#include "kernels/reduce_source.h"
#include "runtime/scratch.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {
namespace {

constexpr std::int64_t kBatch = 256;  // partial results stored at once

static_assert(kSumBlock == kTile, "or sums of computed values would be cut otherwise");

// ---- loops over rows and columns, by accumulator ------------------------------------------------

// `num_rows` rows of `length` contiguous values, `row_stride` apart: one partial result each.
template <class Accumulator>
void reduce_rows(const void* source, std::int64_t row_stride, std::int64_t num_rows,
                 std::int64_t length, void* partials) {
  using Element = typename Accumulator::Element;
  using Partial = typename Accumulator::Partial;
  const Element* values = static_cast<const Element*>(source);
  Partial* out = static_cast<Partial*>(partials);
  if (length <= kShortRow) {
    for (std::int64_t row = 0; row < num_rows; ++row, values += row_stride) {
      Partial running = Accumulator::identity;
      for (std::int64_t i = 0; i < length; ++i) {
        running = Accumulator::combine(running, widen<Partial>(values[i]));
      }
      out[row] = running;
    }
    return;
  }
  for (std::int64_t row = 0; row < num_rows; ++row, values += row_stride) {
    Accumulator accumulator;
    accumulator.clear();
    accumulator.feed(values, length);
    out[row] = accumulator.finish();
  }
}

template <class Accumulator>
void clear_lanes(void* state) {
  static_cast<Accumulator*>(state)->clear();
}
template <class Accumulator>
void feed_lanes(void* state, const void* values, std::int64_t count) {
  static_cast<Accumulator*>(state)->feed(static_cast<const typename Accumulator::Element*>(values),
                                         count);
}
template <class Accumulator>
void finish_lanes(void* state, void* partial) {
  *static_cast<typename Accumulator::Partial*>(partial) =
      static_cast<Accumulator*>(state)->finish();
}

template <class T, class Op, int kCount>
LUMUS_INLINE Vec<T> combine_rows(const Vec<T>* values) {
  if constexpr (kCount == 1) {
    return values[0];
  } else {
    return Op::combine(combine_rows<T, Op, kCount / 2>(values),
                       combine_rows<T, Op, kCount / 2>(values + kCount / 2));
  }
}

// partials[c] = combine(partials[c], rows[0][c], ..., rows[kCount - 1][c]); if kIsFirst without the
// partials, which hold nothing yet.
template <class Accumulator, int kCount, bool kIsFirst>
void add_rows(const void* const* rows, std::int64_t num_columns,
              typename Accumulator::Partial* partials) {
  using Element = typename Accumulator::Element;
  using Value = typename Accumulator::Value;
  using Partial = typename Accumulator::Partial;
  using Op = typename Accumulator::RowOp;
  constexpr std::int64_t width = kLanes<Value>;
  const Element* sources[kCount];
  for (int row = 0; row < kCount; ++row) sources[row] = static_cast<const Element*>(rows[row]);
  std::int64_t c = 0;
  for (; c + width <= num_columns; c += width) {
    Vec<Value> values[kCount];
#pragma GCC unroll 8
    for (int row = 0; row < kCount; ++row) values[row] = load_values(sources[row] + c);
    const auto sums =
        kIsFirst ? Accumulator::no_columns() : Accumulator::load_columns(partials + c);
    Accumulator::store_columns(partials + c,
                               Accumulator::added(sums, combine_rows<Value, Op, kCount>(values)));
  }
  const std::int64_t left = num_columns - c;
  if (left > 0) {
    Vec<Value> values[kCount];
    for (int row = 0; row < kCount; ++row) {
      values[row] = load_left(sources[row] + c, left, Op::identity);
    }
    Partial padded[width];
    for (std::int64_t lane = 0; lane < width; ++lane) padded[lane] = Accumulator::identity;
    if constexpr (!kIsFirst) {
      std::memcpy(padded, partials + c, static_cast<std::size_t>(left) * sizeof(Partial));
    }
    const auto sums = Accumulator::load_columns(padded);
    Accumulator::store_columns(padded,
                               Accumulator::added(sums, combine_rows<Value, Op, kCount>(values)));
    std::memcpy(partials + c, padded, static_cast<std::size_t>(left) * sizeof(Partial));
  }
}

// Adds rows to the partial results of columns, or if they `start` makes those of them.
template <class Accumulator>
void reduce_columns(const void* const* rows, int num_rows, std::int64_t num_columns, bool starts,
                    void* partials) {
  auto* out = static_cast<typename Accumulator::Partial*>(partials);
  const auto add = [&]<int kCount>(Index<kCount>) {
    if (starts) {
      add_rows<Accumulator, kCount, true>(rows, num_columns, out);
    } else {
      add_rows<Accumulator, kCount, false>(rows, num_columns, out);
    }
    rows += kCount;
    starts = false;
  };
  for (; num_rows >= 8; num_rows -= 8) add(Index<8>{});
  if (num_rows & 4) add(Index<4>{});
  if (num_rows & 2) add(Index<2>{});
  if (num_rows & 1) add(Index<1>{});
}

template <class Accumulator>
void fill_identity(void* partials, std::int64_t count) {
  auto* out = static_cast<typename Accumulator::Partial*>(partials);
  for (std::int64_t i = 0; i < count; ++i) out[i] = Accumulator::identity;
}

// into[i] = combine(into[i], from[i])
template <class Accumulator>
void merge_partials(void* into, const void* from, std::int64_t count) {
  using Partial = typename Accumulator::Partial;
  auto* out = static_cast<Partial*>(into);
  const auto* in = static_cast<const Partial*>(from);
  for (std::int64_t i = 0; i < count; ++i) out[i] = Accumulator::combine(out[i], in[i]);
}

// Folds 4 * `count` partial results by halves, twice.
template <class Accumulator>
void fold_quarters(void* partials, std::int64_t count) {
  auto* const out = static_cast<typename Accumulator::Partial*>(partials);
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = Accumulator::combine(Accumulator::combine(out[i], out[i + 2 * count]),
                                  Accumulator::combine(out[i + count], out[i + 3 * count]));
  }
}

enum class PartialType : std::uint8_t { f64, f32, i64, i32, i16, i8, u8 };

template <class T>
constexpr PartialType kPartialType = PartialType::f64;
template <>
constexpr PartialType kPartialType<float> = PartialType::f32;
template <>
constexpr PartialType kPartialType<std::int64_t> = PartialType::i64;
template <>
constexpr PartialType kPartialType<std::int32_t> = PartialType::i32;
template <>
constexpr PartialType kPartialType<std::int16_t> = PartialType::i16;
template <>
constexpr PartialType kPartialType<std::int8_t> = PartialType::i8;
template <>
constexpr PartialType kPartialType<std::uint8_t> = PartialType::u8;

// An accumulator behind plain function pointers, so that the drivers below exist once.
struct Reducer {
  std::int64_t element_size;
  std::int64_t partial_size;
  PartialType partial_type;
  void (*rows)(const void*, std::int64_t, std::int64_t, std::int64_t, void*);
  void (*clear)(void*);
  void (*feed)(void*, const void*, std::int64_t);
  void (*finish)(void*, void*);
  void (*columns)(const void* const*, int, std::int64_t, bool, void*);
  void (*identity)(void*, std::int64_t);
  void (*merge)(void*, const void*, std::int64_t);
  void (*fold_quarters)(void*, std::int64_t);
};

template <class Accumulator>
constexpr Reducer kReducer = {sizeof(typename Accumulator::Element),
                              sizeof(typename Accumulator::Partial),
                              kPartialType<typename Accumulator::Partial>,
                              reduce_rows<Accumulator>,
                              clear_lanes<Accumulator>,
                              feed_lanes<Accumulator>,
                              finish_lanes<Accumulator>,
                              reduce_columns<Accumulator>,
                              fill_identity<Accumulator>,
                              merge_partials<Accumulator>,
                              fold_quarters<Accumulator>};

struct alignas(64) LaneState {
  std::byte bytes[kLaneBytes];
};

// ---- where results go ---------------------------------------------------------------------------

template <class Element, class Wide>
void narrow_results(const void* from, std::int64_t count, void* to, std::int64_t stride) {
  narrow_run<Element, Wide>(static_cast<const Wide*>(from), count, static_cast<Element*>(to),
                            stride);
}

using Narrower = void (*)(const void*, std::int64_t, void*, std::int64_t);

template <class Wide>
constexpr Narrower kNarrowers[kNumDTypes] = {
    narrow_results<double, Wide>,       narrow_results<float, Wide>,
    narrow_results<Float16, Wide>,      narrow_results<BFloat16, Wide>,
    narrow_results<std::int64_t, Wide>, narrow_results<std::int32_t, Wide>,
    narrow_results<std::int16_t, Wide>, narrow_results<std::int8_t, Wide>,
    narrow_results<std::uint8_t, Wide>, narrow_results<Boolean, Wide>};

template <class Partial, class Wide>
LUMUS_INLINE void widen_partials(const void* from, std::int64_t count, Wide* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<Wide>(static_cast<const Partial*>(from)[i]);
  }
}

struct Sink {
  std::byte* data;
  DType dtype;
  PartialType partial_type;
  double divisor;  // of a mean; 0 if there is none

  void put(const void* partials, std::int64_t count, std::int64_t offset,
           std::int64_t stride) const;
};

void Sink::put(const void* partials, std::int64_t count, std::int64_t offset,
               std::int64_t stride) const {
  const int code = static_cast<int>(dtype);
  std::byte* to = data + offset * itemsize(dtype);
  const std::int64_t step = stride * itemsize(dtype);
  const bool is_floating = divisor != 0 || partial_type == PartialType::f64;
  const std::byte* from = static_cast<const std::byte*>(partials);
  for (std::int64_t done = 0; done < count; done += kBatch) {
    const std::int64_t now = smaller(kBatch, count - done);
    std::byte* const place = to + done * step;
    if (partial_type == PartialType::f32) {  // a maximum or minimum: an element, as it is
      kNarrowers<float>[code](from + done* 4, now, place, stride);
    } else if (is_floating) {
      double wide[kBatch];
      if (partial_type == PartialType::f64) {
        widen_partials<double>(from + done * 8, now, wide);
      } else {
        widen_partials<std::int64_t>(from + done * 8, now, wide);
      }
      if (divisor != 0) {
        for (std::int64_t i = 0; i < now; ++i) wide[i] /= divisor;
      }
      kNarrowers<double>[code](wide, now, place, stride);
    } else {
      std::int64_t wide[kBatch];
      switch (partial_type) {
        case PartialType::i32:
          widen_partials<std::int32_t>(from + done * 4, now, wide);
          break;
        case PartialType::i16:
          widen_partials<std::int16_t>(from + done * 2, now, wide);
          break;
        case PartialType::i8:
          widen_partials<std::int8_t>(from + done, now, wide);
          break;
        case PartialType::u8:
          widen_partials<std::uint8_t>(from + done, now, wide);
          break;
        default:
          widen_partials<std::int64_t>(from + done * 8, now, wide);
          break;
      }
      kNarrowers<std::int64_t>[code](wide, now, place, stride);
    }
  }
}

// ---- rows: the fastest axis is reduced ----------------------------------------------------------

// Reduces values [begin, end) of the reduced axes, starting at element `base`.
void reduce_span(const Reducer& reducer, const Source& source, const Axes& reduced,
                 std::int64_t base, std::int64_t begin, std::int64_t end, void* partial) {
  alignas(64) std::byte tile[kTileBytes];
  LaneState lanes;
  reducer.clear(&lanes);
  const int inner = reduced.rank - 1;
  const std::int64_t length = inner >= 0 ? reduced.shape[inner] : 1;
  const std::int64_t stride = inner >= 0 ? reduced.strides[inner] : 1;
  const bool is_packed = !(source.gives_elements() && stride == 1 && length >= 64);
  std::int64_t packed = 0;
  std::int64_t at = begin;
  while (at < end) {
    const std::int64_t within = at % length;
    std::int64_t now = smaller(length - within, end - at);
    const std::int64_t offset = base + reduced.offset(at, nullptr);
    if (is_packed) {
      now = smaller(now, kTile - packed);
      source.pack(offset, stride, now, tile + packed * reducer.element_size);
      packed += now;
      if (packed == kTile) {
        reducer.feed(&lanes, tile, packed);
        packed = 0;
      }
    } else {
      if (!source.is_direct) now = smaller(now, kTile);
      reducer.feed(&lanes, source.values(offset, stride, now, tile), now);
    }
    at += now;
  }
  if (packed > 0) reducer.feed(&lanes, tile, packed);
  reducer.finish(&lanes, partial);
}

// One contiguous reduced axis: whole rows, as many at once as the innermost kept axis has.
void reduce_whole_rows(const Reducer& reducer, const Source& source, const Plan& plan,
                       const Sink& sink, std::int64_t begin, std::int64_t end) {
  alignas(64) std::byte tile[kTileBytes];
  double partials[kBatch];
  const Axes& kept = plan.kept;
  const int inner = kept.rank - 1;
  const std::int64_t width = inner >= 0 ? kept.shape[inner] : 1;
  const std::int64_t row_stride = inner >= 0 ? kept.strides[inner] : 0;
  const std::int64_t out_stride = inner >= 0 ? kept.out_strides[inner] : 0;
  const std::int64_t length = plan.reduced.count;
  const std::int64_t rows_in_tile = source.is_direct ? kBatch : smaller(kBatch, kTile / length);
  std::int64_t at = begin;
  while (at < end) {
    const std::int64_t now = smaller(smaller(width - at % width, end - at), rows_in_tile);
    std::int64_t out_offset;
    const std::int64_t offset = plan.in_offset + kept.offset(at, &out_offset);
    if (source.is_direct) {
      reducer.rows(source.at(offset), row_stride, now, length, partials);
    } else if (row_stride == length) {
      source.pack(offset, 1, now * length, tile);
      reducer.rows(tile, length, now, length, partials);
    } else {
      for (std::int64_t row = 0; row < now; ++row) {
        source.pack(offset + row * row_stride, 1, length,
                    tile + row * length * reducer.element_size);
      }
      reducer.rows(tile, length, now, length, partials);
    }
    sink.put(partials, now, plan.out_offset + out_offset, out_stride);
    at += now;
  }
}

void reduce_by_rows(const Reducer& reducer, const Source& source, const Plan& plan,
                    const Sink& sink) {
  const std::int64_t num_outputs = plan.kept.count;
  const std::int64_t length = plan.reduced.count;
  if (length >= 2 * kPiece) {
    const std::int64_t pieces = divide_up(length, kPiece);
    const std::int64_t size = reducer.partial_size;
    Scratch scratch(num_outputs * pieces * size);
    std::byte* partials = scratch.as<std::byte>();
    parallel_for(num_outputs * pieces, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t piece = task % pieces;
        const std::int64_t base = plan.in_offset + plan.kept.offset(task / pieces, nullptr);
        reduce_span(reducer, source, plan.reduced, base, piece * kPiece,
                    smaller((piece + 1) * kPiece, length), partials + task * size);
      }
    });
    for (std::int64_t output = 0; output < num_outputs; ++output) {
      std::byte* mine = partials + output * pieces * size;
      for (std::int64_t step = 1; step < pieces; step *= 2) {
        for (std::int64_t piece = 0; piece + step < pieces; piece += 2 * step) {
          reducer.merge(mine + piece * size, mine + (piece + step) * size, 1);
        }
      }
      std::int64_t out_offset;
      plan.kept.offset(output, &out_offset);
      sink.put(mine, 1, plan.out_offset + out_offset, 0);
    }
    return;
  }
  const bool is_whole = plan.reduced.rank <= 1 &&
                        length <= (source.is_direct ? kPiece * 2 : kTile) &&
                        (plan.reduced.rank == 0 || plan.reduced.strides[0] == 1);
  parallel_for(num_outputs, larger(1, kGrain / length), [&](std::int64_t begin, std::int64_t end) {
    if (is_whole) {
      reduce_whole_rows(reducer, source, plan, sink, begin, end);
      return;
    }
    for (std::int64_t output = begin; output < end; ++output) {
      std::int64_t out_offset;
      const std::int64_t base = plan.in_offset + plan.kept.offset(output, &out_offset);
      double partial;
      reduce_span(reducer, source, plan.reduced, base, 0, length, &partial);
      sink.put(&partial, 1, plan.out_offset + out_offset, 0);
    }
  });
}

// ---- columns: the fastest axis is kept ----------------------------------------------------------

constexpr std::int64_t kColumnBytes = 4096;  // of one row of a chunk
constexpr std::int64_t kNarrow = 256;        // fewer columns than this are read as wider rows
constexpr std::int64_t kGroup = 1024;        // rows whose partial results are merged at once
constexpr std::int64_t kFewItems = 16;       // fewer chunks than this are cut along the rows, too

struct Columns {
  std::int64_t width;   // columns of the innermost kept axis
  std::int64_t stride;  // between columns
  std::int64_t out_stride;
  std::int64_t chunk;  // columns handled together
  std::int64_t num_chunks;
  std::int64_t num_rows;   // in wide rows
  std::int64_t repeats;    // rows read as one wide row
  std::int64_t left_over;  // rows after the last wide one
};

// Adds rows [begin, end) of a chunk of columns that starts at element `base` to fresh `partials`;
// `spare` has room for as many.
void reduce_chunk(const Reducer& reducer, const Source& source, const Axes& reduced,
                  const Columns& columns, std::int64_t base, std::int64_t width, std::int64_t begin,
                  std::int64_t end, std::byte* partials, std::byte* spare) {
  alignas(64) std::byte tiles[kRows * kColumnBytes];
  const std::int64_t wide = width * columns.repeats;
  const std::int64_t tile_bytes = wide * reducer.element_size;
  for (std::int64_t group = begin; group < end; group += kGroup) {
    const std::int64_t group_end = smaller(group + kGroup, end);
    std::byte* into = group == begin ? partials : spare;
    for (std::int64_t row = group; row < group_end; row += kRows) {
      const int now = static_cast<int>(smaller(kRows, group_end - row));
      const void* rows[kRows];
      for (int i = 0; i < now; ++i) {
        const std::int64_t offset = base + reduced.offset((row + i) * columns.repeats, nullptr);
        rows[i] = source.values(offset, columns.stride, wide, tiles + i * tile_bytes);
      }
      reducer.columns(rows, now, wide, row == group, into);
    }
    if (into == spare) reducer.merge(partials, spare, wide);
  }
  if (columns.left_over > 0 && end == columns.num_rows) {
    const std::int64_t offset = base + reduced.offset(end * columns.repeats, nullptr);
    const std::int64_t few = columns.left_over * width;
    const void* rows[1] = {source.values(offset, columns.stride, few, tiles)};
    reducer.columns(rows, 1, few, false, partials);
  }
}

void reduce_by_columns(const Reducer& reducer, const Source& source, const Plan& plan,
                       const Sink& sink) {
  const Axes& reduced = plan.reduced;
  const int inner = plan.kept.rank - 1;
  Axes outer = plan.kept;
  outer.rank = inner;
  outer.count = plan.kept.count / plan.kept.shape[inner];

  Columns columns;
  columns.width = plan.kept.shape[inner];
  columns.stride = plan.kept.strides[inner];
  columns.out_stride = plan.kept.out_strides[inner];
  const std::int64_t room = kColumnBytes / larger(reducer.element_size, reducer.partial_size / 2);
  columns.chunk = smaller(columns.width, room);
  columns.num_chunks = divide_up(columns.width, columns.chunk);
  columns.repeats = 1;
  columns.num_rows = reduced.count;
  columns.left_over = 0;
  if (columns.width < kNarrow && columns.stride == 1 && reduced.rank == 1 &&
      reduced.strides[0] == columns.width) {
    while (columns.repeats * 2 * columns.width <= smaller(room, 512) &&
           columns.repeats * 2 <= reduced.count) {
      columns.repeats *= 2;
    }
    columns.num_rows = reduced.count / columns.repeats;
    columns.left_over = reduced.count % columns.repeats;
  }
  const std::int64_t wide = columns.chunk * columns.repeats;
  const std::int64_t items = outer.count * columns.num_chunks;
  const std::int64_t size = reducer.partial_size;

  std::int64_t piece_rows = columns.num_rows;
  if (items < kFewItems && columns.num_rows * wide >= 4 * kPiece) {
    piece_rows = larger(kRows, 2 * kPiece / wide / kRows * kRows);
  }
  const std::int64_t pieces = divide_up(columns.num_rows, piece_rows);

  const auto finish = [&](std::int64_t item, std::byte* partials) {
    const std::int64_t chunk = item % columns.num_chunks;
    const std::int64_t width = smaller(columns.chunk, columns.width - chunk * columns.chunk);
    std::int64_t half = columns.repeats / 2;
    for (; half >= 2; half /= 4) reducer.fold_quarters(partials, half / 2 * width);
    if (half == 1) reducer.merge(partials, partials + width * size, width);
    std::int64_t out_offset;
    outer.offset(item / columns.num_chunks, &out_offset);
    sink.put(partials, width,
             plan.out_offset + out_offset + chunk * columns.chunk * columns.out_stride,
             columns.out_stride);
  };
  const auto reduce_item = [&](std::int64_t item, std::int64_t piece, std::byte* partials,
                               std::byte* spare) {
    const std::int64_t chunk = item % columns.num_chunks;
    const std::int64_t width = smaller(columns.chunk, columns.width - chunk * columns.chunk);
    const std::int64_t base = plan.in_offset + outer.offset(item / columns.num_chunks, nullptr) +
                              chunk * columns.chunk * columns.stride;
    reduce_chunk(reducer, source, reduced, columns, base, width, piece * piece_rows,
                 smaller((piece + 1) * piece_rows, columns.num_rows), partials, spare);
  };

  if (pieces == 1) {
    const std::int64_t grain = larger(1, kGrain / (wide * columns.num_rows));
    parallel_for(items, grain, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) std::byte buffers[2][2 * kColumnBytes];
      for (std::int64_t item = begin; item < end; ++item) {
        reduce_item(item, 0, buffers[0], buffers[1]);
        finish(item, buffers[0]);
      }
    });
    return;
  }
  Scratch scratch(items * pieces * wide * size);
  std::byte* partials = scratch.as<std::byte>();
  parallel_for(items * pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::byte spare[2 * kColumnBytes];
    for (std::int64_t task = begin; task < end; ++task) {
      reduce_item(task / pieces, task % pieces, partials + task * wide * size, spare);
    }
  });
  for (std::int64_t item = 0; item < items; ++item) {
    std::byte* mine = partials + item * pieces * wide * size;
    for (std::int64_t step = 1; step < pieces; step *= 2) {
      for (std::int64_t piece = 0; piece + step < pieces; piece += 2 * step) {
        reducer.merge(mine + piece * wide * size, mine + (piece + step) * wide * size, wide);
      }
    }
    finish(item, mine);
  }
}

// ---- choosing -----------------------------------------------------------------------------------

template <template <class> class Op>
const Reducer& exact_reducer(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return kReducer<PlainAccumulator<Op<double>>>;
    case DType::float32:
      return kReducer<PlainAccumulator<Op<float>>>;
    case DType::float16:
      return kReducer<PlainAccumulator<Op<float>, Float16>>;
    case DType::bfloat16:
      return kReducer<PlainAccumulator<Op<float>, BFloat16>>;
    case DType::int64:
      return kReducer<PlainAccumulator<Op<std::int64_t>>>;
    case DType::int32:
      return kReducer<PlainAccumulator<Op<std::int32_t>>>;
    case DType::int16:
      return kReducer<PlainAccumulator<Op<std::int16_t>>>;
    case DType::int8:
      return kReducer<PlainAccumulator<Op<std::int8_t>>>;
    default:
      return kReducer<PlainAccumulator<Op<std::uint8_t>>>;
  }
}

const Reducer& choose_reducer(ReduceKind kind, DType dtype) {
  switch (kind) {
    case ReduceKind::max:
      return exact_reducer<Maximum>(dtype);
    case ReduceKind::min:
      return exact_reducer<Minimum>(dtype);
    case ReduceKind::any:
      return kReducer<PlainAccumulator<Maximum<std::uint8_t>>>;
    case ReduceKind::all:
      return kReducer<PlainAccumulator<Minimum<std::uint8_t>>>;
    case ReduceKind::prod:
      if (is_float(dtype)) return kReducer<PlainAccumulator<Product<double>>>;
      return kReducer<PlainAccumulator<Product<std::int64_t>>>;
    default:
      if (dtype == DType::float64) return kReducer<DoubleSumAccumulator>;
      if (dtype == DType::float32) return kReducer<FloatSumAccumulator<float>>;
      if (dtype == DType::float16) return kReducer<FloatSumAccumulator<Float16>>;
      if (dtype == DType::bfloat16) return kReducer<FloatSumAccumulator<BFloat16>>;
      return kReducer<PlainAccumulator<Sum<std::int64_t>>>;
  }
}

template <class Element>
void truth_tile(const void* from, std::int64_t stride, std::int64_t count, void* tile) {
  truth_run<Element>(static_cast<const Element*>(from), stride, count,
                     static_cast<std::uint8_t*>(tile));
}

constexpr FillTile kTruths[kNumDTypes] = {truth_tile<double>,       truth_tile<float>,
                                          truth_tile<Float16>,      truth_tile<BFloat16>,
                                          truth_tile<std::int64_t>, truth_tile<std::int32_t>,
                                          truth_tile<std::int16_t>, truth_tile<std::int8_t>,
                                          truth_tile<std::uint8_t>, truth_tile<Boolean>};

// Whether the accumulator takes the elements of the array as they are.
bool is_direct(ReduceKind kind, DType dtype) {
  switch (kind) {
    case ReduceKind::max:
    case ReduceKind::min:
      return true;
    case ReduceKind::any:
    case ReduceKind::all:
      return dtype == DType::boolean;
    case ReduceKind::prod:
      return dtype == DType::float64 || dtype == DType::int64;
    default:
      return is_float(dtype) || dtype == DType::int64;
  }
}

FillTile choose_fill(ReduceKind kind, DType dtype) {
  const int code = static_cast<int>(dtype);
  if (is_direct(kind, dtype)) {
    switch (itemsize(dtype)) {
      case 8:
        return copy_tile<std::uint64_t>;
      case 4:
        return copy_tile<std::uint32_t>;
      case 2:
        return copy_tile<std::uint16_t>;
      default:
        return copy_tile<std::uint8_t>;
    }
  }
  if (kind == ReduceKind::any || kind == ReduceKind::all) return kTruths[code];
  return is_float(dtype) ? kWideners<double>[code] : kWideners<std::int64_t>[code];
}

// The result over no elements: that of the identity, but +0 for a sum and NaN for a mean.
void fill_empty(ReduceKind kind, const Reducer& reducer, const Sink& sink, std::int64_t count) {
  for (std::int64_t output = 0; output < count; ++output) {
    double partial;
    reducer.identity(&partial, 1);
    if (kind == ReduceKind::sum && reducer.partial_type == PartialType::f64) partial = 0.0;
    if (kind == ReduceKind::mean) {
      const double nan = __builtin_nan("");
      kNarrowers<double>[static_cast<int>(sink.dtype)](&nan, 1,
                                                       sink.data + output* itemsize(sink.dtype), 1);
    } else {
      sink.put(&partial, 1, output, 1);
    }
  }
}

// `input` gives the layout; its elements come from `source`.
void reduce_from(ReduceKind kind, const View& input, const Source& source,
                 std::uint32_t reduced_axes, const View& output) {
  Plan plan;
  make_plan(input, reduced_axes, plan);
  if (plan.kept.count == 0) return;
  const Reducer& reducer = choose_reducer(kind, input.dtype);
  const std::int64_t length = plan.reduced.count;
  const Sink sink = {output.data, output.dtype, reducer.partial_type,
                     kind == ReduceKind::mean ? static_cast<double>(length) : 0.0};
  if (length == 0) {
    fill_empty(kind, reducer, sink, plan.kept.count);
    return;
  }
  const int kept = plan.kept.rank - 1;
  const int reduced = plan.reduced.rank - 1;
  const bool is_by_columns = kept >= 0 && reduced >= 0 &&
                             goes_before(plan.reduced.strides[reduced], plan.kept.strides[kept]);
  if (is_by_columns) {
    reduce_by_columns(reducer, source, plan, sink);
  } else {
    reduce_by_rows(reducer, source, plan, sink);
  }
}

void reduce(ReduceKind kind, const View& input, std::uint32_t reduced_axes, const View& output) {
  const Source source = {input.data,
                         itemsize(input.dtype),
                         is_direct(kind, input.dtype),
                         choose_fill(kind, input.dtype),
                         nullptr,
                         choose_reducer(kind, input.dtype).element_size};
  reduce_from(kind, input, source, reduced_axes, output);
}

void reduce_computed(ReduceKind kind, const ComputedValues& values, std::uint32_t reduced_axes,
                     const View& output) {
  View layout;
  layout.data = nullptr;
  layout.dtype = values.dtype;
  layout.rank = values.rank;
  std::int64_t stride = 1;
  for (int axis = values.rank - 1; axis >= 0; --axis) {
    layout.shape[axis] = values.shape[axis];
    layout.strides[axis] = stride;
    stride *= values.shape[axis];
  }
  ComputedSource computed;
  computed.prepare(values);
  computed.convert = is_direct(kind, values.dtype) ? nullptr : choose_fill(kind, values.dtype);
  const Source source = {nullptr, 0,         false,
                         nullptr, &computed, choose_reducer(kind, values.dtype).element_size};
  reduce_from(kind, layout, source, reduced_axes, output);
}

}  // namespace

extern const ReduceKernels reduce_table;
const ReduceKernels reduce_table = {reduce, reduce_computed, arg_reduce};

}  // namespace lumus::LUMUS_ISA
