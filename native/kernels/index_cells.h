// One index, one cell: what all kernels with index arrays share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/isa.h"
#include "kernels/simd.h"
#include "kernels/strided.h"

namespace lumus::LUMUS_ISA {

LUMUS_INLINE std::int64_t from_start(std::int64_t index, std::int64_t bound) {
  return index < 0 ? index + bound : index;
}

LUMUS_INLINE bool is_outside(std::int64_t index, std::int64_t bound) {
  return static_cast<std::uint64_t>(index) + static_cast<std::uint64_t>(bound) >=
         2 * static_cast<std::uint64_t>(bound);
}

LUMUS_INLINE std::int64_t read_index(const std::byte* at) {
  return *reinterpret_cast<const Loose<std::int64_t>*>(at);
}

template <class T>
LUMUS_INLINE T sum_of(T left, T right) {
  return static_cast<T>(left + right);
}
// Whether any is true.
struct Truth {
  std::uint8_t bits;
};
LUMUS_INLINE Truth sum_of(Truth left, Truth right) {
  return {static_cast<std::uint8_t>(left.bits | right.bits)};
}
// Integers wrap, which only unsigned arithmetic may.
LUMUS_INLINE std::int64_t sum_of(std::int64_t left, std::int64_t right) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(left) +
                                   static_cast<std::uint64_t>(right));
}
LUMUS_INLINE std::int32_t sum_of(std::int32_t left, std::int32_t right) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(left) +
                                   static_cast<std::uint32_t>(right));
}

template <class T>
LUMUS_INLINE void add_cell(std::byte* to, const std::byte* from) {
  T left, right;
  std::memcpy(&left, to, sizeof left);
  std::memcpy(&right, from, sizeof right);
  left = sum_of(left, right);
  std::memcpy(to, &left, sizeof left);
}

}  // namespace lumus::LUMUS_ISA
