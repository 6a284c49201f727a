// The one thread pool. Work is cut by size, never by the number of threads, so that the bits of a
// result do not depend on how many threads ran it.
#pragma once

#include <cstdint>

namespace lumus {

// Number of threads that may run at once, the calling one included (at least 1).
int num_threads();
void set_num_threads(int count);

// Calls run(context, begin, end) for [0, count) cut at multiples of `grain`, each piece exactly
// once, on any thread, in any order, and returns when all are done. Pieces are [k*grain,
// min((k+1)*grain, count)). Runs on the calling thread alone when there is one piece, when called
// from inside a piece, or when another thread holds the pool: the pieces are the same in every
// case. Must be called without the interpreter lock when more than one piece is expected to take
// long.
void parallel_for_raw(std::int64_t count, std::int64_t grain,
                      void (*run)(void* context, std::int64_t begin, std::int64_t end),
                      void* context);

// The same for a callable. A lambda's type is local to its translation unit, so no code compiled
// for one instruction set is shared with another through this template.
template <class Body>
inline void parallel_for(std::int64_t count, std::int64_t grain, const Body& body) {
  parallel_for_raw(
      count, grain,
      [](void* context, std::int64_t begin, std::int64_t end) {
        (*static_cast<const Body*>(context))(begin, end);
      },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace lumus
