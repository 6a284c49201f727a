// Statistics of channels, and gradients of rows, where a channel's elements lie in runs (the planes
// of an image).
//
// Layout. All arrays are contiguous, (outer, groups * channels, inner).
//
// Threads. A group of elements with one statistic that fits the cache is measured and written by
// one thread, so that memory is read once; larger ones are cut into blocks (moments.h). The bits do
// not depend on the number of threads.
#include "kernels/normalization_steps.h"

namespace lumus::LUMUS_ISA {
namespace {

// The planes of each channel.
template <class Element>
struct Planes {
  using T = Compute<Element>;
  const NormShape& shape;
  Blocks blocks{shape.outer, shape.inner};
  std::int64_t stride = shape.channels * shape.inner;
  std::int64_t elements = shape.outer * shape.inner;
  bool streams = is_streamed(shape, sizeof(Element));

  // Calls body(offset, count) for each run of a block of a channel.
  template <class Body>
  void for_runs(std::int64_t channel, std::int64_t block, const Body& body) const {
    const Blocks::Place place = blocks.at(block);
    for (std::int64_t run = place.run; run < place.run + place.runs; ++run) {
      body(run * stride + channel * shape.inner + place.begin, place.length);
    }
  }
  std::int64_t offset(std::int64_t channel, const Blocks::Place& place) const {
    return place.run * stride + channel * shape.inner + place.begin;
  }
  std::int64_t bytes(int arrays) const {
    return elements * arrays * static_cast<std::int64_t>(sizeof(Element));
  }
};

// The gradients of rows whose channels have runs of elements, with one weight and bias a run.
template <class Element>
struct RowPlanesGrad {
  using T = Compute<Element>;
  const NormGradCall& call;
  const NormShape& shape = call.shape;
  const Element* grad = as<Element>(call.grad);
  const Element* x = as<Element>(call.x);
  const T* mean = as<T>(call.mean);
  const T* root = as<T>(call.spread);
  const Element* weight = as<Element>(call.weight);
  Element* grad_x = as<Element>(call.grad_x);
  std::int64_t inner = shape.inner;
  std::int64_t width = shape.groups * shape.channels;
  bool streams = is_streamed(shape, sizeof(Element));
  std::int64_t at_once = larger(1, kMomentBlock / larger(1, inner));  // channels of a block

  T mean_of(std::int64_t row) const { return mean ? mean[row] : T(0); }

  void run() const {
    const bool has_sums = call.grad_weight || call.grad_bias;
    const std::int64_t planes = shape.outer * width;
    Scratch scratch(has_sums ? 2 * planes * static_cast<std::int64_t>(sizeof(T)) : 0);
    T* weight_sums = has_sums ? scratch.as<T>() : nullptr;
    T* bias_sums = has_sums ? weight_sums + planes : nullptr;
    const std::int64_t elements = shape.channels * inner;
    by_groups<GradSums, GradSums>(
        shape.outer * shape.groups, divide_up(shape.channels, at_once), elements,
        2 * elements * static_cast<std::int64_t>(sizeof(Element)),
        [&](std::int64_t row, std::int64_t block) {
          return measure(row, block, weight_sums, bias_sums);
        },
        [&](std::int64_t, const GradSums& total) { return total; },
        [&](std::int64_t row, std::int64_t block, const GradSums& total) {
          if (grad_x) write(row, block, total);
        });
    if (!has_sums) return;
    sum_partials(weight_sums, shape.outer, width, as<Element>(call.grad_weight));
    sum_partials(bias_sums, shape.outer, width, as<Element>(call.grad_bias));
  }

  // Calls body(plane, channel) for the channels of a block of a row.
  template <class Body>
  void for_planes(std::int64_t row, std::int64_t block, const Body& body) const {
    const std::int64_t last = smaller((block + 1) * at_once, shape.channels);
    for (std::int64_t c = block * at_once; c < last; ++c) {
      body(row * shape.channels + c, row % shape.groups * shape.channels + c);
    }
  }

  GradSums measure(std::int64_t row, std::int64_t block, T* weight_sums, T* bias_sums) const {
    GradSums total;
    for_planes(row, block, [&](std::int64_t plane, std::int64_t channel) {
      const GradSums sums =
          grad_sums(grad + plane * inner, x + plane * inner, 0, 1, inner, mean_of(row));
      if (weight_sums) {
        // Of no elements there is no deviation.
        const double by_root = inner ? static_cast<double>(root[row]) : 0;
        weight_sums[plane] = static_cast<T>(sums.products * by_root);
        bias_sums[plane] = static_cast<T>(sums.grads);
      }
      const double w = value_or(weight, channel, 1.0);
      total = GradSums::merge(total, {sums.grads * w, sums.products * w});
    });
    return total;
  }

  void write(std::int64_t row, std::int64_t block, const GradSums& total) const {
    const double count = static_cast<double>(shape.channels * inner);
    const double by_root = static_cast<double>(root[row]);
    const T grad_mean = mean ? static_cast<T>(total.grads / count) : T(0);
    const T slope = static_cast<T>(total.products * by_root / count);
    for_planes(row, block, [&](std::int64_t plane, std::int64_t channel) {
      const GradSteps<T> steps = {mean_of(row), root[row], value_or(weight, channel, T(1)),
                                  grad_mean,    slope,     root[row]};
      write_grad(steps, grad + plane * inner, x + plane * inner, inner, streams,
                 grad_x + plane * inner);
    });
  }
};

}  // namespace

template <class Element>
void normalize_row_planes_grad(const NormGradCall& call) {
  RowPlanesGrad<Element>{call}.run();
}

template <class Element>
void normalize_planes(const NormCall& call, bool has_statistics) {
  using T = Compute<Element>;
  const Planes<Element> planes{call.shape};
  const auto* x = as<Element>(call.x);
  const auto* weight = as<Element>(call.weight);
  const auto* bias = as<Element>(call.bias);
  auto* y = as<Element>(call.y);
  auto* means = as<T>(call.mean);
  auto* variances = as<T>(call.spread);
  by_groups<Moments, Affine<T>>(
      call.shape.channels, planes.blocks.count, planes.elements, planes.bytes(1),
      [&](std::int64_t channel, std::int64_t block) {
        if (has_statistics) return Moments{};
        const Blocks::Place place = planes.blocks.at(block);
        return moments_of<true>(Span<Element>{x + planes.offset(channel, place), planes.stride,
                                              place.runs, place.length});
      },
      [&](std::int64_t channel, const Moments& total) {
        double mean = total.mean;
        double variance = total.variance();
        if (has_statistics) {
          mean = static_cast<double>(means[channel]);
          variance = static_cast<double>(variances[channel]);
        } else {
          means[channel] = static_cast<T>(mean);
          variances[channel] = static_cast<T>(variance);
        }
        const double root = inverse_root(variance + call.eps);
        return Affine<T>::of(mean, root * value_or(weight, channel, 1.0),
                             value_or(bias, channel, 0.0));
      },
      [&](std::int64_t channel, std::int64_t block, const Affine<T>& affine) {
        planes.for_runs(channel, block, [&](std::int64_t at, std::int64_t count) {
          write_affine(affine, x + at, count, planes.streams, y + at);
        });
      });
}

template <class Element>
void normalize_planes_grad(const NormGradCall& call, bool has_statistics) {
  using T = Compute<Element>;
  const Planes<Element> planes{call.shape};
  const auto* grad = as<Element>(call.grad);
  const auto* x = as<Element>(call.x);
  const auto* mean = as<T>(call.mean);
  const auto* variance = as<T>(call.spread);
  const auto* weight = as<Element>(call.weight);
  auto* grad_x = as<Element>(call.grad_x);
  auto* grad_weight = as<Element>(call.grad_weight);
  auto* grad_bias = as<Element>(call.grad_bias);
  const bool has_sums = !has_statistics || grad_weight || grad_bias;
  by_groups<GradSums, GradSteps<T>>(
      call.shape.channels, planes.blocks.count, planes.elements, planes.bytes(2),
      [&](std::int64_t channel, std::int64_t block) {
        if (!has_sums) return GradSums{};
        const Blocks::Place place = planes.blocks.at(block);
        const std::int64_t at = planes.offset(channel, place);
        return grad_sums(grad + at, x + at, planes.stride, place.runs, place.length, mean[channel]);
      },
      [&](std::int64_t channel, const GradSums& total) {
        const double root = inverse_root(static_cast<double>(variance[channel]) + call.eps);
        const double products = total.products * root;
        if (grad_weight) grad_weight[channel] = Narrow<Element>::from(products);
        if (grad_bias) grad_bias[channel] = Narrow<Element>::from(total.grads);
        const double share = 1 / static_cast<double>(planes.elements);
        const double scale = root * value_or(weight, channel, 1.0);
        return GradSteps<T>{mean[channel],
                            static_cast<T>(root),
                            T(1),
                            static_cast<T>(total.grads * share),
                            static_cast<T>(products * share),
                            static_cast<T>(scale)};
      },
      [&](std::int64_t channel, std::int64_t block, const GradSteps<T>& steps) {
        if (!grad_x) return;
        planes.for_runs(channel, block, [&](std::int64_t at, std::int64_t count) {
          if (has_statistics) {
            write_affine(Affine<T>{0, steps.scale, 0}, grad + at, count, planes.streams,
                         grad_x + at);
          } else {
            write_grad(steps, grad + at, x + at, count, planes.streams, grad_x + at);
          }
        });
      });
}

#define LUMUS_INSTANTIATE(Element)                                       \
  template void normalize_row_planes_grad<Element>(const NormGradCall&); \
  template void normalize_planes<Element>(const NormCall&, bool);        \
  template void normalize_planes_grad<Element>(const NormGradCall&, bool);
LUMUS_INSTANTIATE(double)
LUMUS_INSTANTIATE(float)
LUMUS_INSTANTIATE(Float16)
LUMUS_INSTANTIATE(BFloat16)
#undef LUMUS_INSTANTIATE

}  // namespace lumus::LUMUS_ISA
