// Gamma numbers: see random.h for what each element is.
//
// Layout: a vector of elements at a time, each lane with the words of its own blocks; a vector is
// done when all its lanes are accepted, which 19 of 20 attempts are. In float64 throughout, so that
// what is accepted is the same for every dtype of the result.
// Threads: an element depends on nothing but its number and the key.
#include "kernels/convert.h"
#include "kernels/math.h"
#include "kernels/philox.h"
#include "kernels/random.h"
#include "kernels/simd.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {
namespace {

constexpr std::int64_t kChunk = 512;
constexpr std::int64_t kPiece = 4 * kChunk;

// The two wide words of a block in each lane.
struct WideWords {
  u64v first, second;
};
LUMUS_INLINE WideWords encrypt_lanes(std::uint64_t seed, u64v number, std::uint64_t high) {
  u64v word[4][1] = {
      {number}, {number >> 32}, {splat<std::uint64_t>(high)}, {splat<std::uint64_t>(high >> 32)}};
  philox_rounds(word, seed);
  return {(word[0][0] & 0xffffffffu) | word[1][0] << 32,
          (word[2][0] & 0xffffffffu) | word[3][0] << 32};
}

// The upper 52 bits as a number of [1, 2).
LUMUS_INLINE f64v one_and_fraction(u64v word) {
  return from_bits(reinterpret_cast<i64v>(word >> 12 | 0x3ff0000000000000u));
}
// In (0, 1): the upper 52 bits and a half.
LUMUS_INLINE f64v open_unit(u64v word) { return (one_and_fraction(word) - 1.0) + 0x1p-53; }

// r cos(a), as normal elements of float64 are made.
LUMUS_INLINE f64v normal_of(WideWords words) {
  const f64v radius = sqrt(-2.0 * log(2.0 - one_and_fraction(words.first)));
  const f64v t = one_and_fraction(words.second) - 1.5;
  const F64Angle angle = {i64v{}, t * 0x1.921fb54442d18p+0, f64v{}};
  return radius * sin_or_cos(angle, reinterpret_cast<i64v>(words.second & 3) + 1);
}

LUMUS_INLINE f64v gammas(f64v concentration, std::uint64_t seed, u64v number) {
  const i64v is_low = concentration < 1.0;
  const f64v d = (is_low ? concentration + 1.0 : concentration) - 1.0 / 3.0;
  const f64v slope = 1.0 / sqrt(9.0 * d);
  f64v result = f64_constant(kNanF64), boost = f64_constant(1.0);
  i64v is_open = (concentration > 0.0) & (concentration < kInfinityF64);
  for (std::uint64_t attempt = 0; any(is_open); ++attempt) {
    const f64v x = normal_of(encrypt_lanes(seed, number, 2 * attempt + 1));
    const WideWords words = encrypt_lanes(seed, number, 2 * attempt + 2);
    if (attempt == 0 && any(is_low)) {
      const f64v power = exp(log(open_unit(words.second)) / concentration);
      boost = is_low ? power : boost;
    }
    const f64v root = fma(slope, x, f64_constant(1.0));
    const f64v v = root * root * root;
    const i64v is_positive = v > 0.0;
    const f64v bound = 0.5 * x * x + (d - d * v + d * log(is_positive ? v : f64_constant(1.0)));
    const i64v is_accepted = is_open & is_positive & (log(open_unit(words.first)) < bound);
    result = is_accepted ? d * v : result;
    is_open = is_open & ~is_accepted;
  }
  return result * boost;
}

// A chunk's numbers in the dtype of the result.
LUMUS_INLINE void write_chunk(const View& to, std::int64_t begin, std::int64_t count,
                              const double* numbers) {
  if (to.dtype == DType::float64) {
    std::memcpy(reinterpret_cast<double*>(to.data) + begin, numbers,
                static_cast<std::size_t>(count) * sizeof(double));
    return;
  }
  alignas(64) float floats[kChunk];
  for (std::int64_t i = 0; i < kChunk; ++i) floats[i] = static_cast<float>(numbers[i]);
  if (to.dtype == DType::float32) {
    std::memcpy(reinterpret_cast<float*>(to.data) + begin, floats,
                static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  alignas(64) std::uint16_t halves[kChunk];
  for (std::int64_t i = 0; i < kChunk; i += kLanes<float>) {
    const f32v wide = load<float>(floats + i);
    const u16h narrow = to.dtype == DType::float16 ? float_to_half(wide) : float_to_bfloat(wide);
    std::memcpy(halves + i, &narrow, sizeof narrow);
  }
  std::memcpy(reinterpret_cast<std::uint16_t*>(to.data) + begin, halves,
              static_cast<std::size_t>(count) * sizeof(std::uint16_t));
}

}  // namespace

void gamma(const View& to, PhiloxStream stream, const double* concentrations, std::int64_t stride) {
  constexpr std::int64_t lanes = kLanes<double>;
  u64v lane_number;
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    lane_number[lane] = static_cast<std::uint64_t>(lane);
  }
  parallel_for(num_elements(to), kPiece, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) double numbers[kChunk] = {};
    for (; begin < end; begin += kChunk) {
      const std::int64_t count = end - begin < kChunk ? end - begin : kChunk;
      for (std::int64_t i = 0; i < count; i += lanes) {
        const std::int64_t left = count - i < lanes ? count - i : lanes;
        const double* const from = concentrations + (begin + i) * stride;
        const f64v concentration =
            stride == 0 ? splat<double>(*from) : load_partial<double>(from, left, 1.0);
        const u64v number = lane_number + (stream.counter + static_cast<std::uint64_t>(begin + i));
        store<double>(numbers + i, gammas(concentration, stream.seed, number));
      }
      write_chunk(to, begin, count, numbers);
    }
  });
}

}  // namespace lumus::LUMUS_ISA
