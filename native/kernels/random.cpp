// Random numbers: see random.h for what each element is.
//
// Layout: contiguous output, made in chunks of 512 elements: their words first, in a buffer in the
// first-level cache, then the elements from these. The last chunk is made whole as well, and cut.
// Threads: pieces are whole chunks, and the cipher can start anywhere, so the bits do not depend on
// the threads, nor an element on how many follow.
// Numerics: uniform and integer elements are exact; normal and exponential ones are within a few
// ulp of the formula.
#include "kernels/random.h"

#include "kernels/convert.h"
#include "kernels/isa.h"
#include "kernels/math.h"
#include "kernels/philox.h"
#include "kernels/simd.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {

// In random_gamma.cpp.
void gamma(const View& to, PhiloxStream stream, const double* concentrations, std::int64_t stride);

namespace {

constexpr std::int64_t kChunk = 512;
constexpr std::int64_t kPiece = 32 * kChunk;

// ------------------------------------------------------------------------------------ cipher

LUMUS_INLINE u64v interleave_low(u64v a, u64v b) {
  u64v order;
  for (std::int64_t lane = 0; lane < kLanes<std::uint64_t>; ++lane) {
    order[lane] = static_cast<std::uint64_t>(lane / 2 + lane % 2 * kLanes<std::uint64_t>);
  }
  return __builtin_shuffle(a, b, order);
}
LUMUS_INLINE u64v interleave_high(u64v a, u64v b) {
  u64v order;
  for (std::int64_t lane = 0; lane < kLanes<std::uint64_t>; ++lane) {
    order[lane] = static_cast<std::uint64_t>(lane / 2 + kLanes<std::uint64_t> / 2 +
                                             lane % 2 * kLanes<std::uint64_t>);
  }
  return __builtin_shuffle(a, b, order);
}

// Several vectors of blocks at once, since each round waits for the multiplications of the last.
constexpr int kAtOnce = LUMUS_VECTOR_BYTES == 64 ? 4 : 2;
constexpr std::int64_t kBlocksAtOnce = kAtOnce * kLanes<std::uint64_t>;

LUMUS_INLINE void encrypt(std::uint32_t* to, PhiloxStream stream, std::uint64_t first_block) {
  u64v word[4][kAtOnce];
  u64v lane_number;
  for (std::int64_t lane = 0; lane < kLanes<std::uint64_t>; ++lane) {
    lane_number[lane] = static_cast<std::uint64_t>(lane);
  }
#pragma GCC unroll 8
  for (int k = 0; k < kAtOnce; ++k) {
    word[0][k] = lane_number + (stream.counter + first_block +
                                static_cast<std::uint64_t>(k * kLanes<std::uint64_t>));
    word[1][k] = word[0][k] >> 32;
    word[2][k] = splat<std::uint64_t>(stream.counter_high);
    word[3][k] = word[2][k] >> 32;
  }
  philox_rounds(word, stream.seed);
#pragma GCC unroll 8
  for (int k = 0; k < kAtOnce; ++k) {
    const u64v front = (word[0][k] & 0xffffffffu) | word[1][k] << 32;
    const u64v back = (word[2][k] & 0xffffffffu) | word[3][k] << 32;
    const u64v pairs[2] = {interleave_low(front, back), interleave_high(front, back)};
    std::memcpy(to + k * 4 * kLanes<std::uint64_t>, pairs, sizeof pairs);
  }
}

// Calls make(words, elements) for each chunk of 512 elements that take `Words` words each.
template <class T, int Words, class Make>
void for_each_chunk(const View& to, PhiloxStream stream, const Make& make) {
  const std::int64_t count = num_elements(to);
  T* const elements = reinterpret_cast<T*>(to.data);
  parallel_for(count, kPiece, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::uint32_t words[kChunk * Words];
    alignas(64) T last[kChunk];
    for (; begin < end; begin += kChunk) {
      for (std::int64_t block = 0; block < kChunk * Words / 4; block += kBlocksAtOnce) {
        encrypt(words + 4 * block, stream, static_cast<std::uint64_t>(begin * Words / 4 + block));
      }
      if (begin + kChunk <= end) {
        make(words, elements + begin);
      } else {
        make(words, last);
        std::memcpy(elements + begin, last, static_cast<std::size_t>(end - begin) * sizeof(T));
      }
    }
  });
}

LUMUS_INLINE std::uint64_t wide_word(const std::uint32_t* words, std::int64_t element) {
  std::uint64_t wide;
  std::memcpy(&wide, words + 2 * element, sizeof wide);  // the first word is the low half
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  wide = wide >> 32 | wide << 32;
#endif
  return wide;
}

void words(const View& to, PhiloxStream stream) {
  for_each_chunk<std::int64_t, 1>(to, stream,
                                  [](const std::uint32_t* words, std::int64_t* elements) {
                                    for (std::int64_t i = 0; i < kChunk; ++i)
                                      elements[i] = words[i];
                                  });
}

// ----------------------------------------------------------------------------------- uniform

template <int Bits>
LUMUS_INLINE f32v unit_f32(const std::uint32_t* words) {
  const u32v bits = load<std::uint32_t>(words) >> (32 - Bits);
  return __builtin_convertvector(reinterpret_cast<i32v>(bits), f32v) *
         (1.0f / static_cast<float>(1 << Bits));
}

void uniform(const View& to, PhiloxStream stream) {
  switch (to.dtype) {
    case DType::float64:
      return for_each_chunk<double, 2>(
          to, stream, [](const std::uint32_t* words, double* elements) {
            for (std::int64_t i = 0; i < kChunk; i += kLanes<double>) {
              u64v wide;
              std::memcpy(&wide, words + 2 * i, sizeof wide);
              // The upper 52 bits as a number of [1, 2), less 1; the last bit is worth 2^-53.
              const i64v pattern = reinterpret_cast<i64v>(wide >> 12 | 0x3ff0000000000000u);
              const i64v is_odd = -reinterpret_cast<i64v>(wide >> 11 & 1);
              const f64v last = from_bits(is_odd & bits(f64_constant(0x1p-53)));
              store<double>(elements + i, (from_bits(pattern) - 1.0) + last);
            }
          });
    case DType::float32:
      return for_each_chunk<float, 1>(to, stream, [](const std::uint32_t* words, float* elements) {
        for (std::int64_t i = 0; i < kChunk; i += kLanes<float>) {
          store<float>(elements + i, unit_f32<24>(words + i));
        }
      });
    case DType::float16:
      return for_each_chunk<std::uint16_t, 1>(
          to, stream, [](const std::uint32_t* words, std::uint16_t* elements) {
            for (std::int64_t i = 0; i < kChunk; i += kLanes<float>) {
              const u16h halves = float_to_half(unit_f32<11>(words + i));
              std::memcpy(elements + i, &halves, sizeof halves);
            }
          });
    default:
      return for_each_chunk<std::uint16_t, 1>(
          to, stream, [](const std::uint32_t* words, std::uint16_t* elements) {
            for (std::int64_t i = 0; i < kChunk; i += kLanes<float>) {
              const u16h halves = float_to_bfloat(unit_f32<8>(words + i));
              std::memcpy(elements + i, &halves, sizeof halves);
            }
          });
  }
}

// ------------------------------------------------------------------------------- exponential

// -log(u): the word or, in the upper half, its complement counts, so that nothing cancels.
LUMUS_INLINE f32v exponential_f32(const std::uint32_t* words) {
  const i32v word = reinterpret_cast<i32v>(load<std::uint32_t>(words));
  const i32v is_upper = word < 0;
  const f32v unit = fma(__builtin_convertvector(word ^ is_upper, f32v), f32_constant(0x1p-32f),
                        f32_constant(0x1p-33f));
  return is_upper ? -log1p(-unit) : -log(unit);
}
LUMUS_INLINE f64v exponential_f64(const std::uint32_t* words) {
  i64v word;
  std::memcpy(&word, words, sizeof word);
  const i64v is_upper = word < 0;
  const u64v bits_52 = reinterpret_cast<u64v>(word ^ is_upper) >> 11;
  const f64v whole = from_bits(reinterpret_cast<i64v>(bits_52 | 0x4330000000000000u)) - 0x1p52;
  const f64v unit = (whole + 0.5) * 0x1p-53;
  return is_upper ? -log1p(-unit) : -log(unit);
}

void exponential(const View& to, PhiloxStream stream) {
  switch (to.dtype) {
    case DType::float64:
      return for_each_chunk<double, 2>(
          to, stream, [](const std::uint32_t* words, double* elements) {
            for (std::int64_t i = 0; i < kChunk; i += kLanes<double>) {
              store<double>(elements + i, exponential_f64(words + 2 * i));
            }
          });
    case DType::float32:
      return for_each_chunk<float, 1>(to, stream, [](const std::uint32_t* words, float* elements) {
        for (std::int64_t i = 0; i < kChunk; i += kLanes<float>) {
          store<float>(elements + i, exponential_f32(words + i));
        }
      });
    case DType::float16:
      return for_each_chunk<std::uint16_t, 1>(
          to, stream, [](const std::uint32_t* words, std::uint16_t* elements) {
            for (std::int64_t i = 0; i < kChunk; i += kLanes<float>) {
              const u16h halves = float_to_half(exponential_f32(words + i));
              std::memcpy(elements + i, &halves, sizeof halves);
            }
          });
    default:
      return for_each_chunk<std::uint16_t, 1>(
          to, stream, [](const std::uint32_t* words, std::uint16_t* elements) {
            for (std::int64_t i = 0; i < kChunk; i += kLanes<float>) {
              const u16h halves = float_to_bfloat(exponential_f32(words + i));
              std::memcpy(elements + i, &halves, sizeof halves);
            }
          });
  }
}

// ------------------------------------------------------------------------------------ normal

struct F32Normals {
  f32v first, second;
};

// Elements at even and at odd places, from the words at even (x) and odd (y) places.
LUMUS_INLINE F32Normals box_muller(u32v x, u32v y) {
  const f32v unit = fma(__builtin_convertvector(reinterpret_cast<i32v>(x >> 1), f32v),
                        f32_constant(0x1p-31f), f32_constant(0x1p-32f));
  const f32v radius = sqrt(-2.0f * log(unit));
  const f32v t = from_bits(reinterpret_cast<i32v>(y >> 9 | 0x3f800000u)) - 1.5f;
  const f32v angle = t * 0x1.921fb6p+0f;  // pi/2; at most pi/4 in size
  const f32v z = angle * angle;
  // The Taylor series to x^9 and x^10 is good to 0.03 ulp here.
  constexpr float sine_terms[] = {-0x1.555556p-3f, 0x1.111112p-7f, -0x1.a01a02p-13f,
                                  0x1.71de3ap-19f};
  constexpr float cosine_terms[] = {-0x1p-1f, 0x1.555556p-5f, -0x1.6c16c2p-10f, 0x1.a01a02p-16f,
                                    -0x1.27e4fcp-22f};
  const f32v sine = fma(polynomial(z, sine_terms), z * angle, angle);
  const f32v cosine = fma(polynomial(z, cosine_terms), z, f32_constant(1.0f));
  const i32v quarter = reinterpret_cast<i32v>(y & 3);
  const i32v is_odd = (quarter & 1) != 0;
  // cos and sin after `quarter` quarter turns: (c, s), (-s, c), (-c, -s), (s, -c).
  const i32v cosine_sign = ((quarter + 1) & 2) << 30;
  const i32v sine_sign = (quarter & 2) << 30;
  const f32v across = from_bits(bits(is_odd ? sine : cosine) ^ cosine_sign);
  const f32v up = from_bits(bits(is_odd ? cosine : sine) ^ sine_sign);
  return {radius * across, radius * up};
}

// A vector each of the elements 0 to n - 1 and n to 2 n - 1.
LUMUS_INLINE F32Normals normals_f32(const std::uint32_t* words) {
  constexpr std::int64_t lanes = kLanes<float>;
  u32v even, odd, lower, upper;
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    even[lane] = static_cast<std::uint32_t>(2 * lane);
    odd[lane] = static_cast<std::uint32_t>(2 * lane + 1);
    lower[lane] = static_cast<std::uint32_t>(lane / 2 + lane % 2 * lanes);
    upper[lane] = static_cast<std::uint32_t>(lane / 2 + lanes / 2 + lane % 2 * lanes);
  }
  const u32v first = load<std::uint32_t>(words);
  const u32v second = load<std::uint32_t>(words + lanes);
  const F32Normals pair =
      box_muller(__builtin_shuffle(first, second, even), __builtin_shuffle(first, second, odd));
  return {__builtin_shuffle(pair.first, pair.second, reinterpret_cast<i32v>(lower)),
          __builtin_shuffle(pair.first, pair.second, reinterpret_cast<i32v>(upper))};
}

LUMUS_INLINE void normals_f64(const std::uint32_t* words, double* elements) {
  constexpr std::int64_t lanes = kLanes<double>;
  i64v even, odd;
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    even[lane] = 2 * lane;
    odd[lane] = 2 * lane + 1;
  }
  u64v first, second;
  std::memcpy(&first, words, sizeof first);
  std::memcpy(&second, words + 2 * lanes, sizeof second);
  const u64v x = __builtin_shuffle(first, second, reinterpret_cast<u64v>(even));
  const u64v y = __builtin_shuffle(first, second, reinterpret_cast<u64v>(odd));
  const f64v unit = 2.0 - from_bits(reinterpret_cast<i64v>(x >> 12 | 0x3ff0000000000000u));
  const f64v radius = sqrt(-2.0 * log(unit));
  const f64v t = from_bits(reinterpret_cast<i64v>(y >> 12 | 0x3ff0000000000000u)) - 1.5;
  const i64v quarter = reinterpret_cast<i64v>(y & 3);
  const F64Angle angle = {quarter, t * 0x1.921fb54442d18p+0, f64v{}};
  const f64v across = radius * sin_or_cos(angle, quarter + 1);
  const f64v up = radius * sin_or_cos(angle, quarter);
  store<double>(elements, reinterpret_cast<f64v>(interleave_low(reinterpret_cast<u64v>(across),
                                                                reinterpret_cast<u64v>(up))));
  store<double>(elements + lanes, reinterpret_cast<f64v>(interleave_high(
                                      reinterpret_cast<u64v>(across), reinterpret_cast<u64v>(up))));
}

void normal(const View& to, PhiloxStream stream) {
  constexpr std::int64_t lanes = kLanes<float>;
  switch (to.dtype) {
    case DType::float64:
      return for_each_chunk<double, 2>(
          to, stream, [](const std::uint32_t* words, double* elements) {
            for (std::int64_t i = 0; i < kChunk; i += 2 * kLanes<double>) {
              normals_f64(words + 2 * i, elements + i);
            }
          });
    case DType::float32:
      return for_each_chunk<float, 1>(to, stream, [](const std::uint32_t* words, float* elements) {
        for (std::int64_t i = 0; i < kChunk; i += 2 * lanes) {
          const F32Normals normals = normals_f32(words + i);
          store<float>(elements + i, normals.first);
          store<float>(elements + i + lanes, normals.second);
        }
      });
    default: {
      const bool is_brain = to.dtype == DType::bfloat16;
      return for_each_chunk<std::uint16_t, 1>(
          to, stream, [=](const std::uint32_t* words, std::uint16_t* elements) {
            for (std::int64_t i = 0; i < kChunk; i += 2 * lanes) {
              const F32Normals normals = normals_f32(words + i);
              const u16h halves[2] = {
                  is_brain ? float_to_bfloat(normals.first) : float_to_half(normals.first),
                  is_brain ? float_to_bfloat(normals.second) : float_to_half(normals.second)};
              std::memcpy(elements + i, halves, sizeof halves);
            }
          });
    }
  }
}

// ---------------------------------------------------------------------------------- discrete

using Truths = Lanes<std::uint8_t, kLanes<float>>;

void bernoulli(const View& to, PhiloxStream stream, double probability) {
  // Rounded, so that a probability below 2^-33 is never and one above 1 - 2^-33 is always.
  const std::uint64_t limit = static_cast<std::uint64_t>(probability * 0x1p32 + 0.5);
  const bool always = limit >> 32 != 0;
  const std::uint32_t below = static_cast<std::uint32_t>(limit);
  for_each_chunk<std::uint8_t, 1>(
      to, stream, [=](const std::uint32_t* words, std::uint8_t* elements) {
        for (std::int64_t i = 0; i < kChunk; i += kLanes<float>) {
          const i32v is_below = load<std::uint32_t>(words + i) < below;
          const i32v truth = (is_below | -static_cast<std::int32_t>(always)) & 1;
          const auto bytes = __builtin_convertvector(truth, Truths);
          std::memcpy(elements + i, &bytes, sizeof bytes);
        }
      });
}

void bernoulli_each(const View& to, PhiloxStream stream, const double* probabilities) {
  const std::int64_t count = num_elements(to);
  std::uint8_t* const first = reinterpret_cast<std::uint8_t*>(to.data);
  parallel_for(count, kPiece, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::uint32_t words[kChunk];
    for (; begin < end; begin += kChunk) {
      for (std::int64_t block = 0; block < kChunk / 4; block += kBlocksAtOnce) {
        encrypt(words + 4 * block, stream, static_cast<std::uint64_t>(begin / 4 + block));
      }
      std::uint8_t* const elements = first + begin;
      const std::int64_t length = end - begin < kChunk ? end - begin : kChunk;
      for (std::int64_t i = 0; i < length; ++i) {
        const double limit = __builtin_floor(probabilities[begin + i] * 0x1p32 + 0.5);
        elements[i] = static_cast<double>(words[i]) < limit;
      }
    }
  });
}

template <class T>
void integers_of(const View& to, PhiloxStream stream, std::int64_t low, std::uint64_t span) {
  for_each_chunk<T, 2>(to, stream, [=](const std::uint32_t* words, T* elements) {
    using Wide = unsigned __int128;
    for (std::int64_t i = 0; i < kChunk; ++i) {
      const std::uint64_t wide = wide_word(words, i);
      const std::uint64_t above =
          span == 0 ? wide : static_cast<std::uint64_t>(static_cast<Wide>(wide) * span >> 64);
      elements[i] = static_cast<T>(static_cast<std::uint64_t>(low) + above);
    }
  });
}

void integers(const View& to, PhiloxStream stream, std::int64_t low, std::uint64_t span) {
  switch (itemsize(to.dtype)) {
    case 1:
      return integers_of<std::uint8_t>(to, stream, low, span);
    case 2:
      return integers_of<std::uint16_t>(to, stream, low, span);
    case 4:
      return integers_of<std::uint32_t>(to, stream, low, span);
    default:
      return integers_of<std::uint64_t>(to, stream, low, span);
  }
}

}  // namespace

extern const RandomKernels random_table;
const RandomKernels random_table = {words,     uniform,        normal, exponential,
                                    bernoulli, bernoulli_each, gamma,  integers};

}  // namespace lumus::LUMUS_ISA
