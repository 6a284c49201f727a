// Norms over any axes, and distances between rows.
//
// Layout. Any strided views, a contiguous output. A norm is a reduction of computed values.
// Distances are found for blocks of kBlock times kBlock rows, of which those of y are turned round
// first, so that their elements of one column are neighbours.
//
// Threads. Those of the reduction; blocks of distances are shared out.
//
// Numerics. A sum of powers that fits its range is taken as it is: squares of float32 in float32,
// everything else in float64. Where a result left that range (it overflowed, or is so small that
// terms may have vanished) it is computed again with the largest magnitude (for p < 0 the smallest)
// taken out, so that it is finite and exact whenever it can be.
#include "kernels/norms.h"

#include "kernels/joint_axes.h"
#include "kernels/math.h"
#include "kernels/reduce.h"
#include "kernels/runs.h"
#include "kernels/tile_io.h"
#include "runtime/scratch.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {
namespace {

// What is summed, or compared, for each element.
enum class Term { magnitude, square, power, is_not_zero };

// Powers are taken in float64 alone.
template <Term kTerm, class V>
LUMUS_INLINE V term_of(V x, [[maybe_unused]] double p) {
  if constexpr (kTerm == Term::square) return x * x;
  if constexpr (kTerm == Term::magnitude) return absolute(x);
  if constexpr (kTerm == Term::power) return pow(absolute(x), splat<double>(p));
  return x == V{} ? V{} : V{} + 1;
}

// The terms of elements, divided by a second input if there is one; T is double or what Elements
// are loaded as.
template <class Element, class T, Term kTerm, bool kIsScaled>
void evaluate_terms(const void* context, const std::byte* const* inputs,
                    const std::int64_t* strides, std::int64_t count, std::byte* result) {
  constexpr std::int64_t width = kLanes<T>;
  const double p = *static_cast<const double*>(context);
  const auto* x = reinterpret_cast<const Element*>(inputs[0]);
  auto* out = reinterpret_cast<T*>(result);
  if constexpr (std::is_same_v<T, Compute<Element>> && !kIsScaled) {
    if (strides[0] == 1) {
      for_vectors<T>(count, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
        const Vec<T> value = load_some<kIsFull>(x + i, present, T(0));
        store_some<kIsFull>(out + i, term_of<kTerm>(value, p), present);
      });
      return;
    }
  }
  for (std::int64_t i = 0; i < count; i += width) {
    const std::int64_t now = smaller(width, count - i);
    alignas(64) T values[width] = {};
    widen_run<T, Element>(x + i * strides[0], strides[0], now, values);
    Vec<T> value = load<T>(values);
    if constexpr (kIsScaled) {
      alignas(64) T scales[width];
      for (T& one : scales) one = 1;
      const auto* scale = reinterpret_cast<const T*>(inputs[1]);
      widen_run<T, T>(scale + i * strides[1], strides[1], now, scales);
      value /= load<T>(scales);
    }
    store_partial<T>(out + i, term_of<kTerm>(value, p), now);
  }
}

constexpr DType kDTypeOf[] = {DType::float32, DType::float64};
template <class T>
constexpr DType kDType = kDTypeOf[sizeof(T) == 8];

// Reduces the terms into dense `results`; `scales`, if there are any, are dense over the kept axes.
template <class Element, class T, Term kTerm, class Result>
void reduce_terms(ReduceKind kind, const View& input, double p, std::uint32_t reduced_axes,
                  const double* scales, const View& output, Result* results) {
  View inputs[2] = {input, input};
  if (scales) {
    inputs[1].data = reinterpret_cast<std::byte*>(const_cast<double*>(scales));
    inputs[1].dtype = DType::float64;
    std::int64_t stride = 1;
    for (int axis = input.rank - 1; axis >= 0; --axis) {
      const bool is_reduced = reduced_axes >> axis & 1u;
      inputs[1].strides[axis] = is_reduced ? 0 : stride;
      if (!is_reduced) stride *= input.shape[axis];
    }
  }
  View to = output;
  to.data = reinterpret_cast<std::byte*>(results);
  to.dtype = kDType<Result>;
  const ComputedValues values = {
      scales ? evaluate_terms<Element, T, kTerm, true> : evaluate_terms<Element, T, kTerm, false>,
      &p,
      kDType<T>,
      input.rank,
      input.shape,
      scales ? 2 : 1,
      inputs};
  reduce_kernels().reduce_computed(kind, values, reduced_axes, to);
}

double root_of(double sum, double p) {
  if (p == 2) return sqrt(splat<double>(sum))[0];
  return p == 1 || p == 0 ? sum : pow(splat<double>(sum), splat<double>(1 / p))[0];
}

template <class Element>
struct NormRun {
  const View& input;
  double p;
  std::uint32_t axes;
  const View& output;
  std::int64_t count;  // of results
  double* results;

  // Norms as they are; false if one of them left [low, high].
  template <class T, Term kTerm>
  bool plain(double low, double high) const {
    reduce_terms<Element, T, kTerm>(ReduceKind::sum, input, p, axes, nullptr, output, results);
    bool fits = true;
    for (std::int64_t i = 0; i < count; ++i) {
      // NaN is what the norm is.
      fits &= !(results[i] < low || results[i] > high);
      results[i] = root_of(results[i], p);
    }
    return fits;
  }

  void extremes(bool is_max, double* to) const {
    const ReduceKind kind = is_max ? ReduceKind::max : ReduceKind::min;
    reduce_terms<Element, double, Term::magnitude>(kind, input, p, axes, nullptr, output, to);
  }

  template <Term kTerm>
  void scaled_sum(const double* scales, double* to) const {
    reduce_terms<Element, double, kTerm>(ReduceKind::sum, input, p, axes, scales, output, to);
  }

  // With the extreme magnitude taken out of each. One that is 0, infinite or NaN is the norm.
  void scaled() const {
    Scratch scratch(count * 8);
    auto* scales = scratch.as<double>();
    extremes(p > 0, results);
    for (std::int64_t i = 0; i < count; ++i) {
      scales[i] = results[i] > 0 && results[i] < __builtin_inf() ? results[i] : 1.0;
    }
    Scratch sums(count * 8);
    auto* sum = sums.as<double>();
    if (p == 2) {
      scaled_sum<Term::square>(scales, sum);
    } else {
      scaled_sum<Term::power>(scales, sum);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      if (results[i] > 0 && results[i] < __builtin_inf()) results[i] *= root_of(sum[i], p);
    }
  }

  void run() const {
    constexpr bool is_narrow = !std::is_same_v<Element, double>;
    if (p == __builtin_inf() || p == -__builtin_inf()) return extremes(p > 0, results);
    if (p == 0) return static_cast<void>(plain<double, Term::is_not_zero>(0, kInfinityF64));
    if (p == 1) return static_cast<void>(plain<double, Term::magnitude>(0, kInfinityF64));
    // Terms below 2^-126 lose digits and those below 2^-1022: beside sums so far above they do not
    // count.
    if (p == 2) {
      if (is_narrow && plain<float, Term::square>(0x1p-80, 0x1.fffffep127)) return;
      if (plain<double, Term::square>(is_narrow ? 0 : 0x1p-900, 0x1.fffffffffffffp1023)) return;
    } else if (plain<double, Term::power>(0x1p-900, 0x1p1000)) {
      return;
    }
    scaled();
  }
};

template <class Element>
void norm_of(const View& input, double p, std::uint32_t reduced_axes, const View& output) {
  auto* out = reinterpret_cast<Element*>(output.data);
  const std::int64_t count = num_elements(output);
  if (count == 0) return;
  if (num_elements(input) == 0) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = Narrow<Element>::from(0.0);
    return;
  }
  Scratch scratch(count * 8);
  NormRun<Element>{input, p, reduced_axes, output, count, scratch.as<double>()}.run();
  narrow_run<Element, double>(scratch.as<double>(), count, out, 1);
}

void norm(const View& input, double p, std::uint32_t reduced_axes, const View& output) {
  switch (input.dtype) {
    case DType::float64:
      return norm_of<double>(input, p, reduced_axes, output);
    case DType::float32:
      return norm_of<float>(input, p, reduced_axes, output);
    case DType::float16:
      return norm_of<Float16>(input, p, reduced_axes, output);
    default:
      return norm_of<BFloat16>(input, p, reduced_axes, output);
  }
}

// ---- distances ----------------------------------------------------------------------------------

constexpr std::int64_t kBlock = 64;  // rows of either side

// One block: rows x[i], against the rows of y as columns of `turned` (num_columns, kBlock).
template <class Element>
struct Distances {
  double p;
  std::int64_t num_columns;
  std::int64_t x_steps[2];  // from row to row, from column to column
  std::int64_t y_steps[2];

  void run(const Element* x, std::int64_t num_x, const Element* y, std::int64_t num_y, Element* out,
           std::int64_t out_step) const {
    Scratch scratch((kBlock + 1) * num_columns * 8);
    auto* turned = scratch.as<double>();
    double* row = turned + kBlock * num_columns;
    for (std::int64_t column = 0; column < num_columns; ++column) {
      double* to = turned + column * kBlock;
      widen_run<double, Element>(y + column * y_steps[1], y_steps[0], num_y, to);
      for (std::int64_t j = num_y; j < kBlock; ++j) to[j] = 0;
    }
    for (std::int64_t i = 0; i < num_x; ++i) {
      widen_run<double, Element>(x + i * x_steps[0], x_steps[1], num_columns, row);
      alignas(64) double sums[kBlock];
      combine_row(row, turned, sums);
      for (std::int64_t j = 0; j < num_y; ++j) sums[j] = finished(sums[j], row, turned + j);
      narrow_run<Element, double>(sums, num_y, out + i * out_step, 1);
    }
  }

  void combine_row(const double* row, const double* turned, double* sums) const {
    using Sum64 = Sum<double>;
    if (p == __builtin_inf()) return combine<Maximum<double>, Term::magnitude>(row, turned, sums);
    if (p == -__builtin_inf()) return combine<Minimum<double>, Term::magnitude>(row, turned, sums);
    if (p == 0) return combine<Sum64, Term::is_not_zero>(row, turned, sums);
    if (p == 1) return combine<Sum64, Term::magnitude>(row, turned, sums);
    if (p == 2) return combine<Sum64, Term::square>(row, turned, sums);
    combine<Sum64, Term::power>(row, turned, sums);
  }

  template <class Op, Term kTerm>
  void combine(const double* row, const double* turned, double* sums) const {
    constexpr std::int64_t width = kLanes<double>;
    // A sum of nothing is +0.
    const double first = std::is_same_v<Op, Minimum<double>> ? Op::identity : 0.0;
    for (std::int64_t j = 0; j < kBlock; j += 4 * width) {
      f64v running[4];
      unroll<4>([&](auto v) __attribute__((always_inline)) { running[v] = splat<double>(first); });
      for (std::int64_t column = 0; column < num_columns; ++column) {
        const f64v here = splat<double>(row[column]);
        const double* others = turned + column * kBlock + j;
        unroll<4>([&](auto v) __attribute__((always_inline)) {
          const f64v difference = here - load<double>(others + v * width);
          running[v] = Op::combine(running[v], term_of<kTerm>(difference, p));
        });
      }
      unroll<4>([&](auto v) __attribute__((always_inline)) {
        store<double>(sums + j + v * width, running[v]);
      });
    }
  }

  // The distance, given the sum; computed anew where that left the range in which it is exact.
  double finished(double sum, const double* row, const double* other) const {
    if (p == 0 || p == 1 || __builtin_isinf(p)) return sum;
    constexpr bool is_narrow = !std::is_same_v<Element, double>;
    const double low = is_narrow && p == 2 ? 0.0 : 0x1p-900;
    if (!(sum < low || sum > 0x1p1000)) return root_of(sum, p);
    double scale = p > 0 ? 0 : __builtin_inf();
    for (std::int64_t column = 0; column < num_columns; ++column) {
      const double size = __builtin_fabs(row[column] - other[column * kBlock]);
      if (p > 0 ? size > scale : size < scale) scale = size;
    }
    if (!(scale > 0 && scale < __builtin_inf())) return scale;
    double total = 0;
    for (std::int64_t column = 0; column < num_columns; ++column) {
      const double ratio = __builtin_fabs(row[column] - other[column * kBlock]) / scale;
      total += pow(splat<double>(ratio), splat<double>(p))[0];
    }
    return scale * root_of(total, p);
  }
};

template <class Element>
void distances_of(const View& x, const View& y, double p, const View& output) {
  const int rows = output.rank - 2;
  const std::int64_t num_x = output.shape[rows];
  const std::int64_t num_y = output.shape[rows + 1];
  const View* const arrays[] = {&x, &y, &output};
  JointAxes batches;
  for (int axis = 0; axis < rows; ++axis) {
    const std::int64_t strides[] = {x.strides[axis], y.strides[axis], output.strides[axis]};
    batches.add(output.shape[axis], strides, 3);
  }
  const Distances<Element> distances = {p,
                                        x.shape[rows + 1],
                                        {x.strides[rows], x.strides[rows + 1]},
                                        {y.strides[rows], y.strides[rows + 1]}};
  const std::int64_t x_blocks = divide_up(num_x, kBlock);
  const std::int64_t y_blocks = divide_up(num_y, kBlock);
  parallel_for(batches.count * x_blocks * y_blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      std::int64_t at[3];
      batches.locate(task / (x_blocks * y_blocks), 3, at);
      const std::int64_t i = task / y_blocks % x_blocks * kBlock;
      const std::int64_t j = task % y_blocks * kBlock;
      distances.run(reinterpret_cast<const Element*>(arrays[0]->data) + at[0] + i * x.strides[rows],
                    smaller(kBlock, num_x - i),
                    reinterpret_cast<const Element*>(arrays[1]->data) + at[1] + j * y.strides[rows],
                    smaller(kBlock, num_y - j),
                    reinterpret_cast<Element*>(arrays[2]->data) + at[2] + i * num_y + j, num_y);
    }
  });
}

void distances(const View& x, const View& y, double p, const View& output) {
  if (num_elements(output) == 0) return;
  switch (output.dtype) {
    case DType::float64:
      return distances_of<double>(x, y, p, output);
    case DType::float32:
      return distances_of<float>(x, y, p, output);
    case DType::float16:
      return distances_of<Float16>(x, y, p, output);
    default:
      return distances_of<BFloat16>(x, y, p, output);
  }
}

}  // namespace

extern const NormsKernels norms_table;
const NormsKernels norms_table = {norm, distances};

}  // namespace lumus::LUMUS_ISA
