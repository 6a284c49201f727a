// What the kernels of normalisation share: typed pointers, the elementwise ends, and the sums of
// weights' gradients.
#pragma once

#include "kernels/moments.h"
#include "kernels/normalization.h"
#include "kernels/transpose.h"

namespace lumus::LUMUS_ISA {

// By rows (normalization_rows.cpp), by planes of (outer, channel) with runs of kShortRun and more
// (normalization_planes.cpp), by columns for shorter ones (normalization_columns.cpp).
template <class Element>
void normalize_rows(const NormCall& call);
template <class Element>
void normalize_rows_grad(const NormGradCall& call);
template <class Element>
void normalize_row_planes_grad(const NormGradCall& call);
template <class Element>
void normalize_planes(const NormCall& call, bool has_statistics);
template <class Element>
void normalize_planes_grad(const NormGradCall& call, bool has_statistics);
template <class Element>
void normalize_columns(const NormCall& call, bool has_statistics);
template <class Element>
void normalize_columns_grad(const NormGradCall& call, bool has_statistics);

// Shorter runs of a channel are taken several channels at once.
constexpr std::int64_t kShortRun = 16;

template <class Element>
LUMUS_INLINE const Element* as(const std::byte* data) {
  return reinterpret_cast<const Element*>(data);
}
template <class Element>
LUMUS_INLINE Element* as(std::byte* data) {
  return reinterpret_cast<Element*>(data);
}

template <class T, class Element>
LUMUS_INLINE T value_or(const Element* data, std::int64_t index, T otherwise) {
  return data ? widen<T>(data[index]) : otherwise;
}

LUMUS_INLINE double inverse_root(double x) { return 1 / __builtin_sqrt(x); }

// A result this large is written past the caches: it would only push out what is still wanted.
constexpr std::int64_t kStreamBytes = 8 * 1024 * 1024;

LUMUS_INLINE bool is_streamed(const NormShape& shape, std::int64_t size) {
  return shape.outer * shape.groups * shape.channels * shape.inner * size >= kStreamBytes;
}

// store(to + i, value<is_full>(i, present)) for `count` elements; by_groups() fences.
template <class T, class Element, class Value>
LUMUS_INLINE void write_run(std::int64_t count, bool is_streamed, Element* to, const Value& value) {
  const bool has_lines = sizeof(Element) == sizeof(T) && is_line_aligned(to);
  if (is_streamed && has_lines) {
    for_vectors<T>(count, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
      const Vec<T> result = value.template operator()<kIsFull>(i, present);
      if constexpr (kIsFull) {
        StreamLine line;
        std::memcpy(&line, &result, sizeof line);
        stream(reinterpret_cast<std::byte*>(to + i), line);
      } else {
        store_some<kIsFull>(to + i, result, present);
      }
    });
    return;
  }
  for_vectors<T>(count, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
    store_some<kIsFull>(to + i, value.template operator()<kIsFull>(i, present), present);
  });
}

// y = (x - mean) * scale + offset, with the mean as the nearest T and the rest of it in `offset`.
template <class T>
struct Affine {
  T mean, scale, offset;

  static Affine of(double mean, double scale, double bias) {
    const T nearest = static_cast<T>(mean);
    const double rest = mean - static_cast<double>(nearest);
    return {nearest, static_cast<T>(scale), static_cast<T>(bias - rest * scale)};
  }
  Vec<T> operator()(Vec<T> x) const {
    return fma(x - splat<T>(mean), splat<T>(scale), splat<T>(offset));
  }
};

template <class T, class Element>
LUMUS_INLINE void write_affine(const Affine<T>& affine, const Element* x, std::int64_t count,
                               bool is_streamed, Element* y) {
  write_run<T>(count, is_streamed, y, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
    return affine(load_some<kIsFull>(x + i, present, T(0)));
  });
}

// The gradient of x: ((grad * weight - grad_mean) - a * slope) * scale, with a = (x - mean) * root
// the normalised element.
template <class T>
struct GradSteps {
  T mean, root, weight, grad_mean, slope, scale;

  Vec<T> operator()(Vec<T> grad, Vec<T> x) const {
    const Vec<T> normalized = (x - splat<T>(mean)) * splat<T>(root);
    const Vec<T> rest = fma(grad, splat<T>(weight), splat<T>(-grad_mean));
    return fma(normalized, splat<T>(-slope), rest) * splat<T>(scale);
  }
};

template <class T, class Element>
LUMUS_INLINE void write_grad(const GradSteps<T>& steps, const Element* grad, const Element* x,
                             std::int64_t count, bool is_streamed, Element* out) {
  write_run<T>(count, is_streamed, out, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
    return steps(load_some<kIsFull>(grad + i, present, T(0)),
                 load_some<kIsFull>(x + i, present, T(0)));
  });
}

// Sums of the gradient, and of its products with x - mean.
struct GradSums {
  double grads = 0;
  double products = 0;

  static GradSums merge(const GradSums& a, const GradSums& b) {
    return {a.grads + b.grads, a.products + b.products};
  }
};

template <class Element, class T>
GradSums grad_sums(const Element* grad, const Element* x, std::int64_t stride, std::int64_t runs,
                   std::int64_t length, T mean) {
  double sums[2] = {};
  const Vec<T> means = splat<T>(mean);
  sum_runs<T, 2>(
      runs, length,
      [&]<bool kIsFull>(std::int64_t run, std::int64_t i, std::int64_t present, Vec<T>* totals)
          __attribute__((always_inline)) {
            const std::int64_t at = run * stride + i;
            const Vec<T> g = load_some<kIsFull>(grad + at, present, T(0));
            totals[0] += g;
            totals[1] = fma(g, load_some<kIsFull>(x + at, present, mean) - means, totals[1]);
          },
      sums);
  return {sums[0], sums[1]};
}

// Adds up the columns of `rows` rows of partial sums, in order, in float64.
template <class Element, class T>
void sum_partials(const T* partials, std::int64_t rows, std::int64_t width, Element* out) {
  if (!out) return;
  const std::int64_t grain = larger(kLanes<T>, kGroupGrain / larger(1, rows));
  parallel_for(width, grain, [&](std::int64_t first, std::int64_t last) {
    for_vectors<T>(last - first, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
      double sums[kLanes<T>] = {};
      T rounded[kLanes<T>];
      for (std::int64_t row = 0; row < rows; ++row) {
        add_wide(sums, load_some<kIsFull>(partials + row * width + first + i, present, T(0)));
      }
      for (std::int64_t lane = 0; lane < kLanes<T>; ++lane)
        rounded[lane] = static_cast<T>(sums[lane]);
      store_some<kIsFull>(out + first + i, load<T>(rounded), present);
    });
  });
}

}  // namespace lumus::LUMUS_ISA
