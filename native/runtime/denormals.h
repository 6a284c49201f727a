// Denormal numbers: those below the smallest normal one, which is 1.2e-38 for float32. Many x86
// processors take more than a hundred cycles for an operation that gives one, and trainings give
// them by the thousand: moments of Adam that decay, gradients of what is learnt already. So while
// kernels run, a result that would be denormal is zero, unless the user asks for IEEE 754. Operands
// count as they are: comparisons, copies and the numbers of half precision, some of which pass
// through denormal float32, stay exact.
#pragma once

#include <atomic>
#include <cstdint>

namespace lumus {

// How this thread's arithmetic rounds and what it flushes, without the flags of what happened.
#if defined(__x86_64__)
inline std::uint32_t float_control() { return __builtin_ia32_stmxcsr() & ~0x3fu; }
inline void set_float_control(std::uint32_t control) { __builtin_ia32_ldmxcsr(control); }
constexpr std::uint32_t kFlushBit = 1u << 15;
#else
// Other processors compute with denormals at full speed.
inline std::uint32_t float_control() { return 0; }
inline void set_float_control(std::uint32_t) {}
constexpr std::uint32_t kFlushBit = 0;
#endif

// kFlushBit where denormal results are flushed, else 0.
extern std::atomic<std::uint32_t> denormal_control;

// While one lives, this thread computes as kernels do. What else the thread runs must not meet it,
// NumPy least of all: no call into Python lies within.
class KernelScope {
 public:
  KernelScope()
      : before_(float_control()),
        within_((before_ & ~kFlushBit) | denormal_control.load(std::memory_order_relaxed)) {
    if (within_ != before_) set_float_control(within_);
  }
  ~KernelScope() {
    if (within_ != before_) set_float_control(before_);
  }
  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;

 private:
  const std::uint32_t before_, within_;
};

}  // namespace lumus
