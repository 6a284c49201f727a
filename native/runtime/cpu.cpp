#include "runtime/cpu.h"

#include <cstdlib>
#include <cstring>

#if LUMUS_X86
#include <cpuid.h>
#endif

namespace lumus {

int active_isa = 0;

#if LUMUS_X86

namespace {

constexpr int kNumIsas = 3;
const char* const kNames[kNumIsas] = {"v2", "v3", "v4"};

unsigned long long enabled_state() {
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<unsigned long long>(high) << 32) | low;
}

bool has_all(unsigned value, unsigned bits) { return (value & bits) == bits; }

// Highest micro-architecture level whose instructions the processor has and whose registers the
// operating system saves: -1 for less than x86-64-v2.
int find_level() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return -1;
  const unsigned features = c;
  // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT
  if (!has_all(features,
               (1u << 0) | (1u << 9) | (1u << 13) | (1u << 19) | (1u << 20) | (1u << 23))) {
    return -1;
  }
  // FMA, MOVBE, OSXSAVE, AVX, F16C
  if (!has_all(features, (1u << 12) | (1u << 22) | (1u << 27) | (1u << 28) | (1u << 29))) return 0;
  if ((enabled_state() & 0x6) != 0x6) return 0;
  if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || !has_all(c, 1u << 5)) return 0;  // LZCNT
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  // BMI1, AVX2, BMI2
  if (!has_all(b, (1u << 3) | (1u << 5) | (1u << 8))) return 0;
  // AVX512 F, DQ, CD, BW, VL
  if (!has_all(b, (1u << 16) | (1u << 17) | (1u << 28) | (1u << 30) | (1u << 31))) return 1;
  return (enabled_state() & 0xe6) == 0xe6 ? 2 : 1;
}

int level() {
  static const int found = find_level();
  return found;
}

}  // namespace

bool isa_available(int isa) { return isa <= level(); }

#else

namespace {
constexpr int kNumIsas = 1;
const char* const kNames[kNumIsas] = {"base"};
}  // namespace

bool isa_available(int isa) { return isa == 0; }

#endif

int num_isas() { return kNumIsas; }
const char* isa_name(int isa) { return kNames[isa]; }

bool choose_isa(std::string* problem) {
  std::string names, usable;
  int best = -1;
  const char* wanted = std::getenv("LUMUS_ISA");
  int forced = -1;
  for (int isa = 0; isa < kNumIsas; ++isa) {
    names += (isa ? ", " : "") + std::string(kNames[isa]);
    if (isa_available(isa)) {
      usable += (best >= 0 ? ", " : "") + std::string(kNames[isa]);
      best = isa;
    }
    if (wanted && std::strcmp(wanted, kNames[isa]) == 0) forced = isa;
  }
  if (best < 0) {
    *problem = "lumus needs a processor of level x86-64-v2 (SSE4.2) or newer";
    return false;
  }
  if (!wanted || !*wanted) {
    active_isa = best;
    return true;
  }
  if (forced < 0) {
    *problem =
        "LUMUS_ISA='" + std::string(wanted) + "' is not an instruction set of this build: " + names;
    return false;
  }
  if (!isa_available(forced)) {
    *problem = "LUMUS_ISA='" + std::string(wanted) +
               "' is not supported by this processor, which has: " + usable;
    return false;
  }
  active_isa = forced;
  return true;
}

}  // namespace lumus
