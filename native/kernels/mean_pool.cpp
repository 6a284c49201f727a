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

template <class T>
LUMUS_INLINE Vec<T> sum_of_taps(const T* line, const std::int64_t* offsets,
                                std::int64_t num_offsets) {
  Vec<T> sum = load<T>(line + offsets[0]);
  for (std::int64_t k = 1; k < num_offsets; ++k) sum += load<T>(line + offsets[k]);
  return sum;
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
    for (std::int64_t index = begin; index < end; ++index) {
      const RowNumber at = row_number(index, blocks, depth.count, height.count);
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
      for_vectors<T>(count, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
        Vec<T> sum = {};
        for (std::int64_t r = 0; r < num_rows; ++r) {
          sum += sum_of_taps(rows[r] + i, offsets, width.window);
        }
        sum /= load<T>(divisors + i) * splat<T>(row_divisor);
        store_some<kIsFull>(to + i, sum, present);
      });
    }
  }

  std::int64_t stage_rows(const RowNumber& at, std::int64_t first, std::int64_t count,
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
  const Element* grad;
  Element* output;

  // Cells of rows [begin, end) of (planes, blocks, depth, height) of the input.
  void operator()(std::int64_t begin, std::int64_t end) const {
    const auto& [depth, height, width] = windows.axes;
    const std::int64_t phases = width.stride;
    const std::int64_t positions = quotient_up(width.length + padding(width), phases);
    const std::int64_t blocks = quotient_up(positions, kPoolColumns);
    const std::int64_t columns = smaller(positions, kPoolColumns);
    const std::int64_t reach = (extent(width) - 1) / phases;
    Lines<T> lines;
    lines.depth = (extent(depth) - 1) / depth.stride + 1;
    lines.height = (extent(height) - 1) / height.stride + 1;
    lines.phases = 1;
    lines.pitch = pitch_for<T>(columns + reach);
    lines.fill = 0;
    const std::int64_t max_rows = lines.depth * lines.height;
    const std::int64_t line_pitch = pitch_for<T>(columns);
    Scratch memory(Lines<T>::nbytes(max_rows, 1, lines.pitch));
    Scratch sums((lines.pitch + phases * line_pitch) * static_cast<std::int64_t>(sizeof(T)));
    Scratch lists(8 * (max_rows + width.window + phases + 1) + 16 * (depth.window + height.window));
    lines.lay_out(memory.as<std::byte>());
    T* over_rows = sums.as<T>();
    T* line = over_rows + lines.pitch;
    auto* rows = lists.as<const T*>();
    auto* offsets = reinterpret_cast<std::int64_t*>(rows + max_rows);
    auto* phase_begin = offsets + width.window;
    auto* over_z = reinterpret_cast<Covering*>(phase_begin + phases + 1);
    sort_taps(reach, offsets, phase_begin);
    std::int64_t last_block = -1;
    for (std::int64_t index = begin; index < end; ++index) {
      const RowNumber at = row_number(index, blocks, depth.length, height.length);
      if (at.block != last_block) {
        if (last_block >= 0) lines.clear();
        last_block = at.block;
      }
      const std::int64_t first = at.block * kPoolColumns;  // position of the block
      const std::int64_t count = smaller(positions - first, kPoolColumns);
      const std::int64_t num_rows =
          stage_rows(at, first - reach, first + count, lines, over_z, over_z + depth.window, rows);
      for (std::int64_t i = 0; i < lines.pitch; i += kLanes<T>) {
        Vec<T> sum = {};
        for (std::int64_t r = 0; r < num_rows; ++r) sum += load<T>(rows[r] + i);
        store<T>(over_rows + i, sum);
      }
      for (std::int64_t phase = 0; phase < phases; ++phase) {
        const std::int64_t k = phase_begin[phase];
        const std::int64_t num_taps = phase_begin[phase + 1] - k;
        for (std::int64_t i = 0; i < count; i += kLanes<T>) {
          Vec<T> sum = {};
          if (num_taps) sum = sum_of_taps(over_rows + i, offsets + k, num_taps);
          store<T>(line + phase * line_pitch + i, sum);
        }
      }
      const std::int64_t row = (at.plane * depth.length + at.z) * height.length + at.y;
      const std::int64_t skipped = larger(0, padding(width) - first * phases);
      const std::int64_t to = first * phases + skipped - padding(width);
      const std::int64_t here = smaller(count * phases - skipped, width.length - to);
      unstage(line, skipped, phases, line_pitch, here, output + row * width.length + to);
    }
  }

  // Where a line of gradients begins for each tap, by the phase in which the tap falls.
  void sort_taps(std::int64_t reach, std::int64_t* offsets, std::int64_t* phase_begin) const {
    const PoolAxis& width = windows.axes[2];
    std::int64_t count = 0;
    for (std::int64_t phase = 0; phase < width.stride; ++phase) {
      phase_begin[phase] = count;
      for (std::int64_t k = width.window - 1; k >= 0; --k) {
        if (k * width.dilation % width.stride != phase) continue;
        offsets[count++] = reach - k * width.dilation / width.stride;
      }
    }
    phase_begin[width.stride] = count;
  }

  // Stages the rows of divided gradients that reach a row of cells: windows [from, to), of which
  // some may not exist.
  std::int64_t stage_rows(const RowNumber& at, std::int64_t from, std::int64_t to, Lines<T>& lines,
                          Covering* over_z, Covering* over_y, const T** rows) const {
    const auto& [depth, height, width] = windows.axes;
    const std::int64_t num_z = windows_covering(depth, at.z, over_z);
    const std::int64_t num_y = windows_covering(height, at.y, over_y);
    const std::int64_t front = larger(0, -from);
    const std::int64_t begin = from + front;
    const std::int64_t count = smaller(to, width.count) - begin;
    std::int64_t num_rows = 0;
    for (std::int64_t z = 0; z < num_z; ++z) {
      for (std::int64_t y = 0; y < num_y; ++y) {
        const Covering& slice = over_z[z];
        const Covering& of_slice = over_y[y];
        const std::int64_t row =
            (at.plane * depth.count + slice.window) * height.count + of_slice.window;
        bool is_fresh;
        T* line = lines.line(slice.window, of_slice.window, row, &is_fresh);
        if (is_fresh && count > 0) {
          const T divisor =
              static_cast<T>(depth.divisor[slice.window] * height.divisor[of_slice.window]);
          const Element* source = grad + row * width.count + begin;
          for (std::int64_t i = 0; i < count; ++i) {
            line[front + i] =
                widen<T>(source[i]) / (static_cast<T>(width.divisor[begin + i]) * divisor);
          }
        }
        rows[num_rows++] = line;
      }
    }
    return num_rows;
  }
};

template <class Element>
void mean_of(const PoolWindows& windows, const View& input, const View& output) {
  const auto& [depth, height, width] = windows.axes;
  const std::int64_t rows =
      num_planes(input) * depth.count * height.count * quotient_up(width.count, kPoolColumns);
  const std::int64_t work = smaller(width.count, kPoolColumns) * depth.window * height.window *
                            larger(1, width.window / 2);
  parallel_for(rows, larger(1, kPoolGrain / work),
               MeanRows<Element>{windows, reinterpret_cast<const Element*>(input.data),
                                 reinterpret_cast<Element*>(output.data)});
}

template <class Element>
void mean_grad_of(const PoolWindows& windows, const View& grad, const View& output) {
  const auto& [depth, height, width] = windows.axes;
  const std::int64_t positions = quotient_up(width.length + padding(width), width.stride);
  const std::int64_t rows =
      num_planes(output) * depth.length * height.length * quotient_up(positions, kPoolColumns);
  const std::int64_t work =
      smaller(width.length, kPoolColumns * width.stride) * quotient_up(width.window, width.stride);
  parallel_for(rows, larger(1, kPoolGrain / work),
               MeanGradRows<Element>{windows, reinterpret_cast<const Element*>(grad.data),
                                     reinterpret_cast<Element*>(output.data)});
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
