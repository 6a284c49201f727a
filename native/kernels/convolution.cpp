// Convolutions: the passes, and which way each is computed.
//
// Layout. Pictures are (batch, channels, depth, height, width) with any strides and are read where
// they lie; results are dense.
// Aliasing. Results share no memory with the operands.
// Threads. Work is cut into bands of pictures by the shape alone. The gradient of the weights is
// summed in parts, whose number depends on the shape, and the parts in order.
// Numerics. See convolution_gather.h. What lies outside the input is left out.
#include "kernels/convolution.h"

#include "kernels/convolution_columns.h"
#include "kernels/convolution_gather.h"
#include "kernels/convolution_pointwise.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {

namespace {

constexpr std::int64_t kPieceProducts = 1 << 19;  // multiply-adds worth a piece of its own
constexpr std::int64_t kPieceElements = 1 << 14;  // and elements to pack
constexpr std::int64_t kManyPieces = 16;          // enough for threads to share

// Scratch memory for `count` elements.
template <class T>
class Room {
 public:
  explicit Room(std::int64_t count) : scratch_(count * static_cast<std::int64_t>(sizeof(T))) {}
  T* data() const { return scratch_.as<T>(); }

 private:
  Scratch scratch_;
};

// ---- forward and transposed ---------------------------------------------------------------------

constexpr std::int64_t kChunkPoints = 256;  // their sums stay in the level-1 cache

// What the pieces of a pass share.
template <class T>
struct Pass {
  const Convolution& shape;
  const View& source;
  T* result;
  Bands bands;
  std::int64_t source_channels, result_channels;  // of a group
  std::int64_t taps;
  std::int64_t padded;  // result channels, in whole vectors
  std::int64_t plane;   // points of a result picture
  const T* panels;
  const T* biases;  // or null

  std::int64_t panels_size() const { return padded * source_channels * taps; }  // of a group
};

// The weights of a panel of result channels from `column` on, a row for each source channel and
// tap.
template <class T>
void pack_panel(const Pass<T>& pass, const T* weight, std::int64_t group, std::int64_t column,
                T* to) {
  const std::int64_t out_stride = pass.shape.in_channels * pass.taps;
  const T* const from = weight + group * pass.shape.out_channels * out_stride;
  const std::int64_t pitch = panel_vectors<T>(pass.result_channels - column) * kLanes<T>;
  const std::int64_t width = smaller(pitch, pass.result_channels - column);
  if (pass.bands.direction == Direction::forward) {
    pack<T>(from + column * out_stride, out_stride, 1, width, width, out_stride, pitch, 0, to);
    return;
  }
  for (std::int64_t source = 0; source < pass.source_channels; ++source, to += pass.taps * pitch) {
    const T* at = from + source * out_stride + column * pass.taps;
    for (std::int64_t w = 0; w < width; ++w) {
      for (std::int64_t tap = 0; tap < pass.taps; ++tap) to[tap * pitch + w] = *at++;
    }
    for (std::int64_t w = width; w < pitch; ++w) {
      for (std::int64_t tap = 0; tap < pass.taps; ++tap) to[tap * pitch + w] = T{};  // as in pack
    }
  }
}

template <class T>
void pack_panels(const Pass<T>& pass, const T* weight, T* to) {
  const std::int64_t num_panels = divided_up(pass.result_channels, kPanel<T>);
  const std::int64_t panel_size = kPanel<T> * pass.source_channels * pass.taps;
  parallel_for(pass.shape.groups * num_panels, 1 + kPieceElements / (panel_size + 1),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t piece = begin; piece < end; ++piece) {
                   const std::int64_t group = piece / num_panels;
                   const std::int64_t number = piece % num_panels;
                   // One vector more may be written than a panel has; the panels behind come later.
                   pack_panel<T>(pass, weight, group, number * kPanel<T>,
                                 to + group * pass.panels_size() + number * panel_size);
                 }
               });
}

// With panels of one vector each row costs a load of its offset beside its multiply-add, unless it
// is in a run; with two the loads have the time.
template <class T>
bool runs_pay(const Region& region, int vectors) {
  if (region.num_runs == 0) return false;
  if (kRowsHavePointers<T>) return !region.has_foreign_points();
  return vectors == 1 || (region.run_length * 14 <= region.points_per_run * 15 &&
                          region.run_length >= 4 * kTileRows<T>);
}

// The products of a panel with all points of a region of a chunk.
template <class T>
void gather_region(const Pass<T>& pass, const Tables& tables, const Region& region, const T* source,
                   const T* panel, int vectors, T* sums) {
  GatherTask<T> task;
  task.row_offsets = tables.point_offsets + region.first_point;
  task.row_numbers = tables.point_numbers + region.first_point;
  task.depth_offsets = tables.tap_offsets + region.first_tap;
  task.depth_numbers = tables.tap_numbers + region.first_tap;
  task.depth = region.num_taps;
  task.repeat_offset = pass.source.strides[1];
  task.repeat_number = pass.taps;
  task.result = sums;
  const std::int64_t channels = pass.source_channels;
  const std::int64_t step =
      divided_up(channels, divided_up(channels * region.num_taps, kGatherDepth));
  for (std::int64_t channel = 0; channel < channels; channel += step) {
    task.source = source + channel * task.repeat_offset;
    task.panel = panel + channel * pass.taps * vectors * kLanes<T>;
    task.repeats = smaller(step, channels - channel);
    task.accumulate = channel > 0;
    if (!runs_pay<T>(region, vectors)) {
      gather_rows<T>(region.num_points, vectors, task);
      continue;
    }
    for (std::int64_t run = 0; run < region.num_runs; ++run) {
      const std::int64_t first = region.first_point + run * region.points_per_run;
      GatherTask<T> part = task;
      part.source += tables.point_offsets[first];
      part.result += tables.point_numbers[first] * vectors * kLanes<T>;
      gather_run<T>(region.run_length, vectors, part);
    }
  }
}

// Chunks of `images` pictures each with the same tables, from picture `image` on.
template <class T>
void convolve_chunks(const Pass<T>& pass, const Tables& tables, std::int64_t group,
                     std::int64_t image, std::int64_t num_chunks, std::int64_t images, T* sums) {
  const std::int64_t points = tables.points / images;
  const bool has_gaps = tables.covered < tables.points || pass.source_channels == 0;
  for (std::int64_t column = 0; column < pass.result_channels; column += kPanel<T>) {
    const int vectors = panel_vectors<T>(pass.result_channels - column);
    const std::int64_t pitch = vectors * kLanes<T>;
    const T* const panel =
        pass.panels + group * pass.panels_size() + column * pass.source_channels * pass.taps;
    for (std::int64_t chunk = 0; chunk < num_chunks; ++chunk) {
      const std::int64_t first = image + chunk * images;
      const T* const source = reinterpret_cast<const T*>(pass.source.data) +
                              first * pass.source.strides[0] +
                              group * pass.source_channels * pass.source.strides[1];
      if (has_gaps) {
        std::memset(sums, 0, static_cast<std::size_t>(tables.points * pitch) * sizeof(T));
      }
      if (pass.source_channels > 0) {
        // First the regions whose runs have points of others.
        for (int turn = 0; turn < 2; ++turn) {
          for (std::int64_t number = 0; number < tables.num_regions; ++number) {
            const Region& region = tables.regions[number];
            if (region.has_foreign_points() != (turn == 0)) continue;
            gather_region<T>(pass, tables, region, source, panel, vectors, sums);
          }
        }
      }
      for (std::int64_t one = 0; one < images; ++one) {
        const std::int64_t channel =
            ((first + one) * pass.shape.groups + group) * pass.result_channels + column;
        write_columns<T>(sums + one * points * pitch, pitch, points,
                         smaller(pitch, pass.result_channels - column),
                         pass.biases ? pass.biases + group * pass.padded + column : nullptr,
                         pass.result + channel * pass.plane + tables.first_point, pass.plane);
      }
    }
  }
}

// Pieces: a band of a run of pictures, for one group.
template <class T>
void convolve_pieces(const Pass<T>& pass) {
  const Bands& bands = pass.bands;
  const std::int64_t batch = pass.shape.batch;
  const std::int64_t products = bands.points * pass.panels_size() + 512;
  const std::int64_t total = products * divided_up(batch, bands.images) * bands.count;
  const std::int64_t wanted = larger(total * pass.shape.groups / kManyPieces, kPieceProducts);
  const std::int64_t run =
      smaller(divided_up(smaller(wanted, 8 * kPieceProducts), products) * bands.images, batch);
  const std::int64_t num_runs = divided_up(batch, run);
  parallel_for(pass.shape.groups * bands.count * num_runs,
               1 + kPieceProducts / (products * divided_up(run, bands.images)),
               [&](std::int64_t begin, std::int64_t end) {
                 TableMaker maker(pass.shape, bands, pass.source);
                 const Room<T> sums(bands.points * smaller(kPanel<T>, pass.padded));
                 for (std::int64_t piece = begin; piece < end; ++piece) {
                   const std::int64_t group = piece % pass.shape.groups;
                   const std::int64_t band = piece / pass.shape.groups % bands.count;
                   const std::int64_t first = piece / pass.shape.groups / bands.count * run;
                   const std::int64_t images = smaller(run, batch - first);
                   const std::int64_t whole = images / bands.images;
                   const std::int64_t rest = images % bands.images;
                   if (whole > 0) {
                     const Tables tables = maker.make(band, bands.images);
                     convolve_chunks<T>(pass, tables, group, first, whole, bands.images,
                                        sums.data());
                   }
                   if (rest > 0) {
                     const Tables tables = maker.make(band, rest);
                     convolve_chunks<T>(pass, tables, group, first + whole * bands.images, 1, rest,
                                        sums.data());
                   }
                 }
               });
}

template <class T>
void convolve(const Convolution& shape, Direction direction, const View& source, const View& weight,
              const View* bias, const View& result) {
  const bool is_forward = direction == Direction::forward;
  if (is_pointwise(shape, source) && shape.in_channels > 0 && shape.out_channels > 0) {
    const std::int64_t in = shape.in_channels, out = shape.out_channels;
    return multiply_pictures<T>(
        shape, source, is_forward ? in : out, is_forward ? out : in,
        reinterpret_cast<const T*>(weight.data), is_forward ? in : 1, is_forward ? 1 : in,
        bias ? reinterpret_cast<const T*>(bias->data) : nullptr, reinterpret_cast<T*>(result.data));
  }
  Pass<T> pass{shape,
               source,
               reinterpret_cast<T*>(result.data),
               bands_of(shape, direction, kChunkPoints),
               is_forward ? shape.in_channels : shape.out_channels,
               is_forward ? shape.out_channels : shape.in_channels,
               num_taps(shape),
               0,
               1,
               nullptr,
               nullptr};
  pass.padded = padded_columns<T>(pass.result_channels);
  for (const ConvolutionAxis& axis : shape.axes) pass.plane *= result_length(direction, axis);

  const Room<T> panels(pass.panels_size() * shape.groups + kLanes<T>);
  pass.panels = panels.data();
  pack_panels<T>(pass, reinterpret_cast<const T*>(weight.data), panels.data());
  const Room<T> biases(bias ? pass.padded * shape.groups : 0);
  if (bias) {
    pass.biases = biases.data();
    const T* const from = reinterpret_cast<const T*>(bias->data);
    for (std::int64_t group = 0; group < shape.groups; ++group) {
      std::memcpy(biases.data() + group * pass.padded, from + group * pass.result_channels,
                  static_cast<std::size_t>(pass.result_channels) * sizeof(T));
    }
  }
  convolve_pieces<T>(pass);
}

// ---- the gradient of the weights ----------------------------------------------------------------

constexpr std::int64_t kWeightPoints = 1024;  // of a chunk: y's panel stays in the level-2 cache
constexpr std::int64_t kWeightDepth = 192;    // points at a time: these, in the level-1 cache

template <class T>
struct WeightPass {
  const Convolution& shape;
  const View& x;
  const T* y;
  Bands bands;
  std::int64_t taps;
  std::int64_t plane;       // points of a picture
  std::int64_t num_chunks;  // bands times groups of pictures
};

// Packs y's channels from `column` of a group on, a row for each point of a chunk.
template <class T>
void pack_points(const WeightPass<T>& pass, const Tables& tables, std::int64_t image,
                 std::int64_t images, std::int64_t group, std::int64_t column, T* to) {
  const std::int64_t channels = pass.shape.out_channels;
  const std::int64_t pitch = panel_vectors<T>(channels - column) * kLanes<T>;
  const std::int64_t width = smaller(pitch, channels - column);
  const std::int64_t points = tables.points / images;
  for (std::int64_t one = 0; one < images; ++one, to += points * pitch) {
    const std::int64_t channel = ((image + one) * pass.shape.groups + group) * channels + column;
    pack<T>(pass.y + channel * pass.plane + tables.first_point, pass.plane, 1, width, width, points,
            pitch, 0, to);
  }
}

// Rows of the result are channels by taps. Their offsets and numbers repeat from channel to
// channel, so those of some rows serve all tiles.
struct RowLists {
  std::int64_t* offsets;
  std::int64_t* numbers;
};

void fill_rows(const Tables& tables, const Region& region, std::int64_t channel_stride,
               std::int64_t taps, std::int64_t count, const RowLists& rows) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t channel = i / region.num_taps;
    const std::int64_t tap = region.first_tap + i % region.num_taps;
    rows.offsets[i] = channel * channel_stride + tables.tap_offsets[tap];
    rows.numbers[i] = channel * taps + tables.tap_numbers[tap];
  }
}

// The tiles of all channels and taps of a region, which follow each other in groups of `kGroup`.
template <class T, int kGroup>
void add_rows(const WeightPass<T>& pass, const Region& region, const RowLists& rows, const T* x,
              int vectors, T* sums, GatherTask<T> task) {
  constexpr std::int64_t groups_in_tile = kGroupedRows<T, kGroup> / kGroup;
  const std::int64_t num_groups = pass.shape.in_channels * region.num_taps / kGroup;
  const std::int64_t num_tiles = divided_up(num_groups, groups_in_tile);
  std::int64_t row = 0;
  for (std::int64_t tile = 0; tile < num_tiles; ++tile) {
    const std::int64_t height = (num_groups / num_tiles + (tile < num_groups % num_tiles)) * kGroup;
    const std::int64_t channel = row / region.num_taps;
    task.source = x + channel * pass.x.strides[1];
    task.row_offsets = rows.offsets + row % region.num_taps;
    task.row_numbers = rows.numbers + row % region.num_taps;
    task.result = sums + channel * pass.taps * vectors * kLanes<T>;
    gather_tile_of<T, kGroup>(height, vectors)(task);
    row += height;
  }
}

// Adds what a region gives. `panel` has a row of y for each point of the chunk.
template <class T>
void add_region(const WeightPass<T>& pass, const Tables& tables, const Region& region,
                const RowLists& rows, const T* x, const T* panel, int vectors, T* sums) {
  const std::int64_t channel_stride = pass.x.strides[1];
  fill_rows(tables, region, channel_stride, pass.taps, region.num_taps + kTileRows<T>, rows);
  GatherTask<T> task;
  task.repeats = 1;
  task.repeat_offset = task.repeat_number = 0;
  task.panel = panel;
  task.accumulate = true;
  const std::int64_t step =
      divided_up(region.num_points, divided_up(region.num_points, kWeightDepth));
  for (std::int64_t point = 0; point < region.num_points; point += step) {
    task.depth = smaller(step, region.num_points - point);
    task.depth_offsets = tables.point_offsets + region.first_point + point;
    task.depth_numbers = tables.point_numbers + region.first_point + point;
    if (!kRowsHavePointers<T> && region.taps_in_row == 3) {
      add_rows<T, 3>(pass, region, rows, x, vectors, sums, task);
    } else if (!kRowsHavePointers<T> && region.taps_in_row == 5) {
      add_rows<T, 5>(pass, region, rows, x, vectors, sums, task);
    } else {
      add_rows<T, 1>(pass, region, rows, x, vectors, sums, task);
    }
  }
}

// Panels of result channels of one group: [begin, end).
struct Panels {
  std::int64_t group, begin, end;
};

// Adds what the chunks from `begin` to `end` give to the sums of some panels, each `part_size`
// after the one before: a row for each channel and tap.
template <class T>
void add_weight_gradient(const WeightPass<T>& pass, std::int64_t begin, std::int64_t end,
                         const Panels& panels, std::int64_t panel_size, T* sums) {
  const Convolution& shape = pass.shape;
  const Bands& bands = pass.bands;
  const std::int64_t num_rows = pass.taps + kTileRows<T>;
  std::memset(sums, 0,
              static_cast<std::size_t>((panels.end - panels.begin) * panel_size) * sizeof(T));
  const Room<std::int64_t> lists(2 * num_rows);
  const RowLists rows{lists.data(), lists.data() + num_rows};
  const Room<T> panel(bands.points * kPanel<T> + kLanes<T>);
  TableMaker maker(shape, bands, pass.x);
  Tables tables{};
  std::int64_t band = -1, images = 0;  // of the tables
  const std::int64_t num_groups = pass.num_chunks / bands.count;
  for (std::int64_t chunk = begin; chunk < end; ++chunk) {
    const std::int64_t image = chunk % num_groups * bands.images;
    const std::int64_t now = smaller(bands.images, shape.batch - image);
    if (chunk / num_groups != band || now != images) {
      band = chunk / num_groups;
      images = now;
      tables = maker.make(band, images);
    }
    const T* const x = reinterpret_cast<const T*>(pass.x.data) + image * pass.x.strides[0] +
                       panels.group * shape.in_channels * pass.x.strides[1];
    for (std::int64_t number = panels.begin; number < panels.end; ++number) {
      pack_points<T>(pass, tables, image, images, panels.group, number * kPanel<T>, panel.data());
      const int vectors = panel_vectors<T>(shape.out_channels - number * kPanel<T>);
      for (std::int64_t region = 0; region < tables.num_regions; ++region) {
        add_region<T>(pass, tables, tables.regions[region], rows, x, panel.data(), vectors,
                      sums + (number - panels.begin) * panel_size);
      }
    }
  }
}

// The sum of all parts of a panel, in their order, written where it belongs.
template <class T>
void write_weights(const WeightPass<T>& pass, T* parts, std::int64_t num_parts,
                   std::int64_t part_size, std::int64_t group, std::int64_t column, T* result) {
  const Convolution& shape = pass.shape;
  const std::int64_t rows = shape.in_channels * pass.taps;
  const std::int64_t pitch = panel_vectors<T>(shape.out_channels - column) * kLanes<T>;
  for (std::int64_t part = 1; part < num_parts; ++part) {
    const T* const other = parts + part * part_size;
    for (std::int64_t i = 0; i < rows * pitch; i += kLanes<T>) {
      store<T>(parts + i, load<T>(parts + i) + load<T>(other + i));
    }
  }
  write_columns<T>(parts, pitch, rows, smaller(pitch, shape.out_channels - column), nullptr,
                   result + (group * shape.out_channels + column) * rows, rows);
}

template <class T>
void weight_gradient(const Convolution& shape, const View& x, const View& y, const View& weight) {
  WeightPass<T> pass{shape,
                     x,
                     reinterpret_cast<const T*>(y.data),
                     bands_of(shape, Direction::forward, kWeightPoints),
                     num_taps(shape),
                     1,
                     0};
  for (const ConvolutionAxis& axis : shape.axes) pass.plane *= axis.output;
  pass.num_chunks = divided_up(shape.batch, pass.bands.images) * pass.bands.count;
  const std::int64_t rows = shape.in_channels * pass.taps;
  const std::int64_t num_panels = divided_up(shape.out_channels, kPanel<T>);
  const std::int64_t products =
      shape.batch * pass.plane * rows * padded_columns<T>(shape.out_channels);
  // Parts of the chunks first; panels apart only where that gives too few pieces, since each piece
  // reads x again.
  const std::int64_t most = divided_up(kManyPieces, shape.groups);
  const std::int64_t wanted = larger(smaller(products / kPieceProducts, most), 1);
  const std::int64_t num_parts = smaller(wanted, pass.num_chunks);
  const std::int64_t num_splits = smaller(divided_up(wanted, num_parts), num_panels);
  const std::int64_t panel_size = rows * kPanel<T>;
  const std::int64_t part_size = num_panels * panel_size;
  const Room<T> sums(part_size * shape.groups * num_parts);
  parallel_for(
      shape.groups * num_parts * num_splits,
      1 + kPieceProducts / (products / (num_parts * num_splits) + 512),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t piece = begin; piece < end; ++piece) {
          const std::int64_t split = piece % num_splits;
          const std::int64_t part = piece / num_splits % num_parts;
          const Panels panels{piece / num_splits / num_parts, split * num_panels / num_splits,
                              (split + 1) * num_panels / num_splits};
          add_weight_gradient<T>(pass, part * pass.num_chunks / num_parts,
                                 (part + 1) * pass.num_chunks / num_parts, panels, panel_size,
                                 sums.data() + (panels.group * num_parts + part) * part_size +
                                     panels.begin * panel_size);
        }
      });
  parallel_for(shape.groups * num_panels, 1 + kPieceElements / (panel_size * num_parts),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t piece = begin; piece < end; ++piece) {
                   const std::int64_t group = piece / num_panels;
                   const std::int64_t number = piece % num_panels;
                   write_weights<T>(
                       pass, sums.data() + group * num_parts * part_size + number * panel_size,
                       num_parts, part_size, group, number * kPanel<T>,
                       reinterpret_cast<T*>(weight.data));
                 }
               });
}

// ---- by dtype -----------------------------------------------------------------------------------

void forward(const Convolution& shape, const View& x, const View& weight, const View* bias,
             const View& y) {
  if (num_elements(y) == 0) return;
  if (y.dtype == DType::float64) {
    convolve<double>(shape, Direction::forward, x, weight, bias, y);
  } else {
    convolve<float>(shape, Direction::forward, x, weight, bias, y);
  }
}

void transpose(const Convolution& shape, const View& y, const View& weight, const View* bias,
               const View& x) {
  if (num_elements(x) == 0) return;
  if (x.dtype == DType::float64) {
    convolve<double>(shape, Direction::transposed, y, weight, bias, x);
  } else {
    convolve<float>(shape, Direction::transposed, y, weight, bias, x);
  }
}

void weight(const Convolution& shape, const View& x, const View& y, const View& result) {
  if (num_elements(x) == 0 || num_elements(y) == 0) {
    std::memset(result.data, 0,
                static_cast<std::size_t>(num_elements(result) * itemsize(result.dtype)));
  } else if (result.dtype == DType::float64) {
    weight_gradient<double>(shape, x, y, result);
  } else {
    weight_gradient<float>(shape, x, y, result);
  }
}

void im2col(const Convolution& shape, const View& x, const View& columns) {
  if (num_elements(columns) == 0) return;
  if (x.dtype == DType::float64) {
    write_windows<double>(shape, x, columns);
  } else {
    write_windows<float>(shape, x, columns);
  }
}

void col2im(const Convolution& shape, const View& columns, const View& x) {
  if (num_elements(x) == 0) return;
  if (x.dtype == DType::float64) {
    add_windows<double>(shape, columns, x);
  } else {
    add_windows<float>(shape, columns, x);
  }
}

}  // namespace

extern const ConvolutionKernels convolution_table;
const ConvolutionKernels convolution_table = {&forward, &transpose, &weight, &im2col, &col2im};

}  // namespace lumus::LUMUS_ISA
