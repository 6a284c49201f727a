// Squares turned in registers, and stores that pass by the caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/isa.h"
#include "kernels/simd.h"
#include "kernels/strided.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace lumus::LUMUS_ISA {

#if defined(__AVX512F__)
typedef __m512i StreamLine;
LUMUS_INLINE void stream(std::byte* to, StreamLine line) {
  _mm512_stream_si512(reinterpret_cast<StreamLine*>(to), line);
}
#elif defined(__AVX__)
typedef __m256i StreamLine;
LUMUS_INLINE void stream(std::byte* to, StreamLine line) {
  _mm256_stream_si256(reinterpret_cast<StreamLine*>(to), line);
}
#elif defined(__SSE2__)
typedef __m128i StreamLine;
LUMUS_INLINE void stream(std::byte* to, StreamLine line) {
  _mm_stream_si128(reinterpret_cast<StreamLine*>(to), line);
}
#else
typedef struct {
  std::byte bytes[LUMUS_VECTOR_BYTES];
} StreamLine;
LUMUS_INLINE void stream(std::byte* to, StreamLine line) { std::memcpy(to, &line, sizeof line); }
#endif

LUMUS_INLINE void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

LUMUS_INLINE bool is_line_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % LUMUS_VECTOR_BYTES == 0;
}

static inline void stream_bytes(std::byte* to, const std::byte* from, std::int64_t count) {
  constexpr std::int64_t line_bytes = sizeof(StreamLine);
  while (count > 0 && !is_line_aligned(to)) {
    *to++ = *from++;
    --count;
  }
  std::int64_t done = 0;
  for (; done + line_bytes <= count; done += line_bytes) {
    StreamLine line;
    std::memcpy(&line, from + done, sizeof line);
    stream(to + done, line);
  }
  std::memcpy(to + done, from + done, static_cast<std::size_t>(count - done));
  stream_fence();
}

// Exchanges blocks of `Step` lanes between rows that are `Step` apart; doing so for Step = 1, 2, 4,
// ... transposes a square.
template <class T, int Bytes>
struct Square {
  static constexpr int kSide = Bytes / static_cast<int>(sizeof(T));
  typedef T Row __attribute__((vector_size(Bytes)));

  template <int Step>
  static inline __attribute__((always_inline)) void exchange(Row* rows) {
    if constexpr (Step < kSide) {
      Row low, high;
      for (int lane = 0; lane < kSide; ++lane) {
        const bool is_odd = (lane / Step) & 1;
        low[lane] = static_cast<T>(is_odd ? kSide + lane - Step : lane);
        high[lane] = static_cast<T>(is_odd ? kSide + lane : lane + Step);
      }
      for (int row = 0; row < kSide; ++row) {
        if ((row / Step) & 1) continue;
        const Row upper = rows[row];
        const Row lower = rows[row + Step];
        rows[row] = __builtin_shuffle(upper, lower, low);
        rows[row + Step] = __builtin_shuffle(upper, lower, high);
      }
      exchange<Step * 2>(rows);
    }
  }

  // to[b * to_stride + i * size] = from[i * from_stride + b * size] for b, i < kSide.
  template <bool Streaming>
  static inline __attribute__((always_inline)) void run(std::byte* to, std::int64_t to_stride,
                                                        const std::byte* from,
                                                        std::int64_t from_stride) {
    Row rows[kSide];
    for (int i = 0; i < kSide; ++i) std::memcpy(&rows[i], from + i * from_stride, Bytes);
    exchange<1>(rows);
    for (int b = 0; b < kSide; ++b) {
      if constexpr (Streaming) {
        StreamLine line;
        std::memcpy(&line, &rows[b], sizeof line);
        stream(to + b * to_stride, line);
      } else {
        std::memcpy(to + b * to_stride, &rows[b], Bytes);
      }
    }
  }
};

// to[b * to_stride + i * size] = from[i * from_stride + b * from_step], b < height, i < width.
template <class T>
static inline void transpose_tile(std::byte* to, std::int64_t to_stride, const std::byte* from,
                                  std::int64_t from_stride, std::int64_t from_step,
                                  std::int64_t height, std::int64_t width, bool streaming) {
  constexpr std::int64_t size = sizeof(T);
  constexpr int bytes = size == 1                              ? 16
                        : size == 2 && LUMUS_VECTOR_BYTES > 32 ? 32
                                                               : LUMUS_VECTOR_BYTES;
  typedef Square<T, bytes> Block;
  typedef Loose<T> Cell;
  constexpr std::int64_t side = Block::kSide;
  const std::int64_t whole_height = from_step == size ? height - height % side : 0;
  const std::int64_t whole_width = from_step == size ? width - width % side : 0;
  for (std::int64_t b = 0; b < whole_height; b += side) {
    for (std::int64_t i = 0; i < whole_width; i += side) {
      std::byte* block_to = to + b * to_stride + i * size;
      const std::byte* block_from = from + i * from_stride + b * size;
      if constexpr (bytes == LUMUS_VECTOR_BYTES) {
        if (streaming) {
          Block::template run<true>(block_to, to_stride, block_from, from_stride);
          continue;
        }
      }
      Block::template run<false>(block_to, to_stride, block_from, from_stride);
    }
  }
  for (std::int64_t b = 0; b < height; ++b) {
    for (std::int64_t i = b < whole_height ? whole_width : 0; i < width; ++i) {
      *reinterpret_cast<Cell*>(to + b * to_stride + i * size) =
          *reinterpret_cast<const Cell*>(from + i * from_stride + b * from_step);
    }
  }
}

typedef void (*TransposeTile)(std::byte*, std::int64_t, const std::byte*, std::int64_t,
                              std::int64_t, std::int64_t, std::int64_t, bool);

static inline TransposeTile transpose_tile_of(std::int64_t size) {
  switch (size) {
    case 1:
      return transpose_tile<std::uint8_t>;
    case 2:
      return transpose_tile<std::uint16_t>;
    case 4:
      return transpose_tile<std::uint32_t>;
    default:
      return transpose_tile<std::uint64_t>;
  }
}

}  // namespace lumus::LUMUS_ISA
