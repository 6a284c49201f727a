// The windows of pictures as columns of a matrix, and back.
//
// Threads. A plane of a picture is a piece. Numerics. On the way back an element adds up its taps
// in their order.
#pragma once

#include "kernels/convolution_tables.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {

constexpr std::int64_t kColumnElements = 1 << 15;  // worth a piece

// The positions of an axis at which a tap stands inside the picture: [begin, end).
struct Span {
  std::int64_t begin, end;
};

LUMUS_INLINE Span span_of(const ConvolutionAxis& axis, std::int64_t tap) {
  const std::int64_t shift = axis.padding - tap * axis.dilation;  // position * stride >= shift
  const std::int64_t begin = smaller(larger(-floor_divide(-shift, axis.stride), 0), axis.output);
  const std::int64_t last = floor_divide(axis.input - 1 + shift, axis.stride);
  return {begin, larger(smaller(last + 1, axis.output), begin)};
}

// Calls row(columns row, picture offset, count, step) for each run of windows along the last axis
// that one tap sees inside the picture; offsets in elements of the strides given.
template <class Row>
LUMUS_INLINE void each_row(const Convolution& shape, const std::int64_t* strides, const Row& row) {
  const ConvolutionAxis* const axes = shape.axes;
  const std::int64_t plane = axes[0].output * axes[1].output * axes[2].output;
  std::int64_t start = 0;
  for (std::int64_t i = 0; i < axes[0].taps; ++i) {
    const Span depth = span_of(axes[0], i);
    for (std::int64_t j = 0; j < axes[1].taps; ++j) {
      const Span height = span_of(axes[1], j);
      for (std::int64_t k = 0; k < axes[2].taps; ++k, start += plane) {
        const Span width = span_of(axes[2], k);
        if (width.begin == width.end) continue;
        const std::int64_t first =
            width.begin * axes[2].stride - axes[2].padding + k * axes[2].dilation;
        for (std::int64_t d = depth.begin; d < depth.end; ++d) {
          const std::int64_t at_depth = d * axes[0].stride - axes[0].padding + i * axes[0].dilation;
          for (std::int64_t h = height.begin; h < height.end; ++h) {
            const std::int64_t at_height =
                h * axes[1].stride - axes[1].padding + j * axes[1].dilation;
            row(start + (d * axes[1].output + h) * axes[2].output + width.begin,
                at_depth * strides[0] + at_height * strides[1] + first * strides[2],
                width.end - width.begin, axes[2].stride * strides[2]);
          }
        }
      }
    }
  }
}

template <class T>
static void write_windows(const Convolution& shape, const View& x, const View& columns) {
  const std::int64_t channels = shape.groups * shape.in_channels;
  const std::int64_t size = num_elements(columns) / (shape.batch * channels);
  parallel_for(shape.batch * channels, 1 + kColumnElements / size,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t plane = begin; plane < end; ++plane) {
                   const T* const from = reinterpret_cast<const T*>(x.data) +
                                         plane / channels * x.strides[0] +
                                         plane % channels * x.strides[1];
                   T* const to = reinterpret_cast<T*>(columns.data) + plane * size;
                   std::memset(to, 0, static_cast<std::size_t>(size) * sizeof(T));
                   each_row(shape, x.strides + 2,
                            [&](std::int64_t column, std::int64_t at, std::int64_t count,
                                std::int64_t step) {
                              for (std::int64_t i = 0; i < count; ++i)
                                to[column + i] = from[at + i * step];
                            });
                 }
               });
}

template <class T>
static void add_windows(const Convolution& shape, const View& columns, const View& x) {
  const std::int64_t planes = shape.batch * shape.groups * shape.in_channels;
  const std::int64_t size = num_elements(columns) / planes;
  const std::int64_t plane_size = num_elements(x) / planes;
  parallel_for(
      planes, 1 + kColumnElements / (size + plane_size), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t plane = begin; plane < end; ++plane) {
          const T* const from = reinterpret_cast<const T*>(columns.data) + plane * size;
          T* const to = reinterpret_cast<T*>(x.data) + plane * plane_size;
          std::memset(to, 0, static_cast<std::size_t>(plane_size) * sizeof(T));
          each_row(
              shape, x.strides + 2,
              [&](std::int64_t column, std::int64_t at, std::int64_t count, std::int64_t step) {
                for (std::int64_t i = 0; i < count; ++i) to[at + i * step] += from[column + i];
              });
        }
      });
}

}  // namespace lumus::LUMUS_ISA
