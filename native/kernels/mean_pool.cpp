// Means over evenly spaced windows, and their gradients.
//
// Layout. Arrays are contiguous; a row at a time, of staged rows (see pool_rows.h). A cell gathers
// its gradient from the windows that have it and is written once.
//
// Aliasing. The output shares nothing with the input.
//
// Threads. Rows are shared out by size; the bits do not depend on the number of threads.
//
// Numerics. The taps of a row add up in the type of the computation (float32 for half types), then
// the rows of the window do; the sum is divided, once. A gradient is divided before it is spread.
#include "kernels/pool_rows.h"

namespace lumus::LUMUS_ISA {
namespace {

// ---- 2 by 2, side by side -----------------------------------------------------------------------

template <class Element>
struct HalvedRows {
  using T = Compute<Element>;
  std::int64_t height, width;  // of a plane of the input
  T divisor;
  const Element* input;
  Element* output;

  // Rows [begin, end) of the outputs of all planes.
  void operator()(std::int64_t begin, std::int64_t end) const {
    const std::int64_t columns = width / 2;
    for_halved_rows(height, width, begin, end, [&](std::int64_t row, std::int64_t upper, bool) {
      const Element* from = input + upper;
      for_vectors<T>(columns, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
        Vec<T> low, high;
        load_pair<T>(from + 2 * i, 2 * present, &low, &high);
        Vec<T> sum = evens<T>(low, high) + odds<T>(low, high);
        load_pair<T>(from + width + 2 * i, 2 * present, &low, &high);
        sum += evens<T>(low, high) + odds<T>(low, high);
        store_some<kIsFull>(output + row * columns + i, sum / splat<T>(divisor), present);
      });
    });
  }
};

template <class Element>
struct HalvedGradRows {
  using T = Compute<Element>;
  std::int64_t height, width;  // of a plane of the input
  T divisor;
  const Element* grad;
  Element* output;

  // The cells of rows [begin, end) of the outputs of all planes, and those that no window has.
  void operator()(std::int64_t begin, std::int64_t end) const {
    const std::int64_t columns = width / 2;
    for_halved_rows(
        height, width, begin, end, [&](std::int64_t row, std::int64_t first, bool has_rest) {
          const Element* from = grad + row * columns;
          Element* upper = output + first;
          for (std::int64_t i = 0; 2 * i < width; i += kLanes<T>) {
            const std::int64_t present = smaller(columns - i, kLanes<T>);
            Vec<T> value =
                present == kLanes<T> ? load_values(from + i) : load_left(from + i, present, T(0));
            value /= splat<T>(divisor);
            store_pair(upper + 2 * i, value, value, width - 2 * i);
            store_pair(upper + width + 2 * i, value, value, width - 2 * i);
          }
          if (has_rest) std::memset(upper + 2 * width, 0, sizeof(Element) * width);
        });
  }
};

// All windows are whole, and so have one divisor.
template <class T>
LUMUS_INLINE T divisor_of(const PoolWindows& windows) {
  const auto& [depth, height, width] = windows.axes;
  return static_cast<T>(depth.divisor[0] * height.divisor[0] * width.divisor[0]);
}

// ---- evenly spaced windows ----------------------------------------------------------------------

// The means of a row of windows: `divisors` of its columns and the one of its rows.
template <int kOffsets, class T, class Element>
void mean_row(const T* const* rows, std::int64_t num_rows, const std::int64_t* offsets,
              std::int64_t num_offsets, const T* divisors, T row_divisor, std::int64_t count,
              Element* to) {
  if constexpr (kOffsets != 0) num_offsets = kOffsets;
  for_vectors<T>(count, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
    Vec<T> sum = {};
    for (std::int64_t row = 0; row < num_rows; ++row) {
      const T* line = rows[row] + i;
      Vec<T> row_sum = load<T>(line + offsets[0]);
      for (std::int64_t k = 1; k < num_offsets; ++k) row_sum += load<T>(line + offsets[k]);
      sum += row_sum;
    }
    sum /= load<T>(divisors + i) * splat<T>(row_divisor);
    store_some<kIsFull>(to + i, sum, present);
  });
}

template <class Element>
struct MeanRows {
  using T = Compute<Element>;
  const PoolWindows& windows;
  const Element* input;
  Element* output;

  // Outputs of rows [begin, end) of (planes, blocks, depth, height).
  void operator()(std::int64_t begin, std::int64_t end) const {
    const auto& [depth, height, width] = windows.axes;
    const std::int64_t blocks = quotient_up(width.count, kPoolColumns);
    const std::int64_t columns = smaller(width.count, kPoolColumns);
    Lines<T> lines;
    lines.depth = smaller(extent(depth), depth.length);
    lines.height = smaller(extent(height), height.length);
    lines.phases = width.stride;
    lines.pitch = pitch_for<T>(columns + extent(width) / width.stride + 1);
    lines.fill = 0;
    Scratch memory(Lines<T>::nbytes(lines.depth * lines.height, lines.phases, lines.pitch));
    Scratch lists(8 * (depth.window * height.window + width.window + pitch_for<T>(columns)));
    lines.lay_out(memory.as<std::byte>());
    auto* rows = lists.as<const T*>();
    auto* offsets = lists.as<std::int64_t>() + depth.window * height.window;
    auto* divisors = reinterpret_cast<T*>(offsets + width.window);
    for (std::int64_t k = 0; k < width.window; ++k) {
      const std::int64_t cell = k * width.dilation;
      offsets[k] = cell % width.stride * lines.pitch + cell / width.stride;
    }
    std::int64_t first = 0, count = 0, last_block = -1;
    RowWalk at(begin, blocks, depth.count, height.count);
    for (std::int64_t index = begin; index < end; ++index, at.advance()) {
      if (at.block != last_block) {
        if (last_block >= 0) lines.clear();
        last_block = at.block;
        first = at.block * kPoolColumns;
        count = smaller(width.count - first, kPoolColumns);
        for (std::int64_t o = 0; o < count; ++o) {
          divisors[o] = static_cast<T>(width.divisor[first + o]);
        }
      }
      const std::int64_t num_rows = stage_rows(at, first, count, lines, rows);
      const T row_divisor = static_cast<T>(depth.divisor[at.z] * height.divisor[at.y]);
      const std::int64_t row = (at.plane * depth.count + at.z) * height.count + at.y;
      Element* to = output + row * width.count + first;
      const auto run = width.window == 2   ? mean_row<2, T, Element>
                       : width.window == 3 ? mean_row<3, T, Element>
                                           : mean_row<0, T, Element>;
      run(rows, num_rows, offsets, width.window, divisors, row_divisor, count, to);
    }
  }

  std::int64_t stage_rows(const RowWalk& at, std::int64_t first, std::int64_t count,
                          Lines<T>& lines, const T** rows) const {
    const auto& [depth, height, width] = windows.axes;
    const std::int64_t from = larger(0, width.first[first]);
    const std::int64_t to = smaller(width.length, width.first[first + count - 1] + extent(width));
    std::int64_t num_rows = 0;
    for (std::int64_t kz = depth.begin[at.z]; kz < depth.end[at.z]; ++kz) {
      const std::int64_t z = depth.first[at.z] + kz * depth.dilation;
      for (std::int64_t ky = height.begin[at.y]; ky < height.end[at.y]; ++ky) {
        const std::int64_t y = height.first[at.y] + ky * height.dilation;
        const std::int64_t row = (at.plane * depth.length + z) * height.length + y;
        bool is_fresh;
        T* line = lines.line(z, y, row, &is_fresh);
        if (is_fresh) {
          stage<T>(input + row * width.length + from, to - from, from - width.first[first],
                   lines.phases, lines.pitch, lines.fill, line);
        }
        rows[num_rows++] = line;
      }
    }
    return num_rows;
  }
};

template <class Element>
struct MeanGradRows {
  using T = Compute<Element>;
  const PoolWindows& windows;
  const Coverings& over_depth;
  const Coverings& over_height;
  const Element* grad;
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
    lines.phases = 1;
    lines.pitch = pitch_for<T>(smaller(positions, kPoolColumns) + reach.back + reach.ahead);
    lines.fill = 0;
    const std::int64_t max_rows = lines.depth * lines.height;
    Scratch memory(Lines<T>::nbytes(max_rows, 1, lines.pitch));
    Scratch sums((lines.pitch + width.stride * kLanes<T>)*static_cast<std::int64_t>(sizeof(T)));
    Scratch lists(8 * (max_rows + 2 * width.window + width.stride + 1));
    lines.lay_out(memory.as<std::byte>());
    T* over_rows = sums.as<T>();
    auto* rows = lists.as<const T*>();
    auto* begins = reinterpret_cast<std::int64_t*>(rows + max_rows);
    auto* offsets = begins + width.stride + 1;
    sort_taps(width, reach, begins, offsets, offsets + width.window);
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
      const T* line = num_rows == 1 ? rows[0] : over_rows;
      if (num_rows != 1) {
        for (std::int64_t i = 0; i < lines.pitch; i += kLanes<T>) {
          Vec<T> sum = {};
          for (std::int64_t r = 0; r < num_rows; ++r) sum += load<T>(rows[r] + i);
          store<T>(over_rows + i, sum);
        }
      }
      const std::int64_t row = (at.plane * depth.length + at.z) * height.length + at.y;
      const std::int64_t to = first * width.stride;
      store_cells(width.stride, smaller(width.length, last * width.stride) - to,
                  output + row * width.length + to, over_rows + lines.pitch,
                  [&](std::int64_t c, std::int64_t j) __attribute__((always_inline)) {
                    Vec<T> sum = {};
                    for (std::int64_t k = begins[c]; k < begins[c + 1]; ++k) {
                      sum += load<T>(line + offsets[k] + j);
                    }
                    return sum;
                  });
    }
  }

  // Stages the rows of divided gradients that reach a row of cells: windows [from, to), of which
  // some may not exist.
  std::int64_t stage_rows(const RowWalk& at, std::int64_t from, std::int64_t to, Lines<T>& lines,
                          const T** rows) const {
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
        if (is_fresh && count > 0) {
          const T divisor = static_cast<T>(depth.divisor[z->window] * height.divisor[y->window]);
          stage_divided(grad + row * width.count + begin, count, width.divisor + begin, divisor,
                        line + front);
        }
        rows[num_rows++] = line;
      }
    }
    return num_rows;
  }

  static void stage_divided(const Element* from, std::int64_t count, const double* divisors,
                            T divisor, T* to) {
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = widen<T>(from[i]) / (static_cast<T>(divisors[i]) * divisor);
    }
  }
};

template <class Element>
void mean_of(const PoolWindows& windows, const View& input, const View& output) {
  const auto& [depth, height, width] = windows.axes;
  const auto* from = reinterpret_cast<const Element*>(input.data);
  auto* to = reinterpret_cast<Element*>(output.data);
  const std::int64_t rows = num_planes(input) * depth.count * height.count;
  if (is_halving(windows)) {
    return parallel_for(rows, larger(1, kPoolGrain / (2 * width.length)),
                        HalvedRows<Element>{height.length, width.length,
                                            divisor_of<Compute<Element>>(windows), from, to});
  }
  const std::int64_t work = smaller(width.count, kPoolColumns) * depth.window * height.window *
                            larger(1, width.window / 2);
  parallel_for(rows * quotient_up(width.count, kPoolColumns), larger(1, kPoolGrain / work),
               MeanRows<Element>{windows, from, to});
}

template <class Element>
void mean_grad_of(const PoolWindows& windows, const View& grad, const View& output) {
  const auto& [depth, height, width] = windows.axes;
  const auto* from = reinterpret_cast<const Element*>(grad.data);
  auto* to = reinterpret_cast<Element*>(output.data);
  const std::int64_t planes = num_planes(output);
  if (is_halving(windows)) {
    return parallel_for(planes * depth.count * height.count,
                        larger(1, kPoolGrain / (2 * width.length)),
                        HalvedGradRows<Element>{height.length, width.length,
                                                divisor_of<Compute<Element>>(windows), from, to});
  }
  const Coverings over_depth(depth);
  const Coverings over_height(height);
  const std::int64_t blocks = quotient_up(quotient_up(width.length, width.stride), kPoolColumns);
  const std::int64_t work =
      smaller(width.length, kPoolColumns * width.stride) * quotient_up(width.window, width.stride);
  parallel_for(planes * depth.length * height.length * blocks, larger(1, kPoolGrain / work),
               MeanGradRows<Element>{windows, over_depth, over_height, from, to});
}

void mean(const PoolWindows& windows, const View& input, const View& output) {
  switch (input.dtype) {
    case DType::float64:
      return mean_of<double>(windows, input, output);
    case DType::float32:
      return mean_of<float>(windows, input, output);
    case DType::float16:
      return mean_of<Float16>(windows, input, output);
    default:
      return mean_of<BFloat16>(windows, input, output);
  }
}

void mean_grad(const PoolWindows& windows, const View& grad, const View& output) {
  switch (grad.dtype) {
    case DType::float64:
      return mean_grad_of<double>(windows, grad, output);
    case DType::float32:
      return mean_grad_of<float>(windows, grad, output);
    case DType::float16:
      return mean_grad_of<Float16>(windows, grad, output);
    default:
      return mean_grad_of<BFloat16>(windows, grad, output);
  }
}

}  // namespace

extern const MeanPoolKernels mean_pool_table;
const MeanPoolKernels mean_pool_table = {mean, mean_grad};

}  // namespace lumus::LUMUS_ISA
