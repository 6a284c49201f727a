// Convolutions of one tap that change nothing about the picture's size: a matrix product for each
// picture, with the weights on the left and the picture, channels by points, where it lies on the
// right.
//
// Threads. A piece is a run of points of one picture and group. Numerics: see gemm.h.
#pragma once

#include "kernels/convolution_tables.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {

constexpr std::int64_t kPointwisePoints = 512;  // of a piece, about

// Whether a pass is such a product, with a source whose points lie one after the other.
LUMUS_INLINE bool is_pointwise(const Convolution& shape, const View& source) {
  for (const ConvolutionAxis& axis : shape.axes) {
    if (axis.taps != 1 || axis.stride != 1 || axis.padding != 0 || axis.input != axis.output) {
      return false;
    }
  }
  std::int64_t expected = 1;
  for (int axis = 4; axis >= 2; --axis) {
    if (source.shape[axis] != 1 && source.strides[axis] != expected) return false;
    expected *= source.shape[axis];
  }
  return true;
}

template <class T>
static void add_bias(const T* bias, std::int64_t channels, std::int64_t points, std::int64_t plane,
                     T* to) {
  for (std::int64_t channel = 0; channel < channels; ++channel, to += plane) {
    const Vec<T> added = splat<T>(bias[channel]);
    std::int64_t i = 0;
    for (; i + kLanes<T> <= points; i += kLanes<T>) store<T>(to + i, load<T>(to + i) + added);
    if (i < points) {
      store_first<T>(to + i, load_first<T>(to + i, points - i) + added, points - i);
    }
  }
}

// `weight` is (groups, rows, columns) by its strides: result channels by source channels.
template <class T>
static void multiply_pictures(const Convolution& shape, const View& source,
                              std::int64_t source_channels, std::int64_t result_channels,
                              const T* weight, std::int64_t row_stride, std::int64_t column_stride,
                              const T* bias, T* result) {
  const std::int64_t plane = shape.axes[0].output * shape.axes[1].output * shape.axes[2].output;
  const std::int64_t runs = divided_up(plane, kPointwisePoints);
  // Even runs of whole panels.
  const std::int64_t run = divided_up(divided_up(plane, runs), kPanelColumns<T>) * kPanelColumns<T>;
  const std::int64_t num_runs = divided_up(plane, run);
  const std::int64_t group_size = shape.in_channels * shape.out_channels;
  const std::int64_t scratch_size =
      piece_scratch<T>(result_channels, run, larger(source_channels, 1));
  const std::int64_t products = run * group_size;
  parallel_for(
      shape.batch * shape.groups * num_runs, 1 + (1 << 19) / (products + 512),
      [&](std::int64_t begin, std::int64_t end) {
        const Scratch scratch(scratch_size * static_cast<std::int64_t>(sizeof(T)));
        for (std::int64_t piece = begin; piece < end; ++piece) {
          const std::int64_t first = piece % num_runs * run;
          const std::int64_t points = smaller(run, plane - first);
          const std::int64_t group = piece / num_runs % shape.groups;
          const std::int64_t image = piece / num_runs / shape.groups;
          T* const to = result + (image * shape.groups + group) * result_channels * plane + first;
          const T* const from = reinterpret_cast<const T*>(source.data) +
                                image * source.strides[0] +
                                group * source_channels * source.strides[1] + first;
          multiply_piece<T>(result_channels, points, source_channels,
                            Matrix<T>{weight + group * group_size, row_stride, column_stride},
                            Matrix<T>{from, source.strides[1], 1}, to, plane, scratch.as<T>());
          if (bias) add_bias<T>(bias + group * result_channels, result_channels, points, plane, to);
        }
      });
}

}  // namespace lumus::LUMUS_ISA
