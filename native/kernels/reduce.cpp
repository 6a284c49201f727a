// Reductions over any axes of an array of any dtype and layout.
//
// Layout. The input is any strided view. Axes are flipped, sorted by stride and merged, which
// leaves one of two cases: the fastest axis is reduced ("rows": each output consumes runs of
// neighbours) or it is kept ("columns": neighbours belong to different outputs and rows are added
// lane by lane). Elements that are not contiguous, or not of the type that is accumulated, pass
// through a tile in the level-1 cache. Narrow dense columns (C < 64) are read several rows at a
// time as one wide row.
//
// Aliasing. The output is contiguous and shares nothing with the input.
//
// Threads. Outputs are shared out in groups of about kGrain elements; a long reduction is cut in
// pieces of kPiece elements whose results combine in a fixed binary tree. All cuts depend on the
// shape and the layout alone, so the bits do not depend on the number of threads.
//
// Numerics. float32 and half sums add at most 32 float32 numbers in a lane, then continue in
// float64, and round once at the end; means divide before that rounding. float64 sums are blocked
// pairwise (at most 64 additions in a lane, 128 blocks, then the tree). Products of floating types
// run in float64. Integer sums and products wrap in int64. A NaN makes max and min NaN.
#include "kernels/reduce.h"

#include <type_traits>

#include "kernels/convert.h"
#include "kernels/isa.h"
#include "kernels/simd.h"
#include "kernels/tile_io.h"
#include "runtime/scratch.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {
namespace {

constexpr std::int64_t kGrain = 32768;     // elements a thread takes at once
constexpr std::int64_t kPiece = 65536;     // elements of one piece of a long reduction
constexpr std::int64_t kTile = 1024;       // elements packed before they are reduced
constexpr std::int64_t kTileBytes = 8192;  // kTile of the widest type
constexpr std::int64_t kShortRow = 16;     // rows up to this length are reduced by scalar code
constexpr std::int64_t kBatch = 256;       // partial results stored at once
constexpr int kRows = 8;                   // rows that columns() takes at once

LUMUS_INLINE std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
LUMUS_INLINE std::int64_t larger(std::int64_t a, std::int64_t b) { return a > b ? a : b; }
LUMUS_INLINE std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// ---- what is computed ---------------------------------------------------------------------------
//
// An operation has a Value (element of a tile), a Partial (accumulated), an identity, and
// combine().

template <class T>
struct Limits;
template <>
struct Limits<double> {
  static constexpr double lowest = -__builtin_inf(), highest = __builtin_inf();
};
template <>
struct Limits<float> {
  static constexpr float lowest = -__builtin_inff(), highest = __builtin_inff();
};
template <>
struct Limits<std::int64_t> {
  static constexpr std::int64_t lowest = INT64_MIN, highest = INT64_MAX;
};
template <>
struct Limits<std::int32_t> {
  static constexpr std::int32_t lowest = INT32_MIN, highest = INT32_MAX;
};
template <>
struct Limits<std::int16_t> {
  static constexpr std::int16_t lowest = INT16_MIN, highest = INT16_MAX;
};
template <>
struct Limits<std::int8_t> {
  static constexpr std::int8_t lowest = INT8_MIN, highest = INT8_MAX;
};
template <>
struct Limits<std::uint8_t> {
  static constexpr std::uint8_t lowest = 0, highest = UINT8_MAX;
};

template <class T>
constexpr bool kIsFloat = false;
template <>
constexpr bool kIsFloat<float> = true;
template <>
constexpr bool kIsFloat<double> = true;

// int64 is added and multiplied as unsigned: overflow wraps.
template <class V>
struct UnsignedOf {
  typedef std::uint64_t type __attribute__((vector_size(sizeof(V))));
};
template <>
struct UnsignedOf<std::int64_t> {
  typedef std::uint64_t type;
};
template <class T, class V>
struct Wrapping {
  typedef V type;
};
template <class V>
struct Wrapping<std::int64_t, V> : UnsignedOf<V> {};

// combine() takes a V that is T itself or any vector of T.
template <class T>
struct Sum {
  using Value = T;
  // -0.0 is the identity: -0.0 + x is x for x = -0.0, too.
  static constexpr T identity = kIsFloat<T> ? static_cast<T>(-0.0) : T(0);
  template <class V>
  LUMUS_INLINE V combine(V a, V b) {
    using U = typename Wrapping<T, V>::type;
    return (V)((U)a + (U)b);
  }
};

template <class T>
struct Product {
  using Value = T;
  static constexpr T identity = T(1);
  template <class V>
  LUMUS_INLINE V combine(V a, V b) {
    using U = typename Wrapping<T, V>::type;
    return (V)((U)a * (U)b);
  }
};

// `a` is the accumulator; once it is NaN no comparison is true and it stays.
template <class T>
struct Maximum {
  using Value = T;
  static constexpr T identity = Limits<T>::lowest;
  template <class V>
  LUMUS_INLINE V combine(V a, V b) {
    const V extreme = b > a ? b : a;
    if constexpr (kIsFloat<T>) return b != b ? b : extreme;
    return extreme;
  }
};

template <class T>
struct Minimum {
  using Value = T;
  static constexpr T identity = Limits<T>::highest;
  template <class V>
  LUMUS_INLINE V combine(V a, V b) {
    const V extreme = b < a ? b : a;
    if constexpr (kIsFloat<T>) return b != b ? b : extreme;
    return extreme;
  }
};

// ---- vectors of an element type -----------------------------------------------------------------
//
// Half types are loaded as float32. `fill` stands in for absent lanes.

template <class Element>
LUMUS_INLINE auto load_values(const Element* from) {
  if constexpr (std::is_class_v<Element>) {
    u16h halves;
    std::memcpy(&halves, from, sizeof halves);
    if constexpr (std::is_same_v<Element, Float16>) return half_to_float(halves);
    if constexpr (std::is_same_v<Element, BFloat16>) return bfloat_to_float(halves);
  } else {
    return load<Element>(from);
  }
}

template <class Element, class T>
LUMUS_INLINE Vec<T> load_left(const Element* from, std::int64_t count, T fill) {
  if constexpr (sizeof(Element) == sizeof(T)) {
    return load_partial<T>(from, count, fill);
  } else {
    Element padded[kLanes<T>];
    for (std::int64_t lane = 0; lane < kLanes<T>; ++lane) {
      padded[lane] = Narrow<Element>::from(fill);
    }
    std::memcpy(padded, from, static_cast<std::size_t>(count) * sizeof(Element));
    return load_values(padded);
  }
}

template <int... kIndices>
struct Indices {};

template <int kFirst, class V, int... kIndices>
LUMUS_INLINE auto pick_lanes(V values, Indices<kIndices...>) {
  return __builtin_shufflevector(values, values, (kFirst + kIndices)...);
}

// Combines the lanes of a vector: the upper half onto the lower one until one is left.
template <class Op, int kCount, class V>
LUMUS_INLINE typename Op::Value fold_vector(V values) {
  using T = typename Op::Value;
  if constexpr (kCount * sizeof(T) <= 16) {
    T each[kCount];
    std::memcpy(each, &values, sizeof each);
    for (int width = kCount / 2; width >= 1; width /= 2) {
      for (int lane = 0; lane < width; ++lane) {
        each[lane] = Op::combine(each[lane], each[lane + width]);
      }
    }
    return each[0];
  } else {
    using Half = Indices<__integer_pack(kCount / 2)...>;
    return fold_vector<Op, kCount / 2>(
        Op::combine(pick_lanes<0>(values, Half{}), pick_lanes<kCount / 2>(values, Half{})));
  }
}

// ---- accumulating contiguous values -------------------------------------------------------------

// An accumulator has lanes for this many bytes of values, as many as fit the registers beside the
// loads. From AVX2 on the order of additions does not depend on the instruction set.
constexpr std::int64_t kLaneBytes = LUMUS_VECTOR_BYTES >= 32 ? 256 : 128;
constexpr std::int64_t kLaneVectors = kLaneBytes / LUMUS_VECTOR_BYTES;

// Adds `count` elements to kLaneVectors running vectors.
template <class Op, class Element>
LUMUS_INLINE void accumulate(Vec<typename Op::Value>* lanes, const Element* values,
                             std::int64_t count) {
  using T = typename Op::Value;
  constexpr std::int64_t width = kLanes<T>;
  std::int64_t i = 0;
  if (count >= width * kLaneVectors) {
    Vec<T> running[kLaneVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kLaneVectors; ++v) running[v] = lanes[v];
    for (; i + width * kLaneVectors <= count; i += width * kLaneVectors) {
#pragma GCC unroll 8
      for (int v = 0; v < kLaneVectors; ++v) {
        running[v] = Op::combine(running[v], load_values(values + i + v * width));
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < kLaneVectors; ++v) lanes[v] = running[v];
  }
  for (int v = 0; i < count; ++v, i += width) {
    const std::int64_t left = count - i;
    lanes[v] = Op::combine(lanes[v], left >= width ? load_values(values + i)
                                                   : load_left(values + i, left, Op::identity));
  }
}

// Combines kLaneVectors vectors until kLeft are left.
template <class Op, int kLeft>
LUMUS_INLINE void fold_lanes(Vec<typename Op::Value>* lanes) {
#pragma GCC unroll 4
  for (int width = kLaneVectors / 2; width >= kLeft; width /= 2) {
#pragma GCC unroll 8
    for (int v = 0; v < width; ++v) lanes[v] = Op::combine(lanes[v], lanes[v + width]);
  }
}

// Exact operations and products: one running set of lanes.
template <class Op, class E = typename Op::Value>
struct PlainAccumulator {
  using Element = E;
  using Value = typename Op::Value;
  using Partial = Value;
  using RowOp = Op;
  static constexpr Partial identity = Op::identity;

  Vec<Value> lanes[kLaneVectors];

  LUMUS_INLINE Partial combine(Partial a, Partial b) { return Op::combine(a, b); }
  void clear() {
    for (auto& lane : lanes) lane = splat<Value>(Op::identity);
  }
  void feed(const Element* values, std::int64_t count) { accumulate<Op>(lanes, values, count); }
  Partial finish() {
    fold_lanes<Op, 1>(lanes);
    return fold_vector<Op, kLanes<Value>>(lanes[0]);
  }
  LUMUS_INLINE void add_columns(Partial* partials, Vec<Value> values) {
    store<Value>(partials, Op::combine(load<Value>(partials), values));
  }
};

// float64 sums: lanes of a block, added to the lanes of the whole after each block.
struct DoubleSumAccumulator : PlainAccumulator<Sum<double>> {
  void feed(const double* values, std::int64_t count) {
    constexpr std::int64_t block = 64 * kLaneBytes / 8;
    for (std::int64_t i = 0; i < count; i += block) {
      f64v inner[kLaneVectors];
      for (auto& lane : inner) lane = splat<double>(-0.0);
      accumulate<Sum<double>>(inner, values + i, smaller(block, count - i));
      for (int v = 0; v < kLaneVectors; ++v) lanes[v] += inner[v];
    }
  }
};

// Sums of float32 and the half types: float32 lanes for at most 32 additions, then 16 lanes of
// float64.
template <class E>
struct FloatSumAccumulator {
  using Element = E;
  using Value = float;
  using Partial = double;
  using RowOp = Sum<float>;
  static constexpr Partial identity = -0.0;
  static constexpr int kVectors = 16 / kLanes<float>;

  f64v lanes[2 * kVectors];

  LUMUS_INLINE double combine(double a, double b) { return a + b; }
  void clear() {
    for (auto& lane : lanes) lane = splat<double>(-0.0);
  }
  void feed(const Element* values, std::int64_t count) {
    constexpr std::int64_t block = 1024;
    for (std::int64_t i = 0; i < count; i += block) {
      f32v inner[kLaneVectors];
      for (auto& lane : inner) lane = splat<float>(-0.0f);
      accumulate<RowOp>(inner, values + i, smaller(block, count - i));
      fold_lanes<RowOp, kVectors>(inner);
      for (int v = 0; v < kVectors; ++v) {
        const F64Pair wide = widen(inner[v]);
        lanes[2 * v] += wide.hi;
        lanes[2 * v + 1] += wide.lo;
      }
    }
  }
  double finish() {
#pragma GCC unroll 4
    for (int width = kVectors; width >= 1; width /= 2) {
#pragma GCC unroll 4
      for (int v = 0; v < width; ++v) lanes[v] += lanes[v + width];
    }
    return fold_vector<Sum<double>, kLanes<double>>(lanes[0]);
  }
  LUMUS_INLINE void add_columns(double* partials, f32v values) {
    constexpr std::int64_t width = kLanes<double>;
    const F64Pair wide = widen(values);
    store<double>(partials, load<double>(partials) + wide.hi);
    store<double>(partials + width, load<double>(partials + width) + wide.lo);
  }
};

// ---- loops over rows and columns, by accumulator ------------------------------------------------

// `num_rows` rows of `length` contiguous values, `row_stride` apart: one partial result each.
template <class Accumulator>
void reduce_rows(const void* source, std::int64_t row_stride, std::int64_t num_rows,
                 std::int64_t length, void* partials) {
  using Element = typename Accumulator::Element;
  using Partial = typename Accumulator::Partial;
  const Element* values = static_cast<const Element*>(source);
  Partial* out = static_cast<Partial*>(partials);
  if (length <= kShortRow) {
    for (std::int64_t row = 0; row < num_rows; ++row, values += row_stride) {
      Partial running = Accumulator::identity;
      for (std::int64_t i = 0; i < length; ++i) {
        running = Accumulator::combine(running, widen<Partial>(values[i]));
      }
      out[row] = running;
    }
    return;
  }
  for (std::int64_t row = 0; row < num_rows; ++row, values += row_stride) {
    Accumulator accumulator;
    accumulator.clear();
    accumulator.feed(values, length);
    out[row] = accumulator.finish();
  }
}

template <class Accumulator>
void clear_lanes(void* state) {
  static_cast<Accumulator*>(state)->clear();
}
template <class Accumulator>
void feed_lanes(void* state, const void* values, std::int64_t count) {
  static_cast<Accumulator*>(state)->feed(static_cast<const typename Accumulator::Element*>(values),
                                         count);
}
template <class Accumulator>
void finish_lanes(void* state, void* partial) {
  *static_cast<typename Accumulator::Partial*>(partial) =
      static_cast<Accumulator*>(state)->finish();
}

template <class T, class Op, int kCount>
LUMUS_INLINE Vec<T> combine_rows(const Vec<T>* values) {
  if constexpr (kCount == 1) {
    return values[0];
  } else {
    return Op::combine(combine_rows<T, Op, kCount / 2>(values),
                       combine_rows<T, Op, kCount / 2>(values + kCount / 2));
  }
}

// partials[c] = combine(partials[c], rows[0][c], ..., rows[kCount - 1][c])
template <class Accumulator, int kCount>
void add_rows(const void* const* rows, std::int64_t num_columns,
              typename Accumulator::Partial* partials) {
  using Element = typename Accumulator::Element;
  using Value = typename Accumulator::Value;
  using Partial = typename Accumulator::Partial;
  using Op = typename Accumulator::RowOp;
  constexpr std::int64_t width = kLanes<Value>;
  const Element* sources[kCount];
  for (int row = 0; row < kCount; ++row) sources[row] = static_cast<const Element*>(rows[row]);
  std::int64_t c = 0;
  for (; c + width <= num_columns; c += width) {
    Vec<Value> values[kCount];
#pragma GCC unroll 8
    for (int row = 0; row < kCount; ++row) values[row] = load_values(sources[row] + c);
    Accumulator::add_columns(partials + c, combine_rows<Value, Op, kCount>(values));
  }
  const std::int64_t left = num_columns - c;
  if (left > 0) {
    Vec<Value> values[kCount];
    for (int row = 0; row < kCount; ++row) {
      values[row] = load_left(sources[row] + c, left, Op::identity);
    }
    Partial padded[width];
    for (std::int64_t lane = 0; lane < width; ++lane) padded[lane] = Accumulator::identity;
    std::memcpy(padded, partials + c, static_cast<std::size_t>(left) * sizeof(Partial));
    Accumulator::add_columns(padded, combine_rows<Value, Op, kCount>(values));
    std::memcpy(partials + c, padded, static_cast<std::size_t>(left) * sizeof(Partial));
  }
}

template <class Accumulator>
void reduce_columns(const void* const* rows, int num_rows, std::int64_t num_columns,
                    void* partials) {
  auto* out = static_cast<typename Accumulator::Partial*>(partials);
  for (; num_rows >= 8; num_rows -= 8, rows += 8) add_rows<Accumulator, 8>(rows, num_columns, out);
  if (num_rows & 4) add_rows<Accumulator, 4>(rows, num_columns, out), rows += 4;
  if (num_rows & 2) add_rows<Accumulator, 2>(rows, num_columns, out), rows += 2;
  if (num_rows & 1) add_rows<Accumulator, 1>(rows, num_columns, out);
}

template <class Accumulator>
void fill_identity(void* partials, std::int64_t count) {
  auto* out = static_cast<typename Accumulator::Partial*>(partials);
  for (std::int64_t i = 0; i < count; ++i) out[i] = Accumulator::identity;
}

// into[i] = combine(into[i], from[i])
template <class Accumulator>
void merge_partials(void* into, const void* from, std::int64_t count) {
  using Partial = typename Accumulator::Partial;
  auto* out = static_cast<Partial*>(into);
  const auto* in = static_cast<const Partial*>(from);
  for (std::int64_t i = 0; i < count; ++i) out[i] = Accumulator::combine(out[i], in[i]);
}

enum class PartialType : std::uint8_t { f64, f32, i64, i32, i16, i8, u8 };

template <class T>
constexpr PartialType kPartialType = PartialType::f64;
template <>
constexpr PartialType kPartialType<float> = PartialType::f32;
template <>
constexpr PartialType kPartialType<std::int64_t> = PartialType::i64;
template <>
constexpr PartialType kPartialType<std::int32_t> = PartialType::i32;
template <>
constexpr PartialType kPartialType<std::int16_t> = PartialType::i16;
template <>
constexpr PartialType kPartialType<std::int8_t> = PartialType::i8;
template <>
constexpr PartialType kPartialType<std::uint8_t> = PartialType::u8;

// An accumulator behind plain function pointers, so that the drivers below exist once.
struct Reducer {
  std::int64_t element_size;
  std::int64_t partial_size;
  PartialType partial_type;
  void (*rows)(const void*, std::int64_t, std::int64_t, std::int64_t, void*);
  void (*clear)(void*);
  void (*feed)(void*, const void*, std::int64_t);
  void (*finish)(void*, void*);
  void (*columns)(const void* const*, int, std::int64_t, void*);
  void (*identity)(void*, std::int64_t);
  void (*merge)(void*, const void*, std::int64_t);
};

template <class Accumulator>
constexpr Reducer kReducer = {sizeof(typename Accumulator::Element),
                              sizeof(typename Accumulator::Partial),
                              kPartialType<typename Accumulator::Partial>,
                              reduce_rows<Accumulator>,
                              clear_lanes<Accumulator>,
                              feed_lanes<Accumulator>,
                              finish_lanes<Accumulator>,
                              reduce_columns<Accumulator>,
                              fill_identity<Accumulator>,
                              merge_partials<Accumulator>};

struct alignas(64) LaneState {
  std::byte bytes[kLaneBytes];
};

// ---- where values come from ---------------------------------------------------------------------

using FillTile = void (*)(const void* from, std::int64_t stride, std::int64_t count, void* tile);

template <class Element, class Tile>
void widen_tile(const void* from, std::int64_t stride, std::int64_t count, void* tile) {
  widen_run<Tile, Element>(static_cast<const Element*>(from), stride, count,
                           static_cast<Tile*>(tile));
}
template <class Element>
void truth_tile(const void* from, std::int64_t stride, std::int64_t count, void* tile) {
  truth_run<Element>(static_cast<const Element*>(from), stride, count,
                     static_cast<std::uint8_t*>(tile));
}

struct Source {
  const std::byte* data;
  std::int64_t element_size;
  bool is_direct;  // elements are values already: contiguous runs need no tile
  FillTile fill;

  // `count` values from element `offset` on: in place, or packed into `tile`.
  const void* values(std::int64_t offset, std::int64_t stride, std::int64_t count,
                     void* tile) const {
    const std::byte* from = data + offset * element_size;
    if (is_direct && stride == 1) return from;
    fill(from, stride, count, tile);
    return tile;
  }
};

// ---- which axes ---------------------------------------------------------------------------------

struct Axes {
  int rank = 0;
  std::int64_t shape[kMaxRank];
  std::int64_t strides[kMaxRank];      // of the input, never negative
  std::int64_t out_strides[kMaxRank];  // of the output; kept axes only
  std::int64_t count = 1;

  std::int64_t offset(std::int64_t index, std::int64_t* out_offset) const {
    std::int64_t in = 0;
    std::int64_t out = 0;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const std::int64_t at = index % shape[axis];
      index /= shape[axis];
      in += at * strides[axis];
      if (out_offset) out += at * out_strides[axis];
    }
    if (out_offset) *out_offset = out;
    return in;
  }
};

// Outermost first: broadcast axes, then by falling stride.
LUMUS_INLINE bool goes_before(std::int64_t stride, std::int64_t other) {
  if (other == 0) return false;
  return stride == 0 || stride > other;
}

void insert_axis(Axes& axes, std::int64_t length, std::int64_t stride, std::int64_t out) {
  int at = axes.rank++;
  for (; at > 0 && goes_before(stride, axes.strides[at - 1]); --at) {
    axes.shape[at] = axes.shape[at - 1];
    axes.strides[at] = axes.strides[at - 1];
    axes.out_strides[at] = axes.out_strides[at - 1];
  }
  axes.shape[at] = length;
  axes.strides[at] = stride;
  axes.out_strides[at] = out;
  axes.count *= length;
}

void merge_axes(Axes& axes, bool is_kept) {
  int last = 0;
  for (int axis = 1; axis < axes.rank; ++axis) {
    const std::int64_t length = axes.shape[axis];
    const bool joins = axes.strides[last] == axes.strides[axis] * length &&
                       (!is_kept || axes.out_strides[last] == axes.out_strides[axis] * length);
    if (joins) {
      axes.shape[last] *= length;
    } else {
      ++last;
      axes.shape[last] = length;
    }
    axes.strides[last] = axes.strides[axis];
    axes.out_strides[last] = axes.out_strides[axis];
  }
  if (axes.rank > 0) axes.rank = last + 1;
}

struct Plan {
  Axes kept;
  Axes reduced;
  std::int64_t in_offset = 0;  // of the first element after flips
  std::int64_t out_offset = 0;
};

void make_plan(const View& input, std::uint32_t reduced_axes, Plan& plan) {
  std::int64_t out_stride = 1;
  for (int axis = input.rank - 1; axis >= 0; --axis) {
    const std::int64_t length = input.shape[axis];
    const bool is_reduced = reduced_axes >> axis & 1u;
    const std::int64_t this_out = out_stride;
    if (!is_reduced) out_stride *= length;
    if (length == 1) continue;
    std::int64_t stride = input.strides[axis];
    const bool is_flipped = stride < 0;
    if (is_flipped) {
      plan.in_offset += (length - 1) * stride;
      stride = -stride;
    }
    if (is_reduced) {
      insert_axis(plan.reduced, length, stride, 0);
    } else {
      if (is_flipped) plan.out_offset += (length - 1) * this_out;
      insert_axis(plan.kept, length, stride, is_flipped ? -this_out : this_out);
    }
  }
  merge_axes(plan.reduced, false);
  merge_axes(plan.kept, true);
}

// ---- where results go ---------------------------------------------------------------------------

template <class Element, class Wide>
void narrow_results(const void* from, std::int64_t count, void* to, std::int64_t stride) {
  narrow_run<Element, Wide>(static_cast<const Wide*>(from), count, static_cast<Element*>(to),
                            stride);
}

using Narrower = void (*)(const void*, std::int64_t, void*, std::int64_t);

template <class Wide>
constexpr Narrower kNarrowers[kNumDTypes] = {
    narrow_results<double, Wide>,       narrow_results<float, Wide>,
    narrow_results<Float16, Wide>,      narrow_results<BFloat16, Wide>,
    narrow_results<std::int64_t, Wide>, narrow_results<std::int32_t, Wide>,
    narrow_results<std::int16_t, Wide>, narrow_results<std::int8_t, Wide>,
    narrow_results<std::uint8_t, Wide>, narrow_results<Boolean, Wide>};

template <class Partial, class Wide>
LUMUS_INLINE void widen_partials(const void* from, std::int64_t count, Wide* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<Wide>(static_cast<const Partial*>(from)[i]);
  }
}

struct Sink {
  std::byte* data;
  DType dtype;
  PartialType partial_type;
  double divisor;  // of a mean; 0 if there is none

  void put(const void* partials, std::int64_t count, std::int64_t offset,
           std::int64_t stride) const;
};

void Sink::put(const void* partials, std::int64_t count, std::int64_t offset,
               std::int64_t stride) const {
  const int code = static_cast<int>(dtype);
  std::byte* to = data + offset * itemsize(dtype);
  const std::int64_t step = stride * itemsize(dtype);
  const bool is_floating =
      divisor != 0 || partial_type == PartialType::f64 || partial_type == PartialType::f32;
  const std::byte* from = static_cast<const std::byte*>(partials);
  for (std::int64_t done = 0; done < count; done += kBatch) {
    const std::int64_t now = smaller(kBatch, count - done);
    if (is_floating) {
      double wide[kBatch];
      if (partial_type == PartialType::f64) {
        widen_partials<double>(from + done * 8, now, wide);
      } else if (partial_type == PartialType::f32) {
        widen_partials<float>(from + done * 4, now, wide);
      } else {
        widen_partials<std::int64_t>(from + done * 8, now, wide);
      }
      if (divisor != 0) {
        for (std::int64_t i = 0; i < now; ++i) wide[i] /= divisor;
      }
      kNarrowers<double>[code](wide, now, to + done* step, stride);
    } else {
      std::int64_t wide[kBatch];
      switch (partial_type) {
        case PartialType::i32:
          widen_partials<std::int32_t>(from + done * 4, now, wide);
          break;
        case PartialType::i16:
          widen_partials<std::int16_t>(from + done * 2, now, wide);
          break;
        case PartialType::i8:
          widen_partials<std::int8_t>(from + done, now, wide);
          break;
        case PartialType::u8:
          widen_partials<std::uint8_t>(from + done, now, wide);
          break;
        default:
          widen_partials<std::int64_t>(from + done * 8, now, wide);
          break;
      }
      kNarrowers<std::int64_t>[code](wide, now, to + done* step, stride);
    }
  }
}

// ---- rows: the fastest axis is reduced ----------------------------------------------------------

// Reduces values [begin, end) of the reduced axes, starting at element `base`.
void reduce_span(const Reducer& reducer, const Source& source, const Axes& reduced,
                 std::int64_t base, std::int64_t begin, std::int64_t end, void* partial) {
  alignas(64) std::byte tile[kTileBytes];
  LaneState lanes;
  reducer.clear(&lanes);
  const int inner = reduced.rank - 1;
  const std::int64_t length = inner >= 0 ? reduced.shape[inner] : 1;
  const std::int64_t stride = inner >= 0 ? reduced.strides[inner] : 1;
  const bool is_packed = !(source.is_direct && stride == 1 && length >= 64);
  std::int64_t packed = 0;
  std::int64_t at = begin;
  while (at < end) {
    const std::int64_t within = at % length;
    std::int64_t now = smaller(length - within, end - at);
    const std::int64_t offset = base + reduced.offset(at, nullptr);
    if (is_packed) {
      now = smaller(now, kTile - packed);
      source.fill(source.data + offset * source.element_size, stride, now,
                  tile + packed * reducer.element_size);
      packed += now;
      if (packed == kTile) {
        reducer.feed(&lanes, tile, packed);
        packed = 0;
      }
    } else {
      reducer.feed(&lanes, source.values(offset, stride, now, tile), now);
    }
    at += now;
  }
  if (packed > 0) reducer.feed(&lanes, tile, packed);
  reducer.finish(&lanes, partial);
}

// One contiguous reduced axis: whole rows, as many at once as the innermost kept axis has.
void reduce_whole_rows(const Reducer& reducer, const Source& source, const Plan& plan,
                       const Sink& sink, std::int64_t begin, std::int64_t end) {
  alignas(64) std::byte tile[kTileBytes];
  double partials[kBatch];
  const Axes& kept = plan.kept;
  const int inner = kept.rank - 1;
  const std::int64_t width = inner >= 0 ? kept.shape[inner] : 1;
  const std::int64_t row_stride = inner >= 0 ? kept.strides[inner] : 0;
  const std::int64_t out_stride = inner >= 0 ? kept.out_strides[inner] : 0;
  const std::int64_t length = plan.reduced.count;
  const std::int64_t rows_in_tile = source.is_direct ? kBatch : smaller(kBatch, kTile / length);
  std::int64_t at = begin;
  while (at < end) {
    const std::int64_t now = smaller(smaller(width - at % width, end - at), rows_in_tile);
    std::int64_t out_offset;
    const std::int64_t offset = plan.in_offset + kept.offset(at, &out_offset);
    const std::byte* from = source.data + offset * source.element_size;
    if (source.is_direct) {
      reducer.rows(from, row_stride, now, length, partials);
    } else if (row_stride == length) {
      source.fill(from, 1, now * length, tile);
      reducer.rows(tile, length, now, length, partials);
    } else {
      for (std::int64_t row = 0; row < now; ++row) {
        source.fill(from + row * row_stride * source.element_size, 1, length,
                    tile + row * length * reducer.element_size);
      }
      reducer.rows(tile, length, now, length, partials);
    }
    sink.put(partials, now, plan.out_offset + out_offset, out_stride);
    at += now;
  }
}

void reduce_by_rows(const Reducer& reducer, const Source& source, const Plan& plan,
                    const Sink& sink) {
  const std::int64_t num_outputs = plan.kept.count;
  const std::int64_t length = plan.reduced.count;
  if (length >= 2 * kPiece) {
    const std::int64_t pieces = divide_up(length, kPiece);
    const std::int64_t size = reducer.partial_size;
    Scratch scratch(num_outputs * pieces * size);
    std::byte* partials = scratch.as<std::byte>();
    parallel_for(num_outputs * pieces, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t piece = task % pieces;
        const std::int64_t base = plan.in_offset + plan.kept.offset(task / pieces, nullptr);
        reduce_span(reducer, source, plan.reduced, base, piece * kPiece,
                    smaller((piece + 1) * kPiece, length), partials + task * size);
      }
    });
    for (std::int64_t output = 0; output < num_outputs; ++output) {
      std::byte* mine = partials + output * pieces * size;
      for (std::int64_t step = 1; step < pieces; step *= 2) {
        for (std::int64_t piece = 0; piece + step < pieces; piece += 2 * step) {
          reducer.merge(mine + piece * size, mine + (piece + step) * size, 1);
        }
      }
      std::int64_t out_offset;
      plan.kept.offset(output, &out_offset);
      sink.put(mine, 1, plan.out_offset + out_offset, 0);
    }
    return;
  }
  const bool is_whole = plan.reduced.rank <= 1 &&
                        length <= (source.is_direct ? kPiece * 2 : kTile) &&
                        (plan.reduced.rank == 0 || plan.reduced.strides[0] == 1);
  parallel_for(num_outputs, larger(1, kGrain / length), [&](std::int64_t begin, std::int64_t end) {
    if (is_whole) {
      reduce_whole_rows(reducer, source, plan, sink, begin, end);
      return;
    }
    for (std::int64_t output = begin; output < end; ++output) {
      std::int64_t out_offset;
      const std::int64_t base = plan.in_offset + plan.kept.offset(output, &out_offset);
      double partial;
      reduce_span(reducer, source, plan.reduced, base, 0, length, &partial);
      sink.put(&partial, 1, plan.out_offset + out_offset, 0);
    }
  });
}

// ---- columns: the fastest axis is kept ----------------------------------------------------------

constexpr std::int64_t kColumnBytes = 4096;  // of one row of a chunk
constexpr std::int64_t kNarrow = 64;         // fewer columns than this are read as wider rows
constexpr std::int64_t kGroup = 1024;        // rows whose partial results are merged at once
constexpr std::int64_t kFewItems = 16;       // fewer chunks than this are cut along the rows, too

struct Columns {
  std::int64_t width;   // columns of the innermost kept axis
  std::int64_t stride;  // between columns
  std::int64_t out_stride;
  std::int64_t chunk;  // columns handled together
  std::int64_t num_chunks;
  std::int64_t num_rows;   // in wide rows
  std::int64_t repeats;    // rows read as one wide row
  std::int64_t left_over;  // rows after the last wide one
};

// Adds rows [begin, end) of a chunk of columns that starts at element `base` to fresh `partials`;
// `spare` has room for as many.
void reduce_chunk(const Reducer& reducer, const Source& source, const Axes& reduced,
                  const Columns& columns, std::int64_t base, std::int64_t width, std::int64_t begin,
                  std::int64_t end, std::byte* partials, std::byte* spare) {
  alignas(64) std::byte tiles[kRows * kColumnBytes];
  const std::int64_t wide = width * columns.repeats;
  const std::int64_t tile_bytes = wide * reducer.element_size;
  reducer.identity(partials, wide);
  for (std::int64_t group = begin; group < end; group += kGroup) {
    const std::int64_t group_end = smaller(group + kGroup, end);
    std::byte* into = group == begin ? partials : spare;
    if (into == spare) reducer.identity(spare, wide);
    for (std::int64_t row = group; row < group_end; row += kRows) {
      const int now = static_cast<int>(smaller(kRows, group_end - row));
      const void* rows[kRows];
      for (int i = 0; i < now; ++i) {
        const std::int64_t offset = base + reduced.offset((row + i) * columns.repeats, nullptr);
        rows[i] = source.values(offset, columns.stride, wide, tiles + i * tile_bytes);
      }
      reducer.columns(rows, now, wide, into);
    }
    if (into == spare) reducer.merge(partials, spare, wide);
  }
  if (columns.left_over > 0 && end == columns.num_rows) {
    const std::int64_t offset = base + reduced.offset(end * columns.repeats, nullptr);
    const std::int64_t few = columns.left_over * width;
    const void* rows[1] = {source.values(offset, columns.stride, few, tiles)};
    reducer.columns(rows, 1, few, partials);
  }
}

void reduce_by_columns(const Reducer& reducer, const Source& source, const Plan& plan,
                       const Sink& sink) {
  const Axes& reduced = plan.reduced;
  const int inner = plan.kept.rank - 1;
  Axes outer = plan.kept;
  outer.rank = inner;
  outer.count = plan.kept.count / plan.kept.shape[inner];

  Columns columns;
  columns.width = plan.kept.shape[inner];
  columns.stride = plan.kept.strides[inner];
  columns.out_stride = plan.kept.out_strides[inner];
  const bool is_direct = source.is_direct && columns.stride == 1;
  const std::int64_t room = (is_direct ? kColumnBytes : kColumnBytes / 2) /
                            larger(reducer.element_size, reducer.partial_size / 2);
  columns.chunk = smaller(columns.width, room);
  columns.num_chunks = divide_up(columns.width, columns.chunk);
  columns.repeats = 1;
  columns.num_rows = reduced.count;
  columns.left_over = 0;
  if (columns.width < kNarrow && columns.stride == 1 && reduced.rank == 1 &&
      reduced.strides[0] == columns.width) {
    while (columns.repeats * 2 * columns.width <= smaller(room, 512) &&
           columns.repeats * 2 <= reduced.count) {
      columns.repeats *= 2;
    }
    columns.num_rows = reduced.count / columns.repeats;
    columns.left_over = reduced.count % columns.repeats;
  }
  const std::int64_t wide = columns.chunk * columns.repeats;
  const std::int64_t items = outer.count * columns.num_chunks;
  const std::int64_t size = reducer.partial_size;

  std::int64_t piece_rows = columns.num_rows;
  if (items < kFewItems && columns.num_rows * wide >= 4 * kPiece) {
    piece_rows = larger(kRows, 2 * kPiece / wide / kRows * kRows);
  }
  const std::int64_t pieces = divide_up(columns.num_rows, piece_rows);

  const auto finish = [&](std::int64_t item, std::byte* partials) {
    const std::int64_t chunk = item % columns.num_chunks;
    const std::int64_t width = smaller(columns.chunk, columns.width - chunk * columns.chunk);
    for (std::int64_t half = columns.repeats / 2; half >= 1; half /= 2) {
      reducer.merge(partials, partials + half * width * size, half * width);
    }
    std::int64_t out_offset;
    outer.offset(item / columns.num_chunks, &out_offset);
    sink.put(partials, width,
             plan.out_offset + out_offset + chunk * columns.chunk * columns.out_stride,
             columns.out_stride);
  };
  const auto reduce_item = [&](std::int64_t item, std::int64_t piece, std::byte* partials,
                               std::byte* spare) {
    const std::int64_t chunk = item % columns.num_chunks;
    const std::int64_t width = smaller(columns.chunk, columns.width - chunk * columns.chunk);
    const std::int64_t base = plan.in_offset + outer.offset(item / columns.num_chunks, nullptr) +
                              chunk * columns.chunk * columns.stride;
    reduce_chunk(reducer, source, reduced, columns, base, width, piece * piece_rows,
                 smaller((piece + 1) * piece_rows, columns.num_rows), partials, spare);
  };

  if (pieces == 1) {
    const std::int64_t grain = larger(1, kGrain / (wide * columns.num_rows));
    parallel_for(items, grain, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) std::byte buffers[2][2 * kColumnBytes];
      for (std::int64_t item = begin; item < end; ++item) {
        reduce_item(item, 0, buffers[0], buffers[1]);
        finish(item, buffers[0]);
      }
    });
    return;
  }
  Scratch scratch(items * pieces * wide * size);
  std::byte* partials = scratch.as<std::byte>();
  parallel_for(items * pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::byte spare[2 * kColumnBytes];
    for (std::int64_t task = begin; task < end; ++task) {
      reduce_item(task / pieces, task % pieces, partials + task * wide * size, spare);
    }
  });
  for (std::int64_t item = 0; item < items; ++item) {
    std::byte* mine = partials + item * pieces * wide * size;
    for (std::int64_t step = 1; step < pieces; step *= 2) {
      for (std::int64_t piece = 0; piece + step < pieces; piece += 2 * step) {
        reducer.merge(mine + piece * wide * size, mine + (piece + step) * wide * size, wide);
      }
    }
    finish(item, mine);
  }
}

// ---- choosing -----------------------------------------------------------------------------------

template <template <class> class Op>
const Reducer& exact_reducer(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return kReducer<PlainAccumulator<Op<double>>>;
    case DType::float32:
      return kReducer<PlainAccumulator<Op<float>>>;
    case DType::float16:
      return kReducer<PlainAccumulator<Op<float>, Float16>>;
    case DType::bfloat16:
      return kReducer<PlainAccumulator<Op<float>, BFloat16>>;
    case DType::int64:
      return kReducer<PlainAccumulator<Op<std::int64_t>>>;
    case DType::int32:
      return kReducer<PlainAccumulator<Op<std::int32_t>>>;
    case DType::int16:
      return kReducer<PlainAccumulator<Op<std::int16_t>>>;
    case DType::int8:
      return kReducer<PlainAccumulator<Op<std::int8_t>>>;
    default:
      return kReducer<PlainAccumulator<Op<std::uint8_t>>>;
  }
}

const Reducer& choose_reducer(ReduceKind kind, DType dtype) {
  switch (kind) {
    case ReduceKind::max:
      return exact_reducer<Maximum>(dtype);
    case ReduceKind::min:
      return exact_reducer<Minimum>(dtype);
    case ReduceKind::any:
      return kReducer<PlainAccumulator<Maximum<std::uint8_t>>>;
    case ReduceKind::all:
      return kReducer<PlainAccumulator<Minimum<std::uint8_t>>>;
    case ReduceKind::prod:
      if (is_float(dtype)) return kReducer<PlainAccumulator<Product<double>>>;
      return kReducer<PlainAccumulator<Product<std::int64_t>>>;
    default:
      if (dtype == DType::float64) return kReducer<DoubleSumAccumulator>;
      if (dtype == DType::float32) return kReducer<FloatSumAccumulator<float>>;
      if (dtype == DType::float16) return kReducer<FloatSumAccumulator<Float16>>;
      if (dtype == DType::bfloat16) return kReducer<FloatSumAccumulator<BFloat16>>;
      return kReducer<PlainAccumulator<Sum<std::int64_t>>>;
  }
}

template <class Tile>
constexpr FillTile kWideners[kNumDTypes] = {
    widen_tile<double, Tile>,       widen_tile<float, Tile>,        widen_tile<Float16, Tile>,
    widen_tile<BFloat16, Tile>,     widen_tile<std::int64_t, Tile>, widen_tile<std::int32_t, Tile>,
    widen_tile<std::int16_t, Tile>, widen_tile<std::int8_t, Tile>,  widen_tile<std::uint8_t, Tile>,
    widen_tile<Boolean, Tile>};

constexpr FillTile kTruths[kNumDTypes] = {truth_tile<double>,       truth_tile<float>,
                                          truth_tile<Float16>,      truth_tile<BFloat16>,
                                          truth_tile<std::int64_t>, truth_tile<std::int32_t>,
                                          truth_tile<std::int16_t>, truth_tile<std::int8_t>,
                                          truth_tile<std::uint8_t>, truth_tile<Boolean>};

template <class Element>
void copy_tile(const void* from, std::int64_t stride, std::int64_t count, void* tile) {
  const auto* source = static_cast<const Element*>(from);
  auto* to = static_cast<Element*>(tile);
  for (std::int64_t i = 0; i < count; ++i) to[i] = source[i * stride];
}

// Whether the accumulator takes the elements of the array as they are.
bool is_direct(ReduceKind kind, DType dtype) {
  switch (kind) {
    case ReduceKind::max:
    case ReduceKind::min:
      return true;
    case ReduceKind::any:
    case ReduceKind::all:
      return dtype == DType::boolean;
    case ReduceKind::prod:
      return dtype == DType::float64 || dtype == DType::int64;
    default:
      return is_float(dtype) || dtype == DType::int64;
  }
}

FillTile choose_fill(ReduceKind kind, DType dtype) {
  const int code = static_cast<int>(dtype);
  if (is_direct(kind, dtype)) {
    switch (itemsize(dtype)) {
      case 8:
        return copy_tile<std::uint64_t>;
      case 4:
        return copy_tile<std::uint32_t>;
      case 2:
        return copy_tile<std::uint16_t>;
      default:
        return copy_tile<std::uint8_t>;
    }
  }
  if (kind == ReduceKind::any || kind == ReduceKind::all) return kTruths[code];
  return is_float(dtype) ? kWideners<double>[code] : kWideners<std::int64_t>[code];
}

// The result over no elements: that of the identity, but +0 for a sum and NaN for a mean.
void fill_empty(ReduceKind kind, const Reducer& reducer, const Sink& sink, std::int64_t count) {
  for (std::int64_t output = 0; output < count; ++output) {
    double partial;
    reducer.identity(&partial, 1);
    if (kind == ReduceKind::sum && reducer.partial_type == PartialType::f64) partial = 0.0;
    if (kind == ReduceKind::mean) {
      const double nan = __builtin_nan("");
      kNarrowers<double>[static_cast<int>(sink.dtype)](&nan, 1,
                                                       sink.data + output* itemsize(sink.dtype), 1);
    } else {
      sink.put(&partial, 1, output, 1);
    }
  }
}

void reduce(ReduceKind kind, const View& input, std::uint32_t reduced_axes, const View& output) {
  Plan plan;
  make_plan(input, reduced_axes, plan);
  if (plan.kept.count == 0) return;
  const Reducer& reducer = choose_reducer(kind, input.dtype);
  const std::int64_t length = plan.reduced.count;
  const Sink sink = {output.data, output.dtype, reducer.partial_type,
                     kind == ReduceKind::mean ? static_cast<double>(length) : 0.0};
  if (length == 0) {
    fill_empty(kind, reducer, sink, plan.kept.count);
    return;
  }
  const Source source = {input.data, itemsize(input.dtype), is_direct(kind, input.dtype),
                         choose_fill(kind, input.dtype)};
  const int kept = plan.kept.rank - 1;
  const int reduced = plan.reduced.rank - 1;
  const bool is_by_columns = kept >= 0 && reduced >= 0 &&
                             goes_before(plan.reduced.strides[reduced], plan.kept.strides[kept]);
  if (is_by_columns) {
    reduce_by_columns(reducer, source, plan, sink);
  } else {
    reduce_by_rows(reducer, source, plan, sink);
  }
}

// ---- positions of extrema -----------------------------------------------------------------------

// Whether `value`, found later, replaces `best`: greater (smaller), or the first NaN.
template <class T, bool kIsMax>
LUMUS_INLINE bool beats(T value, T best) {
  if (best != best) return false;
  return value != value || (kIsMax ? value > best : value < best);
}

template <class T, bool kIsMax>
struct ExtremumOf {
  using type = Maximum<T>;
};
template <class T>
struct ExtremumOf<T, false> {
  using type = Minimum<T>;
};

template <class T>
struct Extremum {
  T value;
  std::int64_t index;
};

// First position of `value` (which is there) among `count` contiguous values.
template <class T>
std::int64_t find_first(const T* values, std::int64_t count, T value) {
  constexpr std::int64_t width = kLanes<T>;
  const Vec<T> wanted = splat<T>(value);
  const bool is_nan = value != value;
  std::int64_t i = 0;
  if (!is_nan) {
    for (; i + 4 * width <= count; i += 4 * width) {
      const auto low = (load<T>(values + i) == wanted) | (load<T>(values + i + width) == wanted);
      const auto high =
          (load<T>(values + i + 2 * width) == wanted) | (load<T>(values + i + 3 * width) == wanted);
      if (any(low | high)) break;
    }
  }
  while (is_nan ? values[i] == values[i] : values[i] != value) ++i;
  return i;
}

// Positions [begin, end) in row-major order of `axes` (strides of any sign), from element `base`
// on. Blocks are compared by their extremum; the position is looked up only in the block that wins.
template <class T, bool kIsMax>
Extremum<T> find_extremum(const Source& source, const Axes& axes, std::int64_t base,
                          std::int64_t begin, std::int64_t end) {
  using Op = typename ExtremumOf<T, kIsMax>::type;
  alignas(64) T tile[kTile];
  const int inner = axes.rank - 1;
  const std::int64_t length = inner >= 0 ? axes.shape[inner] : 1;
  const std::int64_t stride = inner >= 0 ? axes.strides[inner] : 1;
  const auto fetch = [&](std::int64_t at, std::int64_t count) -> const T* {
    if (length - at % length >= count) {
      return static_cast<const T*>(
          source.values(base + axes.offset(at, nullptr), stride, count, tile));
    }
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t now = smaller(length - (at + done) % length, count - done);
      const std::int64_t offset = base + axes.offset(at + done, nullptr);
      source.fill(source.data + offset * source.element_size, stride, now, tile + done);
      done += now;
    }
    return tile;
  };
  std::int64_t winner = begin;
  std::int64_t winner_count = 0;
  T best = T(0);
  for (std::int64_t at = begin; at < end; at += kTile) {
    const std::int64_t count = smaller(kTile, end - at);
    const T* values = fetch(at, count);
    T value;
    if (count <= kShortRow) {
      value = values[0];
      for (std::int64_t i = 1; i < count; ++i) {
        if (beats<T, kIsMax>(values[i], value)) value = values[i];
      }
    } else {
      PlainAccumulator<Op> accumulator;
      accumulator.clear();
      accumulator.feed(values, count);
      value = accumulator.finish();
    }
    if (at == begin || beats<T, kIsMax>(value, best)) {
      best = value;
      winner = at;
      winner_count = count;
      if (best != best) break;
    }
  }
  return {best, winner + find_first<T>(fetch(winner, winner_count), winner_count, best)};
}

template <class T, bool kIsMax>
void arg_by_rows(const Source& source, const Plan& plan, std::int64_t* out) {
  const std::int64_t length = plan.reduced.count;
  if (length >= 2 * kPiece) {
    const std::int64_t pieces = divide_up(length, kPiece);
    Scratch scratch(pieces * static_cast<std::int64_t>(sizeof(Extremum<T>)));
    auto* found = scratch.as<Extremum<T>>();
    for (std::int64_t output = 0; output < plan.kept.count; ++output) {
      std::int64_t out_offset;
      const std::int64_t base = plan.in_offset + plan.kept.offset(output, &out_offset);
      parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t piece = begin; piece < end; ++piece) {
          found[piece] = find_extremum<T, kIsMax>(source, plan.reduced, base, piece * kPiece,
                                                  smaller((piece + 1) * kPiece, length));
        }
      });
      Extremum<T> best = found[0];
      for (std::int64_t piece = 1; piece < pieces; ++piece) {
        if (beats<T, kIsMax>(found[piece].value, best.value)) best = found[piece];
      }
      out[plan.out_offset + out_offset] = best.index;
    }
    return;
  }
  parallel_for(plan.kept.count, larger(1, kGrain / length),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t output = begin; output < end; ++output) {
                   std::int64_t out_offset;
                   const std::int64_t base = plan.in_offset + plan.kept.offset(output, &out_offset);
                   out[plan.out_offset + out_offset] =
                       find_extremum<T, kIsMax>(source, plan.reduced, base, 0, length).index;
                 }
               });
}

template <class T>
struct IndexOf {
  using type = std::int32_t;
};
template <>
struct IndexOf<double> {
  using type = std::int64_t;
};
template <>
struct IndexOf<std::int64_t> {
  using type = std::int64_t;
};

constexpr std::int64_t kArgColumns = 256;

// Rows [0, num_rows) of at most kArgColumns neighbouring columns; the reduced axis has rank 1.
template <class T, bool kIsMax>
void arg_chunk(const Source& source, std::int64_t base, std::int64_t column_stride,
               std::int64_t num_columns, std::int64_t row_stride, std::int64_t num_rows,
               std::int64_t* out, std::int64_t out_stride) {
  using Index = typename IndexOf<T>::type;
  constexpr std::int64_t width = kLanes<T>;
  alignas(64) T tiles[kRows][kArgColumns];
  alignas(64) T best[kArgColumns];
  alignas(64) Index where[kArgColumns];
  std::memcpy(best, source.values(base, column_stride, num_columns, tiles[0]),
              static_cast<std::size_t>(num_columns) * sizeof(T));
  for (std::int64_t c = num_columns; c < kArgColumns; ++c) best[c] = T(0);
  std::memset(where, 0, sizeof where);
  for (std::int64_t row = 1; row < num_rows; row += kRows) {
    const int now = static_cast<int>(smaller(kRows, num_rows - row));
    const T* rows[kRows];
    for (int i = 0; i < now; ++i) {
      rows[i] = static_cast<const T*>(
          source.values(base + (row + i) * row_stride, column_stride, num_columns, tiles[i]));
    }
    for (std::int64_t c = 0; c < num_columns; c += width) {
      const std::int64_t left = num_columns - c;
      Vec<T> top = load<T>(best + c);
      Vec<Index> at = load<Index>(where + c);
      Vec<Index> index = splat<Index>(static_cast<Index>(row));
      for (int i = 0; i < now; ++i, index += 1) {
        const Vec<T> values =
            left >= width ? load<T>(rows[i] + c) : load_partial<T>(rows[i] + c, left, T(0));
        // With floats: greater or unordered, unless the best is NaN already.
        auto wins = kIsMax ? values > top : values < top;
        if constexpr (kIsFloat<T>) wins |= (values != values) & (top == top);
        top = wins ? values : top;
        at = wins ? index : at;
      }
      store<T>(best + c, top);
      store<Index>(where + c, at);
    }
  }
  for (std::int64_t c = 0; c < num_columns; ++c) out[c * out_stride] = where[c];
}

template <class T, bool kIsMax>
void arg_by_columns(const Source& source, const Plan& plan, std::int64_t* out) {
  const int inner = plan.kept.rank - 1;
  Axes outer = plan.kept;
  outer.rank = inner;
  outer.count = plan.kept.count / plan.kept.shape[inner];
  const std::int64_t width = plan.kept.shape[inner];
  const std::int64_t stride = plan.kept.strides[inner];
  const std::int64_t out_stride = plan.kept.out_strides[inner];
  const std::int64_t chunk = smaller(width, kArgColumns);
  const std::int64_t chunks = divide_up(width, chunk);
  const std::int64_t num_rows = plan.reduced.count;
  parallel_for(outer.count * chunks, larger(1, kGrain / (chunk * num_rows)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t item = begin; item < end; ++item) {
                   const std::int64_t first = item % chunks * chunk;
                   std::int64_t out_offset;
                   const std::int64_t base =
                       plan.in_offset + outer.offset(item / chunks, &out_offset) + first * stride;
                   arg_chunk<T, kIsMax>(source, base, stride, smaller(chunk, width - first),
                                        plan.reduced.strides[0], num_rows,
                                        out + plan.out_offset + out_offset + first * out_stride,
                                        out_stride);
                 }
               });
}

template <class T>
void arg_of_type(bool is_max, bool is_by_columns, const Source& source, const Plan& plan,
                 std::int64_t* out) {
  if (is_by_columns) {
    is_max ? arg_by_columns<T, true>(source, plan, out)
           : arg_by_columns<T, false>(source, plan, out);
  } else {
    is_max ? arg_by_rows<T, true>(source, plan, out) : arg_by_rows<T, false>(source, plan, out);
  }
}

void arg_reduce(bool is_max, const View& input, int axis, const View& output) {
  // Positions count along the reduced axes, so those are neither flipped nor reordered.
  Plan plan;
  if (axis < 0) {
    for (int i = 0; i < input.rank; ++i) {
      if (input.shape[i] == 1) continue;
      const int at = plan.reduced.rank++;
      plan.reduced.shape[at] = input.shape[i];
      plan.reduced.strides[at] = input.strides[i];
      plan.reduced.out_strides[at] = 0;
      plan.reduced.count *= input.shape[i];
    }
    merge_axes(plan.reduced, false);
  } else {
    View kept = input;
    kept.shape[axis] = 1;
    make_plan(kept, 0u, plan);
    plan.reduced.rank = 1;
    plan.reduced.shape[0] = input.shape[axis];
    plan.reduced.strides[0] = input.strides[axis];
    plan.reduced.count = input.shape[axis];
  }
  if (plan.kept.count == 0) return;
  const int code = static_cast<int>(input.dtype);
  Source source = {input.data, itemsize(input.dtype), false, nullptr};
  const int inner = plan.kept.rank - 1;
  const std::int64_t reduced_stride =
      plan.reduced.rank > 0 ? plan.reduced.strides[plan.reduced.rank - 1] : 1;
  const bool is_by_columns =
      axis >= 0 && inner >= 0 && plan.reduced.count < INT32_MAX &&
      goes_before(reduced_stride < 0 ? -reduced_stride : reduced_stride, plan.kept.strides[inner]);
  auto* out = reinterpret_cast<std::int64_t*>(output.data);
  switch (input.dtype) {
    case DType::float64:
      source.is_direct = true;
      source.fill = kWideners<double>[code];
      arg_of_type<double>(is_max, is_by_columns, source, plan, out);
      break;
    case DType::float32:
    case DType::float16:
    case DType::bfloat16:
      source.is_direct = input.dtype == DType::float32;
      source.fill = kWideners<float>[code];
      arg_of_type<float>(is_max, is_by_columns, source, plan, out);
      break;
    case DType::int64:
      source.is_direct = true;
      source.fill = kWideners<std::int64_t>[code];
      arg_of_type<std::int64_t>(is_max, is_by_columns, source, plan, out);
      break;
    default:
      source.is_direct = input.dtype == DType::int32;
      source.fill = kWideners<std::int32_t>[code];
      arg_of_type<std::int32_t>(is_max, is_by_columns, source, plan, out);
      break;
  }
}

}  // namespace

extern const ReduceKernels reduce_table;
const ReduceKernels reduce_table = {reduce, arg_reduce};

}  // namespace lumus::LUMUS_ISA
