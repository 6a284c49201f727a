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

// The reverse: writes the cells of a line from position `front` on.
template <class T, class Element>
LUMUS_INLINE void unstage(const T* line, std::int64_t front, std::int64_t phases,
                          std::int64_t pitch, std::int64_t count, Element* to) {
  constexpr std::int64_t width = kLanes<T>;
  if (phases == 1) {
    for_vectors<T>(count, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
      store_some<kIsFull>(to + i, load<T>(line + front + i), present);
    });
  } else if (phases == 2) {
    const T* even = line + front % 2 * pitch + front / 2;
    const T* odd = line + (front + 1) % 2 * pitch + (front + 1) / 2;
    std::int64_t i = 0;
    for (; i + 2 * width <= count; i += 2 * width) {
      const Vec<T> first = load<T>(even + i / 2);
      const Vec<T> second = load<T>(odd + i / 2);
      store_values(to + i, interleave_low<T>(first, second));
      store_values(to + i + width, interleave_high<T>(first, second));
    }
    if (i < count) {
      const std::int64_t left = count - i;
      const Vec<T> first = load<T>(even + i / 2);
      const Vec<T> second = load<T>(odd + i / 2);
      store_left(to + i, interleave_low<T>(first, second), smaller(left, width));
      if (left > width) {
        store_left(to + i + width, interleave_high<T>(first, second), left - width);
      }
    }
  } else {
    std::int64_t phase = front % phases;
    const T* from = line + front / phases;
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = Narrow<Element>::from(from[phase * pitch]);
      if (++phase == phases) {
        phase = 0;
        ++from;
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
    const std::int64_t slot = z % depth * height + y % height;
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
struct RowNumber {
  std::int64_t plane, block, z, y;
};

LUMUS_INLINE RowNumber row_number(std::int64_t index, std::int64_t blocks, std::int64_t depth,
                                  std::int64_t height) {
  RowNumber number;
  number.y = index % height;
  index /= height;
  number.z = index % depth;
  index /= depth;
  number.block = index % blocks;
  number.plane = index / blocks;
  return number;
}

// The windows that have a cell at one tap: window `o` at tap `k`, for each.
struct Covering {
  std::int64_t window, tap;
};

// Those of cell `i`, with the taps in falling order: windows in rising order. At most as many as a
// window has taps.
LUMUS_INLINE std::int64_t windows_covering(const PoolAxis& axis, std::int64_t i, Covering* found) {
  std::int64_t count = 0;
  for (std::int64_t tap = axis.window - 1; tap >= 0; --tap) {
    const std::int64_t start = i + padding(axis) - tap * axis.dilation;
    if (start < 0 || start % axis.stride) continue;
    const std::int64_t window = start / axis.stride;
    if (window < axis.count) found[count++] = {window, tap};
  }
  return count;
}

}  // namespace lumus::LUMUS_ISA
