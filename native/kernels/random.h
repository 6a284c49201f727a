// Random numbers from Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3").
//
// Block b of the stream (seed, counter) is the cipher of the 128-bit number (counter + b) mod 2^64
// under the 64-bit key `seed`, low words first: four words w[4 b] ... w[4 b + 3]. Element i of a
// call is a function of words near i alone, so it depends on neither the length nor the threads:
//
//   uniform    float32   (w[i] >> 8) 2^-24             float16 (w[i] >> 21) 2^-11
//              bfloat16  (w[i] >> 24) 2^-8             float64 (W[i] >> 11) 2^-53
//   bernoulli  w[i] < floor(probability 2^32 + 1/2)
//   integers   low + floor(W[i] (high - low) 2^-64)
//   exponential  -log(u) with u = (w[i] + 1/2) 2^-32, for float64 u = (W[i]' + 1/2) 2^-53 where W'
//              has the upper 53 bits; above 1/2 as -log1p(-(1 - u)), so that small ones keep their
//              digits
//   normal     Box and Muller: elements 2 j and 2 j + 1 are r cos(a) and r sin(a),
//              r = sqrt(-2 log u), a = pi/2 (quarter + t), t in [-1/2, 1/2); for float32 (and
//              the half types, which round it) from x = w[2 j] and y = w[2 j + 1]:
//                u = ((x >> 1) + 1/2) 2^-31, quarter = y & 3, t = (y >> 9) 2^-23 - 1/2
//              for float64 from x = W[2 j] and y = W[2 j + 1]:
//                u = 1 - (x >> 12) 2^-52, quarter = y & 3, t = (y >> 12) 2^-52 - 1/2
//
// with W[i] = w[2 i] + 2^32 w[2 i + 1]. A call of n elements thus uses at most (n + 1) / 2 blocks.
//
// gamma (Marsaglia and Tsang): element i tries until it is accepted, from blocks of its own: its
// attempt t = 0, 1, ... takes the words of block i under the upper counters 2 t + 1 and 2 t + 2,
// which no other call uses. In float64 for every dtype: x from W[0], W[1] of the first block as
// normal numbers have r cos(a); accepted if log(u) < x^2 / 2 + d - d v + d log(v) with u from W[0]
// of the second one, d = concentration - 1/3, v = (1 + x / sqrt(9 d))^3. Below a concentration of
// 1: that of concentration + 1, times u^(1 / concentration) with u from W[1] of the second block of
// attempt 0. Both u are ((W >> 12) + 1/2) 2^-52. A call of n elements uses n blocks.
#pragma once

#include <cstdint>

#include "runtime/view.h"

namespace lumus {

struct PhiloxStream {
  std::uint64_t seed;
  std::uint64_t counter;
  std::uint64_t counter_high;  // zero but for gamma and in tests of the cipher itself
};

// Outputs are contiguous.
struct RandomKernels {
  // The words w[0], w[1], ... as int64.
  void (*words)(const View& to, PhiloxStream stream);
  void (*uniform)(const View& to, PhiloxStream stream);
  void (*normal)(const View& to, PhiloxStream stream);
  void (*exponential)(const View& to, PhiloxStream stream);
  void (*bernoulli)(const View& to, PhiloxStream stream, double probability);
  // A probability for each element, in float64; NaN counts as 0.
  void (*bernoulli_each)(const View& to, PhiloxStream stream, const double* probabilities);
  // Elements step by `stride` (0 or 1) through the concentrations; NaN where one is not positive
  // and finite.
  void (*gamma)(const View& to, PhiloxStream stream, const double* concentrations,
                std::int64_t stride);
  // `span` is high - low, or 0 for 2^64.
  void (*integers)(const View& to, PhiloxStream stream, std::int64_t low, std::uint64_t span);
};

const RandomKernels& random_kernels();

}  // namespace lumus
