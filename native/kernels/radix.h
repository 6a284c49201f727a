// Sorting by digits of the keys. Every step is stable, and the sorted order is unique, so that no
// choice of pieces, digits or threads changes it.
//
// An item is a key alone (uint32 or uint64), a key in the upper and a position in the lower half of
// a uint64, or a Wide of both.
//
// Some items are sorted alone, by the bits in which their keys differ. A few digits are taken from
// the lowest to the highest. Of many only the highest are, which tell most items apart; then runs
// of items that are equal in them are sorted in the same way.
//
// A long line is first distributed by its highest digit, in pieces on the threads, to buckets most
// of which fit the nearer caches; then these are sorted alone, on the threads.
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

LUMUS_INLINE std::uint32_t key_bits(std::uint32_t item) { return item; }
LUMUS_INLINE std::uint64_t key_bits(std::uint64_t item) { return item; }
LUMUS_INLINE std::uint64_t key_bits(const Wide& item) { return item.key; }

LUMUS_INLINE int bit_width(std::uint64_t value) { return value ? 64 - __builtin_clzll(value) : 0; }

constexpr std::int64_t kFewItems = 48;      // are sorted by insertion
constexpr std::int64_t kSortPiece = 65536;  // items a thread distributes at once, at least
constexpr std::int64_t kMaxSortPieces = 16;
constexpr std::int64_t kLongLine = 2 * kSortPiece;
constexpr std::int64_t kLongBucket = 1 << 19;  // items, too many for one thread
constexpr std::int64_t kBucketPiece = 16384;   // items whose buckets a thread sorts at once
constexpr int kTopBits = 12;                   // of the digit that makes buckets, at most
constexpr std::int64_t kFewBuckets = 512;      // are distributed to at once
constexpr int kMaxDigitBits = 11;              // of another: its counters fit the nearest cache
constexpr int kMaxDigits = 4;                  // that are taken from the lowest on

template <class Item>
constexpr std::int64_t kCacheLine = 64 / static_cast<std::int64_t>(sizeof(Item));  // in items

// Some bits of a key. Kept by value, in registers: items that are stored could be the numbers.
struct Digit {
  int shift;
  std::uint32_t mask;

  Digit(int lowest, int width) : shift(lowest), mask((1u << width) - 1) {}

  template <class Item>
  std::uint32_t of(const Item& item) const {
    return static_cast<std::uint32_t>(key_bits(item) >> shift) & mask;
  }
};

// ---- alone --------------------------------------------------------------------------------------

template <class Item>
void insertion_sort(Item* items, std::int64_t count) {
  for (std::int64_t i = 1; i < count; ++i) {
    const Item item = items[i];
    const auto key = key_bits(item);
    std::int64_t at = i;
    for (; at > 0 && key_bits(items[at - 1]) > key; --at) items[at] = items[at - 1];
    items[at] = item;
  }
}

// How `num_bits` bits of `num_items` items are sorted: by `count` digits of `width` bits from the
// highest on, which may leave some. A digit costs a step for each item and each counter.
struct Digits {
  int count;
  int width;

  Digits(std::int64_t num_items, int num_bits) {
    const int spread = bit_width(static_cast<std::uint64_t>(num_items));
    const int widest = spread < 7 ? 6 : spread > kMaxDigitBits ? kMaxDigitBits : spread - 1;
    count = (num_bits + widest - 1) / widest;
    width = (num_bits + count - 1) / count;
    if (count > kMaxDigits) {
      // So many bits leave few pairs of random keys that are equal in them.
      count = (spread + 6 + widest - 1) / widest;
      width = widest;
    }
  }
};

// Sorts by kCount digits with `spare` memory for as many; returns which of the two holds the
// result.
template <int kCount, class Item>
[[gnu::noinline]] Item* sort_by_digits(Item* items, Item* spare, std::int64_t count, int low,
                                       int width) {
  // The counters of a digit lie behind those of the one before, so that all of them fit the cache.
  std::uint32_t counts[kCount << kMaxDigitBits];
  const std::uint32_t size = 1u << width;
  std::memset(counts, 0, kCount * size * sizeof counts[0]);
  for (std::int64_t begin = 0; begin < count; begin += kCacheLine<Item>) {
    // Fetched for what follows, whose order the processor cannot foresee.
    __builtin_prefetch(spare + begin, 1);
    for (std::int64_t i = begin; i < smaller(begin + kCacheLine<Item>, count); ++i) {
      for (int d = 0; d < kCount; ++d) {
        ++counts[d * size + Digit(low + d * width, width).of(items[i])];
      }
    }
  }
  for (int d = 0; d < kCount; ++d) {
    const Digit digit(low + d * width, width);
    std::uint32_t* const next = counts + d * size;
    if (next[digit.of(items[0])] == count) continue;
    std::uint32_t total = 0;
    for (std::uint32_t value = 0; value < size; ++value) {
      const std::uint32_t here = next[value];
      next[value] = total;
      total += here;
    }
    for (std::int64_t i = 0; i < count; ++i) spare[next[digit.of(items[i])]++] = items[i];
    Item* const sorted = spare;
    spare = items;
    items = sorted;
  }
  return items;
}

template <class Item>
LUMUS_INLINE std::uint64_t differing_bits(const Item* items, std::int64_t count) {
  const auto first = key_bits(items[0]);
  auto bits = first ^ first;
  for (std::int64_t i = 1; i < count; ++i) bits |= key_bits(items[i]) ^ first;
  return bits;
}

template <class Item>
void sort_runs(Item* items, Item* spare, std::int64_t count, int low, int shift);

// Sorts at most kLongBucket items by the bits of the keys from bit `low` on, with `spare` memory
// for as many; returns which of the two holds the result. Few are sorted by all their bits: the
// positions, which rise, do not change the order of equal keys.
template <class Item>
Item* sort_alone(Item* items, Item* spare, std::int64_t count, int low) {
  if (count <= kFewItems) {
    insertion_sort(items, count);
    return items;
  }
  const std::uint64_t differing = differing_bits(items, count) >> low;
  if (differing == 0) return items;
  const int num_equal = __builtin_ctzll(differing);  // of the lowest bits
  const int num_bits = bit_width(differing) - num_equal;
  const Digits digits(count, num_bits);
  const int num_left = larger(0, num_bits - digits.count * digits.width);
  const int shift = low + num_equal + num_left;
  Item* const sorted =
      digits.count == 1   ? sort_by_digits<1>(items, spare, count, shift, digits.width)
      : digits.count == 2 ? sort_by_digits<2>(items, spare, count, shift, digits.width)
      : digits.count == 3 ? sort_by_digits<3>(items, spare, count, shift, digits.width)
                          : sort_by_digits<4>(items, spare, count, shift, digits.width);
  if (num_left > 0) sort_runs(sorted, sorted == items ? spare : items, count, low, shift);
  return sorted;
}

// Sorts, in place, the runs of items whose keys are equal from bit `shift` on.
template <class Item>
void sort_runs(Item* items, Item* spare, std::int64_t count, int low, int shift) {
  for (std::int64_t begin = 0; begin < count;) {
    const auto key = key_bits(items[begin]) >> shift;
    std::int64_t end = begin + 1;
    while (end < count && key_bits(items[end]) >> shift == key) ++end;
    if (end - begin > 1) {
      const Item* sorted = sort_alone(items + begin, spare + begin, end - begin, low);
      if (sorted != items + begin) {
        std::memcpy(items + begin, sorted, static_cast<std::size_t>(end - begin) * sizeof(Item));
      }
    }
    begin = end;
  }
}

// ---- long lines ---------------------------------------------------------------------------------

// Calls body(item) for what fill(to, begin, end) makes, a block in the nearest cache at a time.
template <class Item, class Fill, class Body>
LUMUS_INLINE void for_items(const Fill& fill, std::int64_t begin, std::int64_t end,
                            const Body& body) {
  constexpr std::int64_t block = 4096 / static_cast<std::int64_t>(sizeof(Item));
  Item items[block];
  for (std::int64_t at = begin; at < end; at += block) {
    const std::int64_t now = smaller(block, end - at);
    fill(items, at, at + now);
    for (std::int64_t i = 0; i < now; ++i) body(items[i]);
  }
}

// Buckets by the digit of `width` bits from bit `shift` on, or by the upper bits of it: bucket b
// holds the items from starts[b] to starts[b + 1].
class Buckets {
 public:
  Buckets(std::int64_t count, int shift, int width)
      : shift_(shift),
        width_(width),
        row_(std::int64_t{1} << width),
        count_(count),
        piece_(larger(kSortPiece, divide_up(count, kMaxSortPieces))),
        scratch_((row_ + 1) * 8 + divide_up(count, piece_) * row_ * 4) {}

  const std::int64_t* starts() const { return scratch_.as<std::int64_t>(); }
  int shift() const { return shift_; }

  // Counts what `fill` makes.
  template <class Item, class Fill>
  void count(const Fill& fill) {
    parallel_for(count_, piece_, [&](std::int64_t begin, std::int64_t end) {
      std::uint32_t* const mine = counts(begin / piece_);
      std::memset(mine, 0, static_cast<std::size_t>(row_) * sizeof *mine);
      for_items<Item>(fill, begin, end, [mine, digit = Digit(shift_, width_)](const Item& item) {
        ++mine[digit.of(item)];
      });
    });
    std::int64_t* const sums = this->sums();
    std::memset(sums, 0, static_cast<std::size_t>(row_) * sizeof *sums);
    for (std::int64_t piece = 0; piece * piece_ < count_; ++piece) add(counts(piece), sums);
  }

  // Joins neighbours until few are in use: items are written to all of them in turns, and so many
  // places stay in the nearest cache.
  void join_until_few() {
    while (num_used() > kFewBuckets) {
      join(sums());
      for (std::int64_t piece = 0; piece * piece_ < count_; ++piece) join(counts(piece));
      ++shift_;
      --width_;
    }
  }

  // From numbers of items to where they start.
  void add_up() {
    std::int64_t total = 0;
    for (std::int64_t bucket = 0; bucket < size(); ++bucket) {
      const std::int64_t here = sums()[bucket];
      sums()[bucket] = total;
      total += here;
    }
    sums()[size()] = total;
  }

  // Distributes what has been counted.
  template <class Item, class Fill>
  void distribute(const Fill& fill, Item* to) const {
    parallel_for(count_, piece_, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t next[1 << kTopBits];
      std::memcpy(next, starts(), static_cast<std::size_t>(size()) * sizeof *next);
      for (std::int64_t before = 0; before < begin / piece_; ++before) add(counts(before), next);
      for_items<Item>(fill, begin, end,
                      [to, &next, digit = Digit(shift_, width_)](const Item& item) {
                        const std::int64_t place = next[digit.of(item)]++;
                        __builtin_prefetch(to + place + kCacheLine<Item>, 1);
                        to[place] = item;
                      });
    });
  }

  // The first bucket that starts at `place` or behind it.
  std::int64_t from(std::int64_t place) const {
    std::int64_t low = 0;
    for (std::int64_t high = size(); low < high;) {
      const std::int64_t middle = (low + high) / 2;
      if (starts()[middle] < place) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

 private:
  std::int64_t size() const { return std::int64_t{1} << width_; }
  std::int64_t* sums() const { return scratch_.as<std::int64_t>(); }
  std::uint32_t* counts(std::int64_t piece) const {
    return scratch_.as<std::uint32_t>() + 2 * (row_ + 1) + piece * row_;
  }

  std::int64_t num_used() const {
    std::int64_t used = 0;
    for (std::int64_t bucket = 0; bucket < size(); ++bucket) used += sums()[bucket] != 0;
    return used;
  }

  void add(const std::uint32_t* counts, std::int64_t* to) const {
    for (std::int64_t bucket = 0; bucket < size(); ++bucket) to[bucket] += counts[bucket];
  }

  template <class Count>
  void join(Count* counts) const {
    for (std::int64_t pair = 0; pair < size() / 2; ++pair) {
      counts[pair] = counts[2 * pair] + counts[2 * pair + 1];
    }
  }

  int shift_;
  int width_;
  std::int64_t row_;  // counters of a piece
  std::int64_t count_;
  std::int64_t piece_;  // that a thread distributes at once
  Scratch scratch_;
};

// Makes items from others that there are.
template <class Item>
struct Copied {
  const Item* items;

  void operator()(Item* to, std::int64_t begin, std::int64_t end) const {
    std::memcpy(to, items + begin, static_cast<std::size_t>(end - begin) * sizeof(Item));
  }
};

template <class Item, class Emit>
void sort_long_bucket(Item* items, Item* spare, std::int64_t first, std::int64_t count, int low,
                      const Emit& emit);

// Sorts by the `num_bits` bits of the keys from bit `low` on what fill(to, begin, end) makes, and
// calls emit(items, begin, end) on the threads for sorted items, the first of which is the one at
// place `first`.
template <class Item, class Fill, class Emit>
void sort_on_threads(Item* items, Item* spare, std::int64_t first, std::int64_t count, int low,
                     int num_bits, const Fill& fill, const Emit& emit) {
  const int width = smaller(num_bits, kTopBits);
  Buckets buckets(count, low + num_bits - width, width);
  buckets.count<Item>(fill);
  if (width < num_bits) buckets.join_until_few();
  buckets.add_up();
  buckets.distribute(fill, items);
  const std::int64_t* const starts = buckets.starts();
  const std::int64_t longest = smaller(larger(kLongLine, count / 16), kLongBucket);
  parallel_for(count, kBucketPiece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t bucket = buckets.from(begin); starts[bucket] < end; ++bucket) {
      const std::int64_t at = starts[bucket], here = starts[bucket + 1] - at;
      if (here == 0 || here > longest) continue;
      const bool is_sorted = buckets.shift() == low;
      const Item* const sorted =
          is_sorted ? items + at : sort_alone(items + at, spare + at, here, low);
      emit(sorted, first + at, first + at + here);
    }
  });
  for (std::int64_t bucket = 0; starts[bucket] < count; ++bucket) {
    const std::int64_t at = starts[bucket], here = starts[bucket + 1] - at;
    if (here > longest) sort_long_bucket(items + at, spare + at, first + at, here, low, emit);
  }
}

template <class Item, class Emit>
void sort_long_bucket(Item* items, Item* spare, std::int64_t first, std::int64_t count, int low,
                      const Emit& emit) {
  const int num_bits = bit_width(differing_bits(items, count) >> low);
  if (num_bits > 0) {
    return sort_on_threads(spare, items, first, count, low, num_bits, Copied<Item>{items}, emit);
  }
  parallel_for(count, kBucketPiece, [&](std::int64_t begin, std::int64_t end) {
    emit(items + begin, first + begin, first + end);
  });
}

// The same for any number of items, with memory for `count` in each of `items` and `spare`.
template <class Item, class Fill, class Emit>
void radix_sort(Item* items, Item* spare, std::int64_t count, int low, int num_bits,
                const Fill& fill, const Emit& emit) {
  if (count < kLongLine) {
    fill(items, 0, count);
    emit(sort_alone(items, spare, count, low), 0, count);
  } else if (num_bits == 0) {
    parallel_for(count, kBucketPiece, [&](std::int64_t begin, std::int64_t end) {
      fill(items + begin, begin, end);
      emit(items + begin, begin, end);
    });
  } else {
    sort_on_threads(items, spare, 0, count, low, num_bits, fill, emit);
  }
}

}  // namespace lumus::LUMUS_ISA
