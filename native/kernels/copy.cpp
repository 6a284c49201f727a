// Copies and casts between any two layouts.
//
// Layout: the loop nest follows the destination's memory. Where the source runs along the same
// axis, rows are copied; where it runs along another one, the two axes are cut into tiles of 64 x
// 64 that are transposed in registers, so that both sides are touched in whole cache lines.
// Aliasing: source and destination do not overlap, or are one and the same view.
// Threads: rows, pieces of a row or tiles, cut by size; each cell is written by one piece.
// Numerics: a cast rounds once, to nearest even, whatever the pair; float -> int truncates and
// saturates, NaN gives 0; int -> int wraps; anything but zero is true. A large destination is
// written past the caches (streaming stores), since it would only push out what is still wanted.
#include "kernels/copy.h"

#include "kernels/convert.h"
#include "kernels/isa.h"
#include "kernels/simd.h"
#include "kernels/strided.h"
#include "runtime/thread_pool.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace lumus::LUMUS_ISA {
namespace {

constexpr std::int64_t kPieceBytes = 256 * 1024;
constexpr std::int64_t kStreamBytes = 8 * 1024 * 1024;
constexpr std::int64_t kTile = 64;
constexpr std::int64_t kChunk = 512;

// ---------------------------------------------------------------------------------- one row

#if defined(__AVX512F__)
typedef __m512i StreamLine;
LUMUS_INLINE void stream(std::byte* to, StreamLine line) {
  _mm512_stream_si512(reinterpret_cast<StreamLine*>(to), line);
}
#elif defined(__AVX__)
typedef __m256i StreamLine;
LUMUS_INLINE void stream(std::byte* to, StreamLine line) {
  _mm256_stream_si256(reinterpret_cast<StreamLine*>(to), line);
}
#elif defined(__SSE2__)
typedef __m128i StreamLine;
LUMUS_INLINE void stream(std::byte* to, StreamLine line) {
  _mm_stream_si128(reinterpret_cast<StreamLine*>(to), line);
}
#else
typedef struct {
  std::byte bytes[LUMUS_VECTOR_BYTES];
} StreamLine;
LUMUS_INLINE void stream(std::byte* to, StreamLine line) { std::memcpy(to, &line, sizeof line); }
#endif

LUMUS_INLINE void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

LUMUS_INLINE bool is_line_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % LUMUS_VECTOR_BYTES == 0;
}

void stream_bytes(std::byte* to, const std::byte* from, std::int64_t count) {
  constexpr std::int64_t line_bytes = sizeof(StreamLine);
  while (count > 0 && !is_line_aligned(to)) {
    *to++ = *from++;
    --count;
  }
  std::int64_t done = 0;
  for (; done + line_bytes <= count; done += line_bytes) {
    StreamLine line;
    std::memcpy(&line, from + done, sizeof line);
    stream(to + done, line);
  }
  std::memcpy(to + done, from + done, static_cast<std::size_t>(count - done));
  stream_fence();
}

// --------------------------------------------------------------------------------- transposes

// Exchanges blocks of `Step` lanes between rows that are `Step` apart; doing so for Step = 1, 2, 4,
// ... transposes a square.
template <class T, int Bytes>
struct Square {
  static constexpr int kSide = Bytes / static_cast<int>(sizeof(T));
  typedef T Row __attribute__((vector_size(Bytes)));

  template <int Step>
  static inline __attribute__((always_inline)) void exchange(Row* rows) {
    if constexpr (Step < kSide) {
      Row low, high;
      for (int lane = 0; lane < kSide; ++lane) {
        const bool is_odd = (lane / Step) & 1;
        low[lane] = static_cast<T>(is_odd ? kSide + lane - Step : lane);
        high[lane] = static_cast<T>(is_odd ? kSide + lane : lane + Step);
      }
      for (int row = 0; row < kSide; ++row) {
        if ((row / Step) & 1) continue;
        const Row upper = rows[row];
        const Row lower = rows[row + Step];
        rows[row] = __builtin_shuffle(upper, lower, low);
        rows[row + Step] = __builtin_shuffle(upper, lower, high);
      }
      exchange<Step * 2>(rows);
    }
  }

  // to[b * to_stride + i * size] = from[i * from_stride + b * size] for b, i < kSide.
  template <bool Streaming>
  static inline __attribute__((always_inline)) void run(std::byte* to, std::int64_t to_stride,
                                                        const std::byte* from,
                                                        std::int64_t from_stride) {
    Row rows[kSide];
    for (int i = 0; i < kSide; ++i) std::memcpy(&rows[i], from + i * from_stride, Bytes);
    exchange<1>(rows);
    for (int b = 0; b < kSide; ++b) {
      if constexpr (Streaming) {
        StreamLine line;
        std::memcpy(&line, &rows[b], sizeof line);
        stream(to + b * to_stride, line);
      } else {
        std::memcpy(to + b * to_stride, &rows[b], Bytes);
      }
    }
  }
};

// to[b * to_stride + i * size] = from[i * from_stride + b * from_step], b < height, i < width.
template <class T>
void transpose_tile(std::byte* to, std::int64_t to_stride, const std::byte* from,
                    std::int64_t from_stride, std::int64_t from_step, std::int64_t height,
                    std::int64_t width, bool streaming) {
  constexpr std::int64_t size = sizeof(T);
  constexpr int bytes = size == 1                              ? 16
                        : size == 2 && LUMUS_VECTOR_BYTES > 32 ? 32
                                                               : LUMUS_VECTOR_BYTES;
  typedef Square<T, bytes> Block;
  typedef Loose<T> Cell;
  constexpr std::int64_t side = Block::kSide;
  const std::int64_t whole_height = from_step == size ? height - height % side : 0;
  const std::int64_t whole_width = from_step == size ? width - width % side : 0;
  for (std::int64_t b = 0; b < whole_height; b += side) {
    for (std::int64_t i = 0; i < whole_width; i += side) {
      std::byte* block_to = to + b * to_stride + i * size;
      const std::byte* block_from = from + i * from_stride + b * size;
      if constexpr (bytes == LUMUS_VECTOR_BYTES) {
        if (streaming) {
          Block::template run<true>(block_to, to_stride, block_from, from_stride);
          continue;
        }
      }
      Block::template run<false>(block_to, to_stride, block_from, from_stride);
    }
  }
  for (std::int64_t b = 0; b < height; ++b) {
    for (std::int64_t i = b < whole_height ? whole_width : 0; i < width; ++i) {
      *reinterpret_cast<Cell*>(to + b * to_stride + i * size) =
          *reinterpret_cast<const Cell*>(from + i * from_stride + b * from_step);
    }
  }
}

typedef void (*TransposeTile)(std::byte*, std::int64_t, const std::byte*, std::int64_t,
                              std::int64_t, std::int64_t, std::int64_t, bool);

TransposeTile transpose_tile_of(std::int64_t size) {
  switch (size) {
    case 1:
      return transpose_tile<std::uint8_t>;
    case 2:
      return transpose_tile<std::uint16_t>;
    case 4:
      return transpose_tile<std::uint32_t>;
    default:
      return transpose_tile<std::uint64_t>;
  }
}

// The axis along which the source runs when that is not the destination's: its place in the nest,
// or -1 when walking the destination's rows is as good.
int crossing_axis(const Nest<2>& nest, std::int64_t to_size, std::int64_t from_size) {
  const int inner = nest.rank - 1;
  if (nest.rank < 2 || nest.strides[0][inner] != to_size || nest.shape[inner] < 4) return -1;
  int best = -1;
  std::int64_t best_stride = magnitude(nest.strides[1][inner]);
  if (best_stride <= from_size) return -1;
  for (int axis = inner - 1; axis >= 0; --axis) {
    const std::int64_t stride = magnitude(nest.strides[1][axis]);
    if (nest.shape[axis] >= 4 && stride != 0 && stride < best_stride) {
      best = axis;
      best_stride = stride;
    }
  }
  return best;
}

// Calls tile(to, from, height, width) for all tiles of the two axes, the source's run innermost.
template <class Tile>
void for_each_tile(const Nest<2>& nest, int crossing, const Tile& tile) {
  const int inner = nest.rank - 1;
  const std::int64_t width = nest.shape[inner];
  const std::int64_t height = nest.shape[crossing];
  const std::int64_t to_step = nest.strides[0][inner];
  const std::int64_t to_stride = nest.strides[0][crossing];
  const std::int64_t from_step = nest.strides[1][crossing];
  const std::int64_t from_stride = nest.strides[1][inner];
  const Nest<2> outer = nest.without(inner).without(crossing);
  // The first row of tiles is short where that puts the others on cache lines of the source.
  const std::int64_t misaligned =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(nest.data[1]) % 64);
  const bool can_align = from_step > 0 && 64 % from_step == 0 && misaligned % from_step == 0;
  const std::int64_t lead = can_align && misaligned ? kTile - misaligned / from_step : kTile;
  const std::int64_t tiles_across = ceil_divide(width, kTile);
  const std::int64_t tiles_down = 1 + (height > lead ? ceil_divide(height - lead, kTile) : 0);
  const std::int64_t tiles = tiles_across * tiles_down;
  const std::int64_t count = tiles * outer.count();
  const std::int64_t tile_bytes = at_most(width, kTile) * at_most(height, kTile) * to_step;
  parallel_for(count, ceil_divide(kPieceBytes, tile_bytes),
               [&](std::int64_t begin, std::int64_t end) {
                 Odometer<2> position(outer, outer.rank, begin / tiles);
                 std::int64_t place = begin % tiles;
                 for (std::int64_t unit = begin; unit < end; ++unit) {
                   const std::int64_t i = place / tiles_down * kTile;
                   const std::int64_t down = place % tiles_down;
                   const std::int64_t b = down == 0 ? 0 : lead + (down - 1) * kTile;
                   tile(position.at[0] + b * to_stride + i * to_step,
                        position.at[1] + b * from_step + i * from_stride,
                        at_most(height - b, down == 0 ? lead : kTile), at_most(width - i, kTile));
                   if (++place == tiles) {
                     place = 0;
                     position.step(outer, outer.rank);
                   }
                 }
               });
}

// Calls row(to, from, count) for pieces of the rows along the innermost axis.
template <class Row>
void for_each_row(const Nest<2>& nest, std::int64_t element_bytes, const Row& row) {
  const int inner = nest.rank - 1;
  const std::int64_t length = nest.shape[inner];
  const std::int64_t piece = at_most(length, kPieceBytes / element_bytes);
  const std::int64_t pieces = ceil_divide(length, piece);
  const std::int64_t count = pieces * nest.count(inner);
  const std::int64_t grain = ceil_divide(kPieceBytes, piece * element_bytes);
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    Odometer<2> position(nest, inner, begin / pieces);
    std::int64_t place = begin % pieces;
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t offset = place * piece;
      row(position.at[0] + offset * nest.strides[0][inner],
          position.at[1] + offset * nest.strides[1][inner], at_most(length - offset, piece));
      if (++place == pieces) {
        place = 0;
        position.step(nest, inner);
      }
    }
  });
}

// A dense innermost run of 2, 4 or 8 bytes moves as one element.
std::int64_t widen_elements(Nest<2>* nest, std::int64_t size) {
  const int inner = nest->rank - 1;
  if (nest->rank < 2 || nest->strides[0][inner] != size || nest->strides[1][inner] != size) {
    return size;
  }
  const std::int64_t wide = size * nest->shape[inner];
  if (wide != 2 && wide != 4 && wide != 8) return size;
  nest->rank = inner;
  return wide;
}

void copy(const View& to, const View& from) {
  Nest<2> nest = make_nest(to, from);
  std::int64_t size = itemsize(to.dtype);
  if (nest.rank == 0) {
    std::memmove(nest.data[0], nest.data[1], static_cast<std::size_t>(size));
    return;
  }
  const std::int64_t elements = nest.count();
  if (elements == 0) return;
  const bool is_large = elements * size >= kStreamBytes;
  size = widen_elements(&nest, size);
  const int inner = nest.rank - 1;
  const int crossing = crossing_axis(nest, size, size);
  if (crossing >= 0) {
    const TransposeTile transpose = transpose_tile_of(size);
    const std::int64_t to_stride = nest.strides[0][crossing];
    const std::int64_t from_stride = nest.strides[1][inner];
    const std::int64_t from_step = nest.strides[1][crossing];
    const bool may_stream = is_large && to_stride % LUMUS_VECTOR_BYTES == 0;
    for_each_tile(nest, crossing,
                  [&](std::byte* tile_to, const std::byte* tile_from, std::int64_t height,
                      std::int64_t width) {
                    const bool streaming = may_stream && is_line_aligned(tile_to);
                    transpose(tile_to, to_stride, tile_from, from_stride, from_step, height, width,
                              streaming);
                    if (streaming) stream_fence();
                  });
    return;
  }
  const std::int64_t to_stride = nest.strides[0][inner];
  const std::int64_t from_stride = nest.strides[1][inner];
  if (is_large && nest.data[0] != nest.data[1] && to_stride == size && from_stride == size &&
      nest.shape[inner] * size >= 4096) {
    for_each_row(nest, size, [&](std::byte* row_to, const std::byte* row_from, std::int64_t count) {
      stream_bytes(row_to, row_from, count * size);
    });
    return;
  }
  const CopyRow row = copy_row_of(size);
  for_each_row(nest, size, [&](std::byte* row_to, const std::byte* row_from, std::int64_t count) {
    row(row_to, to_stride, row_from, from_stride, count);
  });
}

// -------------------------------------------------------------------------------------- casts

// Element types that C++ lacks.
struct Half {
  std::uint16_t bits;
};
struct BrainHalf {
  std::uint16_t bits;
};
struct Truth {
  std::uint8_t bits;
};

template <class T>
constexpr bool kIsHalf = __is_same(T, Half) || __is_same(T, BrainHalf);
template <class T>
constexpr bool kIsReal = __is_same(T, float) || __is_same(T, double);

template <class T>
LUMUS_INLINE T choose(bool condition, T yes, T no) {
  return condition ? yes : no;
}

template <bool NeedsDouble>
auto choose_type() {
  if constexpr (NeedsDouble) {
    return 0.0;
  } else {
    return 0.0f;
  }
}

// An int64 as a float64 that rounds to any shorter type as the integer would: the low bits of a
// long one are gathered into one sticky bit, which leaves 52 significant bits.
LUMUS_INLINE double with_sticky_bit(std::int64_t value) {
  const std::int64_t limit = std::int64_t{1} << 53;
  const bool is_long = value >= limit || value <= -limit;
  const std::int64_t sticky = choose<std::int64_t>((value & 0xfff) != 0, 0x800, 0);
  return static_cast<double>(choose(is_long, (value & ~std::int64_t{0xfff}) | sticky, value));
}

template <class To, class From>
LUMUS_INLINE To saturate(From value) {
  constexpr int bits = 8 * sizeof(To);
  constexpr bool is_signed = static_cast<To>(-1) < static_cast<To>(0);
  constexpr std::uint64_t most =
      (std::uint64_t{1} << (is_signed ? bits - 1 : bits)) - 1;  // To is never uint64
  constexpr From low = is_signed ? -static_cast<From>(most / 2 + 1) * 2 : 0;
  constexpr From end = static_cast<From>(most / 2 + 1) * 2;
  const From number = choose(value == value, value, From{0});
  const From raised = choose(number < low, low, number);
  const bool is_above = raised >= end;
  const From inside = choose(is_above, From{0}, raised);
  if constexpr (sizeof(To) == 8) {
    return choose(is_above, static_cast<To>(most), static_cast<To>(inside));
  } else {
    // Through int32, which the processor converts to directly. uint8 and smaller fit.
    return choose(is_above, static_cast<To>(most),
                  static_cast<To>(static_cast<std::int32_t>(inside)));
  }
}

// The compiler turns a loop over this into vectors.
template <class To, class From>
LUMUS_INLINE To convert(From value) {
  if constexpr (__is_same(From, Truth)) {
    return static_cast<To>(value.bits);
  } else if constexpr (__is_same(To, Truth)) {
    return Truth{static_cast<std::uint8_t>(value != 0)};
  } else if constexpr (kIsReal<From> && !kIsReal<To>) {
    return saturate<To, From>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class T>
LUMUS_INLINE f32v widen_halves(u16h halves) {
  if constexpr (__is_same(T, Half)) return half_to_float(halves);
  return bfloat_to_float(halves);
}
template <class T>
LUMUS_INLINE u16h round_to_halves(const float* from) {
  const f32v values = load<float>(from);
  if constexpr (__is_same(T, Half)) return float_to_half(values);
  return float_to_bfloat(values);
}
template <class T>
LUMUS_INLINE u16h round_to_halves(const double* from) {
  const f64v lower = load<double>(from);
  const f64v upper = load<double>(from + kLanes<double>);
  if constexpr (__is_same(T, Half)) return double_to_half(lower, upper);
  return double_to_bfloat(lower, upper);
}

// Either side may be misaligned.
template <class To, class From>
void convert_row(std::byte* to, const std::byte* from, std::int64_t count) {
  constexpr std::int64_t to_size = sizeof(To);
  constexpr std::int64_t from_size = sizeof(From);
  constexpr std::int64_t lanes = kLanes<float>;
  if constexpr (__is_same(To, From)) {
    std::memcpy(to, from, static_cast<std::size_t>(count * to_size));
  } else if constexpr (kIsHalf<From> && __is_same(To, float)) {
    for (std::int64_t i = 0; i < count; i += lanes) {
      const std::size_t length = static_cast<std::size_t>(at_most(count - i, lanes));
      u16h halves = {};
      float values[lanes];
      if (length == lanes) {
        std::memcpy(&halves, from + 2 * i, sizeof halves);
        store<float>(reinterpret_cast<float*>(to + 4 * i), widen_halves<From>(halves));
      } else {
        std::memcpy(&halves, from + 2 * i, 2 * length);
        store<float>(values, widen_halves<From>(halves));
        std::memcpy(to + 4 * i, values, 4 * length);
      }
    }
  } else if constexpr (kIsHalf<To> && kIsReal<From>) {
    for (std::int64_t i = 0; i < count; i += lanes) {
      const std::size_t length = static_cast<std::size_t>(at_most(count - i, lanes));
      if (length == lanes) {
        const u16h halves =
            round_to_halves<To>(reinterpret_cast<const From*>(from + from_size * i));
        std::memcpy(to + 2 * i, &halves, sizeof halves);
      } else {
        From values[lanes] = {};
        std::memcpy(values, from + from_size * i, sizeof(From) * length);
        const u16h halves = round_to_halves<To>(values);
        std::memcpy(to + 2 * i, &halves, 2 * length);
      }
    }
  } else if constexpr (kIsHalf<From> || kIsHalf<To>) {
    // Through a type that holds every value of `From`, or rounds once more without harm.
    constexpr bool needs_double = __is_same(From, std::int64_t) || __is_same(From, std::int32_t);
    typedef decltype(choose_type<needs_double>()) Wide;
    alignas(64) Wide wide[kChunk];
    std::byte* const buffer = reinterpret_cast<std::byte*>(wide);
    for (std::int64_t i = 0; i < count; i += kChunk) {
      const std::int64_t length = at_most(count - i, kChunk);
      if constexpr (__is_same(From, std::int64_t)) {
        for (std::int64_t k = 0; k < length; ++k) {
          std::int64_t value;
          std::memcpy(&value, from + 8 * (i + k), sizeof value);
          wide[k] = with_sticky_bit(value);
        }
      } else {
        convert_row<Wide, From>(buffer, from + from_size * i, length);
      }
      convert_row<To, Wide>(to + to_size * i, buffer, length);
    }
  } else {
    std::byte* __restrict results = to;
    const std::byte* __restrict values = from;
    for (std::int64_t i = 0; i < count; ++i) {
      From value;
      std::memcpy(&value, values + i * from_size, sizeof value);
      const To result = convert<To, From>(value);
      std::memcpy(results + i * to_size, &result, sizeof result);
    }
  }
}

typedef void (*ConvertRow)(std::byte* to, const std::byte* from, std::int64_t count);

#define LUMUS_CONVERT_TO(From)                                       \
  {convert_row<double, From>,       convert_row<float, From>,        \
   convert_row<Half, From>,         convert_row<BrainHalf, From>,    \
   convert_row<std::int64_t, From>, convert_row<std::int32_t, From>, \
   convert_row<std::int16_t, From>, convert_row<std::int8_t, From>,  \
   convert_row<std::uint8_t, From>, convert_row<Truth, From>}

const ConvertRow convert_rows[kNumDTypes][kNumDTypes] = {
    LUMUS_CONVERT_TO(double),       LUMUS_CONVERT_TO(float),        LUMUS_CONVERT_TO(Half),
    LUMUS_CONVERT_TO(BrainHalf),    LUMUS_CONVERT_TO(std::int64_t), LUMUS_CONVERT_TO(std::int32_t),
    LUMUS_CONVERT_TO(std::int16_t), LUMUS_CONVERT_TO(std::int8_t),  LUMUS_CONVERT_TO(std::uint8_t),
    LUMUS_CONVERT_TO(Truth),
};

#undef LUMUS_CONVERT_TO

ConvertRow convert_row_of(DType to, DType from) {
  return convert_rows[static_cast<int>(from)][static_cast<int>(to)];
}

void cast(const View& to, const View& from) {
  if (to.dtype == from.dtype) {
    copy(to, from);
    return;
  }
  const ConvertRow convert_cells = convert_row_of(to.dtype, from.dtype);
  const std::int64_t to_size = itemsize(to.dtype);
  const std::int64_t from_size = itemsize(from.dtype);
  const Nest<2> nest = make_nest(to, from);
  if (nest.rank == 0) {
    convert_cells(nest.data[0], nest.data[1], 1);
    return;
  }
  if (nest.count() == 0) return;
  const int inner = nest.rank - 1;
  const int crossing = crossing_axis(nest, to_size, from_size);
  if (crossing >= 0) {
    const TransposeTile transpose = transpose_tile_of(from_size);
    const std::int64_t to_stride = nest.strides[0][crossing];
    const std::int64_t from_stride = nest.strides[1][inner];
    const std::int64_t from_step = nest.strides[1][crossing];
    for_each_tile(nest, crossing,
                  [&](std::byte* tile_to, const std::byte* tile_from, std::int64_t height,
                      std::int64_t width) {
                    alignas(64) std::byte turned[kTile * kTile * 8];
                    const std::int64_t turned_stride = kTile * from_size;
                    transpose(turned, turned_stride, tile_from, from_stride, from_step, height,
                              width, false);
                    for (std::int64_t b = 0; b < height; ++b) {
                      convert_cells(tile_to + b * to_stride, turned + b * turned_stride, width);
                    }
                  });
    return;
  }
  const std::int64_t to_stride = nest.strides[0][inner];
  const std::int64_t from_stride = nest.strides[1][inner];
  const CopyRow gather = copy_row_of(from_size);
  const CopyRow scatter = copy_row_of(to_size);
  for_each_row(nest, to_size > from_size ? to_size : from_size,
               [&](std::byte* row_to, const std::byte* row_from, std::int64_t count) {
                 alignas(64) std::byte gathered[kChunk * 8];
                 alignas(64) std::byte converted[kChunk * 8];
                 const bool is_dense = to_stride == to_size && from_stride == from_size;
                 const std::int64_t chunk = is_dense ? count : kChunk;
                 for (std::int64_t begin = 0; begin < count; begin += chunk) {
                   const std::int64_t length = at_most(count - begin, chunk);
                   const std::byte* source = row_from + begin * from_stride;
                   std::byte* target = row_to + begin * to_stride;
                   if (from_stride != from_size) {
                     gather(gathered, from_size, source, from_stride, length);
                     source = gathered;
                   }
                   if (to_stride == to_size) {
                     convert_cells(target, source, length);
                   } else {
                     convert_cells(converted, source, length);
                     scatter(target, to_stride, converted, to_size, length);
                   }
                 }
               });
}

// -------------------------------------------------------------------------------------- ramps

template <class Number, class Value>
void ramp(const View& to, DType dtype, const Value& value) {
  const ConvertRow convert_cells = convert_row_of(to.dtype, dtype);
  const CopyRow scatter = copy_row_of(itemsize(to.dtype));
  const std::int64_t to_size = itemsize(to.dtype);
  const std::int64_t stride = to.strides[0] * to_size;
  parallel_for(to.shape[0], 64 * kChunk, [&](std::int64_t begin, std::int64_t end) {
    Number numbers[kChunk];
    alignas(64) std::byte converted[kChunk * 8];
    for (std::int64_t at = begin; at < end; at += kChunk) {
      const std::int64_t length = at_most(end - at, kChunk);
      for (std::int64_t i = 0; i < length; ++i) numbers[i] = value(at + i);
      convert_cells(converted, reinterpret_cast<const std::byte*>(numbers), length);
      scatter(to.data + at * stride, stride, converted, to_size, length);
    }
  });
}

void ramp_real(const View& to, double start, double step) {
  ramp<double>(to, DType::float64,
               [=](std::int64_t i) { return start + static_cast<double>(i) * step; });
}

void ramp_integer(const View& to, std::int64_t start, std::int64_t step) {
  ramp<std::int64_t>(to, DType::int64, [=](std::int64_t i) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(start) +
                                     static_cast<std::uint64_t>(i) *
                                         static_cast<std::uint64_t>(step));
  });
}

}  // namespace

extern const CopyKernels copy_table;
const CopyKernels copy_table = {copy, cast, ramp_real, ramp_integer};

}  // namespace lumus::LUMUS_ISA
