// Sorting, the order of elements, the largest of them, search in what is sorted.
//
// Layout. Inputs are any strided views, outputs are contiguous. Each line along the axis becomes an
// array of keys (sort_keys.h), with their positions where those are asked for, and is sorted by
// digits (radix.h).
//
// Aliasing. Outputs share nothing with the inputs.
//
// Threads. Lines are shared out; a long one is shared by pieces. The sorted order is unique.
#include "kernels/sort.h"

#include "kernels/lines.h"
#include "kernels/radix.h"
#include "kernels/sort_keys.h"
#include "runtime/scratch.h"

namespace lumus::LUMUS_ISA {
namespace {

constexpr std::int64_t kConvertGrain = 32768;
constexpr int kCountedBits = 16;  // of keys that are sorted by counting

// A line of an array.
template <class Element>
struct Line {
  Element* data;
  std::int64_t stride;
  std::int64_t length;

  Element& operator[](std::int64_t i) const { return data[i * stride]; }
};

// Calls body(is_dense, ...) so that a dense line has a loop of its own, which becomes vector code.
template <class Element, class Body>
LUMUS_INLINE void over(const Line<Element>& line, std::int64_t begin, std::int64_t end,
                       const Body& body) {
  if (line.stride == 1) {
    Element* data = line.data;
    for (std::int64_t i = begin; i < end; ++i) body(i, data[i]);
  } else {
    for (std::int64_t i = begin; i < end; ++i) body(i, line[i]);
  }
}

// The keys of a line, or, when it descends, their complements.
template <class Element>
struct Keys {
  using Rule = KeyOf<Element>;
  using Key = typename Rule::Key;

  Line<const Element> line;
  Key flip;

  Keys(const Line<const Element>& from, bool descends)
      : line(from), flip(descends ? Rule::all : 0) {}

  Key of(Element element) const { return Rule::of(element) ^ flip; }
  Element back(Key key) const { return Rule::back(key ^ flip); }
};

template <class Key>
struct Range {
  Key low = ~Key(0);
  Key high = 0;
  bool has_negative_zero = false;
};

template <class Element>
Range<typename KeyOf<Element>::Key> range_of(const Keys<Element>& keys) {
  using Key = typename KeyOf<Element>::Key;
  const std::int64_t length = keys.line.length;
  const std::int64_t piece = larger(kSortPiece, divide_up(length, kMaxSortPieces));
  Range<Key> found[kMaxSortPieces];
  parallel_for(length, piece, [&](std::int64_t begin, std::int64_t end) {
    Key low = ~Key(0);
    Key high = 0;
    Key zeros = 0;
    over(keys.line, begin, end, [&](std::int64_t, Element element) {
      const Key key = keys.of(element);
      low = key < low ? key : low;
      high = key > high ? key : high;
      zeros |= KeyOf<Element>::is_negative_zero(element);
    });
    found[begin / piece] = {low, high, zeros != 0};
  });
  Range<Key> all = found[0];
  for (std::int64_t i = 1; i < divide_up(length, piece); ++i) {
    all.low = found[i].low < all.low ? found[i].low : all.low;
    all.high = found[i].high > all.high ? found[i].high : all.high;
    all.has_negative_zero |= found[i].has_negative_zero;
  }
  return all;
}

// Calls body(items, spare) with memory for `count` items each: on the stack for a short line.
template <class Item, class Body>
void with_space(std::int64_t count, const Body& body) {
  constexpr std::int64_t on_stack = 4096 / static_cast<std::int64_t>(sizeof(Item));
  if (count <= on_stack) {
    Item items[2 * on_stack];
    body(items, items + count);
  } else {
    Scratch scratch(2 * count * static_cast<std::int64_t>(sizeof(Item)));
    body(scratch.as<Item>(), scratch.as<Item>() + count);
  }
}

// ---- values -------------------------------------------------------------------------------------

// Zeros are equal and sorted as one; here those of the output get their signs, in the order of the
// input.
template <class Element>
void sign_zeros(const Keys<Element>& keys, const Line<Element>& to) {
  const auto zero = keys.of(Element{});
  const std::int64_t length = to.length;
  const std::int64_t piece = larger(kSortPiece, divide_up(length, kMaxSortPieces));
  std::int64_t num_zeros[kMaxSortPieces];
  parallel_for(length, piece, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t count = 0;
    over(keys.line, begin, end,
         [&](std::int64_t, Element element) { count += keys.of(element) == zero; });
    num_zeros[begin / piece] = count;
  });
  std::int64_t first = 0;
  for (std::int64_t end = length; first < end;) {
    const std::int64_t middle = (first + end) / 2;
    if (keys.of(to[middle]) < zero) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  parallel_for(length, piece, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t at = first;
    for (std::int64_t before = 0; before < begin / piece; ++before) at += num_zeros[before];
    over(keys.line, begin, end, [&](std::int64_t, Element element) {
      if (keys.of(element) == zero) to[at++] = element;
    });
  });
}

// Makes the keys of a line, less the smallest.
template <class Item, class Element>
struct KeysFrom {
  const Keys<Element>& keys;
  typename KeyOf<Element>::Key low;

  void operator()(Item* items, std::int64_t begin, std::int64_t end) const {
    over(keys.line, begin, end, [&](std::int64_t i, Element element) {
      items[i - begin] = static_cast<Item>(keys.of(element) - low);
    });
  }
};

template <class Item, class Element>
void sort_items(const Keys<Element>& keys, typename KeyOf<Element>::Key low, int num_bits,
                const Line<Element>& to) {
  const std::int64_t count = keys.line.length;
  const auto emit = [&](const Item* items, std::int64_t begin, std::int64_t end) {
    over(to, begin, end, [&](std::int64_t i, Element& element) {
      element = keys.back(static_cast<typename KeyOf<Element>::Key>(items[i - begin] + low));
    });
  };
  with_space<Item>(count, [&](Item* items, Item* spare) {
    radix_sort(items, spare, count, 0, num_bits, KeysFrom<Item, Element>{keys, low}, emit);
  });
}

// Keys of few bits are counted alone, and each is written as often as it is there.
template <class Element>
void sort_by_counts(const Keys<Element>& keys, typename KeyOf<Element>::Key low, int num_bits,
                    const Line<Element>& to) {
  Buckets buckets(to.length, 0, num_bits);
  buckets.count<std::uint32_t>(KeysFrom<std::uint32_t, Element>{keys, low});
  buckets.add_up();
  parallel_for(to.length, kConvertGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t bucket = buckets.from(begin + 1) - 1; begin < end; ++bucket) {
      const std::int64_t until = smaller(buckets.starts()[bucket + 1], end);
      const Element element = keys.back(low + static_cast<typename KeyOf<Element>::Key>(bucket));
      over(to, begin, until, [&](std::int64_t, Element& one) { one = element; });
      begin = until;
    }
  });
}

template <class Element>
void sort_line(const Line<const Element>& from, bool descends, const Line<Element>& to) {
  const Keys<Element> keys(from, descends);
  const auto range = range_of(keys);
  const int num_bits = bit_width(range.high - range.low);
  if (num_bits > 0 && num_bits <= kCountedBits && from.length >= std::int64_t{1} << num_bits) {
    sort_by_counts(keys, range.low, num_bits, to);
  } else if (num_bits <= 32) {
    sort_items<std::uint32_t>(keys, range.low, num_bits, to);
  } else {
    sort_items<std::uint64_t>(keys, range.low, num_bits, to);
  }
  if (range.has_negative_zero) sign_zeros(keys, to);
}

// ---- positions ----------------------------------------------------------------------------------

LUMUS_INLINE void set_item(std::uint64_t& item, std::uint64_t key, std::int64_t position) {
  item = key << 32 | static_cast<std::uint64_t>(position);
}
LUMUS_INLINE void set_item(Wide& item, std::uint64_t key, std::int64_t position) {
  item = {key, static_cast<std::uint64_t>(position)};
}
LUMUS_INLINE std::int64_t position_of(std::uint64_t item) {
  return static_cast<std::int64_t>(item & 0xffffffff);
}
LUMUS_INLINE std::int64_t position_of(const Wide& item) {
  return static_cast<std::int64_t>(item.position);
}
template <class Item>
constexpr int kKeyBit = std::is_same_v<Item, Wide> ? 0 : 32;

// Calls emit(items, begin, end) for items of the line in order, on the threads.
template <class Item, class Element, class Emit>
void order_items(const Keys<Element>& keys, typename KeyOf<Element>::Key low, int num_bits,
                 const Emit& emit) {
  const std::int64_t count = keys.line.length;
  const auto fill = [&](Item* items, std::int64_t begin, std::int64_t end) {
    over(keys.line, begin, end, [&](std::int64_t i, Element element) {
      set_item(items[i - begin], keys.of(element) - low, i);
    });
  };
  with_space<Item>(count, [&](Item* items, Item* spare) {
    radix_sort(items, spare, count, kKeyBit<Item>, num_bits, fill, emit);
  });
}

template <class Element, class Emit>
void order_line(const Keys<Element>& keys, const Emit& emit) {
  const auto range = range_of(keys);
  const int num_bits = bit_width(range.high - range.low);
  if (num_bits <= 32 && keys.line.length <= INT64_C(0xffffffff)) {
    order_items<std::uint64_t>(keys, range.low, num_bits, emit);
  } else {
    order_items<Wide>(keys, range.low, num_bits, emit);
  }
}

template <class Element>
void argsort_line(const Line<const Element>& from, bool descends,
                  const Line<std::int64_t>& positions) {
  order_line(Keys<Element>(from, descends),
             [&](const auto* items, std::int64_t begin, std::int64_t end) {
               over(positions, begin, end, [&](std::int64_t i, std::int64_t& position) {
                 position = position_of(items[i - begin]);
               });
             });
}

// ---- the first few ------------------------------------------------------------------------------

// At most `count` elements of any block can be among the first `count`, and no element whose key is
// above the count-th smallest of the blocks' smallest keys. So only blocks that hold one that is
// not are looked at.
template <class Item, class Element>
void select_line(const Keys<Element>& keys, std::int64_t block, std::int64_t count,
                 const Line<Element>& values, const Line<std::int64_t>& positions) {
  using Key = typename KeyOf<Element>::Key;
  const std::int64_t length = keys.line.length;
  const std::int64_t blocks = divide_up(length, block);
  Scratch scratch(3 * blocks * static_cast<std::int64_t>(sizeof(Key)));
  auto* const smallest = scratch.as<Key>();
  parallel_for(blocks, larger(1, kConvertGrain / block), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) {
      Key low = ~Key(0);
      over(keys.line, at * block, smaller((at + 1) * block, length),
           [&](std::int64_t, Element element) {
             const Key key = keys.of(element);
             low = key < low ? key : low;
           });
      smallest[at] = low;
    }
  });
  Key last = 0;
  radix_sort(smallest + blocks, smallest + 2 * blocks, blocks, 0, KeyOf<Element>::bits,
             Copied<Key>{smallest}, [&](const Key* sorted, std::int64_t begin, std::int64_t end) {
               if (begin < count && count <= end) last = sorted[count - 1 - begin];
             });
  std::int64_t looked_at = 0;
  for (std::int64_t at = 0; at < blocks; ++at) looked_at += smallest[at] <= last;
  const auto take = [&](const Item* sorted, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < smaller(end, count); ++i) {
      positions[i] = position_of(sorted[i - begin]);
      values[i] = keys.line[positions[i]];
    }
  };
  with_space<Item>(looked_at * block, [&](Item* items, Item* spare) {
    std::int64_t found = 0;
    for (std::int64_t at = 0; at < blocks; ++at) {
      if (smallest[at] > last) continue;
      over(keys.line, at * block, smaller((at + 1) * block, length),
           [&](std::int64_t i, Element element) {
             const Key key = keys.of(element);
             set_item(items[found], key, i);
             found += key <= last;
           });
    }
    // Items move to `spare` first.
    radix_sort(spare, items, found, kKeyBit<Item>, KeyOf<Element>::bits, Copied<Item>{items}, take);
  });
}

template <class Element>
void topk_line(const Line<const Element>& from, bool is_largest, const Line<Element>& values,
               const Line<std::int64_t>& positions) {
  const std::int64_t count = values.length;
  const Keys<Element> keys(from, is_largest);
  constexpr std::int64_t blocks[] = {256, 64, 16};
  for (const std::int64_t block : blocks) {
    if (from.length < block * count * 2) continue;
    constexpr bool is_wide = sizeof(typename KeyOf<Element>::Key) > 4;
    if (is_wide || from.length > INT64_C(0xffffffff)) {
      select_line<Wide>(keys, block, count, values, positions);
    } else {
      select_line<std::uint64_t>(keys, block, count, values, positions);
    }
    return;
  }
  order_line(keys, [&](const auto* sorted, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < smaller(end, count); ++i) {
      positions[i] = position_of(sorted[i - begin]);
      values[i] = from[positions[i]];
    }
  });
}

// ---- all lines ----------------------------------------------------------------------------------

template <class Body>
void with_element(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::float64:
      return body(double{});
    case DType::float32:
      return body(float{});
    case DType::float16:
      return body(Float16{});
    case DType::bfloat16:
      return body(BFloat16{});
    case DType::int64:
      return body(std::int64_t{});
    case DType::int32:
      return body(std::int32_t{});
    case DType::int16:
      return body(std::int16_t{});
    case DType::int8:
      return body(std::int8_t{});
    default:
      return body(std::uint8_t{});
  }
}

template <class Element>
Line<Element> line_of(const View& view, int axis, std::int64_t offset) {
  return {reinterpret_cast<Element*>(view.data) + offset, view.strides[axis], view.shape[axis]};
}

// line(offsets of the elements of the arrays) for each line along the axis.
template <int kNumArrays, class Body>
void for_each_line(const View* const* arrays, int axis, const Body& line) {
  JointAxes others;
  const View& first = *arrays[0];
  for (int other = 0; other < first.rank; ++other) {
    if (other == axis) continue;
    std::int64_t strides[kNumArrays];
    for (int i = 0; i < kNumArrays; ++i) strides[i] = arrays[i]->strides[other];
    others.add(first.shape[other], strides, kNumArrays);
  }
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin; index < end; ++index) {
      std::int64_t offsets[kNumArrays];
      others.locate(index, kNumArrays, offsets);
      line(offsets);
    }
  };
  // Long lines are shared by the threads themselves.
  if (first.shape[axis] >= kLongLine) return run(0, others.count);
  parallel_for(others.count, larger(1, kLineGrain / 8 / larger(1, first.shape[axis])), run);
}

void sort(const View& input, int axis, bool descends, const View& output) {
  if (num_elements(output) == 0) return;
  const View* const arrays[] = {&input, &output};
  with_element(input.dtype, [&](auto one) {
    using Element = decltype(one);
    for_each_line<2>(arrays, axis, [&](const std::int64_t* at) {
      sort_line(line_of<const Element>(input, axis, at[0]), descends,
                line_of<Element>(output, axis, at[1]));
    });
  });
}

void argsort(const View& input, int axis, bool descends, const View& output) {
  if (num_elements(output) == 0) return;
  const View* const arrays[] = {&input, &output};
  with_element(input.dtype, [&](auto one) {
    using Element = decltype(one);
    for_each_line<2>(arrays, axis, [&](const std::int64_t* at) {
      argsort_line(line_of<const Element>(input, axis, at[0]), descends,
                   line_of<std::int64_t>(output, axis, at[1]));
    });
  });
}

void topk(const View& input, int axis, bool is_largest, const View& values, const View& positions) {
  if (num_elements(values) == 0) return;
  const View* const arrays[] = {&input, &values, &positions};
  with_element(input.dtype, [&](auto one) {
    using Element = decltype(one);
    for_each_line<3>(arrays, axis, [&](const std::int64_t* at) {
      topk_line(line_of<const Element>(input, axis, at[0]), is_largest,
                line_of<Element>(values, axis, at[1]),
                line_of<std::int64_t>(positions, axis, at[2]));
    });
  });
}

// ---- search -------------------------------------------------------------------------------------

template <class Element>
std::int64_t place_of(const Line<const Element>& sorted, Element value, bool from_right) {
  using Rule = KeyOf<Element>;
  const auto key = Rule::of(value);
  std::int64_t begin = 0;
  std::int64_t count = sorted.length;
  while (count > 0) {
    const std::int64_t half = count / 2;
    const auto middle = Rule::of(sorted[begin + half]);
    const bool is_right = from_right ? middle <= key : middle < key;
    begin = is_right ? begin + half + 1 : begin;
    count = is_right ? count - half - 1 : half;
  }
  return begin;
}

void searchsorted(const View& sorted, const View& values, bool from_right, const View& output) {
  if (num_elements(output) == 0) return;
  // The lines of `sorted` as an array of the shape of `values`, where they do not move on the last
  // axis.
  View lines = values;
  for (int axis = 0; axis < values.rank; ++axis) {
    lines.strides[axis] = sorted.rank > 1 && axis < values.rank - 1 ? sorted.strides[axis] : 0;
  }
  const View* const arrays[] = {&lines, &values, &output};
  JointAxes all;
  for (int axis = 0; axis < values.rank; ++axis) {
    std::int64_t strides[3];
    for (int i = 0; i < 3; ++i) strides[i] = arrays[i]->strides[axis];
    all.add(values.shape[axis], strides, 3);
  }
  with_element(sorted.dtype, [&](auto one) {
    using Element = decltype(one);
    const auto* from = reinterpret_cast<const Element*>(values.data);
    auto* to = reinterpret_cast<std::int64_t*>(output.data);
    parallel_for(all.count, 1024, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t index = begin; index < end; ++index) {
        std::int64_t at[3];
        all.locate(index, 3, at);
        to[at[2]] = place_of(line_of<const Element>(sorted, sorted.rank - 1, at[0]), from[at[1]],
                             from_right);
      }
    });
  });
}

}  // namespace

extern const SortKernels sort_table;
const SortKernels sort_table = {sort, argsort, topk, searchsorted};

}  // namespace lumus::LUMUS_ISA
