// The exact functions of math.h (rounding, signs, NaN-propagating extrema, remainders) and the
// pieces the approximations share: bit casts, fused multiply-add, error-free sums and products.
//
// remainder(a, b): exact; has b's sign, also when zero; NaN for b = 0 or infinite a; b for finite a
// of the other sign under an infinite b. floor_divide(a, b): the integer that goes with it;
// a / b for b = 0.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// LUMUS_HAS_FMA says whether fma() below rounds once. The functions hold their bounds either way.
#if defined(__FMA__) || defined(__aarch64__)
#define LUMUS_HAS_FMA 1
#else
#define LUMUS_HAS_FMA 0
#endif

namespace lumus::LUMUS_ISA {

#if defined(__AVX512F__)
// The unmasked intrinsics start from an undefined vector, of which GCC warns; with every lane in a
// zeroing mask the code is the same.
constexpr __mmask16 kAllF32 = 0xffff;
constexpr __mmask8 kAllF64 = 0xff;
#endif

// ---- bits, masks, choice ------------------------------------------------------------------------

LUMUS_INLINE i32v bits(f32v x) { return reinterpret_cast<i32v>(x); }
LUMUS_INLINE i64v bits(f64v x) { return reinterpret_cast<i64v>(x); }
LUMUS_INLINE f32v from_bits(i32v x) { return reinterpret_cast<f32v>(x); }
LUMUS_INLINE f64v from_bits(i64v x) { return reinterpret_cast<f64v>(x); }

LUMUS_INLINE f32v f32_constant(float value) { return splat<float>(value); }
LUMUS_INLINE f64v f64_constant(double value) { return splat<double>(value); }

// Vectors of float32, and values that record what is done with them (recorded.h). Functions of
// either keep to operators, the functions of this file and `constant`, and choose with `choose`.
template <class F>
concept Float32 = std::is_same_v<F, f32v> || requires { typename F::RecordsFloat32; };

template <Float32 F>
LUMUS_INLINE F constant(float value) {
  if constexpr (std::is_same_v<F, f32v>) {
    return f32_constant(value);
  } else {
    return F(value);
  }
}

LUMUS_INLINE f32v choose(i32v mask, f32v chosen, f32v other) { return mask ? chosen : other; }

constexpr float kInfinityF32 = __builtin_inff();
constexpr double kInfinityF64 = __builtin_inf();
constexpr float kNanF32 = __builtin_nanf("");
constexpr double kNanF64 = __builtin_nan("");

// True if any lane of a mask (lanes 0 or -1) is set.
LUMUS_INLINE bool any(i64v mask) {
#if defined(__AVX512DQ__)
  return _mm512_movepi64_mask(reinterpret_cast<__m512i>(mask)) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_epi8(reinterpret_cast<__m256i>(mask)) != 0;
#elif defined(__SSE2__)
  return _mm_movemask_epi8(reinterpret_cast<__m128i>(mask)) != 0;
#else
  std::int64_t found = 0;
  for (std::int64_t lane = 0; lane < kLanes<std::int64_t>; ++lane) found |= mask[lane];
  return found != 0;
#endif
}
LUMUS_INLINE bool any(i32v mask) {
#if defined(__AVX512DQ__)
  return _mm512_movepi32_mask(reinterpret_cast<__m512i>(mask)) != 0;
#else
  return any(reinterpret_cast<i64v>(mask));
#endif
}

// ---- arithmetic ---------------------------------------------------------------------------------

// a * b + c, rounded once where the processor can (LUMUS_HAS_FMA), else twice.
LUMUS_INLINE f32v fma(f32v a, f32v b, f32v c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#elif LUMUS_HAS_FMA
  f32v result;
  for (std::int64_t lane = 0; lane < kLanes<float>; ++lane)
    result[lane] = __builtin_fmaf(a[lane], b[lane], c[lane]);
  return result;
#else
  return a * b + c;
#endif
}
LUMUS_INLINE f64v fma(f64v a, f64v b, f64v c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_pd(a, b, c);
#elif LUMUS_HAS_FMA
  f64v result;
  for (std::int64_t lane = 0; lane < kLanes<double>; ++lane)
    result[lane] = __builtin_fma(a[lane], b[lane], c[lane]);
  return result;
#else
  return a * b + c;
#endif
}

// Coefficients lowest degree first. Horner's rule; a long one as even + x * odd, whose two chains
// run side by side.
template <Float32 F, int N>
LUMUS_INLINE F polynomial(F x, const float (&coefficients)[N]) {
  F sum = constant<F>(coefficients[N - 1]);
  if constexpr (N < 8) {
    for (int i = N - 2; i >= 0; --i) sum = fma(sum, x, constant<F>(coefficients[i]));
    return sum;
  } else {
    const F square = x * x;
    F next = constant<F>(coefficients[N - 2]);
    for (int i = N - 3; i >= 0; i -= 2) sum = fma(sum, square, constant<F>(coefficients[i]));
    for (int i = N - 4; i >= 0; i -= 2) next = fma(next, square, constant<F>(coefficients[i]));
    return N % 2 == 0 ? fma(sum, x, next) : fma(next, x, sum);
  }
}
template <int N>
LUMUS_INLINE f64v polynomial(f64v x, const double (&coefficients)[N]) {
  f64v sum = f64_constant(coefficients[N - 1]);
  if constexpr (N < 8) {
    for (int i = N - 2; i >= 0; --i) sum = fma(sum, x, f64_constant(coefficients[i]));
    return sum;
  } else {
    const f64v square = x * x;
    f64v next = f64_constant(coefficients[N - 2]);
    for (int i = N - 3; i >= 0; i -= 2) sum = fma(sum, square, f64_constant(coefficients[i]));
    for (int i = N - 4; i >= 0; i -= 2) next = fma(next, square, f64_constant(coefficients[i]));
    return N % 2 == 0 ? fma(sum, x, next) : fma(next, x, sum);
  }
}

// An unevaluated sum hi + lo, |lo| at most half an ulp of hi where said "normalised".
struct F64Pair {
  f64v hi;
  f64v lo;
};
template <Float32 F>
struct Float32Pair {
  F hi;
  F lo;
};
using F32Pair = Float32Pair<f32v>;

// Exactly a + b, for |a| >= |b| (or a = 0).
LUMUS_INLINE F64Pair fast_two_sum(f64v a, f64v b) {
  const f64v sum = a + b;
  return {sum, b - (sum - a)};
}
template <Float32 F>
LUMUS_INLINE Float32Pair<F> fast_two_sum(F a, F b) {
  const F sum = a + b;
  return {sum, b - (sum - a)};
}

// Exactly a + b.
LUMUS_INLINE F64Pair two_sum(f64v a, f64v b) {
  const f64v sum = a + b;
  const f64v b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}
LUMUS_INLINE F32Pair two_sum(f32v a, f32v b) {
  const f32v sum = a + b;
  const f32v b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

// Exactly a * b, barring underflow; without FMA (Veltkamp's splitting) also |a|, |b| < 2^990.
LUMUS_INLINE F64Pair two_product(f64v a, f64v b) {
  const f64v product = a * b;
#if LUMUS_HAS_FMA
  return {product, fma(a, b, -product)};
#else
  const f64v a_scaled = a * 134217729.0;  // 2^27 + 1
  const f64v b_scaled = b * 134217729.0;
  const f64v a_hi = a_scaled - (a_scaled - a), a_lo = a - a_hi;
  const f64v b_hi = b_scaled - (b_scaled - b), b_lo = b - b_hi;
  return {product, a_lo * b_lo - (((product - a_hi * b_hi) - a_lo * b_hi) - a_hi * b_lo)};
#endif
}

// ---- classes and signs --------------------------------------------------------------------------

LUMUS_INLINE i32v is_nan(f32v x) { return x != x; }
LUMUS_INLINE i64v is_nan(f64v x) { return x != x; }

LUMUS_INLINE f32v absolute(f32v x) { return from_bits(bits(x) & 0x7fffffff); }
LUMUS_INLINE f64v absolute(f64v x) { return from_bits(bits(x) & 0x7fffffffffffffff); }

LUMUS_INLINE i32v is_inf(f32v x) { return absolute(x) == kInfinityF32; }
LUMUS_INLINE i64v is_inf(f64v x) { return absolute(x) == kInfinityF64; }
LUMUS_INLINE i32v is_finite(f32v x) { return absolute(x) < kInfinityF32; }
LUMUS_INLINE i64v is_finite(f64v x) { return absolute(x) < kInfinityF64; }

LUMUS_INLINE i32v sign_bit(f32v x) { return bits(x) & static_cast<std::int32_t>(0x80000000); }
LUMUS_INLINE i64v sign_bit(f64v x) {
  return bits(x) & static_cast<std::int64_t>(0x8000000000000000);
}

LUMUS_INLINE f32v copysign(f32v magnitude, f32v from) {
  return from_bits(bits(absolute(magnitude)) | sign_bit(from));
}
LUMUS_INLINE f64v copysign(f64v magnitude, f64v from) {
  return from_bits(bits(absolute(magnitude)) | sign_bit(from));
}

// -1, 0 or 1; NaN stays NaN, and zeros keep their sign.
template <Float32 F>
LUMUS_INLINE F sign(F x) {
  return choose(absolute(x) > 0.0f, copysign(constant<F>(1.0f), x), x);
}
LUMUS_INLINE f64v sign(f64v x) { return absolute(x) > 0.0 ? copysign(f64_constant(1.0), x) : x; }

// ---- rounding to integers -----------------------------------------------------------------------

#if defined(__AVX512F__)
#define LUMUS_ROUND(name, mode, builtin)                                                           \
  LUMUS_INLINE f32v name(f32v x) { return _mm512_maskz_roundscale_ps(kAllF32, x, (mode) | 0x08); } \
  LUMUS_INLINE f64v name(f64v x) { return _mm512_maskz_roundscale_pd(kAllF64, x, (mode) | 0x08); }
#elif defined(__AVX2__)
#define LUMUS_ROUND(name, mode, builtin)                                       \
  LUMUS_INLINE f32v name(f32v x) { return _mm256_round_ps(x, (mode) | 0x08); } \
  LUMUS_INLINE f64v name(f64v x) { return _mm256_round_pd(x, (mode) | 0x08); }
#elif defined(__SSE4_1__)
#define LUMUS_ROUND(name, mode, builtin)                                    \
  LUMUS_INLINE f32v name(f32v x) { return _mm_round_ps(x, (mode) | 0x08); } \
  LUMUS_INLINE f64v name(f64v x) { return _mm_round_pd(x, (mode) | 0x08); }
#else
#define LUMUS_ROUND(name, mode, builtin)                                                     \
  LUMUS_INLINE f32v name(f32v x) {                                                           \
    for (std::int64_t lane = 0; lane < kLanes<float>; ++lane) x[lane] = builtin##f(x[lane]); \
    return x;                                                                                \
  }                                                                                          \
  LUMUS_INLINE f64v name(f64v x) {                                                           \
    for (std::int64_t lane = 0; lane < kLanes<double>; ++lane) x[lane] = builtin(x[lane]);   \
    return x;                                                                                \
  }
#endif
LUMUS_ROUND(round_even, 0, __builtin_rint)
LUMUS_ROUND(floor, 1, __builtin_floor)
LUMUS_ROUND(ceil, 2, __builtin_ceil)
LUMUS_ROUND(trunc, 3, __builtin_trunc)
#undef LUMUS_ROUND

// ---- extrema ------------------------------------------------------------------------------------

// The smaller (larger) of x and the bound; NaN stays NaN. x86's min and max return their second
// operand where one is NaN.
#if defined(__AVX512F__)
LUMUS_INLINE f32v at_most(f32v x, float bound) {
  return _mm512_maskz_min_ps(kAllF32, f32_constant(bound), x);
}
LUMUS_INLINE f64v at_most(f64v x, double bound) {
  return _mm512_maskz_min_pd(kAllF64, f64_constant(bound), x);
}
LUMUS_INLINE f32v at_least(f32v x, float bound) {
  return _mm512_maskz_max_ps(kAllF32, f32_constant(bound), x);
}
LUMUS_INLINE f64v at_least(f64v x, double bound) {
  return _mm512_maskz_max_pd(kAllF64, f64_constant(bound), x);
}
#elif defined(__AVX2__)
LUMUS_INLINE f32v at_most(f32v x, float bound) { return _mm256_min_ps(f32_constant(bound), x); }
LUMUS_INLINE f64v at_most(f64v x, double bound) { return _mm256_min_pd(f64_constant(bound), x); }
LUMUS_INLINE f32v at_least(f32v x, float bound) { return _mm256_max_ps(f32_constant(bound), x); }
LUMUS_INLINE f64v at_least(f64v x, double bound) { return _mm256_max_pd(f64_constant(bound), x); }
#elif defined(__SSE2__)
LUMUS_INLINE f32v at_most(f32v x, float bound) { return _mm_min_ps(f32_constant(bound), x); }
LUMUS_INLINE f64v at_most(f64v x, double bound) { return _mm_min_pd(f64_constant(bound), x); }
LUMUS_INLINE f32v at_least(f32v x, float bound) { return _mm_max_ps(f32_constant(bound), x); }
LUMUS_INLINE f64v at_least(f64v x, double bound) { return _mm_max_pd(f64_constant(bound), x); }
#else
LUMUS_INLINE f32v at_most(f32v x, float bound) { return x > bound ? f32_constant(bound) : x; }
LUMUS_INLINE f64v at_most(f64v x, double bound) { return x > bound ? f64_constant(bound) : x; }
LUMUS_INLINE f32v at_least(f32v x, float bound) { return x < bound ? f32_constant(bound) : x; }
LUMUS_INLINE f64v at_least(f64v x, double bound) { return x < bound ? f64_constant(bound) : x; }
#endif

template <Float32 F>
LUMUS_INLINE F clamp(F x, float low, float high) {
  return at_most(at_least(x, low), high);
}
LUMUS_INLINE f64v clamp(f64v x, double low, double high) { return at_most(at_least(x, low), high); }

// NaN from either side wins; otherwise the larger (smaller), `a` where equal.
template <Float32 F>
LUMUS_INLINE F maximum(F a, F b) {
  return choose((a >= b) | is_nan(a), a, b);
}
template <Float32 F>
LUMUS_INLINE F minimum(F a, F b) {
  return choose((a <= b) | is_nan(a), a, b);
}
LUMUS_INLINE f64v maximum(f64v a, f64v b) { return (a >= b) | is_nan(a) ? a : b; }
LUMUS_INLINE f64v minimum(f64v a, f64v b) { return (a <= b) | is_nan(a) ? a : b; }

// ---- roots --------------------------------------------------------------------------------------

LUMUS_INLINE f32v sqrt(f32v x) {
#if defined(__AVX512F__)
  return _mm512_maskz_sqrt_ps(kAllF32, x);
#elif defined(__AVX2__)
  return _mm256_sqrt_ps(x);
#elif defined(__SSE2__)
  return _mm_sqrt_ps(x);
#else
  for (std::int64_t lane = 0; lane < kLanes<float>; ++lane) x[lane] = __builtin_sqrtf(x[lane]);
  return x;
#endif
}
LUMUS_INLINE f64v sqrt(f64v x) {
#if defined(__AVX512F__)
  return _mm512_maskz_sqrt_pd(kAllF64, x);
#elif defined(__AVX2__)
  return _mm256_sqrt_pd(x);
#elif defined(__SSE2__)
  return _mm_sqrt_pd(x);
#else
  for (std::int64_t lane = 0; lane < kLanes<double>; ++lane) x[lane] = __builtin_sqrt(x[lane]);
  return x;
#endif
}

// Two roundings, at most 1 ulp.
template <Float32 F>
LUMUS_INLINE F rsqrt(F x) {
  return 1.0f / sqrt(x);
}
LUMUS_INLINE f64v rsqrt(f64v x) { return 1.0 / sqrt(x); }

// ---- float32 through float64 --------------------------------------------------------------------

// The lower and the upper half of the lanes.
LUMUS_INLINE F64Pair widen(f32v x) {
#if defined(__AVX512F__)
  return {_mm512_maskz_cvtps_pd(kAllF64, _mm512_maskz_extractf32x8_ps(kAllF64, x, 0)),
          _mm512_maskz_cvtps_pd(kAllF64, _mm512_maskz_extractf32x8_ps(kAllF64, x, 1))};
#elif defined(__AVX2__)
  return {_mm256_cvtps_pd(_mm256_castps256_ps128(x)), _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))};
#elif defined(__SSE2__)
  return {_mm_cvtps_pd(x), _mm_cvtps_pd(_mm_movehl_ps(x, x))};
#else
  F64Pair result;
  for (std::int64_t lane = 0; lane < kLanes<double>; ++lane) {
    result.hi[lane] = x[lane];
    result.lo[lane] = x[lane + kLanes<double>];
  }
  return result;
#endif
}

LUMUS_INLINE f32v narrow(f64v lower, f64v upper) {
#if defined(__AVX512F__)
  return _mm512_maskz_insertf32x8(kAllF32,
                                  _mm512_castps256_ps512(_mm512_maskz_cvtpd_ps(kAllF64, lower)),
                                  _mm512_maskz_cvtpd_ps(kAllF64, upper), 1);
#elif defined(__AVX2__)
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(lower)),
                              _mm256_cvtpd_ps(upper), 1);
#elif defined(__SSE2__)
  return _mm_movelh_ps(_mm_cvtpd_ps(lower), _mm_cvtpd_ps(upper));
#else
  f32v result;
  for (std::int64_t lane = 0; lane < kLanes<double>; ++lane) {
    result[lane] = static_cast<float>(lower[lane]);
    result[lane + kLanes<double>] = static_cast<float>(upper[lane]);
  }
  return result;
#endif
}

// A function of float32 from one of float64.
#define LUMUS_THROUGH_F64(name, wide_name)                             \
  LUMUS_INLINE f32v name(f32v x) {                                     \
    const F64Pair wide = widen(x);                                     \
    const f64v lower = wide_name(wide.hi), upper = wide_name(wide.lo); \
    return narrow(lower, upper);                                       \
  }

// ---- remainders ---------------------------------------------------------------------------------

// Lanes whose quotient is too long for one step; kept out of line, and rare.
[[maybe_unused]] static __attribute__((noinline, cold)) void remainder_lanes(f64v* result,
                                                                             const f64v* a,
                                                                             const f64v* b) {
  for (std::int64_t lane = 0; lane < kLanes<double>; ++lane)
    (*result)[lane] = __builtin_fmod((*a)[lane], (*b)[lane]);
}
[[maybe_unused]] static __attribute__((noinline, cold)) void remainder_lanes(f32v* result,
                                                                             const f32v* a,
                                                                             const f32v* b) {
  for (std::int64_t lane = 0; lane < kLanes<float>; ++lane)
    (*result)[lane] = __builtin_fmodf((*a)[lane], (*b)[lane]);
}

// The exact a - trunc(a / b) * b. The rounded quotient is either right or 1 too large in
// magnitude, so the remainder below it is exact, and at worst b too small.
LUMUS_INLINE f64v truncated_remainder(f64v a, f64v b) {
  const f64v abs_a = absolute(a), abs_b = absolute(b);
  const f64v quotient = trunc(abs_a / abs_b);
#if LUMUS_HAS_FMA
  f64v result = fma(-quotient, abs_b, abs_a);
  const i64v in_reach = quotient < 0x1p53;
#else
  const F64Pair product = two_product(quotient, abs_b);
  f64v result = (abs_a - product.hi) - product.lo;
  const i64v in_reach = (quotient < 0x1p53) & (abs_a < 0x1p990) & (abs_b < 0x1p990) &
                        ((abs_a > 0x1p-900) | (quotient == 0.0));
#endif
  result = result < 0.0 ? result + abs_b : result;
  result = quotient == 0.0 ? abs_a : result;  // also under an infinite b
  if (any(~in_reach)) remainder_lanes(&result, &abs_a, &abs_b);
  return copysign(result, a);
}
LUMUS_INLINE f32v truncated_remainder(f32v a, f32v b) {
  const f32v abs_a = absolute(a), abs_b = absolute(b);
  const f32v quotient = trunc(abs_a / abs_b);
#if LUMUS_HAS_FMA
  f32v result = fma(-quotient, abs_b, abs_a);
#else
  const F64Pair wide_a = widen(abs_a), wide_b = widen(abs_b), wide_quotient = widen(quotient);
  f32v result =
      narrow(wide_a.hi - wide_quotient.hi * wide_b.hi, wide_a.lo - wide_quotient.lo * wide_b.lo);
#endif
  const i32v in_reach = quotient < 0x1p24f;
  result = result < 0.0f ? result + abs_b : result;
  result = quotient == 0.0f ? abs_a : result;
  if (any(~in_reach)) remainder_lanes(&result, &abs_a, &abs_b);
  return copysign(result, a);
}

LUMUS_INLINE f64v remainder(f64v a, f64v b) {
  const f64v part = truncated_remainder(a, b);
  const f64v moved = (part < 0.0) ^ (b < 0.0) ? part + b : part;
  const f64v whole = copysign(f64_constant(0.0), b);
  return part == 0.0 ? whole : moved;
}
LUMUS_INLINE f32v remainder(f32v a, f32v b) {
  const f32v part = truncated_remainder(a, b);
  const f32v moved = (part < 0.0f) ^ (b < 0.0f) ? part + b : part;
  const f32v whole = copysign(f32_constant(0.0f), b);
  return part == 0.0f ? whole : moved;
}

LUMUS_INLINE f64v floor_divide(f64v a, f64v b) {
  const f64v part = truncated_remainder(a, b);
  const f64v toward_zero = (a - part) / b;
  const f64v exact = (part != 0.0) & ((part < 0.0) ^ (b < 0.0)) ? toward_zero - 1.0 : toward_zero;
  const f64v down = floor(exact);
  const f64v nearest = exact - down > 0.5 ? down + 1.0 : down;
  const f64v ratio = a / b;
  const f64v result = exact == 0.0 ? copysign(f64_constant(0.0), ratio) : nearest;
  return b == 0.0 ? ratio : result;
}
LUMUS_INLINE f32v floor_divide(f32v a, f32v b) {
  const f32v part = truncated_remainder(a, b);
  const f32v toward_zero = (a - part) / b;
  const f32v exact =
      (part != 0.0f) & ((part < 0.0f) ^ (b < 0.0f)) ? toward_zero - 1.0f : toward_zero;
  const f32v down = floor(exact);
  const f32v nearest = exact - down > 0.5f ? down + 1.0f : down;
  const f32v ratio = a / b;
  const f32v result = exact == 0.0f ? copysign(f32_constant(0.0f), ratio) : nearest;
  return b == 0.0f ? ratio : result;
}

}  // namespace lumus::LUMUS_ISA
