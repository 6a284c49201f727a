// Gather and scatter.
//
// Layout: any strides. An index array becomes element offsets once; then whole blocks of x are
// moved by rows. Where a block is strided (an axis other than the first was indexed), its inner
// axis is cut into runs that all positions visit in turn, so that x's cache lines serve several
// positions.
//
// Aliasing: outputs overlap no input.
//
// Threads: reads are cut by position. Writes are cut by the cells they go to (columns of the block,
// lines beside the axis), never by position, so that every cell receives its values in order of
// position: duplicates give the same bits for any number of threads.
#include "kernels/index.h"

#include "kernels/index_axis.h"
#include "kernels/index_cells.h"
#include "kernels/isa.h"
#include "kernels/simd.h"
#include "kernels/strided.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {
namespace {

constexpr std::int64_t kPieceBytes = 128 * 1024;

// Row-major lines along the last axis, `visit(line begins at flat position, address, length)`.
// Stops when visit returns false.
template <class Visit>
void for_each_line(const View& indices, std::int64_t begin, std::int64_t end, const Visit& visit) {
  if (begin == end) return;  // an empty line has no length to divide by
  Nest<1> nest;
  nest.rank = indices.rank;
  nest.data[0] = indices.data;
  for (int axis = 0; axis < indices.rank; ++axis) {
    nest.shape[axis] = indices.shape[axis];
    nest.strides[0][axis] = indices.strides[axis] * 8;
  }
  const int inner = indices.rank - 1;
  const std::int64_t length = inner < 0 ? 1 : nest.shape[inner];
  const std::int64_t stride = inner < 0 ? 0 : nest.strides[0][inner];
  Odometer<1> position(nest, inner, begin / length);
  std::int64_t skip = begin % length;
  for (std::int64_t flat = begin; flat < end;) {
    const std::int64_t count = at_most(length - skip, end - flat);
    if (!visit(flat, position.at[0] + skip * stride, stride, count)) return;
    flat += count;
    skip = 0;
    position.step(nest, inner);
  }
}

std::int64_t first_outside(const View& indices, std::int64_t low, std::int64_t high) {
  const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const auto is_out = [=](std::int64_t index) {
    return static_cast<std::uint64_t>(index) - static_cast<std::uint64_t>(low) >= span;
  };
  std::int64_t found = -1;
  for_each_line(
      indices, 0, num_elements(indices),
      [&](std::int64_t flat, const std::byte* at, std::int64_t stride, std::int64_t count) {
        bool any = false;
        for (std::int64_t i = 0; i < count; ++i) any |= is_out(read_index(at + i * stride));
        for (std::int64_t i = 0; any && found < 0; ++i) {
          if (is_out(read_index(at + i * stride))) found = flat + i;
        }
        return found < 0;
      });
  return found;
}

// before + index * stride. An index that will be refused may overflow it.
LUMUS_INLINE std::int64_t wrapping_offset(std::int64_t before, std::int64_t index,
                                          std::int64_t stride) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(before) +
                                   static_cast<std::uint64_t>(index) *
                                       static_cast<std::uint64_t>(stride));
}

bool resolve(std::int64_t* offsets, const View& indices, std::int64_t bound, std::int64_t stride,
             bool add) {
  bool any_outside = false;
  parallel_for(num_elements(indices), kIndexPiece, [&](std::int64_t begin, std::int64_t end) {
    bool outside = false;
    for_each_line(
        indices, begin, end,
        [&](std::int64_t flat, const std::byte* at, std::int64_t step, std::int64_t count) {
          std::int64_t* line = offsets + flat;
          bool any = false;
          if (step == 8 && !add) {
            const auto* cells = reinterpret_cast<const Loose<std::int64_t>*>(at);
            for (std::int64_t i = 0; i < count; ++i) {
              any |= is_outside(cells[i], bound);
              line[i] = wrapping_offset(0, from_start(cells[i], bound), stride);
            }
          } else {
            for (std::int64_t i = 0; i < count; ++i) {
              const std::int64_t index = read_index(at + i * step);
              any |= is_outside(index, bound);
              line[i] = wrapping_offset(add ? line[i] : 0, from_start(index, bound), stride);
            }
          }
          outside |= any;
          return true;
        });
    if (outside) __atomic_store_n(&any_outside, true, __ATOMIC_RELAXED);
  });
  return !any_outside;
}

// ------------------------------------------------------------------------------------ blocks

// A view of one position's block: the first axis is taken off.
View block_of(const View& view) {
  View block = view;
  block.rank = view.rank - 1;
  for (int axis = 0; axis < block.rank; ++axis) {
    block.shape[axis] = view.shape[axis + 1];
    block.strides[axis] = view.strides[axis + 1];
  }
  return block;
}

template <class T>
void gather_single(std::byte* to, std::int64_t to_stride, const std::byte* x,
                   const std::int64_t* offsets, std::int64_t begin, std::int64_t end) {
  typedef Loose<T> Cell;
  const Cell* cells = reinterpret_cast<const Cell*>(x);
  if (to_stride == static_cast<std::int64_t>(sizeof(T))) {
    Cell* __restrict results = reinterpret_cast<Cell*>(to);
    for (std::int64_t p = begin; p < end; ++p) results[p] = cells[offsets[p]];
  } else {
    for (std::int64_t p = begin; p < end; ++p) {
      *reinterpret_cast<Cell*>(to + p * to_stride) = cells[offsets[p]];
    }
  }
}

// A row is read long before it is needed: where it lies cannot be guessed by the processor.
constexpr std::int64_t kAhead = 16;

void gather_rows(const Nest<2>& nest, std::int64_t to_stride, std::int64_t bytes, std::int64_t size,
                 const std::int64_t* offsets, std::int64_t count) {
  std::byte* const to = nest.data[0];
  const std::byte* const x = nest.data[1];
  parallel_for(count, ceil_divide(kPieceBytes, bytes), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      __builtin_prefetch(x + offsets[at_most(p + kAhead, end - 1)] * size);
      copy_bytes(to + p * to_stride, x + offsets[p] * size, bytes);
    }
  });
}

void gather(const View& to, const View& x, const std::int64_t* offsets) {
  const std::int64_t size = itemsize(to.dtype);
  const std::int64_t count = to.shape[0];
  const std::int64_t to_stride = to.strides[0] * size;
  const View block = block_of(to);
  const Nest<2> nest = make_nest(block, x);
  if (nest.rank == 0) {
    std::byte* first = nest.data[0];
    const std::byte* cells = nest.data[1];
    parallel_for(count, kIndexPiece, [&](std::int64_t begin, std::int64_t end) {
      switch (size) {
        case 1:
          return gather_single<std::uint8_t>(first, to_stride, cells, offsets, begin, end);
        case 2:
          return gather_single<std::uint16_t>(first, to_stride, cells, offsets, begin, end);
        case 4:
          return gather_single<std::uint32_t>(first, to_stride, cells, offsets, begin, end);
        default:
          return gather_single<std::uint64_t>(first, to_stride, cells, offsets, begin, end);
      }
    });
    return;
  }
  if (count == 0 || nest.count() == 0) return;
  const int inner = nest.rank - 1;
  const std::int64_t length = nest.shape[inner];
  const std::int64_t to_step = nest.strides[0][inner];
  const std::int64_t x_step = nest.strides[1][inner];
  if (inner == 0 && to_step == size && x_step == size && length * size <= kPieceBytes) {
    gather_rows(nest, to_stride, length * size, size, offsets, count);
    return;
  }
  const CopyRow copy = copy_row_of(size);
  const bool is_dense = to_step == size && x_step == size;
  const std::int64_t piece = at_most(length, is_dense ? kPieceBytes / size : kRun);
  const std::int64_t pieces = ceil_divide(length, piece);
  const std::int64_t rows = nest.count(inner) * pieces;
  const std::int64_t grain = ceil_divide(kPieceBytes, piece * size);
  parallel_for(rows * count, grain, [&](std::int64_t begin, std::int64_t end) {
    // Dense: all rows of a position, then the next. Strided: all positions for one run, then the
    // next.
    const std::int64_t fast = is_dense ? rows : count;
    std::int64_t unit = begin;
    while (unit < end) {
      const std::int64_t slow_place = unit / fast;
      std::int64_t fast_place = unit - slow_place * fast;
      const std::int64_t stop = at_most(end, (slow_place + 1) * fast);
      std::int64_t row = is_dense ? fast_place : slow_place;
      Odometer<2> position(nest, inner, row / pieces);
      for (; unit < stop; ++unit, ++fast_place) {
        const std::int64_t p = is_dense ? slow_place : fast_place;
        const std::int64_t start = row % pieces * piece;
        copy(position.at[0] + p * to_stride + start * to_step, to_step,
             position.at[1] + offsets[p] * size + start * x_step, x_step,
             at_most(length - start, piece));
        if (is_dense && ++row % pieces == 0) position.step(nest, inner);
      }
    }
  });
}

template <class T>
struct Assign {
  static constexpr std::int64_t kSize = sizeof(T);
  static inline void run(std::byte* to, std::int64_t to_step, const std::byte* from,
                         std::int64_t from_step, std::int64_t count) {
    copy_row<T>(to, to_step, from, from_step, count);
  }
};

template <class T>
struct Add {
  static constexpr std::int64_t kSize = sizeof(T);
  static inline void run(std::byte* to, std::int64_t to_step, const std::byte* from,
                         std::int64_t from_step, std::int64_t count) {
    if (to_step == kSize && from_step == kSize) {
      std::byte* __restrict sums = to;
      const std::byte* __restrict terms = from;
      for (std::int64_t i = 0; i < count; ++i) add_cell<T>(sums + i * kSize, terms + i * kSize);
    } else {
      for (std::int64_t i = 0; i < count; ++i) add_cell<T>(to + i * to_step, from + i * from_step);
    }
  }
};

struct Columns {
  std::byte* first;
  std::int64_t step;
  std::int64_t stride = 0;  // from one position to the next, for values
};

template <class Action>
void write_columns(Columns x, Columns values, std::int64_t columns, const std::int64_t* offsets,
                   std::int64_t count) {
  for (std::int64_t p = 0; p < count; ++p) {
    std::byte* const ahead = x.first + offsets[at_most(p + kAhead, count - 1)] * Action::kSize;
    __builtin_prefetch(ahead, 1);
    Action::run(x.first + offsets[p] * Action::kSize, x.step, values.first + p * values.stride,
                values.step, columns);
  }
}

// Runs Action on x's block at each position, in order of position for each cell.
template <class Action>
void write_blocks(const View& x, const View& values, const std::int64_t* offsets) {
  const std::int64_t size = itemsize(x.dtype);
  const std::int64_t count = values.shape[0];
  const std::int64_t value_stride = values.strides[0] * size;
  const View block = block_of(values);
  const Nest<2> nest = make_nest(x, block);
  if (count == 0) return;
  if (nest.rank == 0) {
    for (std::int64_t p = 0; p < count; ++p) {
      Action::run(nest.data[0] + offsets[p] * size, size, nest.data[1] + p * value_stride, size, 1);
    }
    return;
  }
  if (nest.count() == 0) return;
  const int inner = nest.rank - 1;
  const std::int64_t length = nest.shape[inner];
  const std::int64_t x_step = nest.strides[0][inner];
  const std::int64_t value_step = nest.strides[1][inner];
  const std::int64_t block_bytes = nest.count() * size;
  if (block_bytes >= 512 && block_bytes * count >= 2 * kPieceBytes) {
    // Each piece is some columns of the block, for all positions: at least two, of whole cache
    // lines.
    const std::int64_t wanted = ceil_divide(length * size, 2 * 64) * 64;
    const std::int64_t bytes = wanted < 256 ? 256 : at_most(wanted, 2048);
    const std::int64_t piece = at_most(length, bytes / size);
    const std::int64_t pieces = ceil_divide(length, piece);
    parallel_for(nest.count(inner) * pieces, ceil_divide(256, piece * size),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t unit = begin; unit < end; ++unit) {
                     const Odometer<2> position(nest, inner, unit / pieces);
                     const std::int64_t start = unit % pieces * piece;
                     write_columns<Action>(
                         {position.at[0] + start * x_step, x_step},
                         {position.at[1] + start * value_step, value_step, value_stride},
                         at_most(length - start, piece), offsets, count);
                   }
                 });
    return;
  }
  if (inner == 0) {
    write_columns<Action>({nest.data[0], x_step}, {nest.data[1], value_step, value_stride}, length,
                          offsets, count);
    return;
  }
  for (std::int64_t p = 0; p < count; ++p) {
    Odometer<2> position(nest, inner, 0);
    for (std::int64_t row = nest.count(inner); row > 0; --row) {
      Action::run(position.at[0] + offsets[p] * size, x_step, position.at[1] + p * value_stride,
                  value_step, length);
      position.step(nest, inner);
    }
  }
}

void put(const View& x, const View& values, const std::int64_t* offsets) {
  switch (itemsize(x.dtype)) {
    case 1:
      return write_blocks<Assign<std::uint8_t>>(x, values, offsets);
    case 2:
      return write_blocks<Assign<std::uint16_t>>(x, values, offsets);
    case 4:
      return write_blocks<Assign<std::uint32_t>>(x, values, offsets);
    default:
      return write_blocks<Assign<std::uint64_t>>(x, values, offsets);
  }
}

void accumulate(const View& x, const View& values, const std::int64_t* offsets) {
  switch (x.dtype) {
    case DType::float64:
      return write_blocks<Add<double>>(x, values, offsets);
    case DType::float32:
      return write_blocks<Add<float>>(x, values, offsets);
    case DType::int64:
      return write_blocks<Add<std::int64_t>>(x, values, offsets);
    case DType::int32:
      return write_blocks<Add<std::int32_t>>(x, values, offsets);
    case DType::int16:
      return write_blocks<Add<std::uint16_t>>(x, values, offsets);
    case DType::int8:
    case DType::uint8:
      return write_blocks<Add<std::uint8_t>>(x, values, offsets);
    case DType::boolean:
      return write_blocks<Add<Truth>>(x, values, offsets);
    case DType::float16:
    case DType::bfloat16:
      __builtin_unreachable();
  }
}

// -------------------------------------------------------------------------------------- masks

void count_true(const View& mask, std::int64_t* counts) {
  const std::uint8_t* cells = reinterpret_cast<const std::uint8_t*>(mask.data);
  parallel_for(num_elements(mask), kMaskPiece, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t stop = at_most(end, begin + kMaskPiece);
      std::int64_t count = 0;
      for (std::int64_t i = begin; i < stop; ++i) count += cells[i] != 0;
      counts[begin / kMaskPiece] = count;
      begin = stop;
    }
  });
}

constexpr std::int64_t kMaskRun = 64;

LUMUS_INLINE bool any_true(const std::uint8_t* cells, std::int64_t count) {
  std::uint8_t any = 0;
  for (std::int64_t i = 0; i < count; ++i) any |= cells[i];
  return any != 0;
}

void list_true(const View& mask, const std::int64_t* starts, std::int64_t* const* coordinates) {
  const int inner = mask.rank - 1;
  if (inner < 0) return;
  const std::int64_t length = mask.shape[inner];
  Nest<1> nest;
  nest.rank = mask.rank;
  nest.data[0] = mask.data;
  for (int axis = 0; axis < mask.rank; ++axis) {
    nest.shape[axis] = mask.shape[axis];
    nest.strides[0][axis] = mask.strides[axis];
  }
  parallel_for(num_elements(mask), kMaskPiece, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t next = starts[begin / kMaskPiece];
    Odometer<1> position(nest, inner, begin / length);
    std::int64_t column = begin % length;
    const std::uint8_t* cells = reinterpret_cast<const std::uint8_t*>(mask.data);
    for (std::int64_t flat = begin; flat < end;) {
      const std::int64_t run = at_most(at_most(end - flat, length - column), kMaskRun);
      std::int64_t columns[kMaskRun];
      std::int64_t count = 0;
      if (any_true(cells + flat, run)) {
        // Each place is written down, and kept if it is true.
        for (std::int64_t i = 0; i < run; ++i) {
          columns[count] = column + i;
          count += cells[flat + i] != 0;
        }
      }
      for (int axis = 0; axis < inner; ++axis) {
        for (std::int64_t i = 0; i < count; ++i) coordinates[axis][next + i] = position.place[axis];
      }
      for (std::int64_t i = 0; i < count; ++i) coordinates[inner][next + i] = columns[i];
      next += count;
      flat += run;
      column += run;
      if (column == length) {
        column = 0;
        position.step(nest, inner);
      }
    }
  });
}

void mark_last(bool* last, const std::int64_t* offsets, std::int64_t count, std::int64_t* table) {
  for (std::int64_t p = 0; p < count; ++p) table[offsets[p]] = p;
  for (std::int64_t p = 0; p < count; ++p) last[p] = table[offsets[p]] == p;
}

}  // namespace

extern const IndexKernels index_table;
const IndexKernels index_table = {first_outside,   resolve,     gather,     put,       accumulate,
                                  take_along_axis, scatter_add, count_true, list_true, mark_last};

}  // namespace lumus::LUMUS_ISA
