// A lock for sections of a few instructions. Waiting threads yield soon, since the holder may have
// been descheduled.
#pragma once

#include <sched.h>

#include <atomic>

namespace lumus {

inline void relax_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

class SpinLock {
 public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire)) {
      for (int spins = 0; taken_.load(std::memory_order_relaxed); ++spins) {
        if (spins < 100) {
          relax_cpu();
        } else {
          sched_yield();
        }
      }
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

}  // namespace lumus
