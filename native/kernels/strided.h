// Loop nests over strided memory: what copy, cast and indexing share to walk any layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/isa.h"
#include "kernels/simd.h"
#include "runtime/view.h"

namespace lumus::LUMUS_ISA {

// Memory handed in from outside may sit at any address and be read under any type of its size.
template <class T>
struct LooseOf {
  typedef T type __attribute__((may_alias, aligned(1)));
};
template <class T>
using Loose = typename LooseOf<T>::type;

LUMUS_INLINE std::int64_t magnitude(std::int64_t value) { return value < 0 ? -value : value; }
LUMUS_INLINE std::int64_t at_most(std::int64_t value, std::int64_t limit) {
  return value < limit ? value : limit;
}
LUMUS_INLINE std::int64_t ceil_divide(std::int64_t count, std::int64_t by) {
  return (count + by - 1) / by;
}

// One loop nest over several operands of the same shape. Strides are in bytes.
template <int Operands>
struct Nest {
  int rank = 0;
  std::int64_t shape[kMaxRank];
  std::int64_t strides[Operands][kMaxRank];
  std::byte* data[Operands];

  // Positions in the first `axes` axes.
  std::int64_t count(int axes) const {
    std::int64_t product = 1;
    for (int axis = 0; axis < axes; ++axis) product *= shape[axis];
    return product;
  }
  std::int64_t count() const { return count(rank); }

  void move_axis(int to, int from) {
    shape[to] = shape[from];
    for (int k = 0; k < Operands; ++k) strides[k][to] = strides[k][from];
  }

  Nest without(int axis) const {
    Nest rest = *this;
    for (; axis + 1 < rank; ++axis) rest.move_axis(axis, axis + 1);
    --rest.rank;
    return rest;
  }
};

// Drops axes of length 1, walks the first operand forwards and in memory order (largest stride
// first), and merges axes that are one run of memory in every operand. The shape is the first
// operand's; `skipped` is an axis to leave out. A nest of an empty shape has rank 1 and length 0.
template <int Operands>
static inline Nest<Operands> make_nest(const View* const (&views)[Operands], int skipped = -1) {
  Nest<Operands> nest;
  std::int64_t sizes[Operands];
  for (int k = 0; k < Operands; ++k) {
    nest.data[k] = views[k]->data;
    sizes[k] = itemsize(views[k]->dtype);
  }
  for (int axis = 0; axis < views[0]->rank; ++axis) {
    const std::int64_t length = views[0]->shape[axis];
    if (length == 1 || axis == skipped) continue;
    const bool is_backwards = views[0]->strides[axis] < 0;
    std::int64_t strides[Operands];
    for (int k = 0; k < Operands; ++k) {
      strides[k] = views[k]->strides[axis] * sizes[k];
      if (is_backwards) {
        // The start of an empty view may be anywhere, and stays there.
        if (length > 0) nest.data[k] += strides[k] * (length - 1);
        strides[k] = -strides[k];
      }
    }
    int place = nest.rank++;
    for (; place > 0; --place) {
      const std::int64_t before = nest.strides[0][place - 1];
      const bool is_in_order =
          before > strides[0] ||
          (before == strides[0] && (Operands == 1 || magnitude(nest.strides[1][place - 1]) >=
                                                         magnitude(strides[Operands > 1])));
      if (is_in_order) break;
      nest.move_axis(place, place - 1);
    }
    nest.shape[place] = length;
    for (int k = 0; k < Operands; ++k) nest.strides[k][place] = strides[k];
    if (length == 0) {
      nest.move_axis(0, place);
      nest.rank = 1;
      return nest;
    }
  }
  int last = 0;
  for (int axis = 1; axis < nest.rank; ++axis) {
    bool is_one_run = true;
    for (int k = 0; k < Operands; ++k) {
      is_one_run &= nest.strides[k][last] == nest.strides[k][axis] * nest.shape[axis];
    }
    const std::int64_t length = is_one_run ? nest.shape[last] * nest.shape[axis] : nest.shape[axis];
    if (!is_one_run) ++last;
    nest.move_axis(last, axis);
    nest.shape[last] = length;
  }
  if (nest.rank > 0) nest.rank = last + 1;
  return nest;
}

static inline Nest<2> make_nest(const View& to, const View& from) {
  const View* const views[] = {&to, &from};
  return make_nest<2>(views);
}

// A position in the first `rank` axes of a nest, with the operands' addresses there.
template <int Operands>
struct Odometer {
  std::int64_t place[kMaxRank];
  std::byte* at[Operands];

  Odometer(const Nest<Operands>& nest, int rank, std::int64_t index) {
    for (int k = 0; k < Operands; ++k) at[k] = nest.data[k];
    for (int axis = rank - 1; axis >= 0; --axis) {
      const std::int64_t quotient = index / nest.shape[axis];
      place[axis] = index - quotient * nest.shape[axis];
      for (int k = 0; k < Operands; ++k) at[k] += place[axis] * nest.strides[k][axis];
      index = quotient;
    }
  }

  void step(const Nest<Operands>& nest, int rank) {
    for (int axis = rank - 1; axis >= 0; --axis) {
      for (int k = 0; k < Operands; ++k) at[k] += nest.strides[k][axis];
      if (++place[axis] < nest.shape[axis]) return;
      place[axis] = 0;
      for (int k = 0; k < Operands; ++k) at[k] -= nest.strides[k][axis] * nest.shape[axis];
    }
  }
};

// Calls to memcpy cost more than short rows do.
LUMUS_INLINE void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  constexpr std::int64_t step = LUMUS_VECTOR_BYTES;
  if (bytes < step || bytes > 16 * step) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return;
  }
  for (std::int64_t done = 0; done < bytes - step; done += step) {
    std::memcpy(to + done, from + done, step);
  }
  // The last vector overlaps the one before it.
  std::memcpy(to + bytes - step, from + bytes - step, step);
}

// Moves `count` elements of one size, each side at its own stride in bytes.
template <class T>
static inline void copy_row(std::byte* to, std::int64_t to_stride, const std::byte* from,
                            std::int64_t from_stride, std::int64_t count) {
  constexpr std::int64_t size = sizeof(T);
  typedef Loose<T> Cell;
  if (to_stride != size) {
    for (std::int64_t i = 0; i < count; ++i) {
      *reinterpret_cast<Cell*>(to + i * to_stride) =
          *reinterpret_cast<const Cell*>(from + i * from_stride);
    }
    return;
  }
  Cell* __restrict cells = reinterpret_cast<Cell*>(to);
  if (from_stride == size) {
    if (to != from) copy_bytes(to, from, count * size);
  } else if (from_stride == 0) {
    const T value = *reinterpret_cast<const Cell*>(from);
    for (std::int64_t i = 0; i < count; ++i) cells[i] = value;
  } else if (from_stride == -size) {
    const Cell* __restrict last = reinterpret_cast<const Cell*>(from) - (count - 1);
    for (std::int64_t i = 0; i < count; ++i) cells[i] = last[count - 1 - i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      cells[i] = *reinterpret_cast<const Cell*>(from + i * from_stride);
    }
  }
}

typedef void (*CopyRow)(std::byte*, std::int64_t, const std::byte*, std::int64_t, std::int64_t);

static inline CopyRow copy_row_of(std::int64_t size) {
  switch (size) {
    case 1:
      return copy_row<std::uint8_t>;
    case 2:
      return copy_row<std::uint16_t>;
    case 4:
      return copy_row<std::uint32_t>;
    default:
      return copy_row<std::uint64_t>;
  }
}

}  // namespace lumus::LUMUS_ISA
