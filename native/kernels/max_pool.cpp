// Maxima over windows, their gradients, and the cells at given places.
//
// Layout. Arrays are contiguous; a row of outputs at a time. Rows of the input are staged (see
// pool_rows.h) once and used by all windows that have them. With few wide windows, or unevenly
// spaced ones, the maximum over the rows of a window is taken first, for all columns at once.
//
// Gradients. Where few windows overlap, each cell gathers from the windows that have it, and is
// written once. Otherwise a plane is filled with zeros and the elements are added one by one.
//
// Aliasing. The outputs share nothing with the inputs.
//
// Threads. Rows, or whole planes, are shared out by size; the bits do not depend on the number of
// threads.
//
// Numerics. A cell takes the place of the maximum unless it is less or equal, or the maximum is
// NaN: the first NaN stays. Padding is -inf and never does. Gradients of half types add up in
// float32.
#include "kernels/pooling.h"

#include "kernels/pool_rows.h"

namespace lumus::LUMUS_ISA {
namespace {

// Places of one vector, as they are stored.
template <class Place, class T>
LUMUS_INLINE void store_places(Place* to, Vec<IntOf<T>> places, std::int64_t present) {
  using Stored = Lanes<Place, kLanes<T>>;
  const Stored stored = __builtin_convertvector(places, Stored);
  if (present == kLanes<T>) {
    std::memcpy(to, &stored, sizeof stored);
    return;
  }
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  if constexpr (sizeof(stored) == 16 && sizeof(Place) == 1) {
    _mm_mask_storeu_epi8(to, static_cast<__mmask16>((1u << present) - 1), (__m128i)stored);
    return;
  } else if constexpr (sizeof(stored) == 64) {
    store_partial<Place>(to, stored, present);
    return;
  }
#endif
  for (std::int64_t lane = 0; lane < present; ++lane) to[lane] = stored[lane];
}

template <class Place, class T>
LUMUS_INLINE Vec<IntOf<T>> load_places(const Place* from, std::int64_t present) {
  using Stored = Lanes<Place, kLanes<T>>;
  Stored stored = {};
  if (present >= kLanes<T>) {
    std::memcpy(&stored, from, sizeof stored);
  } else {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    if constexpr (sizeof(stored) == 16 && sizeof(Place) == 1) {
      stored = (Stored)_mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << present) - 1), from);
      return __builtin_convertvector(stored, Vec<IntOf<T>>);
    }
#endif
    for (std::int64_t lane = 0; lane < present; ++lane) stored[lane] = from[lane];
  }
  return __builtin_convertvector(stored, Vec<IntOf<T>>);
}

// The running maximum and its place, and one more candidate for it.
template <class T>
LUMUS_INLINE void consider(Vec<T> value, Vec<IntOf<T>> place, Vec<T>& best,
                           Vec<IntOf<T>>& best_place) {
  const Vec<IntOf<T>> stays = (value <= best) | (best != best);
  best = stays ? best : value;
  best_place = stays ? best_place : place;
}

// ---- 2 by 2, side by side -----------------------------------------------------------------------

// Straight from memory, and straight to it.
template <class Element, class Place>
struct HalvedRows {
  using T = Compute<Element>;
  using I = IntOf<T>;
  std::int64_t height, width;  // of a plane of the input
  const Element* input;
  Element* output;
  Place* places;

  // Rows [begin, end) of the outputs of all planes.
  void operator()(std::int64_t begin, std::int64_t end) const {
    const std::int64_t columns = width / 2;
    for_halved_rows(height, width, begin, end, [&](std::int64_t row, std::int64_t upper, bool) {
      for (std::int64_t i = 0; i < columns; i += kLanes<T>) {
        const std::int64_t present = smaller(columns - i, kLanes<T>);
        Vec<T> low, high;
        load_pair<T>(input + upper + 2 * i, 2 * present, &low, &high);
        Vec<T> best = evens<T>(low, high);
        Vec<I> place = {};
        consider<T>(odds<T>(low, high), splat<I>(1), best, place);
        load_pair<T>(input + upper + width + 2 * i, 2 * present, &low, &high);
        Vec<T> lower_best = evens<T>(low, high);
        Vec<I> lower_place = splat<I>(2);
        consider<T>(odds<T>(low, high), splat<I>(3), lower_best, lower_place);
        consider<T>(lower_best, lower_place, best, place);
        const std::int64_t to = row * columns + i;
        if (present == kLanes<T>) {
          store_values(output + to, best);
        } else {
          store_left(output + to, best, present);
        }
        store_places<Place, T>(places + to, place, present);
      }
    });
  }
};

template <class Element, class Place>
struct HalvedGradRows {
  using T = Compute<Element>;
  using I = IntOf<T>;
  std::int64_t height, width;  // of a plane of the input
  const Element* grad;
  const Place* places;
  Element* output;

  // The cells of rows [begin, end) of the outputs of all planes, and those that no window has.
  void operator()(std::int64_t begin, std::int64_t end) const {
    const std::int64_t columns = width / 2;
    for_halved_rows(
        height, width, begin, end, [&](std::int64_t row, std::int64_t first, bool has_rest) {
          const Element* from = grad + row * columns;
          const Place* at = places + row * columns;
          Element* upper = output + first;
          for (std::int64_t i = 0; 2 * i < width; i += kLanes<T>) {
            const std::int64_t present = smaller(columns - i, kLanes<T>);
            const Vec<T> value =
                present == kLanes<T> ? load_values(from + i) : load_left(from + i, present, T(0));
            const Vec<I> place = load_places<Place, T>(at + i, present);
            const std::int64_t cells = width - 2 * i;
            store_pair(upper + 2 * i, place == 0 ? value : Vec<T>{}, place == 1 ? value : Vec<T>{},
                       cells);
            store_pair(upper + width + 2 * i, place == 2 ? value : Vec<T>{},
                       place == 3 ? value : Vec<T>{}, cells);
          }
          if (has_rest) std::memset(upper + 2 * width, 0, sizeof(Element) * width);
        });
  }
};

// ---- evenly spaced windows ----------------------------------------------------------------------

// The rows that the windows of one row of outputs have, and where their taps begin in a line.
template <class T>
struct Taps {
  const T** lines;       // staged rows
  IntOf<T>* row_places;  // the place of the first tap of each
  std::int64_t num_rows;
  std::int64_t* offsets;  // of the taps of a row
  std::int64_t num_offsets;
  const IntOf<T>* first;  // the first tap inside the input, along the row, of each window
};

// The maxima over the taps of one row, of some vectors of neighbouring windows.
template <int kVectors, int kOffsets, class T>
LUMUS_INLINE void max_of_row(const Taps<T>& taps, std::int64_t row, std::int64_t at, Vec<T>* best,
                             Vec<IntOf<T>>* place) {
  using I = IntOf<T>;
  const std::int64_t num_offsets = kOffsets ? kOffsets : taps.num_offsets;
  const T* line = taps.lines[row] + at;
  for (int v = 0; v < kVectors; ++v) {
    best[v] = load<T>(line + taps.offsets[0] + v * kLanes<T>);
    place[v] = splat<I>(taps.row_places[row]);
  }
  for (std::int64_t k = 1; k < num_offsets; ++k) {
    const Vec<I> here = splat<I>(taps.row_places[row] + static_cast<I>(k));
    const T* from = line + taps.offsets[k];
    for (int v = 0; v < kVectors; ++v) {
      consider<T>(load<T>(from + v * kLanes<T>), here, best[v], place[v]);
    }
  }
}

// Each row by itself, so that rows do not wait for each other, then over the rows.
template <int kVectors, int kOffsets, class T>
LUMUS_INLINE void max_of_taps(const Taps<T>& taps, std::int64_t at, Vec<T>* best,
                              Vec<IntOf<T>>* place) {
  using I = IntOf<T>;
  max_of_row<kVectors, kOffsets>(taps, 0, at, best, place);
  for (std::int64_t row = 1; row < taps.num_rows; ++row) {
    Vec<T> row_best[kVectors];
    Vec<I> row_place[kVectors];
    max_of_row<kVectors, kOffsets>(taps, row, at, row_best, row_place);
    for (int v = 0; v < kVectors; ++v) consider<T>(row_best[v], row_place[v], best[v], place[v]);
  }
  // Where all are -inf the place may be one in the padding, which is -inf as well.
  for (int v = 0; v < kVectors; ++v) {
    const Vec<I> first = load<I>(taps.first + at + v * kLanes<T>) + splat<I>(taps.row_places[0]);
    place[v] = best[v] == splat<T>(-__builtin_inf()) ? first : place[v];
  }
}

template <int kOffsets, class T, class Element, class Place>
void max_row(const Taps<T>& taps, std::int64_t count, Element* out, Place* places) {
  constexpr std::int64_t width = kLanes<T>;
  for (std::int64_t i = 0; i < count; i += 2 * width) {
    Vec<T> best[2] = {};
    Vec<IntOf<T>> place[2] = {};
    const std::int64_t left = count - i;
    if (left <= width) {
      max_of_taps<1, kOffsets>(taps, i, best, place);
    } else {
      max_of_taps<2, kOffsets>(taps, i, best, place);
    }
    for (std::int64_t v = 0; v < 2 && v * width < left; ++v) {
      const std::int64_t present = smaller(width, left - v * width);
      Element* to = out + i + v * width;
      if (present == width) {
        store_values(to, best[v]);
      } else {
        store_left(to, best[v], present);
      }
      store_places<Place, T>(places + i + v * width, place[v], present);
    }
  }
}

template <class Element, class Place>
struct MaxRows {
  using T = Compute<Element>;
  const PoolWindows& windows;
  const Element* input;
  Element* output;
  Place* places;

  // Outputs of rows [begin, end) of (planes, blocks, depth, height).
  void operator()(std::int64_t begin, std::int64_t end) const {
    const auto& [depth, height, width] = windows.axes;
    const std::int64_t blocks = quotient_up(width.count, kPoolColumns);
    const std::int64_t columns = smaller(width.count, kPoolColumns);
    const std::int64_t reach = extent(width) / width.stride + 1;  // of a line behind its windows
    Lines<T> lines;
    lines.depth = smaller(extent(depth), depth.length);
    lines.height = smaller(extent(height), height.length);
    lines.phases = width.stride;
    lines.pitch = pitch_for<T>(columns + reach);
    lines.fill = -__builtin_inf();
    const std::int64_t max_rows = depth.window * height.window;
    Scratch memory(Lines<T>::nbytes(lines.depth * lines.height, lines.phases, lines.pitch));
    Scratch lists(8 * (2 * max_rows + width.window + pitch_for<T>(columns)));
    lines.lay_out(memory.as<std::byte>());
    Taps<T> taps;
    taps.lines = lists.as<const T*>();
    taps.row_places = reinterpret_cast<IntOf<T>*>(taps.lines + max_rows);
    taps.offsets = lists.as<std::int64_t>() + 2 * max_rows;
    auto* first = reinterpret_cast<IntOf<T>*>(taps.offsets + width.window);
    taps.first = first;
    taps.num_offsets = width.window;
    for (std::int64_t k = 0; k < width.window; ++k) {
      const std::int64_t cell = k * width.dilation;
      taps.offsets[k] = cell % width.stride * lines.pitch + cell / width.stride;
    }
    std::int64_t block_begin = 0, block_end = 0, last_block = -1;
    RowWalk at(begin, blocks, depth.count, height.count);
    for (std::int64_t index = begin; index < end; ++index, at.advance()) {
      if (at.block != last_block) {
        if (last_block >= 0) lines.clear();
        last_block = at.block;
        block_begin = at.block * kPoolColumns;
        block_end = smaller(width.count, block_begin + kPoolColumns);
        for (std::int64_t o = block_begin; o < block_end; ++o) {
          first[o - block_begin] = static_cast<IntOf<T>>(width.begin[o]);
        }
      }
      stage_rows(at, block_begin, block_end, lines, taps);
      const std::int64_t row = (at.plane * depth.count + at.z) * height.count + at.y;
      const std::int64_t to = row * width.count + block_begin;
      const std::int64_t count = block_end - block_begin;
      if (width.window == 2) {
        max_row<2>(taps, count, output + to, places + to);
      } else if (width.window == 3) {
        max_row<3>(taps, count, output + to, places + to);
      } else {
        max_row<0>(taps, count, output + to, places + to);
      }
    }
  }

  void stage_rows(const RowWalk& at, std::int64_t block_begin, std::int64_t block_end,
                  Lines<T>& lines, Taps<T>& taps) const {
    const auto& [depth, height, width] = windows.axes;
    // The cells of the block: from the first tap of its first window to the last of its last.
    const std::int64_t from = larger(0, width.first[block_begin]);
    const std::int64_t to = smaller(width.length, width.first[block_end - 1] + extent(width));
    const std::int64_t front = from - width.first[block_begin];
    taps.num_rows = 0;
    for (std::int64_t kz = depth.begin[at.z]; kz < depth.end[at.z]; ++kz) {
      const std::int64_t z = depth.first[at.z] + kz * depth.dilation;
      for (std::int64_t ky = height.begin[at.y]; ky < height.end[at.y]; ++ky) {
        const std::int64_t y = height.first[at.y] + ky * height.dilation;
        const std::int64_t row = (at.plane * depth.length + z) * height.length + y;
        bool is_fresh;
        T* line = lines.line(z, y, row, &is_fresh);
        if (is_fresh) {
          stage<T>(input + row * width.length + from, to - from, front, lines.phases, lines.pitch,
                   lines.fill, line);
        }
        taps.row_places[taps.num_rows] =
            static_cast<IntOf<T>>((kz * height.window + ky) * width.window);
        taps.lines[taps.num_rows++] = line;
      }
    }
  }
};

// ---- columns first ------------------------------------------------------------------------------

// The maxima over the rows of the windows of one row of outputs, for every column of the input, and
// the place of each in its row of taps; then over the columns of each window.
template <class Element, class Place>
struct MaxColumns {
  using T = Compute<Element>;
  using I = IntOf<T>;
  const PoolWindows& windows;
  const Element* input;
  Element* output;
  Place* places;

  void operator()(std::int64_t begin, std::int64_t end) const {
    const auto& [depth, height, width] = windows.axes;
    Scratch memory(pitch_for<T>(width.length) * static_cast<std::int64_t>(sizeof(T) + sizeof(I)));
    T* best = memory.as<T>();
    I* place = reinterpret_cast<I*>(best + pitch_for<T>(width.length));
    RowWalk at(begin, 1, depth.count, height.count);
    for (std::int64_t index = begin; index < end; ++index, at.advance()) {
      over_rows(at, best, place);
      for (std::int64_t o = 0; o < width.count; ++o) {
        over_columns(o, best, place, index * width.count + o);
      }
    }
  }

  void over_rows(const RowWalk& at, T* best, I* place) const {
    const auto& [depth, height, width] = windows.axes;
    bool is_first = true;
    for (std::int64_t kz = depth.begin[at.z]; kz < depth.end[at.z]; ++kz) {
      const std::int64_t z = depth.first[at.z] + kz * depth.dilation;
      for (std::int64_t ky = height.begin[at.y]; ky < height.end[at.y]; ++ky) {
        const std::int64_t y = height.first[at.y] + ky * height.dilation;
        const Element* row =
            input + ((at.plane * depth.length + z) * height.length + y) * width.length;
        const Vec<I> here = splat<I>(static_cast<I>((kz * height.window + ky) * width.window));
        for_vectors<T>(width.length, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
          const Vec<T> value = load_some<kIsFull>(row + i, present, T(0));
          Vec<T> so_far = value;
          Vec<I> so_far_place = here;
          if (!is_first) {
            so_far = load<T>(best + i);
            so_far_place = load<I>(place + i);
            consider<T>(value, here, so_far, so_far_place);
          }
          store<T>(best + i, so_far);
          store<I>(place + i, so_far_place);
        });
        is_first = false;
      }
    }
  }

  void over_columns(std::int64_t o, const T* best, const I* place, std::int64_t to) const {
    const PoolAxis& width = windows.axes[2];
    std::int64_t tap = width.begin[o];
    T maximum = best[width.first[o] + tap * width.dilation];
    I at = place[width.first[o] + tap * width.dilation] + static_cast<I>(tap);
    for (++tap; tap < width.end[o]; ++tap) {
      const std::int64_t x = width.first[o] + tap * width.dilation;
      const T value = best[x];
      const I here = place[x] + static_cast<I>(tap);
      const bool is_equal = value == maximum || (value != value && maximum != maximum);
      const bool is_greater = !(value <= maximum) && maximum == maximum;
      if (is_equal ? here < at : is_greater) {
        maximum = value;
        at = here;
      }
    }
    output[to] = Narrow<Element>::from(maximum);
    places[to] = static_cast<Place>(at);
  }
};

// Vector operations for a row of outputs, roughly; steps of one element count three.
template <class T>
bool is_faster_by_columns(const PoolWindows& windows) {
  const auto& [depth, height, width] = windows.axes;
  if (width.stride == 0) return true;
  const std::int64_t lanes = kLanes<T>;
  const std::int64_t rows = depth.window * height.window;
  const std::int64_t staged = width.stride > 2 ? width.length * height.stride : 0;
  const std::int64_t by_taps = 5 * rows * width.window * quotient_up(width.count, lanes) + staged;
  const std::int64_t by_columns =
      6 * rows * quotient_up(width.length, lanes) + 4 * width.count * width.window;
  return by_columns < by_taps;
}

template <class Element, class Place>
void max_of(const PoolWindows& windows, const View& input, const View& output, const View& places) {
  const auto& [depth, height, width] = windows.axes;
  const std::int64_t planes = num_planes(input);
  const auto* in = reinterpret_cast<const Element*>(input.data);
  auto* out = reinterpret_cast<Element*>(output.data);
  auto* at = reinterpret_cast<Place*>(places.data);
  const std::int64_t rows = planes * depth.count * height.count;
  if (is_halving(windows)) {
    return parallel_for(rows, larger(1, kPoolGrain / (2 * width.length)),
                        HalvedRows<Element, Place>{height.length, width.length, in, out, at});
  }
  const std::int64_t work = smaller(width.count, kPoolColumns) * depth.window * height.window *
                            larger(1, width.window / 2);
  const std::int64_t grain = larger(1, kPoolGrain / larger(1, work));
  if (is_faster_by_columns<Compute<Element>>(windows)) {
    parallel_for(rows, grain, MaxColumns<Element, Place>{windows, in, out, at});
  } else {
    parallel_for(rows * quotient_up(width.count, kPoolColumns), grain,
                 MaxRows<Element, Place>{windows, in, out, at});
  }
}

// ---- gradients ----------------------------------------------------------------------------------

// A staged row of gradients with the places that they go to.
template <class T>
struct GradRow {
  const T* grad;
  const IntOf<T>* places;
  IntOf<T> row_place;  // the place of the first tap of the row of cells at hand
};

// A vector of cells from the windows that have them at some tap.
template <class T>
LUMUS_INLINE Vec<T> gathered(const GradRow<T>* rows, std::int64_t num_rows,
                             const std::int64_t* offsets, const std::int64_t* taps,
                             std::int64_t num_taps, std::int64_t at) {
  using I = IntOf<T>;
  Vec<T> sum = {};
  for (std::int64_t row = 0; row < num_rows; ++row) {
    for (std::int64_t k = 0; k < num_taps; ++k) {
      const std::int64_t from = offsets[k] + at;
      const I place = rows[row].row_place + static_cast<I>(taps[k]);
      const Vec<I> is_here = load<I>(rows[row].places + from) == splat<I>(place);
      const Vec<T> value = load<T>(rows[row].grad + from);
      sum = is_here ? sum + value : sum;
    }
  }
  return sum;
}

template <class Place, class T>
LUMUS_INLINE void stage_places(const Place* from, std::int64_t count, IntOf<T>* to) {
  using Stored = Lanes<Place, kLanes<T>>;
  using Wide = Vec<IntOf<T>>;
  std::int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) {
    Stored stored;
    std::memcpy(&stored, from + i, sizeof stored);
    store<IntOf<T>>(to + i, __builtin_convertvector(stored, Wide));
  }
  for (; i < count; ++i) to[i] = static_cast<IntOf<T>>(from[i]);
}

template <class Element, class Place>
struct GatherRows {
  using T = Compute<Element>;
  using I = IntOf<T>;
  const PoolWindows& windows;
  const Coverings& over_depth;
  const Coverings& over_height;
  const Element* grad;
  const Place* places;
  Element* output;

  // Cells of rows [begin, end) of (planes, blocks, depth, height) of the input.
  void operator()(std::int64_t begin, std::int64_t end) const {
    const auto& [depth, height, width] = windows.axes;
    const std::int64_t positions = quotient_up(width.length, width.stride);
    const std::int64_t blocks = quotient_up(positions, kPoolColumns);
    const Reach reach = reach_of(width);
    Lines<T> lines;
    lines.depth = (extent(depth) - 1) / depth.stride + 1;
    lines.height = (extent(height) - 1) / height.stride + 1;
    lines.phases = 2;  // gradients and, of the same width, their places
    lines.pitch = pitch_for<T>(smaller(positions, kPoolColumns) + reach.back + reach.ahead);
    lines.fill = 0;
    const std::int64_t max_rows = lines.depth * lines.height;
    Scratch memory(Lines<T>::nbytes(max_rows, 2, lines.pitch));
    Scratch line(width.stride * kLanes<T> * static_cast<std::int64_t>(sizeof(T)));
    Scratch lists(max_rows * static_cast<std::int64_t>(sizeof(GradRow<T>)) +
                  8 * (2 * width.window + width.stride + 1));
    lines.lay_out(memory.as<std::byte>());
    auto* rows = lists.as<GradRow<T>>();
    auto* begins = reinterpret_cast<std::int64_t*>(rows + max_rows);
    auto* offsets = begins + width.stride + 1;
    auto* taps = offsets + width.window;
    sort_taps(width, reach, begins, offsets, taps);
    std::int64_t last_block = -1;
    RowWalk at(begin, blocks, depth.length, height.length);
    for (std::int64_t index = begin; index < end; ++index, at.advance()) {
      if (at.block != last_block) {
        if (last_block >= 0) lines.clear();
        last_block = at.block;
      }
      const std::int64_t first = at.block * kPoolColumns;
      const std::int64_t last = smaller(positions, first + kPoolColumns);
      const std::int64_t num_rows =
          stage_rows(at, first - reach.back, last + reach.ahead, lines, rows);
      const std::int64_t row = (at.plane * depth.length + at.z) * height.length + at.y;
      const std::int64_t to = first * width.stride;
      store_cells(width.stride, smaller(width.length, last * width.stride) - to,
                  output + row * width.length + to, line.as<T>(),
                  [&](std::int64_t c, std::int64_t j) __attribute__((always_inline)) {
                    const std::int64_t k = begins[c];
                    return gathered(rows, num_rows, offsets + k, taps + k, begins[c + 1] - k, j);
                  });
    }
  }

  // Stages the rows of gradients that reach a row of cells: windows [from, to), of which some may
  // not exist.
  std::int64_t stage_rows(const RowWalk& at, std::int64_t from, std::int64_t to, Lines<T>& lines,
                          GradRow<T>* rows) const {
    const auto& [depth, height, width] = windows.axes;
    const std::int64_t front = larger(0, -from);
    const std::int64_t begin = from + front;
    const std::int64_t count = smaller(to, width.count) - begin;
    std::int64_t num_rows = 0;
    for (const Covering* z = over_depth.begin(at.z); z < over_depth.end(at.z); ++z) {
      for (const Covering* y = over_height.begin(at.y); y < over_height.end(at.y); ++y) {
        const std::int64_t row = (at.plane * depth.count + z->window) * height.count + y->window;
        bool is_fresh;
        T* line = lines.line(z->window, y->window, row, &is_fresh);
        auto* line_places = reinterpret_cast<I*>(line + lines.pitch);
        if (is_fresh && count > 0) {
          stage<T>(grad + row * width.count + begin, count, front, 1, lines.pitch, T(0), line);
          stage_places<Place, T>(places + row * width.count + begin, count, line_places + front);
        }
        const std::int64_t place = (z->tap * height.window + y->tap) * width.window;
        rows[num_rows++] = {line, line_places, static_cast<I>(place)};
      }
    }
    return num_rows;
  }
};

// The cell of each place of a window, counted from the first tap of the window.
class PlaceOffsets {
 public:
  explicit PlaceOffsets(const PoolWindows& windows)
      : memory_(8 * windows.axes[0].window * windows.axes[1].window * windows.axes[2].window) {
    const auto& [depth, height, width] = windows.axes;
    std::int64_t* offset = memory_.as<std::int64_t>();
    for (std::int64_t z = 0; z < depth.window; ++z) {
      for (std::int64_t y = 0; y < height.window; ++y) {
        for (std::int64_t x = 0; x < width.window; ++x) {
          *offset++ = (z * depth.dilation * height.length + y * height.dilation) * width.length +
                      x * width.dilation;
        }
      }
    }
  }
  const std::int64_t* get() const { return memory_.as<std::int64_t>(); }

 private:
  Scratch memory_;
};

// Calls body(output, cell) for each window of a plane: the numbers of its output and of the cell at
// its place.
template <class Place, class Body>
LUMUS_INLINE void for_places(const PoolWindows& windows, const std::int64_t* offsets,
                             std::int64_t plane, const Place* places, const Body& body) {
  const auto& [depth, height, width] = windows.axes;
  const std::int64_t cells = depth.length * height.length * width.length;
  std::int64_t output = plane * depth.count * height.count * width.count;
  for (std::int64_t z = 0; z < depth.count; ++z) {
    for (std::int64_t y = 0; y < height.count; ++y) {
      const std::int64_t row =
          plane * cells + (depth.first[z] * height.length + height.first[y]) * width.length;
      for (std::int64_t x = 0; x < width.count; ++x, ++output) {
        body(output, row + width.first[x] + offsets[places[output]]);
      }
    }
  }
}

template <class Element, class Place>
void scatter_planes(const PoolWindows& windows, const Element* grad, const Place* places,
                    std::int64_t planes, Element* output) {
  using T = Compute<Element>;
  const auto& [depth, height, width] = windows.axes;
  const std::int64_t cells = depth.length * height.length * width.length;
  const PlaceOffsets offsets(windows);
  parallel_for(planes, larger(1, kPoolGrain / cells), [&](std::int64_t begin, std::int64_t end) {
    constexpr bool is_narrow = !std::is_same_v<Element, T>;
    Scratch memory(is_narrow ? cells * static_cast<std::int64_t>(sizeof(T)) : 8);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      T* sums;
      if constexpr (is_narrow) {
        sums = memory.as<T>();
      } else {
        sums = output + plane * cells;
      }
      std::memset(sums, 0, static_cast<std::size_t>(cells) * sizeof(T));
      for_places(windows, offsets.get(), plane, places, [&](std::int64_t from, std::int64_t cell) {
        sums[cell - plane * cells] += widen<T>(grad[from]);
      });
      if constexpr (is_narrow) narrow_run<Element, T>(sums, cells, output + plane * cells, 1);
    }
  });
}

// How many windows have a cell, at most.
LUMUS_INLINE std::int64_t num_covering(const PoolAxis& axis) {
  return axis.stride == 0 ? 1 << 20 : quotient_up(axis.window, axis.stride);
}

template <class Element, class Place>
void max_grad_of(const PoolWindows& windows, const View& grad, const View& places,
                 const View& output) {
  const auto& [depth, height, width] = windows.axes;
  const std::int64_t planes = num_planes(output);
  const auto* from = reinterpret_cast<const Element*>(grad.data);
  const auto* at = reinterpret_cast<const Place*>(places.data);
  auto* out = reinterpret_cast<Element*>(output.data);
  if (is_halving(windows)) {
    return parallel_for(planes * depth.count * height.count,
                        larger(1, kPoolGrain / (2 * width.length)),
                        HalvedGradRows<Element, Place>{height.length, width.length, from, at, out});
  }
  const std::int64_t overlap = num_covering(depth) * num_covering(height) * num_covering(width);
  // Gathering takes a few operations a tap, adding one by one a few an element; narrow rows and
  // long strides leave lanes empty.
  const std::int64_t positions =
      quotient_up(width.length + padding(width), larger(1, width.stride));
  if (width.stride == 0 || overlap > 16 || (positions < 4 && width.stride > 2)) {
    return scatter_planes(windows, from, at, planes, out);
  }
  const Coverings over_depth(depth);
  const Coverings over_height(height);
  const std::int64_t rows = planes * depth.length * height.length;
  const std::int64_t work = smaller(positions, kPoolColumns) * width.stride * overlap;
  parallel_for(rows * quotient_up(positions, kPoolColumns), larger(1, kPoolGrain / work),
               GatherRows<Element, Place>{windows, over_depth, over_height, from, at, out});
}

template <class Element, class Place>
void take_of(const PoolWindows& windows, const View& input, const View& places,
             const View& output) {
  const auto* from = reinterpret_cast<const Element*>(input.data);
  const auto* at = reinterpret_cast<const Place*>(places.data);
  auto* out = reinterpret_cast<Element*>(output.data);
  const auto& [depth, height, width] = windows.axes;
  const std::int64_t outputs = depth.count * height.count * width.count;
  const PlaceOffsets offsets(windows);
  parallel_for(num_planes(input), larger(1, kPoolGrain / outputs),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t plane = begin; plane < end; ++plane) {
                   for_places(windows, offsets.get(), plane, at,
                              [&](std::int64_t to, std::int64_t cell) { out[to] = from[cell]; });
                 }
               });
}

// ---- by dtype -----------------------------------------------------------------------------------

template <class Body>
LUMUS_INLINE void with_types(DType dtype, DType places, const Body& body) {
  const auto with_places = [&]<class Element>() {
    if (places == DType::uint8) {
      body.template operator()<Element, std::uint8_t>();
    } else {
      body.template operator()<Element, std::int32_t>();
    }
  };
  switch (dtype) {
    case DType::float64:
      return with_places.template operator()<double>();
    case DType::float32:
      return with_places.template operator()<float>();
    case DType::float16:
      return with_places.template operator()<Float16>();
    default:
      return with_places.template operator()<BFloat16>();
  }
}

void max(const PoolWindows& windows, const View& input, const View& output, const View& places) {
  with_types(input.dtype, places.dtype, [&]<class Element, class Place>() {
    max_of<Element, Place>(windows, input, output, places);
  });
}

void max_grad(const PoolWindows& windows, const View& grad, const View& places,
              const View& output) {
  with_types(grad.dtype, places.dtype, [&]<class Element, class Place>() {
    max_grad_of<Element, Place>(windows, grad, places, output);
  });
}

void take(const PoolWindows& windows, const View& input, const View& places, const View& output) {
  with_types(input.dtype, places.dtype, [&]<class Element, class Place>() {
    take_of<Element, Place>(windows, input, places, output);
  });
}

}  // namespace

extern const MaxPoolKernels max_pool_table;
const MaxPoolKernels max_pool_table = {max, max_grad, take};

}  // namespace lumus::LUMUS_ISA
