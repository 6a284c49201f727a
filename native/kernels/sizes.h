// Arithmetic on sizes.
#pragma once

#include "kernels/simd.h"

namespace lumus::LUMUS_ISA {

LUMUS_INLINE std::int64_t smaller(std::int64_t x, std::int64_t y) { return x < y ? x : y; }
LUMUS_INLINE std::int64_t divided_up(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

}  // namespace lumus::LUMUS_ISA
