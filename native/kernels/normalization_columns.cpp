// Statistics of channels whose elements do not lie in runs worth the name: a matrix of `outer` rows
// with channels * inner columns, a vector of neighbouring columns at a time.
//
// Threads. Strips of columns are cut into bands of kBandRows rows; each is measured by one thread,
// and the bands of a column merge in order. The bits do not depend on the number of threads.
#include "kernels/normalization_steps.h"

namespace lumus::LUMUS_ISA {
namespace {

constexpr std::int64_t kBandRows = 64;
constexpr std::int64_t kStrip = 64;  // columns; a multiple of the lanes of any vector

// As many float64 as the lanes of a vector of T.
template <class T>
struct Wide;
template <>
struct Wide<float> {
  F64Pair value = {};
  static Wide of(f32v x) { return {lumus::LUMUS_ISA::widen(x)}; }
  f32v narrowed() const { return narrow(value.hi, value.lo); }
  template <class Body>
  static Wide map(const Body& body, const Wide& a, const Wide& b) {
    return {{body(a.value.hi, b.value.hi), body(a.value.lo, b.value.lo)}};
  }
  void store_to(double* to) const {
    store<double>(to, value.hi);
    store<double>(to + kLanes<double>, value.lo);
  }
};
template <>
struct Wide<double> {
  f64v value = {};
  static Wide of(f64v x) { return {x}; }
  f64v narrowed() const { return value; }
  template <class Body>
  static Wide map(const Body& body, const Wide& a, const Wide& b) {
    return {body(a.value, b.value)};
  }
  void store_to(double* to) const { store<double>(to, value); }
};
template <class T>
LUMUS_INLINE Wide<T> operator+(const Wide<T>& a, const Wide<T>& b) {
  return Wide<T>::map([](f64v x, f64v y) { return x + y; }, a, b);
}
template <class T>
LUMUS_INLINE Wide<T> operator-(const Wide<T>& a, const Wide<T>& b) {
  return Wide<T>::map([](f64v x, f64v y) { return x - y; }, a, b);
}
template <class T>
LUMUS_INLINE Wide<T> operator*(const Wide<T>& a, const Wide<T>& b) {
  return Wide<T>::map([](f64v x, f64v y) { return x * y; }, a, b);
}
template <class T>
LUMUS_INLINE Wide<T> divided(const Wide<T>& a, double by) {
  return Wide<T>::map([by](f64v x, f64v) { return x / by; }, a, a);
}

template <class Element>
struct Columns {
  using T = Compute<Element>;
  const NormShape& shape;
  std::int64_t width = shape.channels * shape.inner;
  std::int64_t strips = divide_up(width, kStrip);
  std::int64_t bands = divide_up(shape.outer, kBandRows);
  std::int64_t padded = strips * kStrip;

  // Calls body<is_full>(column, present, first row, rows, band) for each vector of columns of each
  // band of rows.
  template <class Body>
  void for_bands(const Body& body) const {
    const std::int64_t band_rows = smaller(kBandRows, shape.outer);
    const std::int64_t grain = larger(1, kGroupGrain / larger(1, band_rows * kStrip));
    parallel_for(strips * bands, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t item = begin; item < end; ++item) {
        const std::int64_t band = item / strips;
        const std::int64_t first = item % strips * kStrip;
        const std::int64_t row = band * kBandRows;
        const std::int64_t rows = smaller(kBandRows, shape.outer - row);
        for_vectors<T>(smaller(kStrip, width - first),
                       [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
                         body.template operator()<kIsFull>(first + i, present, row, rows, band);
                       });
      }
    });
  }

  // Calls body(channel, its first column) for each channel, shared out by size.
  template <class Body>
  void for_channels(const Body& body) const {
    const std::int64_t grain = larger(1, kGroupGrain / larger(1, (bands + 4) * shape.inner));
    parallel_for(shape.channels, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = begin; c < end; ++c) body(c, c * shape.inner);
    });
  }

  // Sets `inner` elements of each of several rows of `padded` elements.
  template <class... Values>
  void fill(T* rows, std::int64_t column, Values... values) const {
    const T each[] = {values...};
    for (const T value : each) {
      for (std::int64_t i = 0; i < shape.inner; ++i) rows[column + i] = value;
      rows += padded;
    }
  }
};

// The sums of a value of each row of a band, of two in turn.
template <class T, class Value>
LUMUS_INLINE Vec<T> sum_rows(std::int64_t rows, const Value& value) {
  Vec<T> even = {}, odd = {};
  std::int64_t row = 0;
  for (; row + 2 <= rows; row += 2) {
    even += value(row);
    odd += value(row + 1);
  }
  if (row < rows) even += value(row);
  return even + odd;
}

// The means and sums of squares of the columns of a band, in float64 if `T` leaves its range.
template <class T, class Load>
LUMUS_INLINE void measure_columns(std::int64_t rows, const Load& load_row, double* means,
                                  double* squares) {
  const double count = static_cast<double>(rows);
  const auto about = divided(Wide<T>::of(sum_rows<T>(rows, load_row)), count);
  const Vec<T> shift = about.narrowed();
  const auto rest =
      Wide<T>::of(sum_rows<T>(rows, [&](std::int64_t row) { return load_row(row) - shift; }));
  const Vec<T> sums = sum_rows<T>(rows, [&](std::int64_t row) {
    const Vec<T> from_mean = load_row(row) - shift;
    return from_mean * from_mean;
  });
  if constexpr (sizeof(T) == 4) {
    if (any(!((sums > 1e-25f) & (sums < 1e37f)))) {
      Wide<T> mean, wide;
      for (std::int64_t row = 0; row < rows; ++row) mean = mean + Wide<T>::of(load_row(row));
      mean = divided(mean, count);
      for (std::int64_t row = 0; row < rows; ++row) {
        const Wide<T> from_mean = Wide<T>::of(load_row(row)) - mean;
        wide = wide + from_mean * from_mean;
      }
      mean.store_to(means);
      wide.store_to(squares);
      return;
    }
  }
  (Wide<T>::of(shift) + divided(rest, count)).store_to(means);
  (Wide<T>::of(sums) - divided(rest * rest, count)).store_to(squares);
}

}  // namespace

template <class Element>
void normalize_columns(const NormCall& call, bool has_statistics) {
  using T = Compute<Element>;
  const Columns<Element> columns{call.shape};
  const std::int64_t width = columns.width, padded = columns.padded;
  const auto* x = as<Element>(call.x);
  const auto* weight = as<Element>(call.weight);
  const auto* bias = as<Element>(call.bias);
  auto* y = as<Element>(call.y);
  auto* means = as<T>(call.mean);
  auto* variances = as<T>(call.spread);
  const std::int64_t measured = has_statistics ? 0 : 2 * columns.bands * padded;
  Scratch scratch(measured * 8 + 3 * padded * static_cast<std::int64_t>(sizeof(T)));
  double* band_means = scratch.as<double>();
  double* band_squares = band_means + columns.bands * padded;
  T* steps = reinterpret_cast<T*>(scratch.as<double>() + measured);

  if (!has_statistics) {
    columns.for_bands([&]<bool kIsFull>(std::int64_t column, std::int64_t present, std::int64_t row,
                                        std::int64_t rows, std::int64_t band) {
      const Element* from = x + row * width + column;
      const auto load_row = [&](std::int64_t r) __attribute__((always_inline)) {
        return load_some<kIsFull>(from + r * width, present, T(0));
      };
      measure_columns<T>(rows, load_row, band_means + band * padded + column,
                         band_squares + band * padded + column);
    });
  }
  columns.for_channels([&](std::int64_t channel, std::int64_t first) {
    Moments total;
    for (std::int64_t band = 0; !has_statistics && band < columns.bands; ++band) {
      const std::int64_t rows = smaller(kBandRows, call.shape.outer - band * kBandRows);
      for (std::int64_t i = 0; i < call.shape.inner; ++i) {
        const std::int64_t at = band * padded + first + i;
        const double squares = band_squares[at] < 0 ? 0 : band_squares[at];
        total = Moments::merge(total, {static_cast<double>(rows), band_means[at], squares});
      }
    }
    double mean = total.mean, variance = total.variance();
    if (has_statistics) {
      mean = static_cast<double>(means[channel]);
      variance = static_cast<double>(variances[channel]);
    } else {
      means[channel] = static_cast<T>(mean);
      variances[channel] = static_cast<T>(variance);
    }
    const double root = inverse_root(variance + call.eps);
    const auto affine =
        Affine<T>::of(mean, root * value_or(weight, channel, 1.0), value_or(bias, channel, 0.0));
    columns.fill(steps, first, affine.mean, affine.scale, affine.offset);
  });
  columns.for_bands([&]<bool kIsFull>(std::int64_t column, std::int64_t present, std::int64_t row,
                                      std::int64_t rows, std::int64_t) {
    const Vec<T> mean = load<T>(steps + column);
    const Vec<T> scale = load<T>(steps + padded + column);
    const Vec<T> offset = load<T>(steps + 2 * padded + column);
    for (std::int64_t at = row * width + column; rows > 0; --rows, at += width) {
      const Vec<T> value = load_some<kIsFull>(x + at, present, T(0));
      store_some<kIsFull>(y + at, fma(value - mean, scale, offset), present);
    }
  });
}

template <class Element>
void normalize_columns_grad(const NormGradCall& call, bool has_statistics) {
  using T = Compute<Element>;
  const Columns<Element> columns{call.shape};
  const std::int64_t width = columns.width, padded = columns.padded;
  const auto* grad = as<Element>(call.grad);
  const auto* x = as<Element>(call.x);
  const auto* mean = as<T>(call.mean);
  const auto* variance = as<T>(call.spread);
  const auto* weight = as<Element>(call.weight);
  auto* grad_x = as<Element>(call.grad_x);
  auto* grad_weight = as<Element>(call.grad_weight);
  auto* grad_bias = as<Element>(call.grad_bias);
  const bool has_sums = !has_statistics || grad_weight || grad_bias;
  const std::int64_t measured = has_sums ? 2 * columns.bands * padded : 0;
  Scratch scratch(measured * 8 + 5 * padded * static_cast<std::int64_t>(sizeof(T)));
  double* band_grads = scratch.as<double>();
  double* band_products = band_grads + columns.bands * padded;
  T* steps = reinterpret_cast<T*>(scratch.as<double>() + measured);

  columns.for_channels(
      [&](std::int64_t channel, std::int64_t first) { columns.fill(steps, first, mean[channel]); });
  if (has_sums) {
    columns.for_bands([&]<bool kIsFull>(std::int64_t column, std::int64_t present, std::int64_t row,
                                        std::int64_t rows, std::int64_t band) {
      const Vec<T> means = load<T>(steps + column);
      const std::int64_t at = row * width + column;
      const auto load_grad = [&](std::int64_t r) __attribute__((always_inline)) {
        return load_some<kIsFull>(grad + at + r * width, present, T(0));
      };
      const auto grads = Wide<T>::of(sum_rows<T>(rows, load_grad));
      const auto products = Wide<T>::of(sum_rows<T>(rows, [&](std::int64_t r) {
        return load_grad(r) * (load_some<kIsFull>(x + at + r * width, present, T(0)) - means);
      }));
      grads.store_to(band_grads + band * padded + column);
      products.store_to(band_products + band * padded + column);
    });
  }
  const double count = static_cast<double>(call.shape.outer * call.shape.inner);
  columns.for_channels([&](std::int64_t channel, std::int64_t first) {
    GradSums total;
    for (std::int64_t band = 0; has_sums && band < columns.bands; ++band) {
      for (std::int64_t i = 0; i < call.shape.inner; ++i) {
        const std::int64_t at = band * padded + first + i;
        total = GradSums::merge(total, {band_grads[at], band_products[at]});
      }
    }
    const double root = inverse_root(static_cast<double>(variance[channel]) + call.eps);
    const double products = total.products * root;
    if (grad_weight) grad_weight[channel] = Narrow<Element>::from(products);
    if (grad_bias) grad_bias[channel] = Narrow<Element>::from(total.grads);
    columns.fill(steps, first, mean[channel], static_cast<T>(root),
                 static_cast<T>(total.grads / count), static_cast<T>(products / count),
                 static_cast<T>(root * value_or(weight, channel, 1.0)));
  });
  if (!grad_x) return;
  columns.for_bands([&]<bool kIsFull>(std::int64_t column, std::int64_t present, std::int64_t row,
                                      std::int64_t rows, std::int64_t) {
    const Vec<T> means = load<T>(steps + column);
    const Vec<T> root = load<T>(steps + padded + column);
    const Vec<T> grad_mean = load<T>(steps + 2 * padded + column);
    const Vec<T> slope = load<T>(steps + 3 * padded + column);
    const Vec<T> scale = load<T>(steps + 4 * padded + column);
    for (std::int64_t at = row * width + column; rows > 0; --rows, at += width) {
      Vec<T> value = load_some<kIsFull>(grad + at, present, T(0));
      if (!has_statistics) {
        const Vec<T> normalized = (load_some<kIsFull>(x + at, present, T(0)) - means) * root;
        value = fma(normalized, -slope, value - grad_mean);
      }
      store_some<kIsFull>(grad_x + at, value * scale, present);
    }
  });
}

#define LUMUS_INSTANTIATE(Element)                                 \
  template void normalize_columns<Element>(const NormCall&, bool); \
  template void normalize_columns_grad<Element>(const NormGradCall&, bool);
LUMUS_INSTANTIATE(double)
LUMUS_INSTANTIATE(float)
LUMUS_INSTANTIATE(Float16)
LUMUS_INSTANTIATE(BFloat16)
#undef LUMUS_INSTANTIATE

}  // namespace lumus::LUMUS_ISA
