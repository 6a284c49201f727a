// Statistics of rows: layer, RMS, group and instance normalisation.
//
// Layout. All arrays are contiguous: rows of groups * channels * inner elements, cut into groups.
//
// Threads. Rows are shared out by size. The gradients of weight and bias are added up by blocks of
// rows, and the blocks' sums in order, so the bits do not depend on the number of threads.
#include "kernels/normalization_steps.h"

namespace lumus::LUMUS_ISA {
namespace {

constexpr std::int64_t kMaxBlockRows = 64;  // of which a lane adds up the gradients of weights
constexpr std::int64_t kBlockElements = 262144;

template <class Element>
struct Forward {
  using T = Compute<Element>;
  const NormCall& call;
  const NormShape& shape = call.shape;
  const Element* x = as<Element>(call.x);
  const Element* weight = as<Element>(call.weight);
  const Element* bias = as<Element>(call.bias);
  Element* y = as<Element>(call.y);
  T* mean = as<T>(call.mean);
  T* root = as<T>(call.spread);
  std::int64_t length = shape.channels * shape.inner;
  bool streams = is_streamed(shape, sizeof(Element));

  struct Scale {
    double mean, root;
  };

  template <bool kIsCentered>
  void run() const {
    const Blocks blocks(1, length);
    by_groups<Moments, Scale>(
        shape.outer * shape.groups, blocks.count, length,
        length * static_cast<std::int64_t>(sizeof(Element)),
        [&](std::int64_t row, std::int64_t block) {
          const Blocks::Place place = blocks.at(block);
          return moments_of<kIsCentered>(
              Span<Element>{x + row * length + place.begin, 0, 1, place.length});
        },
        [&](std::int64_t row, const Moments& total) {
          const Scale scale = {total.mean, inverse_root(total.variance() + call.eps)};
          if (mean) mean[row] = static_cast<T>(scale.mean);
          root[row] = static_cast<T>(scale.root);
          return scale;
        },
        [&](std::int64_t row, std::int64_t block, const Scale& scale) {
          const Blocks::Place place = blocks.at(block);
          if (shape.inner == 1) {
            write_row(row, place.begin, place.length, scale);
          } else {
            write_channels(row, place.begin, place.begin + place.length, scale);
          }
        });
  }

  // An element of weight and bias for each of x.
  void write_row(std::int64_t row, std::int64_t begin, std::int64_t count,
                 const Scale& scale) const {
    const auto affine = Affine<T>::of(scale.mean, scale.root, 0);
    const std::int64_t at = row * length + begin;
    const std::int64_t channel = row % shape.groups * shape.channels + begin;
    const Element* from = x + at;
    const auto write = [&]<bool kHasWeight, bool kHasBias>() __attribute__((always_inline)) {
      write_run<T>(count, streams, y + at, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
        Vec<T> value = affine(load_some<kIsFull>(from + i, present, T(0)));
        Vec<T> shift = {};
        if constexpr (kHasBias) shift = load_some<kIsFull>(bias + channel + i, present, T(0));
        if constexpr (kHasWeight) {
          return fma(value, load_some<kIsFull>(weight + channel + i, present, T(0)), shift);
        }
        return kHasBias ? value + shift : value;
      });
    };
    if (weight && bias) return write.template operator()<true, true>();
    if (weight) return write.template operator()<true, false>();
    if (bias) return write.template operator()<false, true>();
    write.template operator()<false, false>();
  }

  // Runs of elements with one weight and bias.
  void write_channels(std::int64_t row, std::int64_t begin, std::int64_t end,
                      const Scale& scale) const {
    while (begin < end) {
      const std::int64_t channel = begin / shape.inner;
      const std::int64_t count = smaller(end, (channel + 1) * shape.inner) - begin;
      const std::int64_t place = row % shape.groups * shape.channels + channel;
      const auto affine = Affine<T>::of(scale.mean, scale.root * value_or(weight, place, 1.0),
                                        value_or(bias, place, 0.0));
      const std::int64_t at = row * length + begin;
      write_affine(affine, x + at, count, streams, y + at);
      begin += count;
    }
  }
};

// The gradients where each element has a weight of its own.
template <class Element>
struct Backward {
  using T = Compute<Element>;
  const NormGradCall& call;
  const NormShape& shape = call.shape;
  const Element* grad = as<Element>(call.grad);
  const Element* x = as<Element>(call.x);
  const T* mean = as<T>(call.mean);
  const T* root = as<T>(call.spread);
  Element* grad_x = as<Element>(call.grad_x);
  std::int64_t length = shape.channels;
  std::int64_t width = shape.groups * shape.channels;
  bool streams = is_streamed(shape, sizeof(Element));

  void run() const {
    const bool has_sums = call.grad_weight || call.grad_bias;
    const std::int64_t block_rows = smaller(
        kMaxBlockRows, larger(kBlockElements / larger(1, width), divide_up(shape.outer, 4)));
    const std::int64_t blocks = divide_up(shape.outer, larger(1, block_rows));
    const std::int64_t sums = has_sums ? 2 * blocks * width : 0;
    Scratch scratch((sums + width) * static_cast<std::int64_t>(sizeof(T)));
    T* partials = scratch.as<T>();
    // Without a weight it is 1: one loop for both.
    T* ones = partials + sums;
    const Element* weight = as<Element>(call.weight);
    for (std::int64_t i = 0; !weight && i < width; ++i) ones[i] = T(1);

    const std::int64_t grain = larger(1, kGroupGrain / larger(1, block_rows * width));
    parallel_for(blocks, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t block = begin; block < end; ++block) {
        T* weight_sums = has_sums ? partials + block * width : nullptr;
        T* bias_sums = has_sums ? partials + (blocks + block) * width : nullptr;
        for (std::int64_t i = 0; has_sums && i < width; ++i) weight_sums[i] = bias_sums[i] = T(0);
        const std::int64_t first = block * block_rows;
        const std::int64_t last = smaller(first + block_rows, shape.outer);
        if (weight) {
          run_block(first, last, weight, weight_sums, bias_sums);
        } else {
          run_block(first, last, ones, weight_sums, bias_sums);
        }
      }
      stream_fence();
    });
    if (!has_sums) return;
    sum_partials(partials, blocks, width, as<Element>(call.grad_weight));
    sum_partials(partials + blocks * width, blocks, width, as<Element>(call.grad_bias));
  }

  template <class Weight>
  void run_block(std::int64_t first, std::int64_t last, const Weight* weight, T* weight_sums,
                 T* bias_sums) const {
    for (std::int64_t row = first * shape.groups; row < last * shape.groups; ++row) {
      const std::int64_t channel = row % shape.groups * length;
      const Element* g = grad + row * length;
      const Element* from = x + row * length;
      const Weight* w = weight + channel;
      const T center = mean ? mean[row] : T(0);
      double sums[2] = {};
      if (weight_sums) {
        sum_row<true>(g, from, w, center, root[row], weight_sums + channel, bias_sums + channel,
                      sums);
      } else {
        sum_row<false>(g, from, w, center, root[row], nullptr, nullptr, sums);
      }
      if (!grad_x) continue;
      const double count = static_cast<double>(length);
      const T grad_mean = mean ? static_cast<T>(sums[0] / count) : T(0);
      const T slope = static_cast<T>(sums[1] / count);
      const GradSteps<T> steps = {center, root[row], T(1), grad_mean, slope, root[row]};
      Element* to = grad_x + row * length;
      write_run<T>(length, streams, to, [&]<bool kIsFull>(std::int64_t i, std::int64_t present) {
        const Vec<T> h =
            load_some<kIsFull>(g + i, present, T(0)) * load_some<kIsFull>(w + i, present, T(0));
        return steps(h, load_some<kIsFull>(from + i, present, T(0)));
      });
    }
  }

  // The sums of h = grad * weight and of h * a, with a the normalised elements; adds grad * a and
  // grad to the sums of each column.
  template <bool kHasSums, class Weight>
  void sum_row(const Element* g, const Element* from, const Weight* w, T center, T scale,
               T* weight_sums, T* bias_sums, double* sums) const {
    const Vec<T> centers = splat<T>(center), scales = splat<T>(scale);
    sum_runs<T, 2>(
        1, length,
        [&]<bool kIsFull>(std::int64_t, std::int64_t i, std::int64_t present, Vec<T>* totals)
            __attribute__((always_inline)) {
              const Vec<T> incoming = load_some<kIsFull>(g + i, present, T(0));
              const Vec<T> a = (load_some<kIsFull>(from + i, present, center) - centers) * scales;
              const Vec<T> h = incoming * load_some<kIsFull>(w + i, present, T(0));
              totals[0] += h;
              totals[1] = fma(h, a, totals[1]);
              if constexpr (kHasSums) {
                const Vec<T> by_weight = load_some<kIsFull>(weight_sums + i, present, T(0));
                const Vec<T> by_bias = load_some<kIsFull>(bias_sums + i, present, T(0));
                store_some<kIsFull>(weight_sums + i, fma(incoming, a, by_weight), present);
                store_some<kIsFull>(bias_sums + i, by_bias + incoming, present);
              }
            },
        sums);
  }
};

}  // namespace

template <class Element>
void normalize_rows(const NormCall& call) {
  const Forward<Element> forward{call};
  if (call.mean) {
    forward.template run<true>();
  } else {
    forward.template run<false>();
  }
}

template <class Element>
void normalize_rows_grad(const NormGradCall& call) {
  Backward<Element>{call}.run();
}

template void normalize_rows<double>(const NormCall&);
template void normalize_rows<float>(const NormCall&);
template void normalize_rows<Float16>(const NormCall&);
template void normalize_rows<BFloat16>(const NormCall&);
template void normalize_rows_grad<double>(const NormGradCall&);
template void normalize_rows_grad<float>(const NormGradCall&);
template void normalize_rows_grad<Float16>(const NormGradCall&);
template void normalize_rows_grad<BFloat16>(const NormGradCall&);

}  // namespace lumus::LUMUS_ISA
