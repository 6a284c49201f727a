// softmax, log_softmax, their gradients, and logsumexp.
//
// Layout. Inputs are any strided views, the output is contiguous. Where the axis is the last one of
// the output, a row at a time passes through the level-1 cache. Otherwise chunks of neighbouring
// columns are walked down together, so that memory is read in long runs; a chunk that is more than
// a band of kBandElements goes through each phase (maxima, sums, results) band by band.
//
// Aliasing. The output shares nothing with the inputs.
//
// Threads. Rows and bands of columns are shared out by size; the bits do not depend on the number
// of threads.
//
// Numerics. The maximum is subtracted first. Half types compute in float32; sums add at most 16
// float32 numbers in a lane before they continue in float64. NaN comes out for a row with a NaN,
// with +inf, or with nothing but -inf, as the formula has it.
#include "kernels/rows.h"

#include "kernels/axes.h"
#include "kernels/joint_axes.h"
#include "kernels/math.h"
#include "kernels/reduce.h"
#include "kernels/runs.h"
#include "runtime/scratch.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {
namespace {

constexpr std::int64_t kGrain = 8192;          // elements a thread takes at once
constexpr std::int64_t kBlock = 1024;          // elements of a row handled at once
constexpr std::int64_t kRowsAtOnce = 8;        // short rows; a multiple of the lanes of a double
constexpr std::int64_t kMaxColumns = 1024;     // of a chunk
constexpr std::int64_t kColumnStep = 16;       // a multiple of the lanes of any vector
constexpr std::int64_t kBandElements = 65536;  // of a band of rows of a chunk

LUMUS_INLINE f32v load_narrow(const double* from, f32v) {
  return narrow(load<double>(from), load<double>(from + kLanes<double>));
}
LUMUS_INLINE f64v load_narrow(const double* from, f64v) { return load<double>(from); }

LUMUS_INLINE double logarithm(double x) { return log(splat<double>(x))[0]; }

// ---- one row ------------------------------------------------------------------------------------

// A strided row, read in blocks: in place, or gathered into a tile.
template <class Element>
struct Row {
  const Element* data;
  std::int64_t stride;
  Element tile[kBlock];

  Row(const Element* first, std::int64_t step) : data(first), stride(step) {}

  const Element* block(std::int64_t begin, std::int64_t count) {
    const Element* from = data + begin * stride;
    if (stride == 1) return from;
    for (std::int64_t i = 0; i < count; ++i) tile[i] = from[i * stride];
    return tile;
  }
};

template <class Element>
Compute<Element> row_maximum(Row<Element>& row, std::int64_t length) {
  PlainAccumulator<Maximum<Compute<Element>>, Element> accumulator;
  accumulator.clear();
  for (std::int64_t i = 0; i < length; i += kBlock) {
    const std::int64_t count = smaller(kBlock, length - i);
    accumulator.feed(row.block(i, count), count);
  }
  return accumulator.finish();
}

// sum(exp(x - shift)); stores the exponentials when asked to. Absent lanes are -inf: they add 0.
template <bool kStores, class Element>
double row_exp_sum(Row<Element>& row, std::int64_t length, Compute<Element> shift, Element* out) {
  using T = Compute<Element>;
  const Vec<T> shifts = splat<T>(shift);
  double total = 0;
  for (std::int64_t begin = 0; begin < length; begin += kBlock) {
    const std::int64_t count = smaller(kBlock, length - begin);
    const Element* x = row.block(begin, count);
    total += sum_block<T>(count, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
      const Vec<T> e = exp(load_some<kIsFull>(x + i, present, Limits<T>::lowest) - shifts);
      if constexpr (kStores) store_some<kIsFull>(out + begin + i, e, present);
      return e;
    });
  }
  return total;
}

// softmax of `num_rows` rows (at most kRowsAtOnce): their maxima and sums, the logarithms or
// reciprocals of all sums in one vector, and the results.
template <class Element, bool kIsLog>
void softmax_rows(const Element* const* from, std::int64_t stride, std::int64_t num_rows,
                  std::int64_t length, Element* const* out) {
  using T = Compute<Element>;
  // The exponentials wait in the output unless that would round them.
  constexpr bool keeps = !kIsLog && std::is_same_v<Element, T>;
  T shifts[kRowsAtOnce];
  double sums[kRowsAtOnce];
  for (double& sum : sums) sum = 1;
  for (std::int64_t r = 0; r < num_rows; ++r) {
    Row<Element> row(from[r], stride);
    shifts[r] = row_maximum(row, length);
    sums[r] = row_exp_sum<keeps>(row, length, shifts[r], out[r]);
  }
  for (std::int64_t r = 0; r < kRowsAtOnce; r += kLanes<double>) {
    const f64v sum = load<double>(sums + r);
    store<double>(sums + r, kIsLog ? log(sum) : 1 / sum);
  }
  for (std::int64_t r = 0; r < num_rows; ++r) {
    Row<Element> row(from[r], stride);
    const Vec<T> shift = splat<T>(shifts[r]);
    const Vec<T> last = splat<T>(static_cast<T>(sums[r]));
    for (std::int64_t begin = 0; begin < length; begin += kBlock) {
      const std::int64_t count = smaller(kBlock, length - begin);
      Element* to = out[r] + begin;
      const Element* x = keeps ? to : row.block(begin, count);
      for_vectors<T>(count, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
        Vec<T> value = load_some<kIsFull>(x + i, present, T(0));
        if constexpr (kIsLog) {
          value = (value - shift) - last;
        } else if constexpr (keeps) {
          value = value * last;
        } else {
          value = exp(value - shift) * last;
        }
        store_some<kIsFull>(to + i, value, present);
      });
    }
  }
}

// The result of either gradient.
template <bool kIsLog, class V>
LUMUS_INLINE V grad_result(V grad, V y, V sum) {
  if constexpr (kIsLog) return grad - exp(y) * sum;
  return y * (grad - sum);
}

template <class Element, bool kIsLog>
void softmax_grad_row(const Element* grads, std::int64_t grad_stride, const Element* results,
                      std::int64_t result_stride, std::int64_t length, Element* out) {
  using T = Compute<Element>;
  Row<Element> grad_row(grads, grad_stride);
  Row<Element> result_row(results, result_stride);
  double sum = 0;
  for (std::int64_t begin = 0; begin < length; begin += kBlock) {
    const std::int64_t count = smaller(kBlock, length - begin);
    const Element* grad = grad_row.block(begin, count);
    const Element* y = kIsLog ? nullptr : result_row.block(begin, count);
    sum += sum_block<T>(count, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
      const Vec<T> g = load_some<kIsFull>(grad + i, present, T(0));
      return kIsLog ? g : g * load_some<kIsFull>(y + i, present, T(0));
    });
  }
  const Vec<T> sums = splat<T>(static_cast<T>(sum));
  for (std::int64_t begin = 0; begin < length; begin += kBlock) {
    const std::int64_t count = smaller(kBlock, length - begin);
    const Element* grad = grad_row.block(begin, count);
    const Element* y = result_row.block(begin, count);
    for_vectors<T>(count, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
      const Vec<T> g = load_some<kIsFull>(grad + i, present, T(0));
      const Vec<T> at = load_some<kIsFull>(y + i, present, T(0));
      store_some<kIsFull>(out + begin + i, grad_result<kIsLog>(g, at, sums), present);
    });
  }
}

// ---- a chunk of columns -------------------------------------------------------------------------

// Rows of at most kMaxColumns neighbouring columns, in place or gathered into a tile.
template <class Element>
struct Columns {
  const Element* data;
  std::int64_t row_stride;
  std::int64_t column_stride;
  std::int64_t count;
  alignas(64) Element tile[kMaxColumns];

  Columns(const Element* first, std::int64_t between_rows, std::int64_t between_columns,
          std::int64_t num_columns)
      : data(first), row_stride(between_rows), column_stride(between_columns), count(num_columns) {}

  const Element* row(std::int64_t index) {
    const Element* from = data + index * row_stride;
    if (column_stride == 1) return from;
    for (std::int64_t c = 0; c < count; ++c) tile[c] = from[c * column_stride];
    return tile;
  }
};

// Rows [begin, end) of a chunk in one phase of a function; `out` has rows of neighbours.
template <class Element>
struct Band {
  std::int64_t begin;
  std::int64_t end;
  Element* out;
  std::int64_t out_stride;
};

template <class Element, bool kIsLog>
struct SoftmaxColumns {
  using T = Compute<Element>;
  static constexpr int num_inputs = 1;
  static constexpr bool has_maxima = true;
  // The exponentials wait in the output unless that would round them.
  static constexpr bool keeps = !kIsLog && std::is_same_v<Element, T>;

  static void add_maxima(Columns<Element>* inputs, const Band<Element>& band, T* maxima) {
    for (std::int64_t r = band.begin; r < band.end; ++r) {
      const Element* x = inputs->row(r);
      for_vectors<T>(inputs->count, [&]<bool kIsFull>(std::int64_t c, std::int64_t present) {
        const Vec<T> value = load_some<kIsFull>(x + c, present, T(0));
        store<T>(maxima + c, Maximum<T>::combine(load<T>(maxima + c), value));
      });
    }
  }

  static void add_sums(Columns<Element>* inputs, const Band<Element>& band, const T* shifts,
                       double* sums) {
    for (std::int64_t r = band.begin; r < band.end; ++r) {
      const Element* x = inputs->row(r);
      Element* to = band.out + r * band.out_stride;
      for_vectors<T>(inputs->count, [&]<bool kIsFull>(std::int64_t c, std::int64_t present) {
        const Vec<T> e = exp(load_some<kIsFull>(x + c, present, T(0)) - load<T>(shifts + c));
        if constexpr (keeps) store_some<kIsFull>(to + c, e, present);
        add_wide(sums + c, e);
      });
    }
  }

  LUMUS_INLINE f64v finish_sum(f64v sum) { return kIsLog ? log(sum) : 1 / sum; }

  static void write(Columns<Element>* inputs, const Band<Element>& band, const T* shifts,
                    const T* last) {
    for (std::int64_t r = band.begin; r < band.end; ++r) {
      Element* to = band.out + r * band.out_stride;
      const Element* x = keeps ? to : inputs->row(r);
      for_vectors<T>(inputs->count, [&]<bool kIsFull>(std::int64_t c, std::int64_t present) {
        Vec<T> value = load_some<kIsFull>(x + c, present, T(0));
        if constexpr (kIsLog) {
          value = (value - load<T>(shifts + c)) - load<T>(last + c);
        } else {
          if constexpr (!keeps) value = exp(value - load<T>(shifts + c));
          value *= load<T>(last + c);
        }
        store_some<kIsFull>(to + c, value, present);
      });
    }
  }
};

template <class Element, bool kIsLog>
struct SoftmaxGradColumns {
  using T = Compute<Element>;
  static constexpr int num_inputs = 2;
  static constexpr bool has_maxima = false;

  static void add_maxima(Columns<Element>*, const Band<Element>&, T*) {}

  static void add_sums(Columns<Element>* inputs, const Band<Element>& band, const T*,
                       double* sums) {
    for (std::int64_t r = band.begin; r < band.end; ++r) {
      const Element* grad = inputs[0].row(r);
      const Element* y = kIsLog ? nullptr : inputs[1].row(r);
      for_vectors<T>(inputs->count, [&]<bool kIsFull>(std::int64_t c, std::int64_t present) {
        Vec<T> term = load_some<kIsFull>(grad + c, present, T(0));
        if constexpr (!kIsLog) term *= load_some<kIsFull>(y + c, present, T(0));
        add_wide(sums + c, term);
      });
    }
  }

  LUMUS_INLINE f64v finish_sum(f64v sum) { return sum; }

  static void write(Columns<Element>* inputs, const Band<Element>& band, const T*, const T* last) {
    for (std::int64_t r = band.begin; r < band.end; ++r) {
      const Element* grad = inputs[0].row(r);
      const Element* y = inputs[1].row(r);
      Element* to = band.out + r * band.out_stride;
      for_vectors<T>(inputs->count, [&]<bool kIsFull>(std::int64_t c, std::int64_t present) {
        const Vec<T> g = load_some<kIsFull>(grad + c, present, T(0));
        const Vec<T> at = load_some<kIsFull>(y + c, present, T(0));
        store_some<kIsFull>(to + c, grad_result<kIsLog>(g, at, load<T>(last + c)), present);
      });
    }
  }
};

// last[c] = finish_sum(sums[c]) rounded to T.
template <class Function>
LUMUS_INLINE void finish_sums(double* sums, std::int64_t count, typename Function::T* last) {
  using T = typename Function::T;
  for (std::int64_t c = 0; c < count; c += kLanes<T>) {
    for (std::int64_t half = 0; half < kLanes<T>; half += kLanes<double>) {
      store<double>(sums + c + half, Function::finish_sum(load<double>(sums + c + half)));
    }
    store<T>(last + c, load_narrow(sums + c, Vec<T>{}));
  }
}

// ---- all rows or columns ------------------------------------------------------------------------

// Chunks of columns; long ones are cut in bands of rows, with a barrier between the phases.
template <class Function, class Element, int kNumArrays>
struct ColumnsRun {
  using T = Compute<Element>;
  Element* data[kNumArrays];             // the inputs, then the output
  std::int64_t row_strides[kNumArrays];  // along the axis
  std::int64_t column_strides[kNumArrays];
  JointAxes outer;
  std::int64_t length;
  std::int64_t width;
  std::int64_t chunk;
  std::int64_t chunks;
  std::int64_t padded;  // a chunk, rounded up to whole vectors
  std::int64_t band_rows;
  std::int64_t bands;

  // Calls phase(inputs, band) for one band of one item.
  template <class Phase>
  void with_band(std::int64_t item, std::int64_t band, const Phase& phase) const {
    const std::int64_t first = item % chunks * chunk;
    std::int64_t at[kNumArrays];
    outer.locate(item / chunks, kNumArrays, at);
    const auto columns_of = [&](int i) {
      return Columns<Element>(data[i] + at[i] + first * column_strides[i], row_strides[i],
                              column_strides[i], smaller(chunk, width - first));
    };
    const Band<Element> rows = {band * band_rows, smaller((band + 1) * band_rows, length),
                                data[kNumArrays - 1] + at[kNumArrays - 1] + first,
                                row_strides[kNumArrays - 1]};
    if constexpr (kNumArrays == 2) {
      Columns<Element> inputs[] = {columns_of(0)};
      phase(inputs, rows);
    } else {
      Columns<Element> inputs[] = {columns_of(0), columns_of(1)};
      phase(inputs, rows);
    }
  }

  void run(std::int64_t num_items) const {
    if (bands == 1) {
      parallel_for(num_items, larger(1, kGrain / (length * chunk)),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t item = begin; item < end; ++item) run_item(item);
                   });
    } else {
      run_bands(num_items);
    }
  }

  void run_item(std::int64_t item) const {
    alignas(64) T shifts[kMaxColumns];
    alignas(64) T last[kMaxColumns];
    alignas(64) double sums[kMaxColumns];
    for (std::int64_t c = 0; c < padded; ++c) {
      shifts[c] = Limits<T>::lowest;
      sums[c] = 0;
    }
    with_band(item, 0, [&](Columns<Element>* inputs, const Band<Element>& band) {
      Function::add_maxima(inputs, band, shifts);
      Function::add_sums(inputs, band, shifts, sums);
      finish_sums<Function>(sums, padded, last);
      Function::write(inputs, band, shifts, last);
    });
  }

  void run_bands(std::int64_t num_items) const {
    const std::int64_t tasks = num_items * bands;
    const std::int64_t bytes = static_cast<std::int64_t>(sizeof(double) + sizeof(T));
    Scratch scratch(tasks * padded * bytes + num_items * padded * 2 * bytes);
    auto* const sums = scratch.as<double>();
    auto* const maxima = reinterpret_cast<T*>(sums + tasks * padded);
    T* const shifts = maxima + tasks * padded;
    T* const last = shifts + num_items * padded;
    if constexpr (Function::has_maxima) {
      parallel_for(tasks, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t task = begin; task < end; ++task) {
          T* mine = maxima + task * padded;
          for (std::int64_t c = 0; c < padded; ++c) mine[c] = Limits<T>::lowest;
          with_band(task / bands, task % bands,
                    [&](Columns<Element>* inputs, const Band<Element>& band) {
                      Function::add_maxima(inputs, band, mine);
                    });
        }
      });
    }
    for (std::int64_t item = 0; item < num_items && Function::has_maxima; ++item) {
      for (std::int64_t c = 0; c < padded; c += kLanes<T>) {
        Vec<T> top = splat<T>(Limits<T>::lowest);
        for (std::int64_t band = 0; band < bands; ++band) {
          top = Maximum<T>::combine(top, load<T>(maxima + (item * bands + band) * padded + c));
        }
        store<T>(shifts + item * padded + c, top);
      }
    }
    parallel_for(tasks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        double* mine = sums + task * padded;
        for (std::int64_t c = 0; c < padded; ++c) mine[c] = 0;
        with_band(task / bands, task % bands,
                  [&](Columns<Element>* inputs, const Band<Element>& band) {
                    Function::add_sums(inputs, band, shifts + task / bands * padded, mine);
                  });
      }
    });
    for (std::int64_t item = 0; item < num_items; ++item) {
      double* total = sums + item * bands * padded;
      for (std::int64_t band = 1; band < bands; ++band) {
        for (std::int64_t c = 0; c < padded; ++c) total[c] += total[band * padded + c];
      }
      finish_sums<Function>(total, padded, last + item * padded);
    }
    parallel_for(tasks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t item = task / bands;
        with_band(item, task % bands, [&](Columns<Element>* inputs, const Band<Element>& band) {
          Function::write(inputs, band, shifts + item * padded, last + item * padded);
        });
      }
    });
  }
};

// `arrays` holds one input, or grad and y, then the output.
template <class Element, bool kIsLog, int kNumArrays>
void run_rows(const View* const* arrays, int axis) {
  const View& output = *arrays[kNumArrays - 1];
  const std::int64_t length = output.shape[axis];
  if (num_elements(output) == 0) return;
  using Function = std::conditional_t<kNumArrays == 2, SoftmaxColumns<Element, kIsLog>,
                                      SoftmaxGradColumns<Element, kIsLog>>;
  ColumnsRun<Function, Element, kNumArrays> all;
  for (int i = 0; i < kNumArrays; ++i) {
    all.data[i] = reinterpret_cast<Element*>(arrays[i]->data);
    all.row_strides[i] = arrays[i]->strides[axis];
  }
  JointAxes inner;  // after the axis
  for (int other = 0; other < output.rank; ++other) {
    std::int64_t steps[kNumArrays];
    for (int i = 0; i < kNumArrays; ++i) steps[i] = arrays[i]->strides[other];
    if (other != axis) {
      (other < axis ? all.outer : inner).add(output.shape[other], steps, kNumArrays);
    }
  }
  if (inner.rank == 0) {
    const auto run = [&](std::int64_t begin, std::int64_t end) {
      std::int64_t at[kNumArrays];
      if constexpr (kNumArrays == 2) {
        const std::int64_t together = larger(1, smaller(kRowsAtOnce, kBlock * 2 / length));
        for (std::int64_t index = begin; index < end; index += together) {
          const std::int64_t now = smaller(together, end - index);
          const Element* from[kRowsAtOnce];
          Element* to[kRowsAtOnce];
          for (std::int64_t r = 0; r < now; ++r) {
            all.outer.locate(index + r, kNumArrays, at);
            from[r] = all.data[0] + at[0];
            to[r] = all.data[1] + at[1];
          }
          softmax_rows<Element, kIsLog>(from, all.row_strides[0], now, length, to);
        }
      } else {
        for (std::int64_t index = begin; index < end; ++index) {
          all.outer.locate(index, kNumArrays, at);
          softmax_grad_row<Element, kIsLog>(all.data[0] + at[0], all.row_strides[0],
                                            all.data[1] + at[1], all.row_strides[1], length,
                                            all.data[2] + at[2]);
        }
      }
    };
    parallel_for(all.outer.count, larger(1, kGrain / length), run);
    return;
  }
  // Columns are those of the innermost merged axis.
  const int columns = --inner.rank;
  for (int i = 0; i < kNumArrays; ++i) all.column_strides[i] = inner.strides[i][columns];
  for (int before = 0; before < columns; ++before) {
    std::int64_t steps[kNumArrays];
    for (int i = 0; i < kNumArrays; ++i) steps[i] = inner.strides[i][before];
    all.outer.add(inner.shape[before], steps, kNumArrays);
  }
  all.length = length;
  all.width = inner.shape[columns];
  all.chunk = smaller(all.width, kMaxColumns);
  all.chunks = divide_up(all.width, all.chunk);
  all.padded = divide_up(all.chunk, kColumnStep) * kColumnStep;
  all.band_rows = larger(8, kBandElements / all.chunk);
  all.bands = divide_up(length, all.band_rows);
  all.run(all.outer.count * all.chunks);
}

template <bool kIsLog, int kNumArrays>
void run_dtype(const View* const* arrays, int axis) {
  switch (arrays[0]->dtype) {
    case DType::float64:
      run_rows<double, kIsLog, kNumArrays>(arrays, axis);
      break;
    case DType::float32:
      run_rows<float, kIsLog, kNumArrays>(arrays, axis);
      break;
    case DType::float16:
      run_rows<Float16, kIsLog, kNumArrays>(arrays, axis);
      break;
    default:
      run_rows<BFloat16, kIsLog, kNumArrays>(arrays, axis);
      break;
  }
}

template <bool kIsLog>
void softmax(const View& input, int axis, const View& output) {
  const View* const arrays[] = {&input, &output};
  run_dtype<kIsLog, 2>(arrays, axis);
}

template <bool kIsLog>
void softmax_grad(const View& grad, const View& y, int axis, const View& output) {
  const View* const arrays[] = {&grad, &y, &output};
  run_dtype<kIsLog, 3>(arrays, axis);
}

// ---- logsumexp ----------------------------------------------------------------------------------

// An infinite maximum must not be subtracted from itself.
template <class T>
LUMUS_INLINE T shift_for(T maximum) {
  return __builtin_isinf(maximum) ? T(0) : maximum;
}

// Rows that are contiguous and reduced whole.
template <class Element>
void logsumexp_rows(const Plan& plan, const View& input, const View& output) {
  using T = Compute<Element>;
  const auto* data = reinterpret_cast<const Element*>(input.data);
  auto* out = reinterpret_cast<Element*>(output.data);
  const std::int64_t length = plan.reduced.count;
  parallel_for(
      plan.kept.count, larger(1, kGrain / length), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t index = begin; index < end; ++index) {
          std::int64_t out_offset;
          const std::int64_t offset = plan.in_offset + plan.kept.offset(index, &out_offset);
          Row<Element> row(data + offset, 1);
          const T shift = shift_for(row_maximum(row, length));
          const double sum = row_exp_sum<false, Element>(row, length, shift, nullptr);
          out[plan.out_offset + out_offset] =
              Narrow<Element>::from(static_cast<double>(shift) + logarithm(sum));
        }
      });
}

// exp(x - shift), for a reduction.
template <class Element>
void shifted_exp(const void*, const std::byte* const* inputs, const std::int64_t* strides,
                 std::int64_t count, std::byte* result) {
  using T = Compute<Element>;
  constexpr std::int64_t width = kLanes<T>;
  const auto* x = reinterpret_cast<const Element*>(inputs[0]);
  const auto* shifts = reinterpret_cast<const T*>(inputs[1]);
  auto* out = reinterpret_cast<T*>(result);
  const bool is_dense = strides[0] == 1 && (strides[1] == 0 || strides[1] == 1);
  if (is_dense) {
    const Vec<T> shift = splat<T>(shifts[0]);
    for_vectors<T>(count, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
      const Vec<T> value = load_some<kIsFull>(x + i, present, T(0));
      const Vec<T> subtracted =
          strides[1] == 0 ? shift : load_some<kIsFull>(shifts + i, present, T(0));
      store_some<kIsFull>(out + i, exp(value - subtracted), present);
    });
    return;
  }
  for (std::int64_t i = 0; i < count; i += width) {
    const std::int64_t now = smaller(width, count - i);
    T values[width] = {};
    T subtracted[width] = {};
    widen_run<T, Element>(x + i * strides[0], strides[0], now, values);
    widen_run<T, T>(shifts + i * strides[1], strides[1], now, subtracted);
    const Vec<T> e = exp(load<T>(values) - load<T>(subtracted));
    store_partial<T>(out + i, e, now);
  }
}

// Any axes: the maxima, then the sums of exp(x - maximum), computed tile by tile.
template <class Element>
void logsumexp_steps(const View& input, std::uint32_t reduced_axes, std::int64_t num_outputs,
                     const View& output) {
  using T = Compute<Element>;
  constexpr DType dtype = sizeof(T) == 8 ? DType::float64 : DType::float32;
  Scratch scratch(num_outputs * static_cast<std::int64_t>(sizeof(double) + sizeof(T)));
  auto* sums = scratch.as<double>();
  auto* shifts = reinterpret_cast<T*>(sums + num_outputs);
  View kept = output;
  kept.data = reinterpret_cast<std::byte*>(shifts);
  kept.dtype = dtype;
  reduce_kernels().reduce(ReduceKind::max, input, reduced_axes, kept);
  for (std::int64_t i = 0; i < num_outputs; ++i) shifts[i] = shift_for(shifts[i]);

  View inputs[2] = {input, input};
  inputs[1].data = kept.data;
  inputs[1].dtype = dtype;
  std::int64_t stride = 1;
  for (int axis = input.rank - 1; axis >= 0; --axis) {
    const bool is_reduced = reduced_axes >> axis & 1u;
    inputs[1].strides[axis] = is_reduced ? 0 : stride;
    if (!is_reduced) stride *= input.shape[axis];
  }
  kept.data = reinterpret_cast<std::byte*>(sums);
  kept.dtype = DType::float64;
  const ComputedValues values = {shifted_exp<Element>, nullptr, dtype, input.rank,
                                 input.shape,          2,       inputs};
  reduce_kernels().reduce_computed(ReduceKind::sum, values, reduced_axes, kept);
  auto* out = reinterpret_cast<Element*>(output.data);
  for (std::int64_t i = 0; i < num_outputs; ++i) {
    out[i] = Narrow<Element>::from(static_cast<double>(shifts[i]) + logarithm(sums[i]));
  }
}

template <class Element>
void logsumexp_of(const View& input, std::uint32_t reduced_axes, const View& output) {
  Plan plan;
  make_plan(input, reduced_axes, plan);
  if (plan.kept.count == 0) return;
  if (plan.reduced.count == 0) {
    auto* out = reinterpret_cast<Element*>(output.data);
    for (std::int64_t i = 0; i < plan.kept.count; ++i) {
      out[i] = Narrow<Element>::from(-__builtin_inf());
    }
  } else if (plan.reduced.rank == 1 && plan.reduced.strides[0] == 1) {
    logsumexp_rows<Element>(plan, input, output);
  } else {
    logsumexp_steps<Element>(input, reduced_axes, plan.kept.count, output);
  }
}

void logsumexp(const View& input, std::uint32_t reduced_axes, const View& output) {
  switch (input.dtype) {
    case DType::float64:
      return logsumexp_of<double>(input, reduced_axes, output);
    case DType::float32:
      return logsumexp_of<float>(input, reduced_axes, output);
    case DType::float16:
      return logsumexp_of<Float16>(input, reduced_axes, output);
    default:
      return logsumexp_of<BFloat16>(input, reduced_axes, output);
  }
}

}  // namespace

extern const RowsKernels rows_table;
const RowsKernels rows_table = {softmax<false>, softmax<true>, softmax_grad<false>,
                                softmax_grad<true>, logsumexp};

}  // namespace lumus::LUMUS_ISA
