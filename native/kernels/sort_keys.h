// Elements as unsigned keys whose order is that of the elements: NaN above all numbers, zeros of
// either sign equal.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/tile_io.h"

namespace lumus::LUMUS_ISA {

// How a pattern of `Bits` stands for a number: a sign and a magnitude, NaN above `infinity`.
template <class Element, class Bits, class KeyType, KeyType kInfinity>
struct FloatKey {
  using Key = KeyType;
  static constexpr int bits = 8 * static_cast<int>(sizeof(Bits));
  static constexpr Key sign = Key(1) << (bits - 1);
  static constexpr Key all = sign | (sign - 1);

  LUMUS_INLINE Key pattern(Element element) {
    Bits stored;
    std::memcpy(&stored, &element, sizeof stored);
    return stored;
  }
  LUMUS_INLINE Key of(Element element) {
    const Key stored = pattern(element);
    const Key magnitude = stored & (sign - 1);
    // Below zero the order of the magnitudes is reversed; -0 becomes what 0 is.
    const Key key = stored & sign ? sign - magnitude : sign + magnitude;
    return magnitude > kInfinity ? all : key;
  }
  LUMUS_INLINE Element back(Key key) {
    const Key number = key >= sign ? key - sign : sign | (sign - key);
    const Bits stored = static_cast<Bits>(key == all ? kInfinity | kInfinity >> 1 : number);
    Element element;
    std::memcpy(&element, &stored, sizeof element);
    return element;
  }
  LUMUS_INLINE bool is_negative_zero(Element element) { return pattern(element) == sign; }
};

template <class Element, class Bits, class KeyType>
struct IntKey {
  using Key = KeyType;
  static constexpr int bits = 8 * static_cast<int>(sizeof(Bits));
  static constexpr Key all = static_cast<Bits>(~Bits(0));
  static constexpr Key sign = Element(-1) < Element(0) ? Key(1) << (bits - 1) : Key(0);

  LUMUS_INLINE Key of(Element element) { return static_cast<Bits>(element) ^ sign; }
  LUMUS_INLINE Element back(Key key) { return static_cast<Element>(static_cast<Bits>(key ^ sign)); }
  LUMUS_INLINE bool is_negative_zero(Element) { return false; }
};

template <class Element>
struct KeyOf;
template <>
struct KeyOf<double> : FloatKey<double, std::uint64_t, std::uint64_t, 0x7ff0000000000000> {};
template <>
struct KeyOf<float> : FloatKey<float, std::uint32_t, std::uint32_t, 0x7f800000> {};
template <>
struct KeyOf<Float16> : FloatKey<Float16, std::uint16_t, std::uint32_t, 0x7c00> {};
template <>
struct KeyOf<BFloat16> : FloatKey<BFloat16, std::uint16_t, std::uint32_t, 0x7f80> {};
template <>
struct KeyOf<std::int64_t> : IntKey<std::int64_t, std::uint64_t, std::uint64_t> {};
template <>
struct KeyOf<std::int32_t> : IntKey<std::int32_t, std::uint32_t, std::uint32_t> {};
template <>
struct KeyOf<std::int16_t> : IntKey<std::int16_t, std::uint16_t, std::uint32_t> {};
template <>
struct KeyOf<std::int8_t> : IntKey<std::int8_t, std::uint8_t, std::uint32_t> {};
// Booleans are stored as 0 and 1.
template <>
struct KeyOf<std::uint8_t> : IntKey<std::uint8_t, std::uint8_t, std::uint32_t> {};

}  // namespace lumus::LUMUS_ISA
