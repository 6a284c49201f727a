// Rows of planes, staged for pools: widened, with padding at both ends, and taken apart by phase.
//
// With a stride of s between windows, cell i of a line stands in phase i % s at position i / s.
// Then the cells that neighbouring windows have at the same tap are neighbours, and every load of a
// pool is that of a whole vector, whatever the stride, padding, dilation or element type.
#pragma once

#include <cstdint>

#include "kernels/accumulate.h"
#include "kernels/interleave.h"
#include "kernels/pooling.h"
#include "kernels/runs.h"
#include "runtime/scratch.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {

constexpr std::int64_t kPoolColumns = 512;  // windows of a row handled at once
constexpr std::int64_t kPoolGrain = 16384;  // elements a thread takes at once

LUMUS_INLINE std::int64_t quotient_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Cells from the first tap of a window to the last, both included.
LUMUS_INLINE std::int64_t extent(const PoolAxis& axis) {
  return (axis.window - 1) * axis.dilation + 1;
}

LUMUS_INLINE std::int64_t padding(const PoolAxis& axis) { return -axis.first[0]; }

LUMUS_INLINE std::int64_t num_planes(const View& input) {
  std::int64_t planes = 1;
  for (int axis = 0; axis < input.rank - 3; ++axis) planes *= input.shape[axis];
  return planes;
}

// Writes `count` cells to a line from position `front` on. Up to two vectors behind them become
// `fill`, too.
template <class T, class Element>
LUMUS_INLINE void stage(const Element* from, std::int64_t count, std::int64_t front,
                        std::int64_t phases, std::int64_t pitch, T fill, T* line) {
  constexpr std::int64_t width = kLanes<T>;
  if (phases == 1) {
    for_vectors<T>(count, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
      store<T>(line + front + i, load_some<kIsFull>(from + i, present, fill));
    });
  } else if (phases == 2) {
    T* even = line + front % 2 * pitch + front / 2;
    T* odd = line + (front + 1) % 2 * pitch + (front + 1) / 2;
    std::int64_t i = 0;
    for (; i + 2 * width <= count; i += 2 * width) {
      const Vec<T> low = load_values(from + i);
      const Vec<T> high = load_values(from + i + width);
      store<T>(even + i / 2, evens<T>(low, high));
      store<T>(odd + i / 2, odds<T>(low, high));
    }
    if (i < count) {
      const std::int64_t left = count - i;
      const Vec<T> low = load_left(from + i, smaller(left, width), fill);
      const Vec<T> high =
          left > width ? load_left(from + i + width, left - width, fill) : splat<T>(fill);
      store<T>(even + i / 2, evens<T>(low, high));
      store<T>(odd + i / 2, odds<T>(low, high));
    }
  } else {
    std::int64_t phase = front % phases;
    T* to = line + front / phases;
    for (std::int64_t i = 0; i < count; ++i) {
      to[phase * pitch] = widen<T>(from[i]);
      if (++phase == phases) {
        phase = 0;
        ++to;
      }
    }
  }
}

// Lines of the rows last used, found again by the number of their row: `depth` slices of `height`
// rows each, which neighbours in the order of work share.
template <class T>
struct Lines {
  T* cells;
  std::int64_t* rows;  // which row each slot holds; -1: none
  std::int64_t depth, height;
  std::int64_t phases, pitch;
  T fill;

  static std::int64_t nbytes(std::int64_t slots, std::int64_t phases, std::int64_t pitch) {
    return slots * (phases * pitch * static_cast<std::int64_t>(sizeof(T)) +
                    static_cast<std::int64_t>(sizeof(std::int64_t)));
  }

  // Memory of `nbytes`, which is a multiple of eight.
  void lay_out(std::byte* memory) {
    rows = reinterpret_cast<std::int64_t*>(memory);
    cells = reinterpret_cast<T*>(rows + depth * height);
    clear();
  }

  // Padding is written here alone: the cells of one line replace those of another.
  void clear() {
    for (std::int64_t slot = 0; slot < depth * height; ++slot) rows[slot] = -1;
    const Vec<T> filled = splat<T>(fill);
    const std::int64_t count = depth * height * phases * pitch;
    for (std::int64_t i = 0; i < count; i += kLanes<T>) store<T>(cells + i, filled);
  }

  // The line of a row; `fresh` when it must be staged.
  T* line(std::int64_t z, std::int64_t y, std::int64_t row, bool* fresh) {
    const std::int64_t slice = depth == 1 ? 0 : z % depth;
    // Numbers of rows are far below 2^32, where a division is cheaper.
    const std::int64_t slot =
        slice * height + static_cast<std::uint32_t>(y) % static_cast<std::uint32_t>(height);
    *fresh = rows[slot] != row;
    rows[slot] = row;
    return cells + slot * phases * pitch;
  }
};

// A pitch is whole vectors, so that lines begin aligned; with room for overhanging loads and
// stores.
template <class T>
LUMUS_INLINE std::int64_t pitch_for(std::int64_t cells) {
  return quotient_up(cells, kLanes<T>) * kLanes<T> + 3 * kLanes<T>;
}

// Work is numbered (plane, block of columns, slice, row); a piece of it walks rows in order.
class RowWalk {
 public:
  std::int64_t plane, block, z, y;

  RowWalk(std::int64_t index, std::int64_t blocks, std::int64_t depth, std::int64_t height)
      : blocks_(blocks), depth_(depth), height_(height) {
    y = index % height;
    index /= height;
    z = index % depth;
    index /= depth;
    block = index % blocks;
    plane = index / blocks;
  }

  void advance() {
    if (++y < height_) return;
    y = 0;
    if (++z < depth_) return;
    z = 0;
    if (++block < blocks_) return;
    block = 0;
    ++plane;
  }

 private:
  std::int64_t blocks_, depth_, height_;
};

// A window that has a cell, and at which of its taps.
struct Covering {
  std::int64_t window, tap;
};

// For each cell of an axis the windows that have it, in rising order.
class Coverings {
 public:
  explicit Coverings(const PoolAxis& axis)
      : memory_(16 * (axis.length + 1) + 16 * axis.count * axis.window),
        ends_(memory_.as<std::int64_t>()),
        begins_(ends_ + axis.length),
        found_(reinterpret_cast<Covering*>(begins_ + axis.length + 2)) {
    for (std::int64_t cell = 0; cell < axis.length; ++cell) ends_[cell] = 0;
    for_taps(axis, [&](std::int64_t cell, Covering) { ++ends_[cell]; });
    std::int64_t total = 0;
    for (std::int64_t cell = 0; cell < axis.length; ++cell) {
      begins_[cell] = total;
      total += ends_[cell];
      ends_[cell] = begins_[cell];
    }
    for_taps(axis, [&](std::int64_t cell, Covering one) { found_[ends_[cell]++] = one; });
  }

  const Covering* begin(std::int64_t cell) const { return found_ + begins_[cell]; }
  const Covering* end(std::int64_t cell) const { return found_ + ends_[cell]; }

 private:
  template <class Body>
  static void for_taps(const PoolAxis& axis, const Body& body) {
    for (std::int64_t o = 0; o < axis.count; ++o) {
      for (std::int64_t tap = axis.begin[o]; tap < axis.end[o]; ++tap) {
        body(axis.first[o] + tap * axis.dilation, Covering{o, tap});
      }
    }
  }

  Scratch memory_;
  std::int64_t* ends_;
  std::int64_t* begins_;
  Covering* found_;
};

// The taps of a row of windows by the cells that they reach: cells j * stride + c, for each c, have
// window j + ... of each tap, so that for neighbouring j the windows are neighbours.
struct Reach {
  std::int64_t back;   // windows in front of j that a cell may have
  std::int64_t ahead;  // and behind
};

LUMUS_INLINE Reach reach_of(const PoolAxis& axis) {
  return {(extent(axis) - 1) / axis.stride, (axis.stride - 1 + padding(axis)) / axis.stride};
}

// For each c the taps [begins[c], begins[c + 1]): which they are, and where the window of j = 0
// stands in a line that begins `reach.back` windows before it.
LUMUS_INLINE void sort_taps(const PoolAxis& axis, const Reach& reach, std::int64_t* begins,
                            std::int64_t* offsets, std::int64_t* taps) {
  std::int64_t count = 0;
  for (std::int64_t c = 0; c < axis.stride; ++c) {
    begins[c] = count;
    const std::int64_t from = c + padding(axis);
    for (std::int64_t tap = axis.window - 1; tap >= 0; --tap) {
      const std::int64_t cell = tap * axis.dilation;
      if ((from - cell) % axis.stride) continue;
      offsets[count] = reach.back + from / axis.stride - cell / axis.stride;
      taps[count++] = tap;
    }
  }
  begins[axis.stride] = count;
}

// Writes `count` elements (at least one): even[0], odd[0], even[1], ...
template <class Element, class V>
LUMUS_INLINE void store_pair(Element* to, V even, V odd, std::int64_t count) {
  using T = std::remove_cvref_t<decltype(even[0])>;
  constexpr std::int64_t width = kLanes<T>;
  const V low = interleave_low<T>(even, odd);
  const V high = interleave_high<T>(even, odd);
  if (count >= 2 * width) {
    store_values(to, low);
    store_values(to + width, high);
  } else {
    store_left(to, low, smaller(count, width));
    if (count > width) store_left(to + width, high, count - width);
  }
}

// The usual pool: windows of 2 by 2 side by side, without padding.
LUMUS_INLINE bool is_halving(const PoolAxis& axis) {
  return axis.window == 2 && axis.stride == 2 && axis.dilation == 1 && padding(axis) == 0 &&
         axis.count == axis.length / 2;
}
LUMUS_INLINE bool is_halving(const PoolWindows& windows) {
  return windows.axes[0].window == 1 && windows.axes[0].count == windows.axes[0].length &&
         is_halving(windows.axes[1]) && is_halving(windows.axes[2]);
}

// Two vectors of elements in a row, of which `present` (at least one) are there.
template <class T, class Element>
LUMUS_INLINE void load_pair(const Element* from, std::int64_t present, Vec<T>* low, Vec<T>* high) {
  constexpr std::int64_t width = kLanes<T>;
  if (present >= 2 * width) {
    *low = load_values(from);
    *high = load_values(from + width);
  } else {
    *low = load_left(from, smaller(present, width), T(0));
    *high = present > width ? load_left(from + width, present - width, T(0)) : Vec<T>{};
  }
}

// Writes the cells of a row: sum(c, j) gives a vector of those at j * stride + c. `line` is room
// for one of each c.
template <class T, class Element, class Sum>
LUMUS_INLINE void store_cells(std::int64_t stride, std::int64_t count, Element* to, T* line,
                              const Sum& sum) {
  constexpr std::int64_t width = kLanes<T>;
  if (stride == 1) {
    for_vectors<T>(count, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
      store_some<kIsFull>(to + i, sum(0, i), present);
    });
  } else if (stride == 2) {
    for (std::int64_t i = 0; i < count; i += 2 * width) {
      store_pair(to + i, sum(0, i / 2), sum(1, i / 2), count - i);
    }
  } else {
    const std::int64_t positions = quotient_up(count, stride);
    for (std::int64_t j = 0; j < positions; j += width) {
      for (std::int64_t c = 0; c < stride; ++c) store<T>(line + c * width, sum(c, j));
      const std::int64_t present = smaller(width * stride, count - j * stride);
      std::int64_t lane = 0, c = 0;
      for (std::int64_t i = 0; i < present; ++i) {
        to[j * stride + i] = Narrow<Element>::from(line[c * width + lane]);
        if (++c == stride) {
          c = 0;
          ++lane;
        }
      }
    }
  }
}

// Calls body(row, upper, has_rest) for rows [begin, end) of the outputs of all planes: `upper` is
// the number of the first element of the two rows of input (of `width` elements) that a row halves,
// and `has_rest` says that one that no window has follows them.
template <class Body>
LUMUS_INLINE void for_halved_rows(std::int64_t height, std::int64_t width, std::int64_t begin,
                                  std::int64_t end, const Body& body) {
  const std::int64_t rows = height / 2;
  std::int64_t plane = begin / rows, row = begin % rows;
  for (std::int64_t index = begin; index < end; ++index) {
    const bool is_last = row + 1 == rows;
    body(index, (plane * height + 2 * row) * width, is_last && height % 2);
    row = is_last ? 0 : row + 1;
    plane += is_last;
  }
}

}  // namespace lumus::LUMUS_ISA
