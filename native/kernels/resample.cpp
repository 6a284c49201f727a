// Planes brought to another size by tables of weighted elements.
//
// Layout. Arrays are contiguous; a row of outputs at a time. Where rows become more, each row of
// the input is first brought to its new width, and kept for the rows of outputs that have it; where
// they become fewer, rows are added up first.
//
// Aliasing. The output shares nothing with the input.
//
// Threads. Rows are shared out by size; the bits do not depend on the number of threads.
//
// Numerics. Half types add up in float32 and are rounded once. Elements of weight 0 do not count,
// whatever they are.
#include "kernels/resample.h"

#include "kernels/pool_rows.h"

namespace lumus::LUMUS_ISA {
namespace {

constexpr std::int64_t kBlockColumns = 2048;  // outputs of a row handled at once

// Elements at as many indices as there are lanes.
template <class T>
LUMUS_INLINE Vec<T> gather(const T* from, const std::int32_t* index) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    return _mm512_mask_i32gather_ps(f32v{}, 0xffff, _mm512_loadu_si512(index), from, 4);
  }
#elif defined(__AVX2__)
  if constexpr (sizeof(T) == 4) {
    const auto* lanes = reinterpret_cast<const __m256i*>(index);
    return _mm256_i32gather_ps(from, _mm256_loadu_si256(lanes), 4);
  }
#endif
  Vec<T> elements;
  for (std::int64_t lane = 0; lane < kLanes<T>; ++lane) elements[lane] = from[index[lane]];
  return elements;
}

// The table of the columns of one block, in the type of the computation, padded to whole vectors.
template <class T>
struct Columns {
  std::int64_t begin = 0, count = 0;  // outputs
  std::int64_t low = 0, high = 0;     // elements that they have: [low, high)
  std::int64_t taps, pitch;
  std::int32_t* index;  // counted from `low`
  T* weight;

  void take(const ResampleAxis& axis, std::int64_t block) {
    begin = block * kBlockColumns;
    count = smaller(axis.count - begin, kBlockColumns);
    low = axis.length;
    high = 0;
    for (std::int64_t t = 0; t < taps; ++t) {
      for (std::int64_t o = begin; o < begin + count; ++o) {
        const std::int64_t at = axis.index[t * axis.count + o];
        low = smaller(low, at);
        high = larger(high, at + 1);
      }
    }
    for (std::int64_t t = 0; t < taps; ++t) {
      for (std::int64_t o = 0; o < pitch; ++o) {
        const bool is_there = o < count;
        const std::int64_t from = t * axis.count + begin + o;
        index[t * pitch + o] = is_there ? axis.index[from] - static_cast<std::int32_t>(low) : 0;
        weight[t * pitch + o] = is_there ? static_cast<T>(axis.weight[from]) : T(0);
      }
    }
  }

  // The outputs from the elements [low, high), a vector at a time.
  template <class Store>
  void apply(const T* elements, const Store& store_vector) const {
    for (std::int64_t i = 0; i < count; i += kLanes<T>) {
      Vec<T> sum = {};
      for (std::int64_t t = 0; t < taps; ++t) {
        const Vec<T> w = load<T>(weight + t * pitch + i);
        const Vec<T> term = w * gather<T>(elements, index + t * pitch + i);
        const Vec<T> added = t == 0 ? term : sum + term;
        sum = w == 0 ? sum : added;
      }
      store_vector(i, sum);
    }
  }
};

// The rows that a row of outputs has, with their weights.
template <class T>
struct RowTap {
  std::int64_t z, y;
  T weight;
  const T* line;  // the row at its new width
};

template <class T>
std::int64_t rows_of(const ResampleAxis* axes, std::int64_t z, std::int64_t y, RowTap<T>* found) {
  const ResampleAxis& depth = axes[0];
  const ResampleAxis& height = axes[1];
  std::int64_t count = 0;
  for (std::int64_t s = 0; s < depth.taps; ++s) {
    const std::int64_t in_depth = s * depth.count + z;
    if (depth.weight[in_depth] == 0) continue;
    for (std::int64_t t = 0; t < height.taps; ++t) {
      const std::int64_t in_height = t * height.count + y;
      if (height.weight[in_height] == 0) continue;
      found[count++] = {depth.index[in_depth], height.index[in_height],
                        static_cast<T>(depth.weight[in_depth] * height.weight[in_height]), nullptr};
    }
  }
  return count;
}

// How far apart the elements of one output are, at most.
std::int64_t span(const ResampleAxis& axis) {
  std::int64_t widest = 1;
  for (std::int64_t o = 0; o < axis.count; ++o) {
    std::int64_t low = axis.length, high = -1;
    for (std::int64_t t = 0; t < axis.taps; ++t) {
      if (axis.weight[t * axis.count + o] == 0) continue;
      low = smaller(low, axis.index[t * axis.count + o]);
      high = larger(high, axis.index[t * axis.count + o]);
    }
    widest = larger(widest, high - low + 1);
  }
  return widest;
}

template <class Element>
struct ResampleRows {
  using T = Compute<Element>;
  const ResampleAxis* axes;
  const Element* input;
  Element* output;
  std::int64_t depth_span, height_span;
  bool columns_first;

  // Outputs of rows [begin, end) of (planes, blocks, depth, height).
  void operator()(std::int64_t begin, std::int64_t end) const {
    const ResampleAxis& depth = axes[0];
    const ResampleAxis& height = axes[1];
    const ResampleAxis& width = axes[2];
    const std::int64_t blocks = quotient_up(width.count, kBlockColumns);
    Columns<T> columns;
    columns.taps = width.taps;
    columns.pitch = pitch_for<T>(smaller(width.count, kBlockColumns));
    Scratch table(columns.taps * columns.pitch * static_cast<std::int64_t>(sizeof(T) + 4));
    columns.weight = table.as<T>();
    columns.index = reinterpret_cast<std::int32_t*>(columns.weight + columns.taps * columns.pitch);
    Lines<T> lines;
    lines.depth = columns_first ? depth_span : 1;
    lines.height = columns_first ? height_span : 1;
    lines.phases = 1;
    lines.pitch = columns.pitch;
    lines.fill = 0;
    Scratch memory(Lines<T>::nbytes(lines.depth * lines.height, 1, lines.pitch));
    lines.lay_out(memory.as<std::byte>());
    Scratch row_memory(pitch_for<T>(width.length) * static_cast<std::int64_t>(sizeof(T)));
    Scratch taps_memory(depth.taps * height.taps * static_cast<std::int64_t>(sizeof(RowTap<T>)));
    auto* taps = taps_memory.as<RowTap<T>>();
    std::int64_t last_block = -1;
    for (std::int64_t index = begin; index < end; ++index) {
      const RowWalk at(index, blocks, depth.count, height.count);
      if (at.block != last_block) {
        if (last_block >= 0) lines.clear();
        last_block = at.block;
        columns.take(width, at.block);
      }
      const std::int64_t num_taps = rows_of<T>(axes, at.z, at.y, taps);
      const std::int64_t row = (at.plane * depth.count + at.z) * height.count + at.y;
      Element* to = output + row * width.count + columns.begin;
      if (columns_first) {
        add_lines(at.plane, taps, num_taps, columns, lines, row_memory.as<T>(), to);
      } else {
        add_rows(at.plane, taps, num_taps, columns, row_memory.as<T>(), to);
      }
    }
  }

  const Element* row_of(std::int64_t plane, const RowTap<T>& tap) const {
    return input + ((plane * axes[0].length + tap.z) * axes[1].length + tap.y) * axes[2].length;
  }

  // Elements [low, high) of a row, in the type of the computation.
  const T* elements(const Element* row, const Columns<T>& columns, T* room) const {
    if constexpr (std::is_same_v<Element, T>) {
      return row + columns.low;
    } else {
      stage<T>(row + columns.low, columns.high - columns.low, 0, 1, 0, T(0), room);
      return room;
    }
  }

  void add_lines(std::int64_t plane, RowTap<T>* taps, std::int64_t num_taps,
                 const Columns<T>& columns, Lines<T>& lines, T* room, Element* to) const {
    for (std::int64_t tap = 0; tap < num_taps; ++tap) {
      RowTap<T>& at = taps[tap];
      const std::int64_t number = (plane * axes[0].length + at.z) * axes[1].length + at.y;
      bool is_fresh;
      T* line = lines.line(at.z, at.y, number, &is_fresh);
      if (is_fresh) {
        columns.apply(elements(row_of(plane, at), columns, room),
                      [&](std::int64_t i, Vec<T> sum) { store<T>(line + i, sum); });
      }
      at.line = line;
    }
    for_vectors<T>(columns.count, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
      Vec<T> sum = {};
      for (std::int64_t tap = 0; tap < num_taps; ++tap) {
        const Vec<T> term = load<T>(taps[tap].line + i) * splat<T>(taps[tap].weight);
        sum = tap == 0 ? term : sum + term;
      }
      store_some<kIsFull>(to + i, sum, present);
    });
  }

  void add_rows(std::int64_t plane, const RowTap<T>* taps, std::int64_t num_taps,
                const Columns<T>& columns, T* room, Element* to) const {
    for_vectors<T>(columns.high - columns.low, [&]<bool kIsFull>(std::int64_t i,
                                                                 std::int64_t present) {
      Vec<T> sum = {};
      for (std::int64_t tap = 0; tap < num_taps; ++tap) {
        const Element* row = row_of(plane, taps[tap]) + columns.low;
        const Vec<T> term = load_some<kIsFull>(row + i, present, T(0)) * splat<T>(taps[tap].weight);
        sum = tap == 0 ? term : sum + term;
      }
      store<T>(room + i, sum);
    });
    columns.apply(room, [&](std::int64_t i, Vec<T> sum) {
      const std::int64_t left = columns.count - i;
      if (left >= kLanes<T>) {
        store_values(to + i, sum);
      } else {
        store_left(to + i, sum, left);
      }
    });
  }
};

template <class Element>
void resample_of(const ResampleAxis* axes, const View& input, const View& output) {
  const ResampleAxis& width = axes[2];
  const bool columns_first = axes[0].count * axes[1].count > axes[0].length * axes[1].length;
  const std::int64_t rows =
      output.shape[0] * axes[0].count * axes[1].count * quotient_up(width.count, kBlockColumns);
  const std::int64_t work =
      smaller(width.count, kBlockColumns) * (width.taps + axes[0].taps * axes[1].taps);
  parallel_for(rows, larger(1, kPoolGrain / work),
               ResampleRows<Element>{axes, reinterpret_cast<const Element*>(input.data),
                                     reinterpret_cast<Element*>(output.data), span(axes[0]),
                                     span(axes[1]), columns_first});
}

void resample(const ResampleAxis* axes, const View& input, const View& output) {
  switch (input.dtype) {
    case DType::float64:
      return resample_of<double>(axes, input, output);
    case DType::float32:
      return resample_of<float>(axes, input, output);
    case DType::float16:
      return resample_of<Float16>(axes, input, output);
    default:
      return resample_of<BFloat16>(axes, input, output);
  }
}

}  // namespace

extern const ResampleKernels resample_table;
const ResampleKernels resample_table = {resample};

}  // namespace lumus::LUMUS_ISA
