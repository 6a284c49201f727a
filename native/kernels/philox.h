// The rounds of Philox4x32-10 on vectors of blocks (see random.h for the stream).
#pragma once

#include "kernels/simd.h"

namespace lumus::LUMUS_ISA {

// The 64-bit products of the low halves of the lanes with a 32-bit number.
LUMUS_INLINE u64v multiply_low(u64v lanes, std::uint32_t by) {
#if defined(__AVX512F__)
  return reinterpret_cast<u64v>(_mm512_maskz_mul_epu32(
      0xff, reinterpret_cast<__m512i>(lanes), reinterpret_cast<__m512i>(splat<std::uint64_t>(by))));
#elif defined(__AVX2__)
  return reinterpret_cast<u64v>(_mm256_mul_epu32(
      reinterpret_cast<__m256i>(lanes), reinterpret_cast<__m256i>(splat<std::uint64_t>(by))));
#elif defined(__SSE2__)
  return reinterpret_cast<u64v>(_mm_mul_epu32(reinterpret_cast<__m128i>(lanes),
                                              reinterpret_cast<__m128i>(splat<std::uint64_t>(by))));
#else
  return (lanes & 0xffffffffu) * static_cast<std::uint64_t>(by);
#endif
}

// word[w][k] holds word w of a block in the low half of each lane; what is in the high halves never
// matters. Several vectors at once, since each round waits for the multiplications of the last.
template <int kAtOnce>
LUMUS_INLINE void philox_rounds(u64v (&word)[4][kAtOnce], std::uint64_t seed) {
  std::uint32_t key_low = static_cast<std::uint32_t>(seed);
  std::uint32_t key_high = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const u64v low = splat<std::uint64_t>(key_low);
    const u64v high = splat<std::uint64_t>(key_high);
#pragma GCC unroll 8
    for (int k = 0; k < kAtOnce; ++k) {
      const u64v first = multiply_low(word[0][k], 0xd2511f53u);
      const u64v second = multiply_low(word[2][k], 0xcd9e8d57u);
      word[0][k] = (second >> 32) ^ word[1][k] ^ low;
      word[1][k] = second;
      word[2][k] = (first >> 32) ^ word[3][k] ^ high;
      word[3][k] = first;
    }
    key_low += 0x9e3779b9u;
    key_high += 0xbb67ae85u;
  }
}

}  // namespace lumus::LUMUS_ISA
