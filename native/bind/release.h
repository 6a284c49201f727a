// Letting other Python threads run while a kernel works. For binding sources only.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

namespace lumus {

// Giving the interpreter lock back and taking it again costs more than a small kernel.
constexpr std::int64_t kReleaseFrom = 32768;

// Runs `work`, without the interpreter lock if it moves many elements. `work` touches no Python
// object.
template <class Work>
inline void run_released(std::int64_t num_elements, const Work& work) {
  if (num_elements < kReleaseFrom) {
    work();
    return;
  }
  const nanobind::gil_scoped_release released;
  work();
}

}  // namespace lumus
