// The element types of a lumus array, with the codes that Python uses for them.
#pragma once

#include <cstdint>

namespace lumus {

enum class DType : std::uint8_t {
  float64 = 0,
  float32 = 1,
  float16 = 2,
  bfloat16 = 3,
  int64 = 4,
  int32 = 5,
  int16 = 6,
  int8 = 7,
  uint8 = 8,
  boolean = 9,
};

constexpr int kNumDTypes = 10;

// Static: see view.h.
static constexpr std::int64_t itemsize(DType dtype) {
  constexpr std::int64_t sizes[kNumDTypes] = {8, 4, 2, 2, 8, 4, 2, 1, 1, 1};
  return sizes[static_cast<int>(dtype)];
}

static constexpr bool is_float(DType dtype) { return dtype <= DType::bfloat16; }
static constexpr bool is_half(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16;
}
static constexpr bool is_int(DType dtype) { return dtype >= DType::int64 && dtype <= DType::uint8; }

}  // namespace lumus
