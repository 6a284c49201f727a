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
//   normal     Box and Muller: elements 2 j and 2 j + 1 are r cos(a) and r sin(a),
//              r = sqrt(-2 log u), a = pi/2 (quarter + t), t in [-1/2, 1/2); for float32 (and
//              the half types, which round it) from x = w[2 j] and y = w[2 j + 1]:
//                u = ((x >> 1) + 1/2) 2^-31, quarter = y & 3, t = (y >> 9) 2^-23 - 1/2
//              for float64 from x = W[2 j] and y = W[2 j + 1]:
//                u = 1 - (x >> 12) 2^-52, quarter = y & 3, t = (y >> 12) 2^-52 - 1/2
//
// with W[i] = w[2 i] + 2^32 w[2 i + 1]. A call of n elements thus uses at most (n + 1) / 2 blocks.
#pragma once

#include <cstdint>

#include "runtime/view.h"

namespace lumus {

struct PhiloxStream {
  std::uint64_t seed;
  std::uint64_t counter;
  std::uint64_t counter_high;  // zero but in tests of the cipher itself
};

// Outputs are contiguous.
struct RandomKernels {
  // The words w[0], w[1], ... as int64.
  void (*words)(const View& to, PhiloxStream stream);
  void (*uniform)(const View& to, PhiloxStream stream);
  void (*normal)(const View& to, PhiloxStream stream);
  void (*bernoulli)(const View& to, PhiloxStream stream, double probability);
  // `span` is high - low, or 0 for 2^64.
  void (*integers)(const View& to, PhiloxStream stream, std::int64_t low, std::uint64_t span);
};

const RandomKernels& random_kernels();

}  // namespace lumus
