// Means and variances of runs of elements, and the plan by which groups of them are measured.
//
// Numerics. A block of at most kMomentBlock elements is read twice from the nearest cache: for its
// mean, then for the differences from that; blocks are merged in float64 in a fixed order. A lane
// adds at most 32 numbers in float32 before they go on in float64. Squares that leave the range of
// float32 are added up in float64 instead. A block of equal elements has exactly them as its mean
// and 0 as its variance.
#pragma once

#include <cstdint>

#include "kernels/runs.h"
#include "kernels/transpose.h"
#include "runtime/scratch.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {

constexpr std::int64_t kMomentBlock = 8192;
constexpr std::int64_t kGroupGrain = 8192;              // elements a thread takes at once
constexpr std::int64_t kGroupCacheBytes = 1024 * 1024;  // of a group that a thread handles alone
constexpr std::int64_t kFewGroups = 4;
constexpr std::int64_t kFewElements = 65536;

// Adds up kSums values of each vector of `runs` runs: add<is_full>(run, i, present, sums) adds
// those of one vector to sums[0 ... kSums - 1].
template <class T, int kSums, class Add>
LUMUS_INLINE void sum_runs(std::int64_t runs, std::int64_t length, const Add& add, double* totals) {
  constexpr std::int64_t width = kLanes<T>, step = 4 * width, longest = 32;
  Vec<T> lanes[4][kSums] = {};
  std::int64_t added = 0;  // to a lane
  const auto flush = [&]() __attribute__((always_inline)) {
    unroll<kSums>([&](auto k) __attribute__((always_inline)) {
      totals[k] += fold_sum((lanes[0][k] + lanes[1][k]) + (lanes[2][k] + lanes[3][k]));
      unroll<4>([&](auto v) __attribute__((always_inline)) { lanes[v][k] = Vec<T>{}; });
    });
    added = 0;
  };
  for (std::int64_t run = 0; run < runs; ++run) {
    for (std::int64_t begin = 0; begin < length; begin += longest * step) {
      const std::int64_t end = smaller(begin + longest * step, length);
      added += divide_up(end - begin, step);
      if (added > longest) {
        flush();
        added = divide_up(end - begin, step);
      }
      std::int64_t i = begin;
      for (; i + step <= end; i += step) {
        unroll<4>([&](auto v) __attribute__((always_inline)) {
          add.template operator()<true>(run, i + v * width, width, lanes[v]);
        });
      }
      unroll<3>([&](auto v) __attribute__((always_inline)) {
        if (i + width > end) return;
        add.template operator()<true>(run, i, width, lanes[v]);
        i += width;
      });
      if (i < end) add.template operator()<false>(run, i, end - i, lanes[3]);
    }
  }
  flush();
}

// The elements of a block: `runs` runs of neighbours.
template <class Element>
struct Span {
  const Element* data;
  std::int64_t stride;  // between the runs
  std::int64_t runs;
  std::int64_t length;
};

struct Moments {
  double count = 0;
  double mean = 0;
  double squares = 0;  // the sum of squares of the differences from the mean

  static Moments merge(const Moments& a, const Moments& b) {
    if (a.count == 0) return b;
    const double count = a.count + b.count;
    const double step = b.mean - a.mean;
    const double share = b.count / count;
    return {count, a.mean + step * share, a.squares + b.squares + step * step * a.count * share};
  }
  double variance() const { return count == 0 ? 0 : squares / count; }
};

// Whether a sum of squares in float32 may have left its range.
template <class T>
LUMUS_INLINE bool is_out_of_range(double squares) {
  return sizeof(T) == 4 && !(squares > 1e-25 && squares < 1e37);
}

template <class Element>
LUMUS_INLINE f64v load_doubles(const Element* from, std::int64_t present) {
  double values[kLanes<double>] = {};
  for (std::int64_t i = 0; i < present; ++i) values[i] = widen<double>(from[i]);
  return load<double>(values);
}

// In float64 throughout; around a mean of 0 if not centred.
template <bool kIsCentered, class Element>
[[gnu::noinline]] Moments wide_moments(const Span<Element>& span) {
  const double count = static_cast<double>(span.runs * span.length);
  double mean = 0;
  if constexpr (kIsCentered) {
    sum_runs<double, 1>(
        span.runs, span.length,
        [&]<bool kIsFull>(std::int64_t run, std::int64_t i, std::int64_t present, f64v* sums)
            __attribute__((always_inline)) {
              sums[0] += load_doubles(span.data + run * span.stride + i, present);
            },
        &mean);
    mean /= count;
  }
  double squares = 0;
  sum_runs<double, 1>(
      span.runs, span.length,
      [&]<bool kIsFull>(std::int64_t run, std::int64_t i, std::int64_t present, f64v* sums)
          __attribute__((always_inline)) {
            const f64v from_mean =
                load_doubles(span.data + run * span.stride + i, present) - splat<double>(mean);
            if constexpr (kIsFull) {
              sums[0] += from_mean * from_mean;
            } else {
              double each[kLanes<double>] = {};
              for (std::int64_t lane = 0; lane < present; ++lane) each[lane] = from_mean[lane];
              sums[0] += load<double>(each) * load<double>(each);
            }
          },
      &squares);
  return {count, mean, squares};
}

template <bool kIsCentered, class Element>
Moments moments_of(const Span<Element>& span) {
  using T = Compute<Element>;
  const double count = static_cast<double>(span.runs * span.length);
  double about = 0;
  if constexpr (kIsCentered) {
    sum_runs<T, 1>(
        span.runs, span.length,
        [&]<bool kIsFull>(std::int64_t run, std::int64_t i, std::int64_t present, Vec<T>* sums)
            __attribute__((always_inline)) {
              sums[0] += load_some<kIsFull>(span.data + run * span.stride + i, present, T(0));
            },
        &about);
    about /= count;
  }
  // The mean as a number of the elements' precision; the rest of it comes out of the differences.
  const T shift = static_cast<T>(about);
  const Vec<T> shifts = splat<T>(shift);
  double sums[2] = {};
  sum_runs<T, 2>(
      span.runs, span.length,
      [&]<bool kIsFull>(std::int64_t run, std::int64_t i, std::int64_t present, Vec<T>* totals)
          __attribute__((always_inline)) {
            const Vec<T> x = load_some<kIsFull>(span.data + run * span.stride + i, present, shift);
            const Vec<T> from_mean = x - shifts;
            if constexpr (kIsCentered) totals[0] += from_mean;
            totals[1] = fma(from_mean, from_mean, totals[1]);
          },
      sums);
  if (is_out_of_range<T>(sums[1])) return wide_moments<kIsCentered>(span);
  const double rest = sums[0] / count;
  const double squares = sums[1] - rest * sums[0];
  return {count, static_cast<double>(shift) + rest, squares < 0 ? 0 : squares};
}

// A group of `runs` runs of `length`, cut into blocks: several runs, or a part of one.
struct Blocks {
  std::int64_t runs;
  std::int64_t length;
  std::int64_t runs_at_once;
  std::int64_t parts;  // of a run
  std::int64_t count;

  Blocks(std::int64_t num_runs, std::int64_t run_length) : runs(num_runs), length(run_length) {
    const bool is_empty = num_runs == 0 || run_length == 0;
    runs_at_once = is_empty ? 1 : larger(1, kMomentBlock / run_length);
    parts = is_empty ? 0 : divide_up(run_length, kMomentBlock);
    count = parts * divide_up(num_runs, runs_at_once);
  }

  struct Place {
    std::int64_t run, runs, begin, length;
  };
  Place at(std::int64_t block) const {
    const std::int64_t run = block / parts * runs_at_once;
    const std::int64_t begin = block % parts * kMomentBlock;
    return {run, smaller(runs_at_once, runs - run), begin, smaller(kMomentBlock, length - begin)};
  }
};

// For each group: measure(group, block) of its blocks, merged in order, finish(group, total), and
// write(group, block, what finish gave). A group that stays in the cache is handled by one thread
// from start to end; otherwise the phases are shared out. What is written may be streamed.
template <class Partial, class Result, class Measure, class Finish, class Write>
void by_groups(std::int64_t groups, std::int64_t blocks, std::int64_t elements, std::int64_t bytes,
               const Measure& measure, const Finish& finish, const Write& write) {
  const bool is_cached =
      bytes <= kGroupCacheBytes && (groups >= kFewGroups || groups * elements <= kFewElements);
  if (is_cached || blocks <= 1) {
    parallel_for(groups, larger(1, kGroupGrain / larger(1, elements)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t group = begin; group < end; ++group) {
                     Partial total;
                     for (std::int64_t block = 0; block < blocks; ++block) {
                       total = Partial::merge(total, measure(group, block));
                     }
                     const Result result = finish(group, total);
                     for (std::int64_t block = 0; block < blocks; ++block) {
                       write(group, block, result);
                     }
                   }
                   stream_fence();
                 });
    return;
  }
  const std::int64_t items = groups * blocks;
  const std::int64_t grain = larger(1, kGroupGrain / larger(1, elements / blocks));
  Scratch scratch(items * static_cast<std::int64_t>(sizeof(Partial)) +
                  groups * static_cast<std::int64_t>(sizeof(Result)));
  auto* partials = scratch.as<Partial>();
  auto* results = reinterpret_cast<Result*>(partials + items);
  parallel_for(items, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {
      partials[item] = measure(item / blocks, item % blocks);
    }
  });
  for (std::int64_t group = 0; group < groups; ++group) {
    Partial total;
    for (std::int64_t block = 0; block < blocks; ++block) {
      total = Partial::merge(total, partials[group * blocks + block]);
    }
    results[group] = finish(group, total);
  }
  parallel_for(items, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {
      write(item / blocks, item % blocks, results[item / blocks]);
    }
    stream_fence();
  });
}

}  // namespace lumus::LUMUS_ISA
