// Where the elements of a convolution stand: blocks, windows of the source, and tables of offsets.
//
// A convolution is computed in blocks: some whole pictures, or a band of one. What a block reads
// (its window of the source, with the zeros around it) is copied to dense scratch memory, so that
// the product that follows needs no case for borders and no layout but one. In there, the element
// that a tap shows to a point of the result lies at the sum of two offsets, the point's and the
// tap's: two small tables describe any stride, dilation and padding.
//
// A transposed convolution reads its source at (point + padding - tap * dilation) / stride, where
// that is whole: which taps a point meets depends on its remainder by the stride. Points and taps
// of one remainder along each axis are a phase, and a phase is like a convolution of stride 1. The
// convolution itself is a single phase.
#pragma once

#include "kernels/convolution.h"
#include "kernels/gemm.h"
#include "runtime/scratch.h"

namespace lumus::LUMUS_ISA {

enum class Direction { forward, transposed };

LUMUS_INLINE std::int64_t larger(std::int64_t x, std::int64_t y) { return x > y ? x : y; }

LUMUS_INLINE std::int64_t floor_divide(std::int64_t x, std::int64_t y) {
  return x >= 0 ? x / y : -((-x + y - 1) / y);
}

LUMUS_INLINE std::int64_t floor_remainder(std::int64_t x, std::int64_t y) {
  return x - floor_divide(x, y) * y;
}

LUMUS_INLINE std::int64_t greatest_divisor(std::int64_t x, std::int64_t y) {
  while (y) {
    const std::int64_t rest = x % y;
    x = y;
    y = rest;
  }
  return x;
}

// ---- one axis -----------------------------------------------------------------------------------

// Length of the result and of the source along an axis.
LUMUS_INLINE std::int64_t result_length(Direction direction, const ConvolutionAxis& axis) {
  return direction == Direction::forward ? axis.output : axis.input;
}
LUMUS_INLINE std::int64_t source_length(Direction direction, const ConvolutionAxis& axis) {
  return direction == Direction::forward ? axis.input : axis.output;
}

// What `count` points of the result from `begin` on read: source positions from `start` on, which
// may be negative or beyond the end.
struct Reach {
  std::int64_t start, length;
};

LUMUS_INLINE Reach reach_of(Direction direction, const ConvolutionAxis& axis, std::int64_t begin,
                            std::int64_t count) {
  const std::int64_t spread = (axis.taps - 1) * axis.dilation;
  if (direction == Direction::forward) {
    return {begin * axis.stride - axis.padding, (count - 1) * axis.stride + spread + 1};
  }
  const std::int64_t start = floor_divide(begin + axis.padding - spread, axis.stride);
  return {start, floor_divide(begin + count - 1 + axis.padding, axis.stride) - start + 1};
}

// first, first + step, ...
struct Progression {
  std::int64_t first, step, count;
  std::int64_t operator[](std::int64_t i) const { return first + i * step; }
};

// The points and taps of one remainder along an axis, and their offsets in the window.
struct AxisPhase {
  Progression points, point_offsets;
  Progression taps, tap_offsets;
};

LUMUS_INLINE std::int64_t num_axis_phases(Direction direction, const ConvolutionAxis& axis) {
  if (direction == Direction::forward) return 1;
  return smaller(axis.taps, axis.stride / greatest_divisor(axis.stride, axis.dilation));
}

LUMUS_INLINE AxisPhase axis_phase(Direction direction, const ConvolutionAxis& axis,
                                  std::int64_t begin, std::int64_t count, std::int64_t phase) {
  if (direction == Direction::forward) {
    return {
        {0, 1, count}, {0, axis.stride, count}, {0, 1, axis.taps}, {0, axis.dilation, axis.taps}};
  }
  // Taps of one remainder are `period` apart, and so many source positions.
  const std::int64_t period = axis.stride / greatest_divisor(axis.stride, axis.dilation);
  const std::int64_t apart = period * axis.dilation / axis.stride;
  const std::int64_t num_taps = divided_up(axis.taps - phase, period);
  const std::int64_t remainder = phase * axis.dilation % axis.stride;
  const std::int64_t first = floor_remainder(remainder - begin - axis.padding, axis.stride);
  const std::int64_t num_points = first < count ? (count - 1 - first) / axis.stride + 1 : 0;
  const std::int64_t start = reach_of(direction, axis, begin, count).start;
  const std::int64_t first_source = (begin + first + axis.padding - remainder) / axis.stride;
  return {{first, axis.stride, num_points},
          {first_source - start, 1, num_points},
          {phase, period, num_taps},
          {-(phase * axis.dilation / axis.stride), -apart, num_taps}};
}

// ---- blocks -------------------------------------------------------------------------------------

// How a batch is cut: into bands along one axis of each picture, or into groups of whole pictures.
struct Blocks {
  Direction direction;
  int axis;
  std::int64_t images, band;  // of a block; the last ones may have fewer
  std::int64_t num_bands, count;
};

struct Block {
  std::int64_t image, num_images;
  std::int64_t begin, length;  // along the axis of the bands
};

constexpr std::int64_t kWindowElements = 1 << 16;  // what a block reads stays in the level-2 cache
constexpr std::int64_t kBlockPoints = 1024;        // and so does what it computes
constexpr std::int64_t kGroupPoints = 512;         // small pictures are grouped up to so many
constexpr std::int64_t kMinBlocks = 8;             // for threads to share

// The cut depends on the shape alone.
static Blocks blocks_of(const Convolution& shape, Direction direction, std::int64_t channels) {
  Blocks blocks{direction, 2, 1, 1, 1, shape.batch};
  std::int64_t window = larger(channels, 1), points = 1;
  for (int axis = 2; axis >= 0; --axis) {
    const std::int64_t length = result_length(direction, shape.axes[axis]);
    window *= reach_of(direction, shape.axes[axis], 0, length).length;
    points *= length;
    if (length > 1) blocks.axis = axis;
  }
  const ConvolutionAxis& axis = shape.axes[blocks.axis];
  const std::int64_t length = result_length(direction, axis);
  blocks.band = length;
  if (window > kWindowElements || points > kBlockPoints) {
    const std::int64_t by_window = kWindowElements * length / window;
    const std::int64_t by_points = kBlockPoints * length / points;
    const std::int64_t most = larger(smaller(smaller(by_window, by_points), length), 1);
    // Every band begins with the same phase.
    const std::int64_t unit = direction == Direction::forward ? 1 : axis.stride;
    blocks.band = divided_up(divided_up(length, divided_up(length, most)), unit) * unit;
    blocks.num_bands = divided_up(length, blocks.band);
  } else {
    const std::int64_t most = smaller(kGroupPoints / points, kWindowElements / window);
    blocks.images = larger(smaller(most, shape.batch / kMinBlocks), 1);
  }
  blocks.count = divided_up(shape.batch, blocks.images) * blocks.num_bands;
  return blocks;
}

LUMUS_INLINE Block block_at(const Convolution& shape, const Blocks& blocks, std::int64_t index) {
  const std::int64_t image = index / blocks.num_bands * blocks.images;
  const std::int64_t begin = index % blocks.num_bands * blocks.band;
  const std::int64_t length = result_length(blocks.direction, shape.axes[blocks.axis]);
  return {image, smaller(blocks.images, shape.batch - image), begin,
          smaller(blocks.band, length - begin)};
}

// ---- tables -------------------------------------------------------------------------------------

struct Phase {
  std::int64_t first_tap, num_taps;
  std::int64_t first_point, num_points;
};

struct Tables {
  std::int64_t window_length[3];
  std::int64_t plane;   // elements of a channel in the window
  std::int64_t image;   // and of a picture
  std::int64_t points;  // of the block's result, all pictures together
  std::int64_t num_phases;
  Phase* phases;
  // By phase: the number of each tap in the weight; for each channel and tap the offset of what it
  // shows in the window; for each point its own offset and its number in the block's result.
  std::int64_t* taps;
  std::int64_t* depth_offsets;
  std::int64_t* point_offsets;
  std::int64_t* point_numbers;
};

LUMUS_INLINE std::int64_t num_taps(const Convolution& shape) {
  return shape.axes[0].taps * shape.axes[1].taps * shape.axes[2].taps;
}

LUMUS_INLINE std::int64_t num_points(const Convolution& shape, const Blocks& blocks,
                                     std::int64_t images, std::int64_t band) {
  std::int64_t points = images * band;
  for (int axis = 0; axis < 3; ++axis) {
    if (axis != blocks.axis) points *= result_length(blocks.direction, shape.axes[axis]);
  }
  return points;
}

LUMUS_INLINE std::int64_t tables_nbytes(const Convolution& shape, const Blocks& blocks,
                                        std::int64_t channels) {
  const std::int64_t numbers =
      num_taps(shape) * (1 + channels) + 2 * num_points(shape, blocks, blocks.images, blocks.band);
  return numbers * static_cast<std::int64_t>(sizeof(std::int64_t)) +
         num_taps(shape) * static_cast<std::int64_t>(sizeof(Phase));
}

static void add_phase(const Convolution& shape, std::int64_t channels, std::int64_t images,
                      const AxisPhase (&part)[3], const std::int64_t (&result_strides)[3],
                      Tables& tables) {
  const std::int64_t source_strides[3] = {tables.window_length[1] * tables.window_length[2],
                                          tables.window_length[2], 1};
  Phase* const phase = tables.phases + tables.num_phases;
  if (tables.num_phases++ == 0) {
    phase->first_tap = phase->first_point = 0;
  } else {
    phase->first_tap = phase[-1].first_tap + phase[-1].num_taps;
    phase->first_point = phase[-1].first_point + phase[-1].num_points;
  }
  std::int64_t tap = phase->first_tap;
  std::int64_t* depth = tables.depth_offsets + tap * channels;
  for (std::int64_t d = 0; d < part[0].taps.count; ++d) {
    for (std::int64_t h = 0; h < part[1].taps.count; ++h) {
      for (std::int64_t w = 0; w < part[2].taps.count; ++w) {
        tables.taps[tap++] =
            (part[0].taps[d] * shape.axes[1].taps + part[1].taps[h]) * shape.axes[2].taps +
            part[2].taps[w];
        *depth++ = part[0].tap_offsets[d] * source_strides[0] +
                   part[1].tap_offsets[h] * source_strides[1] + part[2].tap_offsets[w];
      }
    }
  }
  phase->num_taps = tap - phase->first_tap;
  for (std::int64_t i = phase->num_taps; i < phase->num_taps * channels; ++i, ++depth) {
    *depth = depth[-phase->num_taps] + tables.plane;
  }
  std::int64_t point = phase->first_point;
  for (std::int64_t image = 0; image < images; ++image) {
    for (std::int64_t d = 0; d < part[0].points.count; ++d) {
      for (std::int64_t h = 0; h < part[1].points.count; ++h) {
        const std::int64_t offset = image * tables.image +
                                    part[0].point_offsets[d] * source_strides[0] +
                                    part[1].point_offsets[h] * source_strides[1];
        const std::int64_t number = image * (tables.points / images) +
                                    part[0].points[d] * result_strides[0] +
                                    part[1].points[h] * result_strides[1];
        for (std::int64_t w = 0; w < part[2].points.count; ++w, ++point) {
          tables.point_offsets[point] = offset + part[2].point_offsets[w];
          tables.point_numbers[point] = number + part[2].points[w];
        }
      }
    }
  }
  phase->num_points = point - phase->first_point;
}

// The tables of a block, in memory of tables_nbytes.
static Tables make_tables(const Convolution& shape, const Blocks& blocks, const Block& block,
                          std::int64_t channels, std::byte* memory) {
  Tables tables;
  tables.points = num_points(shape, blocks, block.num_images, block.length);
  tables.num_phases = 0;
  tables.phases = reinterpret_cast<Phase*>(memory);
  tables.taps = reinterpret_cast<std::int64_t*>(tables.phases + num_taps(shape));
  tables.depth_offsets = tables.taps + num_taps(shape);
  tables.point_offsets = tables.depth_offsets + num_taps(shape) * channels;
  tables.point_numbers = tables.point_offsets + tables.points;

  std::int64_t begin[3], length[3], num_phases[3], result_strides[3], stride = 1;
  for (int axis = 2; axis >= 0; --axis) {
    const bool is_cut = axis == blocks.axis;
    begin[axis] = is_cut ? block.begin : 0;
    length[axis] = is_cut ? block.length : result_length(blocks.direction, shape.axes[axis]);
    // As for a whole band, so that blocks can share their tables.
    tables.window_length[axis] =
        reach_of(blocks.direction, shape.axes[axis], 0, is_cut ? blocks.band : length[axis]).length;
    num_phases[axis] = num_axis_phases(blocks.direction, shape.axes[axis]);
    result_strides[axis] = stride;
    stride *= length[axis];
  }
  tables.plane = tables.window_length[0] * tables.window_length[1] * tables.window_length[2];
  tables.image = channels * tables.plane;
  AxisPhase part[3];
  for (std::int64_t d = 0; d < num_phases[0]; ++d) {
    part[0] = axis_phase(blocks.direction, shape.axes[0], begin[0], length[0], d);
    for (std::int64_t h = 0; h < num_phases[1]; ++h) {
      part[1] = axis_phase(blocks.direction, shape.axes[1], begin[1], length[1], h);
      for (std::int64_t w = 0; w < num_phases[2]; ++w) {
        part[2] = axis_phase(blocks.direction, shape.axes[2], begin[2], length[2], w);
        add_phase(shape, channels, block.num_images, part, result_strides, tables);
      }
    }
  }
  return tables;
}

// Whether a block has the tables of the first.
LUMUS_INLINE bool is_whole(const Blocks& blocks, const Block& block) {
  return block.num_images == blocks.images && block.length == blocks.band;
}

// ---- the window ---------------------------------------------------------------------------------

template <class Element>
LUMUS_INLINE void copy_run(const Element* from, std::int64_t stride, std::int64_t count,
                           Computed<Element>* to) {
  using T = Computed<Element>;
  if constexpr (__is_same(Element, T)) {
    if (stride == 1) {
      std::int64_t i = 0;
      for (; i + kLanes<T> <= count; i += kLanes<T>) store<T>(to + i, load<T>(from + i));
      if (i < count) store_first<T>(to + i, load_first<T>(from + i, count - i), count - i);
      return;
    }
  }
  widen_run<T, Element>(from, stride, count, to);
}

// Copies what a block reads of `channels` channels from `channel` on, with zeros around it.
template <class Element>
static void copy_window(const Convolution& shape, const Blocks& blocks, const Block& block,
                        const Tables& tables, const View& source, std::int64_t channel,
                        std::int64_t channels, Computed<Element>* to) {
  using T = Computed<Element>;
  const std::int64_t* const length = tables.window_length;
  std::int64_t start[3], first[3], count[3];
  bool is_inside = true;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t begin = axis == blocks.axis ? block.begin : 0;
    const std::int64_t size = source_length(blocks.direction, shape.axes[axis]);
    // Where the window's start is before that of the source, zeros come first.
    start[axis] = reach_of(blocks.direction, shape.axes[axis], begin, 1).start;
    first[axis] = smaller(larger(-start[axis], 0), length[axis]);
    const std::int64_t end = larger(smaller(size - start[axis], length[axis]), first[axis]);
    count[axis] = end - first[axis];
    is_inside &= count[axis] == length[axis];
  }
  if (!is_inside) {
    std::memset(to, 0,
                static_cast<std::size_t>(block.num_images * channels * tables.plane) * sizeof(T));
  }
  const std::int64_t* const strides = source.strides;
  // Whole rows that lie one after the other are one.
  const bool is_run = count[2] == length[2] && strides[4] == 1 && strides[3] == length[2];
  const std::int64_t run = is_run ? count[1] * count[2] : count[2];
  const std::int64_t num_rows = is_run ? 1 : count[1];
  if (run == 0) return;
  for (std::int64_t image = 0; image < block.num_images; ++image) {
    for (std::int64_t c = 0; c < channels; ++c, to += tables.plane) {
      const Element* const picture = reinterpret_cast<const Element*>(source.data) +
                                     (block.image + image) * strides[0] +
                                     (channel + c) * strides[1];
      for (std::int64_t d = 0; d < count[0]; ++d) {
        const Element* from = picture + (start[0] + first[0] + d) * strides[2] +
                              (start[1] + first[1]) * strides[3] +
                              (start[2] + first[2]) * strides[4];
        T* row = to + ((first[0] + d) * length[1] + first[1]) * length[2] + first[2];
        for (std::int64_t h = 0; h < num_rows; ++h, from += strides[3], row += length[2]) {
          copy_run<Element>(from, strides[4], run, row);
        }
      }
    }
  }
}

}  // namespace lumus::LUMUS_ISA
