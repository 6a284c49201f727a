// Letting other Python threads run while a kernel works. For binding sources only.
#pragma once

#include <Python.h>
#include <unistd.h>

#include <cstdint>

#include "runtime/denormals.h"

namespace lumus {

// Giving the interpreter lock back and taking it again costs more than a small kernel.
constexpr std::int64_t kReleaseFrom = 32768;

// Gives the interpreter lock back for the length of a scope.
//
// A thread that asks for the lock while the interpreter shuts down is ended inside that request (a
// daemon thread in a long kernel). That must not unwind through destructors and C++ callers, which
// would end the process: the thread waits for the end here instead.
class ReleasedLock {
 public:
  ReleasedLock() : state_(PyEval_SaveThread()) {}
  ~ReleasedLock() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      while (true) pause();
    }
  }
  ReleasedLock(const ReleasedLock&) = delete;
  ReleasedLock& operator=(const ReleasedLock&) = delete;

 private:
  PyThreadState* state_;
};

// Runs `work`, without the interpreter lock if it moves many elements. `work` touches no Python
// object.
template <class Work>
inline void run_released(std::int64_t num_elements, const Work& work) {
  const KernelScope scope;
  if (num_elements < kReleaseFrom) {
    work();
    return;
  }
  const ReleasedLock released;
  work();
}

}  // namespace lumus
