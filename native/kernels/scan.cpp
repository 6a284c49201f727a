// Running sums, products, logarithms of sums of exponentials and extremes; linear recurrences.
//
// Layout. Inputs are any strided views, outputs are contiguous. Lines along the axis pass through
// tiles in the level-1 cache; where the axis is not the last, chunks of neighbouring columns are
// walked down together.
//
// Aliasing. Outputs share nothing with the inputs.
//
// Threads. Lines and chunks of columns are shared out. Of a few long lines of sums whose order is
// free, pieces of kPiece elements are: first their totals, then their elements from there on.
//
// Numerics. Floats run in float64 and are rounded once for each element. Sums of float32 and of the
// half types cannot overflow there and sums of ints wrap, so they are added in any order; float64
// sums and all products run in order, since a partial product of its own could overflow where the
// whole is finite.
#include "kernels/scan.h"

#include "kernels/lines.h"
#include "kernels/math.h"
#include "kernels/tile_io.h"
#include "runtime/scratch.h"

namespace lumus::LUMUS_ISA {
namespace {

constexpr std::int64_t kTile = 256;      // elements of a line handled at once
constexpr std::int64_t kPiece = 65536;   // of a long line
constexpr std::int64_t kManyLines = 16;  // so many need no pieces
constexpr int kTogether = 4;             // lines whose steps are interleaved

View from_the_end(View view, int axis) {
  const std::int64_t last = (view.shape[axis] - 1) * view.strides[axis];
  view.data += last * itemsize(view.dtype);
  view.strides[axis] = -view.strides[axis];
  return view;
}

// ---- sums and products --------------------------------------------------------------------------

// (identity, ..., identity, x[0], x[1], ...): the lanes moved up by kStep.
template <int kStep, int kCount, class V, int... kIndices>
LUMUS_INLINE V move_up(V identity, V values, Indices<kIndices...>) {
  return __builtin_shufflevector(identity, values,
                                 (kIndices < kStep ? kIndices : kCount + kIndices - kStep)...);
}

// Lane i is the combination of lanes 0 to i.
template <class Op, int kStep = 1>
LUMUS_INLINE Vec<typename Op::Value> running(Vec<typename Op::Value> values) {
  using T = typename Op::Value;
  constexpr int width = static_cast<int>(kLanes<T>);
  if constexpr (kStep < width) {
    const Vec<T> moved =
        move_up<kStep, width>(splat<T>(Op::identity), values, Indices<__integer_pack(width)...>{});
    return running<Op, kStep * 2>(Op::combine(moved, values));
  } else {
    return values;
  }
}

template <class V, int... kIndices>
LUMUS_INLINE V spread_last(V values, Indices<kIndices...>) {
  return __builtin_shufflevector(values, values, (0 * kIndices + sizeof...(kIndices) - 1)...);
}

// The operation, and whether the order of combining is free.
template <class Op, bool kIsFreeOrder>
struct Running {
  using Tile = typename Op::Value;
  using State = Tile;
  static constexpr bool is_free_order = kIsFreeOrder;
  static constexpr State initial = Op::identity;
  using Operation = Op;

  static void advance(Tile (*tiles)[kTile], int num_lines, std::int64_t count, State* carries) {
    if constexpr (kIsFreeOrder) {
      for (int line = 0; line < num_lines; ++line) by_vectors(tiles[line], count, carries + line);
    } else if (num_lines == kTogether) {
      in_turn<kTogether>(tiles, count, carries);
    } else {
      for (int line = 0; line < num_lines; ++line) in_turn<1>(tiles + line, count, carries + line);
    }
  }

  static void by_vectors(Tile* tile, std::int64_t count, State* carry) {
    constexpr std::int64_t width = kLanes<Tile>;
    for (std::int64_t i = count; i % width; ++i) tile[i] = Op::identity;
    Vec<Tile> before = splat<Tile>(*carry);
    for (std::int64_t i = 0; i < count; i += width) {
      const Vec<Tile> here = running<Op>(load<Tile>(tile + i));
      store<Tile>(tile + i, Op::combine(before, here));
      before = Op::combine(before, spread_last(here, Indices<__integer_pack(width)...>{}));
    }
    *carry = before[0];
  }

  template <int kNumLines>
  static void in_turn(Tile (*tiles)[kTile], std::int64_t count, State* carries) {
    State carry[kNumLines];
    for (int line = 0; line < kNumLines; ++line) carry[line] = carries[line];
    for (std::int64_t i = 0; i < count; ++i) {
      for (int line = 0; line < kNumLines; ++line) {
        carry[line] = Op::combine(carry[line], tiles[line][i]);
        tiles[line][i] = carry[line];
      }
    }
    for (int line = 0; line < kNumLines; ++line) carries[line] = carry[line];
  }

  struct Columns {
    alignas(64) State carries[kLineColumns];

    Columns() {
      for (State& carry : carries) carry = initial;
    }
    void advance(Tile* values, std::int64_t count) {
      for (std::int64_t c = 0; c < count; ++c) {
        carries[c] = Op::combine(carries[c], values[c]);
        values[c] = carries[c];
      }
    }
  };
};

// ---- logarithms of sums of exponentials ---------------------------------------------------------

// log(sum(exp(x))) so far is top + log(sum), where top is the largest element or near it.
struct LogSum {
  double top;
  double sum;
};

LUMUS_INLINE double exp_of(double x) { return exp(splat<double>(x))[0]; }
LUMUS_INLINE double log_of(double x) { return log(splat<double>(x))[0]; }

struct RunningLogsumexp {
  using Tile = double;
  using State = LogSum;
  static constexpr bool is_free_order = false;
  static constexpr State initial = {-__builtin_inf(), 0.0};

  // As long as elements are no further apart than this, they are summed from one top on: the
  // logarithm that is added to it costs no digits.
  static constexpr double kWindow = 32;

  static void advance(Tile (*tiles)[kTile], int num_lines, std::int64_t count, State* states) {
    for (int line = 0; line < num_lines; ++line) {
      constexpr std::int64_t width = kLanes<double>;
      double* tile = tiles[line];
      for (std::int64_t i = count; i % width; ++i) tile[i] = -__builtin_inf();
      if (!by_vectors(tile, count, states + line)) one_by_one(tile, count, states + line);
    }
  }

  static bool by_vectors(double* tile, std::int64_t count, LogSum* state) {
    constexpr std::int64_t width = kLanes<double>;
    double low = state->sum > 0 ? state->top : __builtin_inf();
    double high = state->top;
    for (std::int64_t i = 0; i < count; ++i) {
      if (tile[i] != tile[i]) return false;
      low = tile[i] < low && tile[i] > -__builtin_inf() ? tile[i] : low;
      high = tile[i] > high ? tile[i] : high;
    }
    if (!(high - low <= kWindow) || high == -__builtin_inf()) return false;
    double sum = state->sum * exp_of(state->top - high);
    for (std::int64_t i = 0; i < count; i += width) {
      store<double>(tile + i, exp(load<double>(tile + i) - high));
    }
    for (std::int64_t i = 0; i < count; ++i) {
      sum += tile[i];
      tile[i] = sum;
    }
    for (std::int64_t i = 0; i < count; i += width) {
      store<double>(tile + i, high + log(load<double>(tile + i)));
    }
    *state = {high, sum};
    return true;
  }

  static void one_by_one(double* tile, std::int64_t count, LogSum* state) {
    double top = state->top;
    double sum = state->sum;
    for (std::int64_t i = 0; i < count; ++i) {
      const double x = tile[i];
      if (x == top && x > -__builtin_inf()) {
        sum += 1;
      } else if (x > top) {
        sum = sum * exp_of(top - x) + 1;
        top = x;
      } else if (x > -__builtin_inf()) {
        sum += exp_of(x - top);
      } else if (x != x) {
        sum = x;
      }
      tile[i] = top + log_of(sum);
    }
    *state = {top, sum};
  }

  struct Columns {
    alignas(64) double tops[kLineColumns];
    alignas(64) double sums[kLineColumns];

    Columns() {
      for (std::int64_t c = 0; c < kLineColumns; ++c) {
        tops[c] = initial.top;
        sums[c] = initial.sum;
      }
    }
    void advance(double* values, std::int64_t count) {
      constexpr std::int64_t width = kLanes<double>;
      for (std::int64_t c = count; c % width; ++c) values[c] = -__builtin_inf();
      for (std::int64_t c = 0; c < count; c += width) {
        const f64v x = load<double>(values + c);
        const f64v top = load<double>(tops + c);
        const f64v larger_one = x > top ? x : top;
        // Equal infinities have no difference; an element that is -inf adds nothing.
        const f64v kept = top == larger_one ? splat(1.0) : exp(top - larger_one);
        const f64v added = x == larger_one ? splat(1.0) : exp(x - larger_one);
        const f64v nothing = splat(0.0);
        const f64v sum =
            load<double>(sums + c) * kept + (x == splat(-__builtin_inf()) ? nothing : added);
        store<double>(tops + c, larger_one);
        store<double>(sums + c, sum);
        store<double>(values + c, larger_one + log(sum));
      }
    }
  };
};

// ---- any of them --------------------------------------------------------------------------------

template <class Rule, class Element, class Out>
struct Scan {
  using Tile = typename Rule::Tile;
  using State = typename Rule::State;

  const Element* from;
  Out* to;
  Lines<2> lines;

  Scan(const View* const* arrays, int axis)
      : from(reinterpret_cast<const Element*>(arrays[0]->data)),
        to(reinterpret_cast<Out*>(arrays[1]->data)),
        lines(arrays, axis) {}

  void run() const {
    if (lines.width > 0) {
      lines.for_columns([&](const std::int64_t* at, std::int64_t count) { columns(at, count); });
      return;
    }
    if constexpr (Rule::is_free_order) {
      if (lines.outer.count < kManyLines && lines.length >= 2 * kPiece) {
        for (std::int64_t line = 0; line < lines.outer.count; ++line) long_line(line);
        return;
      }
    }
    lines.template for_lines<kTogether>([&](const std::int64_t (*at)[2], int count) {
      State states[kTogether];
      for (State& state : states) state = Rule::initial;
      elements(at, count, 0, lines.length, states);
    });
  }

  // Elements [begin, end) of `count` lines, from their states on.
  void elements(const std::int64_t (*at)[2], int count, std::int64_t begin, std::int64_t end,
                State* states) const {
    alignas(64) Tile tiles[kTogether][kTile];
    for (std::int64_t i = begin; i < end; i += kTile) {
      const std::int64_t now = smaller(kTile, end - i);
      for (int line = 0; line < count; ++line) {
        widen_run<Tile, Element>(from + at[line][0] + i * lines.steps[0], lines.steps[0], now,
                                 tiles[line]);
      }
      Rule::advance(tiles, count, now, states);
      for (int line = 0; line < count; ++line) {
        narrow_run<Out, Tile>(tiles[line], now, to + at[line][1] + i * lines.steps[1],
                              lines.steps[1]);
      }
    }
  }

  // One line in pieces.
  void long_line(std::int64_t line) const {
    std::int64_t at[1][2];
    lines.outer.locate(line, 2, at[0]);
    const std::int64_t pieces = divide_up(lines.length, kPiece);
    Scratch scratch(pieces * static_cast<std::int64_t>(sizeof(State)));
    auto* states = scratch.as<State>();
    parallel_for(pieces - 1, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t piece = first; piece < last; ++piece) {
        states[piece + 1] = total(at[0][0] + piece * kPiece * lines.steps[0], kPiece);
      }
    });
    states[0] = Rule::initial;
    for (std::int64_t piece = 1; piece < pieces; ++piece) {
      states[piece] = Rule::Operation::combine(states[piece - 1], states[piece]);
    }
    parallel_for(pieces, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t piece = first; piece < last; ++piece) {
        elements(at, 1, piece * kPiece, smaller((piece + 1) * kPiece, lines.length),
                 states + piece);
      }
    });
  }

  State total(std::int64_t offset, std::int64_t count) const {
    alignas(64) Tile tile[kTile];
    PlainAccumulator<typename Rule::Operation> accumulator;
    accumulator.clear();
    for (std::int64_t i = 0; i < count; i += kTile) {
      const std::int64_t now = smaller(kTile, count - i);
      widen_run<Tile, Element>(from + offset + i * lines.steps[0], lines.steps[0], now, tile);
      accumulator.feed(tile, now);
    }
    return accumulator.finish();
  }

  void columns(const std::int64_t* at, std::int64_t count) const {
    alignas(64) Tile values[kLineColumns];
    typename Rule::Columns states;
    for (std::int64_t row = 0; row < lines.length; ++row) {
      widen_run<Tile, Element>(from + at[0] + row * lines.steps[0], lines.column_steps[0], count,
                               values);
      states.advance(values, count);
      narrow_run<Out, Tile>(values, count, to + at[1] + row * lines.steps[1],
                            lines.column_steps[1]);
    }
  }
};

template <class Rule, class Element, class Out>
void run_scan(const View* const* arrays, int axis) {
  Scan<Rule, Element, Out>(arrays, axis).run();
}

template <class Element>
void scan_floats(ScanKind kind, const View* const* arrays, int axis) {
  constexpr bool is_free_order = !std::is_same_v<Element, double>;
  switch (kind) {
    case ScanKind::sum:
      return run_scan<Running<Sum<double>, is_free_order>, Element, Element>(arrays, axis);
    case ScanKind::prod:
      return run_scan<Running<Product<double>, false>, Element, Element>(arrays, axis);
    default:
      return run_scan<RunningLogsumexp, Element, Element>(arrays, axis);
  }
}

template <class Element>
void scan_ints(ScanKind kind, const View* const* arrays, int axis) {
  if (kind == ScanKind::sum) {
    run_scan<Running<Sum<std::int64_t>, true>, Element, std::int64_t>(arrays, axis);
  } else {
    run_scan<Running<Product<std::int64_t>, false>, Element, std::int64_t>(arrays, axis);
  }
}

void scan(ScanKind kind, const View& input, int axis, bool is_reversed, const View& output) {
  if (num_elements(output) == 0) return;
  const View views[2] = {is_reversed ? from_the_end(input, axis) : input,
                         is_reversed ? from_the_end(output, axis) : output};
  const View* const arrays[2] = {&views[0], &views[1]};
  switch (input.dtype) {
    case DType::float64:
      return scan_floats<double>(kind, arrays, axis);
    case DType::float32:
      return scan_floats<float>(kind, arrays, axis);
    case DType::float16:
      return scan_floats<Float16>(kind, arrays, axis);
    case DType::bfloat16:
      return scan_floats<BFloat16>(kind, arrays, axis);
    case DType::int64:
      return scan_ints<std::int64_t>(kind, arrays, axis);
    case DType::int32:
      return scan_ints<std::int32_t>(kind, arrays, axis);
    case DType::int16:
      return scan_ints<std::int16_t>(kind, arrays, axis);
    case DType::int8:
      return scan_ints<std::int8_t>(kind, arrays, axis);
    case DType::uint8:
      return scan_ints<std::uint8_t>(kind, arrays, axis);
    default:
      return scan_ints<Boolean>(kind, arrays, axis);
  }
}

// ---- extremes -----------------------------------------------------------------------------------

// Whether `value`, found later, replaces `best`: greater (smaller), or the first NaN.
template <bool kIsMax, class T>
LUMUS_INLINE bool beats(T value, T best) {
  if (kIsMax ? value > best : value < best) return true;
  return (value != value) & (best == best);
}
// The same without a branch, which is for vectors and for loops that become vector code.
template <bool kIsMax, class V>
LUMUS_INLINE auto beats_evenly(V value, V best) {
  return (kIsMax ? value > best : value < best) | ((value != value) & (best == best));
}

template <class T>
struct Extreme {
  T best;
  std::int64_t where;
};

// The extremes so far of a tile, in place, and their positions, the first of which is `first`.
// In most vectors there is none that is new: that is looked at first, unless there was in the last.
template <bool kIsMax, class Tile>
LUMUS_INLINE void advance_extremes(Tile* tile, std::int64_t count, std::int64_t first,
                                   Extreme<Tile>& so_far, std::int64_t* places, std::int64_t step) {
  constexpr std::int64_t width = kLanes<Tile>;
  Extreme<Tile> now = so_far;
  std::int64_t i = 0;
  bool was_quiet = true;
  while (i < count) {
    if (was_quiet && i + width <= count) {
      const Vec<Tile> best = splat<Tile>(now.best);
      if (!any(beats_evenly<kIsMax>(load<Tile>(tile + i), best))) {
        store<Tile>(tile + i, best);
        for (std::int64_t lane = 0; lane < width; ++lane) places[(i + lane) * step] = now.where;
        i += width;
        continue;
      }
    }
    const std::int64_t begin = i;
    for (const std::int64_t end = smaller(i + 4 * width, count); i < end; ++i) {
      if (beats<kIsMax>(tile[i], now.best)) now = {tile[i], first + i};
      tile[i] = now.best;
      places[i * step] = now.where;
    }
    was_quiet = now.where < first + begin;
  }
  so_far = now;
}

template <class Element, class Tile, bool kIsMax>
void extremes_of(const View* const* arrays, int axis) {
  const auto* from = reinterpret_cast<const Element*>(arrays[0]->data);
  auto* to = reinterpret_cast<Element*>(arrays[1]->data);
  auto* places = reinterpret_cast<std::int64_t*>(arrays[2]->data);
  const Lines<3> lines(arrays, axis);
  if (lines.width == 0) {
    lines.for_lines<1>([&](const std::int64_t (*at)[3], int) {
      alignas(64) Tile tile[kTile];
      widen_run<Tile, Element>(from + at[0][0], 1, 1, tile);
      Extreme<Tile> so_far{tile[0], 0};
      for (std::int64_t i = 0; i < lines.length; i += kTile) {
        const std::int64_t now = smaller(kTile, lines.length - i);
        widen_run<Tile, Element>(from + at[0][0] + i * lines.steps[0], lines.steps[0], now, tile);
        std::int64_t* const at_places = places + at[0][2] + i * lines.steps[2];
        if (lines.steps[2] == 1) {
          advance_extremes<kIsMax>(tile, now, i, so_far, at_places, 1);
        } else {
          advance_extremes<kIsMax>(tile, now, i, so_far, at_places, lines.steps[2]);
        }
        narrow_run<Element, Tile>(tile, now, to + at[0][1] + i * lines.steps[1], lines.steps[1]);
      }
    });
    return;
  }
  lines.for_columns([&](const std::int64_t* at, std::int64_t count) {
    alignas(64) Tile best[kLineColumns];
    alignas(64) Tile values[kLineColumns];
    std::int64_t where[kLineColumns] = {};
    widen_run<Tile, Element>(from + at[0], lines.column_steps[0], count, best);
    for (std::int64_t row = 0; row < lines.length; ++row) {
      widen_run<Tile, Element>(from + at[0] + row * lines.steps[0], lines.column_steps[0], count,
                               values);
      std::int64_t* place = places + at[2] + row * lines.steps[2];
      for (std::int64_t c = 0; c < count; ++c) {
        const bool wins = beats_evenly<kIsMax>(values[c], best[c]);
        best[c] = wins ? values[c] : best[c];
        where[c] = wins ? row : where[c];
        place[c * lines.column_steps[2]] = where[c];
      }
      narrow_run<Element, Tile>(best, count, to + at[1] + row * lines.steps[1],
                                lines.column_steps[1]);
    }
  });
}

template <bool kIsMax>
void extremes_of_dtype(const View* const* arrays, int axis) {
  switch (arrays[0]->dtype) {
    case DType::float64:
      return extremes_of<double, double, kIsMax>(arrays, axis);
    case DType::float32:
      return extremes_of<float, float, kIsMax>(arrays, axis);
    case DType::float16:
      return extremes_of<Float16, float, kIsMax>(arrays, axis);
    case DType::bfloat16:
      return extremes_of<BFloat16, float, kIsMax>(arrays, axis);
    case DType::int64:
      return extremes_of<std::int64_t, std::int64_t, kIsMax>(arrays, axis);
    case DType::int32:
      return extremes_of<std::int32_t, std::int32_t, kIsMax>(arrays, axis);
    case DType::int16:
      return extremes_of<std::int16_t, std::int32_t, kIsMax>(arrays, axis);
    case DType::int8:
      return extremes_of<std::int8_t, std::int32_t, kIsMax>(arrays, axis);
    default:
      return extremes_of<std::uint8_t, std::int32_t, kIsMax>(arrays, axis);
  }
}

void running_extreme(bool is_max, const View& input, int axis, const View& values,
                     const View& positions) {
  if (num_elements(input) == 0) return;
  const View* const arrays[3] = {&input, &values, &positions};
  is_max ? extremes_of_dtype<true>(arrays, axis) : extremes_of_dtype<false>(arrays, axis);
}

// ---- linear recurrences -------------------------------------------------------------------------

template <int kNumLines>
void recur(const double (*a)[kTile], double (*b)[kTile], std::int64_t count, double* carries) {
  double carry[kNumLines];
  for (int line = 0; line < kNumLines; ++line) carry[line] = carries[line];
  for (std::int64_t i = 0; i < count; ++i) {
    for (int line = 0; line < kNumLines; ++line) {
      carry[line] = b[line][i] + a[line][i] * carry[line];
      b[line][i] = carry[line];
    }
  }
  for (int line = 0; line < kNumLines; ++line) carries[line] = carry[line];
}

template <class Element>
void recurrence_of(const View* const* arrays, int axis, bool is_reversed) {
  const auto* a = reinterpret_cast<const Element*>(arrays[0]->data);
  const auto* b = reinterpret_cast<const Element*>(arrays[1]->data);
  auto* to = reinterpret_cast<Element*>(arrays[2]->data);
  const Lines<3> lines(arrays, axis);
  // Walking from the end, the coefficient of a step is that of the element before.
  const std::int64_t lag = is_reversed ? 1 : 0;
  if (lines.width == 0) {
    lines.for_lines<kTogether>([&](const std::int64_t (*at)[3], int count) {
      alignas(64) double coefficients[kTogether][kTile];
      alignas(64) double values[kTogether][kTile];
      double carries[kTogether];
      for (int line = 0; line < count; ++line) {
        carries[line] = widen<double>(b[at[line][1]]);
        to[at[line][2]] = b[at[line][1]];
      }
      for (std::int64_t i = 1; i < lines.length; i += kTile) {
        const std::int64_t now = smaller(kTile, lines.length - i);
        for (int line = 0; line < count; ++line) {
          widen_run<double, Element>(a + at[line][0] + (i - lag) * lines.steps[0], lines.steps[0],
                                     now, coefficients[line]);
          widen_run<double, Element>(b + at[line][1] + i * lines.steps[1], lines.steps[1], now,
                                     values[line]);
        }
        if (count == kTogether) {
          recur<kTogether>(coefficients, values, now, carries);
        } else {
          for (int line = 0; line < count; ++line) {
            recur<1>(coefficients + line, values + line, now, carries + line);
          }
        }
        for (int line = 0; line < count; ++line) {
          narrow_run<Element, double>(values[line], now, to + at[line][2] + i * lines.steps[2],
                                      lines.steps[2]);
        }
      }
    });
    return;
  }
  lines.for_columns([&](const std::int64_t* at, std::int64_t count) {
    alignas(64) double carries[kLineColumns];
    alignas(64) double coefficients[kLineColumns];
    alignas(64) double values[kLineColumns];
    for (std::int64_t row = 0; row < lines.length; ++row) {
      widen_run<double, Element>(b + at[1] + row * lines.steps[1], lines.column_steps[1], count,
                                 values);
      if (row > 0) {
        widen_run<double, Element>(a + at[0] + (row - lag) * lines.steps[0], lines.column_steps[0],
                                   count, coefficients);
        for (std::int64_t c = 0; c < count; ++c) values[c] += coefficients[c] * carries[c];
      }
      for (std::int64_t c = 0; c < count; ++c) carries[c] = values[c];
      narrow_run<Element, double>(values, count, to + at[2] + row * lines.steps[2],
                                  lines.column_steps[2]);
    }
  });
}

void recurrence(const View& coefficients, const View& terms, int axis, bool is_reversed,
                const View& output) {
  if (num_elements(output) == 0) return;
  View views[3] = {coefficients, terms, output};
  if (is_reversed) {
    for (View& view : views) view = from_the_end(view, axis);
  }
  const View* const arrays[3] = {&views[0], &views[1], &views[2]};
  switch (output.dtype) {
    case DType::float64:
      return recurrence_of<double>(arrays, axis, is_reversed);
    case DType::float32:
      return recurrence_of<float>(arrays, axis, is_reversed);
    case DType::float16:
      return recurrence_of<Float16>(arrays, axis, is_reversed);
    default:
      return recurrence_of<BFloat16>(arrays, axis, is_reversed);
  }
}

}  // namespace

extern const ScanKernels scan_table;
const ScanKernels scan_table = {scan, running_extreme, recurrence};

}  // namespace lumus::LUMUS_ISA
