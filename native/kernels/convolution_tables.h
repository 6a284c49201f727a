// Where the elements of a convolution stand: what each point of the result reads of its source.
//
// Along an axis a point reads positions one tap apart; of some taps the position may not exist, and
// they are left out: padding is never stored, and never multiplied with. In a transposed
// convolution a point also reads only at taps where (point + padding - tap * dilation) / stride is
// whole. Points that read at the same taps are a segment of their axis, and the points of one
// segment along each axis are a region, with a list of points and a list of taps. The source
// element that a tap shows to a point lies at the sum of two offsets, one from each list.
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

LUMUS_INLINE std::int64_t ceiling_divide(std::int64_t x, std::int64_t y) {
  return -floor_divide(-x, y);
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

// first, first + step, ...
struct Progression {
  std::int64_t first, step, count;
  std::int64_t operator[](std::int64_t i) const { return first + i * step; }
};

struct Segment {
  Progression points;         // counted from the start of the band
  Progression sources;        // the positions that tap 0 would show to them
  Progression taps;           // by number
  Progression tap_positions;  // and what they add to the position
};

// Taps that meet the same points of a transposed convolution: `period` apart, from `first` on.
struct Family {
  std::int64_t first, period;
};

LUMUS_INLINE std::int64_t num_families(Direction direction, const ConvolutionAxis& axis) {
  if (direction == Direction::forward) return 1;
  return smaller(axis.taps, axis.stride / greatest_divisor(axis.stride, axis.dilation));
}

// All points of a band (`count` of them from `begin` on) that taps of a family can meet, as one
// segment that does not yet know the ends of the source.
LUMUS_INLINE Segment whole_segment(Direction direction, const ConvolutionAxis& axis,
                                   std::int64_t begin, std::int64_t count, std::int64_t family) {
  if (direction == Direction::forward) {
    return {{0, 1, count},
            {begin * axis.stride - axis.padding, axis.stride, count},
            {0, 1, axis.taps},
            {0, axis.dilation, axis.taps}};
  }
  const std::int64_t period = axis.stride / greatest_divisor(axis.stride, axis.dilation);
  const std::int64_t num_taps = divided_up(axis.taps - family, period);
  const std::int64_t shift = family * axis.dilation;
  // The first point at or after `begin` for which (point + padding - shift) / stride is whole.
  const std::int64_t from = begin + axis.padding - shift;
  const std::int64_t source = ceiling_divide(from, axis.stride);
  const std::int64_t first = source * axis.stride - from;
  const std::int64_t num_points = first < count ? (count - 1 - first) / axis.stride + 1 : 0;
  return {{first, axis.stride, num_points},
          {source, 1, num_points},
          {family, period, num_taps},
          {0, -(period * axis.dilation / axis.stride), num_taps}};
}

// Cuts a segment where the taps that find a source position change; returns how many there are,
// without those that find none.
static std::int64_t cut_segment(const Segment& whole, std::int64_t length, Segment* segments) {
  std::int64_t count = 0;
  std::int64_t last_first = -1, last_end = -1;
  const std::int64_t step = whole.tap_positions.step;
  const std::int64_t size = step > 0 ? step : -step;
  for (std::int64_t i = 0; i < whole.points.count; ++i) {
    const std::int64_t source = whole.sources[i];
    // Rising positions start at 0, falling ones end there.
    const std::int64_t low = step > 0 ? -source : source - (length - 1);
    const std::int64_t high = step > 0 ? length - 1 - source : source;
    const std::int64_t first = smaller(larger(ceiling_divide(low, size), 0), whole.taps.count);
    const std::int64_t end = larger(smaller(floor_divide(high, size) + 1, whole.taps.count), first);
    if (first == end) {
      last_first = last_end = -1;
      continue;
    }
    if (first == last_first && end == last_end) {
      segments[count - 1].points.count += 1;
      segments[count - 1].sources.count += 1;
      continue;
    }
    last_first = first;
    last_end = end;
    segments[count++] = {{whole.points[i], whole.points.step, 1},
                         {source, whole.sources.step, 1},
                         {whole.taps[first], whole.taps.step, end - first},
                         {whole.tap_positions[first], step, end - first}};
  }
  return count;
}

// ---- bands and chunks ---------------------------------------------------------------------------

// How pictures of a result are cut: into bands along one axis, or, where one band is a picture,
// taken several at a time.
struct Bands {
  Direction direction;
  int axis;
  std::int64_t length, count;  // positions of the axis in a band, and bands of a picture
  std::int64_t images;         // pictures of a chunk, 1 where there are several bands
  std::int64_t points;         // of a chunk, at most
};

// About `wanted` points in a chunk: images times a band. The cut depends on the shape alone.
static Bands bands_of(const Convolution& shape, Direction direction, std::int64_t wanted) {
  Bands bands{direction, 2, 1, 1, 1, 0};
  std::int64_t points = 1;
  for (int axis = 2; axis >= 0; --axis) {
    const std::int64_t length = result_length(direction, shape.axes[axis]);
    points *= length;
    if (length > 1) bands.axis = axis;
  }
  const std::int64_t length = result_length(direction, shape.axes[bands.axis]);
  bands.length = length;
  if (points > wanted) {
    bands.length = larger(wanted * length / points, 1);
    bands.count = divided_up(length, bands.length);
    bands.length = divided_up(length, bands.count);
    bands.count = divided_up(length, bands.length);
  } else {
    bands.images = larger(smaller(wanted / larger(points, 1), shape.batch), 1);
  }
  bands.points = bands.images * bands.length * (length ? points / length : 0);
  return bands;
}

struct Region {
  std::int64_t first_tap, num_taps;
  std::int64_t first_point, num_points;
  // Where one point follows the other in the source as in the result, if possible across the ends
  // of rows, too: runs of `run_length` points, the first of which is listed every `points_per_run`
  // points. At the ends of rows a run has points of other regions, of which it computes what is to
  // be overwritten. 0 runs elsewhere.
  std::int64_t num_runs, points_per_run, run_length;
  // As many taps follow each other in the source, again and again.
  std::int64_t taps_in_row;

  bool has_foreign_points() const { return num_runs > 0 && run_length > points_per_run; }
};

// The regions of a band and their lists.
struct Tables {
  std::int64_t points;       // of the band in all pictures of a chunk
  std::int64_t first_point;  // of the band in a picture
  std::int64_t covered;      // points that read anything
  std::int64_t num_regions;
  Region* regions;
  // For each tap what it adds to an offset in the source, and its number.
  std::int64_t* tap_offsets;
  std::int64_t* tap_numbers;
  // For each point its offset in the source, and its number in the chunk.
  std::int64_t* point_offsets;
  std::int64_t* point_numbers;
};

LUMUS_INLINE std::int64_t num_taps(const Convolution& shape) {
  return shape.axes[0].taps * shape.axes[1].taps * shape.axes[2].taps;
}

// Builds the tables of one band after another in memory that it keeps.
class TableMaker {
 public:
  TableMaker(const Convolution& shape, const Bands& bands, const View& source)
      : shape_(shape), bands_(bands), source_(source), memory_(num_bytes(shape, bands)) {
    std::int64_t* at = memory_.as<std::int64_t>();
    for (int axis = 0; axis < 3; ++axis) {
      segments_[axis] = reinterpret_cast<Segment*>(at);
      at += points_along(shape, bands, axis) * kSegmentNumbers;
    }
    rest_ = at;
    for (int axis = 0; axis < 3; ++axis) {
      if (axis != bands.axis) {
        cut_axis(axis, 0, result_length(bands.direction, shape.axes[axis]));
      }
    }
  }

  // Of a band, for a chunk of `images` pictures; the tables before are gone.
  Tables make(std::int64_t band, std::int64_t images) {
    const std::int64_t begin = band * bands_.length;
    const ConvolutionAxis& cut = shape_.axes[bands_.axis];
    lengths_[bands_.axis] = smaller(bands_.length, result_length(bands_.direction, cut) - begin);
    cut_axis(bands_.axis, begin, lengths_[bands_.axis]);
    Tables tables;
    const std::int64_t points = lengths_[0] * lengths_[1] * lengths_[2];
    tables.points = images * points;
    tables.first_point = begin * (points / lengths_[bands_.axis]);
    tables.covered = tables.num_regions = 0;
    tables.regions = reinterpret_cast<Region*>(rest_);
    const std::int64_t num_regions = counts_[0] * counts_[1] * counts_[2];
    const std::int64_t num_taps = sum_of_taps(0) * sum_of_taps(1) * sum_of_taps(2);
    tables.tap_offsets = rest_ + num_regions * kRegionNumbers;
    tables.tap_numbers = tables.tap_offsets + num_taps;
    tables.point_offsets = tables.tap_numbers + num_taps;
    tables.point_numbers = tables.point_offsets + tables.points;
    std::int64_t* tap = tables.tap_offsets;
    for (std::int64_t d = 0; d < counts_[0]; ++d) {
      for (std::int64_t h = 0; h < counts_[1]; ++h) {
        for (std::int64_t w = 0; w < counts_[2]; ++w) {
          add_region(segments_[0][d], segments_[1][h], segments_[2][w], images, &tap, &tables);
        }
      }
    }
    for (std::int64_t number = 0; number < num_regions; ++number) {
      Region& region = tables.regions[number];  // what is of no region stays zero
      if (tables.covered < tables.points && region.has_foreign_points()) region.num_runs = 0;
    }
    return tables;
  }

 private:
  static constexpr std::int64_t kMinRun = 8;
  static constexpr std::int64_t kSegmentNumbers = sizeof(Segment) / sizeof(std::int64_t);
  static constexpr std::int64_t kRegionNumbers = sizeof(Region) / sizeof(std::int64_t);

  static std::int64_t points_along(const Convolution& shape, const Bands& bands, int axis) {
    return axis == bands.axis ? bands.length : result_length(bands.direction, shape.axes[axis]);
  }

  // A segment has one point at least. The taps of a family lie in as many segments as it has taps
  // at either end of the source, and once in the middle.
  static std::int64_t num_bytes(const Convolution& shape, const Bands& bands) {
    std::int64_t numbers = 0, points = bands.images, regions = 1, taps = 1;
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t along = points_along(shape, bands, axis);
      const ConvolutionAxis& one = shape.axes[axis];
      const std::int64_t segments = smaller(along, 3 * one.taps);
      numbers += along * kSegmentNumbers;
      points *= along;
      regions *= segments;
      taps *= smaller(along, 2 * one.taps + 1) * one.taps;
    }
    numbers += regions * kRegionNumbers + 2 * taps + 2 * points;
    return numbers * static_cast<std::int64_t>(sizeof(std::int64_t));
  }

  void cut_axis(int axis, std::int64_t begin, std::int64_t count) {
    const ConvolutionAxis& one = shape_.axes[axis];
    lengths_[axis] = count;
    counts_[axis] = 0;
    const std::int64_t families = num_families(bands_.direction, one);
    for (std::int64_t family = 0; family < families; ++family) {
      counts_[axis] +=
          cut_segment(whole_segment(bands_.direction, one, begin, count, family),
                      source_length(bands_.direction, one), segments_[axis] + counts_[axis]);
    }
  }

  std::int64_t sum_of_taps(int axis) const {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < counts_[axis]; ++i) sum += segments_[axis][i].taps.count;
    return sum;
  }

  void add_region(const Segment& depth, const Segment& height, const Segment& width,
                  std::int64_t images, std::int64_t** next_tap, Tables* tables) {
    const std::int64_t* const strides = source_.strides + 2;
    Region& region = tables->regions[tables->num_regions++];
    region.first_tap = *next_tap - tables->tap_offsets;
    region.num_taps = depth.taps.count * height.taps.count * width.taps.count;
    std::int64_t tap = region.first_tap;
    for (std::int64_t d = 0; d < depth.taps.count; ++d) {
      for (std::int64_t h = 0; h < height.taps.count; ++h) {
        const std::int64_t row = depth.taps[d] * shape_.axes[1].taps + height.taps[h];
        const std::int64_t offset =
            depth.tap_positions[d] * strides[0] + height.tap_positions[h] * strides[1];
        for (std::int64_t w = 0; w < width.taps.count; ++w, ++tap) {
          tables->tap_offsets[tap] = offset + width.tap_positions[w] * strides[2];
          tables->tap_numbers[tap] = row * shape_.axes[2].taps + width.taps[w];
        }
      }
    }
    *next_tap = tables->tap_offsets + tap;
    region.first_point = tables->covered;
    std::int64_t point = region.first_point;
    const std::int64_t picture = tables->points / images;
    for (std::int64_t image = 0; image < images; ++image) {
      for (std::int64_t d = 0; d < depth.points.count; ++d) {
        for (std::int64_t h = 0; h < height.points.count; ++h) {
          const std::int64_t row = depth.points[d] * lengths_[1] + height.points[h];
          const std::int64_t number = image * picture + row * lengths_[2];
          const std::int64_t offset = image * source_.strides[0] + depth.sources[d] * strides[0] +
                                      height.sources[h] * strides[1];
          for (std::int64_t w = 0; w < width.points.count; ++w, ++point) {
            tables->point_offsets[point] = offset + width.sources[w] * strides[2];
            tables->point_numbers[point] = number + width.points[w];
          }
        }
      }
    }
    region.num_points = point - region.first_point;
    tables->covered = point;
    find_runs(depth, height, width, images, &region);
    const bool taps_follow =
        width.taps.step == 1 && width.tap_positions.step * source_.strides[4] == 1;
    region.taps_in_row = taps_follow ? width.taps.count : 1;
  }

  void find_runs(const Segment& depth, const Segment& height, const Segment& width,
                 std::int64_t images, Region* region) const {
    const std::int64_t* const strides = source_.strides + 2;
    const std::int64_t rows = height.points.count, columns = width.points.count;
    region->num_runs = 0;
    const bool is_row =
        columns == 1 || (width.points.step == 1 && strides[2] == 1 && width.sources.step == 1);
    const std::int64_t length = (rows - 1) * lengths_[2] + columns;
    const bool rows_follow = height.points.step == 1 && height.sources.step == 1 &&
                             strides[1] == lengths_[2] && length * 3 <= rows * columns * 4;
    const std::int64_t rows_of_run = rows_follow ? rows : 1;
    region->run_length = rows_follow ? length : columns;
    if (!is_row || region->run_length < kMinRun) return;
    region->num_runs = images * depth.points.count * (rows / rows_of_run);
    region->points_per_run = rows_of_run * columns;
  }

  const Convolution& shape_;
  const Bands& bands_;
  const View& source_;
  Scratch memory_;
  Segment* segments_[3];
  std::int64_t counts_[3];   // segments
  std::int64_t lengths_[3];  // points
  std::int64_t* rest_;
};

}  // namespace lumus::LUMUS_ISA
