// Convolutions: which way each is computed, and the three passes.
//
// Layout. Pictures are (batch, channels, depth, height, width) with any strides; results are dense.
// Aliasing. Results share no memory with the operands.
// Threads. Work is cut into blocks of points (and panels of channels) by the shape alone. The
// gradient of the weights is summed in chunks of blocks, whose number depends on the shape, and the
// chunks in order.
// Numerics. See convolution_gather.h and gemm.h. Zeros around the input are elements like others:
// 0 * inf is NaN. Half types are widened when copied, add up in float32 and are rounded once.
#include "kernels/convolution.h"

#include "kernels/convolution_columns.h"
#include "kernels/convolution_gather.h"
#include "runtime/storage.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {

namespace {

constexpr std::int64_t kPieceProducts = 1 << 19;  // multiply-adds worth a piece of its own

// Elements of scratch memory.
template <class T>
class Room {
 public:
  explicit Room(std::int64_t count) : scratch_(count * static_cast<std::int64_t>(sizeof(T))) {}
  T* data() const { return scratch_.as<T>(); }

 private:
  Scratch scratch_;
};

// ---- forward and transposed ---------------------------------------------------------------------

// The channels that a pass reads and writes, of one group.
struct Channels {
  std::int64_t source, result;
};

Channels channels_of(const Convolution& shape, Direction direction) {
  return direction == Direction::forward ? Channels{shape.in_channels, shape.out_channels}
                                         : Channels{shape.out_channels, shape.in_channels};
}

// Weights as panels of result channels, by phase, source channel and tap.
template <class Element>
void pack_panel(const Convolution& shape, Direction direction, const Tables& tables,
                const Element* weight, std::int64_t group, std::int64_t column,
                Computed<Element>* to) {
  using T = Computed<Element>;
  const Channels channels = channels_of(shape, direction);
  const std::int64_t taps = num_taps(shape);
  const std::int64_t in_stride = taps, out_stride = shape.in_channels * taps;
  const bool is_forward = direction == Direction::forward;
  const std::int64_t source_stride = is_forward ? in_stride : out_stride;
  const std::int64_t column_stride = is_forward ? out_stride : in_stride;
  const Element* const from =
      weight + group * shape.out_channels * out_stride + column * column_stride;
  const int vectors = panel_vectors<T>(channels.result - column);
  const std::int64_t pitch = vectors * kLanes<T>;
  const std::int64_t width = smaller(pitch, channels.result - column);
  if (is_forward) {
    const std::int64_t depth = channels.source * taps;
    pack<Element>(from, column_stride, 1, width, width, depth, pitch, depth * pitch, to);
    return;
  }
  for (std::int64_t number = 0; number < tables.num_phases; ++number) {
    const Phase& phase = tables.phases[number];
    for (std::int64_t source = 0; source < channels.source; ++source) {
      for (std::int64_t w = 0; w < width; ++w) {
        const Element* const at = from + source * source_stride + w * column_stride;
        for (std::int64_t tap = 0; tap < phase.num_taps; ++tap) {
          to[tap * pitch + w] = widen<T>(at[tables.taps[phase.first_tap + tap]]);
        }
      }
      to += phase.num_taps * pitch;
    }
  }
}

template <class Element>
void convolve_block(const Convolution& shape, const Blocks& blocks, const Block& block,
                    const Tables& tables, const Channels& channels, const View& source,
                    std::int64_t group, const Computed<Element>* panels,
                    const Computed<Element>* bias, const View& result) {
  using T = Computed<Element>;
  const std::int64_t all_taps = num_taps(shape);
  const Room<T> room(block.num_images * tables.image + kLanes<T> +
                     tables.points * smaller(2 * kLanes<T>, padded_columns<T>(channels.result)));
  T* const window = room.data();
  T* const sums = window + block.num_images * tables.image + kLanes<T>;
  copy_window<Element>(shape, blocks, block, tables, source, group * channels.source,
                       channels.source, window);
  std::int64_t covered = 0;
  for (std::int64_t number = 0; number < tables.num_phases; ++number) {
    covered += tables.phases[number].num_points;
  }
  const bool has_gaps = covered < tables.points || channels.source == 0;
  const std::int64_t image_points = tables.points / block.num_images;
  std::int64_t plane = 1, offset = block.begin;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t length = result_length(blocks.direction, shape.axes[axis]);
    plane *= length;
    if (axis > blocks.axis) offset *= length;
  }
  for (std::int64_t column = 0; column < channels.result; column += 2 * kLanes<T>) {
    const int vectors = panel_vectors<T>(channels.result - column);
    const std::int64_t pitch = vectors * kLanes<T>;
    if (has_gaps) std::memset(sums, 0, static_cast<std::size_t>(tables.points * pitch) * sizeof(T));
    const T* panel = panels + column * channels.source * all_taps;
    for (std::int64_t number = 0; number < tables.num_phases; ++number) {
      const Phase& phase = tables.phases[number];
      const std::int64_t depth = phase.num_taps * channels.source;
      GatherTask<T> task;
      task.source = window;
      task.row_offsets = tables.point_offsets + phase.first_point;
      task.row_numbers = tables.point_numbers + phase.first_point;
      task.result = sums;
      const std::int64_t step = divided_up(depth, divided_up(depth, kGatherDepth) + (depth == 0));
      for (std::int64_t k = 0; k < depth; k += step) {
        task.depth = smaller(step, depth - k);
        task.depth_offsets = tables.depth_offsets + phase.first_tap * channels.source + k;
        task.panel = panel + k * pitch;
        task.accumulate = k > 0;
        gather_rows<T>(phase.num_points, vectors, task);
      }
      panel += depth * pitch;
    }
    for (std::int64_t image = 0; image < block.num_images; ++image) {
      const std::int64_t first_channel =
          ((block.image + image) * shape.groups + group) * channels.result + column;
      write_columns<Element>(
          sums + image * image_points * pitch, pitch, image_points,
          smaller(pitch, channels.result - column), bias ? bias + column : nullptr,
          reinterpret_cast<Element*>(result.data) + first_channel * plane + offset, plane);
    }
  }
}

// Both passes are the same but for the tables.
template <class Element>
void convolve(const Convolution& shape, Direction direction, const View& source, const View& weight,
              const View* bias, const View& result) {
  using T = Computed<Element>;
  const Channels channels = channels_of(shape, direction);
  const Blocks blocks = blocks_of(shape, direction, channels.source);
  const std::int64_t taps = num_taps(shape);
  const std::int64_t padded = padded_columns<T>(channels.result);
  const std::int64_t group_size = padded * channels.source * taps;
  const Scratch shared(tables_nbytes(shape, blocks, channels.source));
  const Block first{0, blocks.images, 0, blocks.band};
  const Tables tables = make_tables(shape, blocks, first, channels.source, shared.as<std::byte>());

  const Room<T> panels(group_size * shape.groups);
  const std::int64_t num_panels = divided_up(channels.result, 2 * kLanes<T>);
  parallel_for(
      shape.groups * num_panels, 1 + (1 << 14) / (2 * kLanes<T> * channels.source * taps + 1),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t piece = begin; piece < end; ++piece) {
          const std::int64_t group = piece / num_panels;
          const std::int64_t column = piece % num_panels * 2 * kLanes<T>;
          pack_panel<Element>(shape, direction, tables,
                              reinterpret_cast<const Element*>(weight.data), group, column,
                              panels.data() + group * group_size + column * channels.source * taps);
        }
      });
  const Room<T> biases(bias ? padded * shape.groups : 0);
  if (bias) {
    for (std::int64_t group = 0; group < shape.groups; ++group) {
      for (std::int64_t column = 0; column < channels.result; ++column) {
        biases.data()[group * padded + column] = widen<T>(
            reinterpret_cast<const Element*>(bias->data)[group * channels.result + column]);
      }
    }
  }

  const std::int64_t work = tables.points * padded * channels.source * taps;
  parallel_for(blocks.count * shape.groups, 1 + kPieceProducts / (work + 512),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t piece = begin; piece < end; ++piece) {
                   const std::int64_t group = piece % shape.groups;
                   const Block block = block_at(shape, blocks, piece / shape.groups);
                   const T* const group_panels = panels.data() + group * group_size;
                   const T* const group_bias = bias ? biases.data() + group * padded : nullptr;
                   if (is_whole(blocks, block)) {
                     convolve_block<Element>(shape, blocks, block, tables, channels, source, group,
                                             group_panels, group_bias, result);
                   } else {
                     const Scratch own(tables_nbytes(shape, blocks, channels.source));
                     convolve_block<Element>(
                         shape, blocks, block,
                         make_tables(shape, blocks, block, channels.source, own.as<std::byte>()),
                         channels, source, group, group_panels, group_bias, result);
                   }
                 }
               });
}

// ---- the gradient of the weights ----------------------------------------------------------------

constexpr std::int64_t kWeightPieces = 16;

// Packs y's channels from `column` on at the points of a block.
template <class Element>
void pack_points(const Convolution& shape, const Blocks& blocks, const Block& block,
                 const Tables& tables, const View& y, std::int64_t first_channel,
                 std::int64_t width, std::int64_t pitch, Computed<Element>* to) {
  const std::int64_t image_points = tables.points / block.num_images;
  std::int64_t begin[3] = {0, 0, 0}, length[3];
  for (int axis = 0; axis < 3; ++axis) length[axis] = shape.axes[axis].output;
  begin[blocks.axis] = block.begin;
  length[blocks.axis] = block.length;
  const std::int64_t* const strides = y.strides + 2;
  const bool is_dense = strides[2] == 1 && (length[1] == 1 || strides[1] == length[2]) &&
                        (length[0] == 1 || strides[0] == length[1] * length[2]);
  for (std::int64_t image = 0; image < block.num_images; ++image) {
    const Element* const picture = reinterpret_cast<const Element*>(y.data) +
                                   (block.image + image) * y.strides[0] +
                                   first_channel * y.strides[1] + begin[0] * strides[0] +
                                   begin[1] * strides[1] + begin[2] * strides[2];
    if (is_dense) {
      pack<Element>(picture, y.strides[1], 1, width, width, image_points, pitch, 0, to);
      to += image_points * pitch;
      continue;
    }
    for (std::int64_t d = 0; d < length[0]; ++d) {
      for (std::int64_t h = 0; h < length[1]; ++h, to += length[2] * pitch) {
        pack<Element>(picture + d * strides[0] + h * strides[1], y.strides[1], strides[2], width,
                      width, length[2], pitch, 0, to);
      }
    }
  }
}

// Adds what the blocks from `begin` to `end` give to sums (channels by taps, columns).
template <class Element>
void add_weight_gradient(const Convolution& shape, const Blocks& blocks, const Tables& whole,
                         std::int64_t begin, std::int64_t end, const View& x, const View& y,
                         std::int64_t group, std::int64_t column, Computed<Element>* sums) {
  using T = Computed<Element>;
  const int vectors = panel_vectors<T>(shape.out_channels - column);
  const std::int64_t pitch = vectors * kLanes<T>;
  const std::int64_t width = smaller(pitch, shape.out_channels - column);
  const Room<T> room(blocks.images * whole.image + (whole.points + 2) * pitch);
  const Scratch own(tables_nbytes(shape, blocks, shape.in_channels));
  T* const window = room.data();
  T* const panel = window + blocks.images * whole.image + kLanes<T>;
  for (std::int64_t index = begin; index < end; ++index) {
    const Block block = block_at(shape, blocks, index);
    const Tables tables =
        is_whole(blocks, block)
            ? whole
            : make_tables(shape, blocks, block, shape.in_channels, own.as<std::byte>());
    copy_window<Element>(shape, blocks, block, tables, x, group * shape.in_channels,
                         shape.in_channels, window);
    pack_points<Element>(shape, blocks, block, tables, y, group * shape.out_channels + column,
                         width, pitch, panel);
    GatherTask<T> task;
    task.source = window;
    task.row_offsets = tables.depth_offsets;
    task.row_numbers = nullptr;
    task.result = sums;
    const std::int64_t step = divided_up(tables.points, divided_up(tables.points, kGatherDepth));
    for (std::int64_t k = 0; k < tables.points; k += step) {
      task.depth = smaller(step, tables.points - k);
      task.depth_offsets = tables.point_offsets + k;
      task.panel = panel + k * pitch;
      task.accumulate = index > begin || k > 0;
      gather_rows<T>(shape.in_channels * num_taps(shape), vectors, task);
    }
  }
}

template <class Element>
void weight_gradient(const Convolution& shape, const View& x, const View& y, const View& weight) {
  using T = Computed<Element>;
  Element* const result = reinterpret_cast<Element*>(weight.data);
  const Blocks blocks = blocks_of(shape, Direction::forward, shape.in_channels);
  const std::int64_t rows = shape.in_channels * num_taps(shape);
  if (blocks.count == 0 || num_elements(y) == 0) {
    std::memset(result, 0, static_cast<std::size_t>(num_elements(weight)) * sizeof(Element));
    return;
  }
  const Scratch shared(tables_nbytes(shape, blocks, shape.in_channels));
  const Block first{0, blocks.images, 0, blocks.band};
  const Tables tables =
      make_tables(shape, blocks, first, shape.in_channels, shared.as<std::byte>());

  const std::int64_t num_panels = divided_up(shape.out_channels, 2 * kLanes<T>);
  const std::int64_t num_columns = shape.groups * num_panels;
  const std::int64_t work = tables.points * blocks.count *
                            smaller(padded_columns<T>(shape.out_channels), 2 * kLanes<T>) * rows;
  const std::int64_t most = divided_up(kWeightPieces, num_columns);
  const std::int64_t chunks =
      larger(smaller(smaller(work / kPieceProducts, most), blocks.count), 1);
  const std::int64_t column_size = rows * 2 * kLanes<T>;
  const Room<T> sums(column_size * num_columns * chunks);
  // A row of results: all the chunks of a panel.
  parallel_for(num_columns * chunks, 1 + kPieceProducts / (work / chunks + 512),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t piece = begin; piece < end; ++piece) {
                   const std::int64_t chunk = piece % chunks;
                   const std::int64_t group = piece / chunks / num_panels;
                   const std::int64_t column = piece / chunks % num_panels * 2 * kLanes<T>;
                   add_weight_gradient<Element>(shape, blocks, tables,
                                                chunk * blocks.count / chunks,
                                                (chunk + 1) * blocks.count / chunks, x, y, group,
                                                column, sums.data() + piece * column_size);
                 }
               });
  parallel_for(num_columns, 1 + kPieceProducts / (column_size * chunks * 8),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t place = begin; place < end; ++place) {
                   const std::int64_t group = place / num_panels;
                   const std::int64_t column = place % num_panels * 2 * kLanes<T>;
                   const std::int64_t pitch =
                       panel_vectors<T>(shape.out_channels - column) * kLanes<T>;
                   T* const total = sums.data() + place * chunks * column_size;
                   for (std::int64_t chunk = 1; chunk < chunks; ++chunk) {
                     const T* const part = total + chunk * column_size;
                     for (std::int64_t i = 0; i < rows * pitch; i += kLanes<T>) {
                       store<T>(total + i, load<T>(total + i) + load<T>(part + i));
                     }
                   }
                   write_columns<Element>(
                       total, pitch, rows, smaller(pitch, shape.out_channels - column), nullptr,
                       result + (group * shape.out_channels + column) * rows, rows);
                 }
               });
}

// ---- by dtype -----------------------------------------------------------------------------------

// Calls work(Element{}) for the element type.
template <class Work>
void with_element(DType dtype, const Work& work) {
  switch (dtype) {
    case DType::float64:
      return work(double{});
    case DType::float32:
      return work(float{});
    case DType::float16:
      return work(Float16{});
    default:
      return work(BFloat16{});
  }
}

void forward(const Convolution& shape, const View& x, const View& weight, const View* bias,
             const View& y) {
  if (num_elements(y) == 0) return;
  with_element(y.dtype, [&](auto element) {
    convolve<decltype(element)>(shape, Direction::forward, x, weight, bias, y);
  });
}

void transpose(const Convolution& shape, const View& y, const View& weight, const View* bias,
               const View& x) {
  if (num_elements(x) == 0) return;
  with_element(x.dtype, [&](auto element) {
    convolve<decltype(element)>(shape, Direction::transposed, y, weight, bias, x);
  });
}

void weight(const Convolution& shape, const View& x, const View& y, const View& result) {
  if (num_elements(result) == 0) return;
  with_element(result.dtype,
               [&](auto element) { weight_gradient<decltype(element)>(shape, x, y, result); });
}

void im2col(const Convolution& shape, const View& x, const View& columns) {
  if (num_elements(columns) == 0) return;
  with_element(x.dtype, [&](auto element) { write_windows<decltype(element)>(shape, x, columns); });
}

void col2im(const Convolution& shape, const View& columns, const View& x) {
  if (num_elements(x) == 0) return;
  with_element(x.dtype, [&](auto element) { add_windows<decltype(element)>(shape, columns, x); });
}

}  // namespace

extern const ConvolutionKernels convolution_table;
const ConvolutionKernels convolution_table = {&forward, &transpose, &weight, &im2col, &col2im};

}  // namespace lumus::LUMUS_ISA
