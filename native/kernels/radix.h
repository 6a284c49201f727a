// Radix sort: digits of the keys from the lowest to the highest, each pass stable.
//
// An item is a key alone (uint32 or uint64), a key in the upper and a position in the lower half of
// a uint64, or a Wide of both. Long arrays are cut in pieces by size that are counted and
// distributed on the threads; the sorted order is unique, so no choice of pieces changes it.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/accumulate.h"
#include "runtime/scratch.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {

struct Wide {
  std::uint64_t key;
  std::uint64_t position;
};

LUMUS_INLINE std::uint64_t key_bits(std::uint32_t item) { return item; }
LUMUS_INLINE std::uint64_t key_bits(std::uint64_t item) { return item; }
LUMUS_INLINE std::uint64_t key_bits(const Wide& item) { return item.key; }

constexpr std::int64_t kFewItems = 48;      // are sorted by insertion
constexpr std::int64_t kSortPiece = 65536;  // items a thread takes at once, at least
constexpr std::int64_t kMaxSortPieces = 16;
constexpr int kMaxDigitBits = 8;  // more buckets than this do not fit the nearest cache
constexpr int kMaxDigits = 8;

template <class Item>
void insertion_sort(Item* items, std::int64_t count) {
  for (std::int64_t i = 1; i < count; ++i) {
    const Item item = items[i];
    const std::uint64_t key = key_bits(item);
    std::int64_t at = i;
    for (; at > 0 && key_bits(items[at - 1]) > key; --at) items[at] = items[at - 1];
    items[at] = item;
  }
}

// `num_bits` bits of the keys as `count` digits of `width` bits.
struct Digits {
  int width;
  int count;

  explicit Digits(int num_bits) {
    count = (num_bits + kMaxDigitBits - 1) / kMaxDigitBits;
    width = count ? (num_bits + count - 1) / count : 0;
  }
};

template <class Item>
LUMUS_INLINE std::uint32_t digit_of(const Item& item, int shift, std::uint32_t mask) {
  return static_cast<std::uint32_t>(key_bits(item) >> shift) & mask;
}

// Sorts `items` with `spare` memory for as many; returns which of the two holds the result.
template <class Item>
Item* radix_sort_alone(Item* items, Item* spare, std::int64_t count, int low, int num_bits) {
  const Digits digits(num_bits);
  constexpr int size = 1 << kMaxDigitBits;
  const std::uint32_t mask = (1u << digits.width) - 1;
  std::uint32_t counts[kMaxDigits][size];
  std::memset(counts, 0, static_cast<std::size_t>(digits.count) * sizeof counts[0]);
  for (std::int64_t i = 0; i < count; ++i) {
    for (int d = 0; d < digits.count; ++d) {
      ++counts[d][digit_of(items[i], low + d * digits.width, mask)];
    }
  }
  for (int d = 0; d < digits.count; ++d) {
    const int shift = low + d * digits.width;
    if (counts[d][digit_of(items[0], shift, mask)] == count) continue;
    std::uint32_t total = 0;
    for (int bucket = 0; bucket < size; ++bucket) {
      const std::uint32_t here = counts[d][bucket];
      counts[d][bucket] = total;
      total += here;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      spare[counts[d][digit_of(items[i], shift, mask)]++] = items[i];
    }
    Item* const sorted = spare;
    spare = items;
    items = sorted;
  }
  return items;
}

// The same on several threads.
template <class Item>
Item* radix_sort_pieces(Item* items, Item* spare, std::int64_t count, int low, int num_bits) {
  const Digits digits(num_bits);
  const std::int64_t size = std::int64_t{1} << digits.width;
  const std::uint32_t mask = static_cast<std::uint32_t>(size - 1);
  const std::int64_t piece = larger(kSortPiece, divide_up(count, kMaxSortPieces));
  const std::int64_t pieces = divide_up(count, piece);
  Scratch scratch(pieces * size * 8);
  auto* counts = scratch.as<std::int64_t>();
  for (int d = 0; d < digits.count; ++d) {
    const int shift = low + d * digits.width;
    parallel_for(count, piece, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t* mine = counts + begin / piece * size;
      std::memset(mine, 0, static_cast<std::size_t>(size) * 8);
      for (std::int64_t i = begin; i < end; ++i) ++mine[digit_of(items[i], shift, mask)];
    });
    std::int64_t total = 0;
    bool is_constant = false;
    for (std::int64_t bucket = 0; bucket < size; ++bucket) {
      const std::int64_t before = total;
      for (std::int64_t at = bucket; at < pieces * size; at += size) {
        const std::int64_t here = counts[at];
        counts[at] = total;
        total += here;
      }
      is_constant |= total - before == count;
    }
    if (is_constant) continue;
    parallel_for(count, piece, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t* mine = counts + begin / piece * size;
      for (std::int64_t i = begin; i < end; ++i) {
        spare[mine[digit_of(items[i], shift, mask)]++] = items[i];
      }
    });
    Item* const sorted = spare;
    spare = items;
    items = sorted;
  }
  return items;
}

// Sorts by the `num_bits` bits of the keys from bit `low` on. Fewer items than kFewItems are sorted
// by all their bits: the positions, which rise, do not change the order of equal keys.
template <class Item>
Item* radix_sort(Item* items, Item* spare, std::int64_t count, int low, int num_bits) {
  if (count <= kFewItems) {
    insertion_sort(items, count);
    return items;
  }
  if (count < 2 * kSortPiece) return radix_sort_alone(items, spare, count, low, num_bits);
  return radix_sort_pieces(items, spare, count, low, num_bits);
}

}  // namespace lumus::LUMUS_ISA
