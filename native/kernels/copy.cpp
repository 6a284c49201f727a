// Copies and casts between any two layouts.
//
// Layout: the loop nest follows the destination's memory. Where the source runs along the same
// axis, rows are copied; where it runs along another one, the two axes are cut into tiles of 64 x
// 64 that are transposed in registers, so that both sides are touched in whole cache lines.
// Aliasing: source and destination do not overlap, or are one and the same view.
// Threads: rows, pieces of a row or tiles, cut by size; each cell is written by one piece.
// Numerics: cast_rows.h. A large destination is written past the caches (streaming stores), since
// it would only push out what is still wanted.
#include "kernels/copy.h"

#include "kernels/cast_rows.h"
#include "kernels/isa.h"
#include "kernels/strided.h"
#include "kernels/transpose.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {
namespace {

constexpr std::int64_t kPieceBytes = 256 * 1024;
constexpr std::int64_t kStreamBytes = 8 * 1024 * 1024;
constexpr std::int64_t kTile = 64;

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
