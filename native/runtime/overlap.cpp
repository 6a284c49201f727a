// Two windows cut from one tensor by basic slicing live on a common grid: every offset has one way
// of being written in the mixed radix of the strides, so they share an element exactly if, at each
// digit, two arithmetic progressions meet. Windows that fit no such grid are marked in a bitmap.
#include "runtime/overlap.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace lumus {
namespace {

struct Axis {
  std::int64_t stride;  // in units, positive
  std::int64_t count;   // at least 2
};

// A view as a set of offsets: start + sum(index * stride), in units from a common origin.
struct OffsetSet {
  std::int64_t start;
  std::int64_t last;       // the greatest offset
  std::vector<Axis> axes;  // by increasing stride
};

OffsetSet offsets_of(const View& view, const std::byte* low, const std::byte* origin,
                     std::int64_t unit) {
  OffsetSet set;
  set.start = (low - origin) / unit;
  set.last = set.start;
  const std::int64_t units_per_element = itemsize(view.dtype) / unit;
  if (units_per_element > 1) set.axes.push_back({1, units_per_element});
  for (int axis = 0; axis < view.rank; ++axis) {
    if (view.shape[axis] <= 1 || view.strides[axis] == 0) continue;
    set.axes.push_back({std::abs(view.strides[axis]) * units_per_element, view.shape[axis]});
  }
  std::sort(set.axes.begin(), set.axes.end(),
            [](const Axis& x, const Axis& y) { return x.stride < y.stride; });
  for (const Axis& axis : set.axes) set.last += axis.stride * (axis.count - 1);
  return set;
}

// x with x = first (mod step), first <= x <= last.
struct Progression {
  std::int64_t first, step, last;
};

bool progressions_meet(const Progression& a, const Progression& b) {
  const std::int64_t low = std::max(a.first, b.first);
  const std::int64_t high = std::min(a.last, b.last);
  if (low > high) return false;
  // Extended Euclid: a.step * inverse = divisor (mod b.step).
  std::int64_t divisor = a.step, next = b.step, inverse = 1, next_inverse = 0;
  while (next) {
    const std::int64_t quotient = divisor / next;
    std::swap(divisor -= quotient * next, next);
    std::swap(inverse -= quotient * next_inverse, next_inverse);
  }
  const std::int64_t distance = b.first - a.first;
  if (distance % divisor) return false;
  const __int128 period = static_cast<__int128>(a.step) / divisor * b.step;
  const std::int64_t modulus = b.step / divisor;
  __int128 steps = static_cast<__int128>(distance / divisor) * inverse % modulus;
  if (steps < 0) steps += modulus;
  // Smallest common value at or above a.first, then lifted to at least `low`.
  __int128 common = static_cast<__int128>(a.first) + steps * a.step;
  if (common < low) common += (low - common + period - 1) / period * period;
  return common <= high;
}

enum class Verdict { disjoint, shared, unknown };

// The exact answer when both sets fit one grid.
Verdict meet_on_grid(const OffsetSet& a, const OffsetSet& b) {
  std::vector<std::int64_t> strides;
  for (const Axis& axis : a.axes) strides.push_back(axis.stride);
  for (const Axis& axis : b.axes) strides.push_back(axis.stride);
  std::sort(strides.begin(), strides.end());

  const OffsetSet* sets[2] = {&a, &b};
  std::size_t used[2] = {0, 0};               // axes placed so far
  std::int64_t rest[2] = {a.start, b.start};  // start offset in units of the current level
  std::int64_t level = 1;
  while (true) {
    // The next level is the smallest stride that divides all greater ones and that no digit of
    // either set can carry across.
    std::int64_t next_level = 0;
    for (const std::int64_t candidate : strides) {
      if (candidate <= level || candidate % level) continue;
      bool fits = true;
      for (int side = 0; side < 2; ++side) {
        std::int64_t reach = rest[side] % (candidate / level) * level;
        for (std::size_t at = used[side]; at < sets[side]->axes.size(); ++at) {
          const Axis& axis = sets[side]->axes[at];
          if (axis.stride < candidate) {
            reach += axis.stride * (axis.count - 1);
          } else {
            fits &= axis.stride % candidate == 0;
          }
        }
        fits &= reach < candidate;
      }
      if (fits) {
        next_level = candidate;
        break;
      }
    }
    Progression digits[2];
    for (int side = 0; side < 2; ++side) {
      const std::int64_t digit = next_level ? rest[side] % (next_level / level) : rest[side];
      digits[side] = {digit, 1, digit};
      int axes_here = 0;
      while (used[side] < sets[side]->axes.size()) {
        const Axis& axis = sets[side]->axes[used[side]];
        if (next_level && axis.stride >= next_level) break;
        if (axis.stride % level || ++axes_here > 1) return Verdict::unknown;
        digits[side].step = axis.stride / level;
        digits[side].last = digit + digits[side].step * (axis.count - 1);
        ++used[side];
      }
      if (next_level) rest[side] /= next_level / level;
    }
    if (!progressions_meet(digits[0], digits[1])) return Verdict::disjoint;
    if (!next_level) return Verdict::shared;
    level = next_level;
  }
}

// Calls visit(offset) for every element until it returns true.
template <class Visit>
bool any_offset(const OffsetSet& set, std::size_t num_axes, std::int64_t offset,
                const Visit& visit) {
  if (num_axes == 0) return visit(offset);
  const Axis& axis = set.axes[num_axes - 1];
  for (std::int64_t index = 0; index < axis.count; ++index) {
    if (any_offset(set, num_axes - 1, offset + index * axis.stride, visit)) return true;
  }
  return false;
}

bool meet_in_bitmap(const OffsetSet& a, const OffsetSet& b) {
  const std::int64_t low = std::max(a.start, b.start);
  const std::int64_t high = std::min(a.last, b.last);
  std::vector<bool> touched(static_cast<std::size_t>(high - low + 1));
  any_offset(a, a.axes.size(), a.start, [&](std::int64_t offset) {
    if (offset >= low && offset <= high) touched[static_cast<std::size_t>(offset - low)] = true;
    return false;
  });
  return any_offset(b, b.axes.size(), b.start, [&](std::int64_t offset) {
    return offset >= low && offset <= high && touched[static_cast<std::size_t>(offset - low)];
  });
}

}  // namespace

ByteHull hull_of(const View& view) {
  std::int64_t below = 0, above = 0;
  for (int axis = 0; axis < view.rank; ++axis) {
    if (view.shape[axis] == 0) return {view.data, view.data};
    const std::int64_t reach = (view.shape[axis] - 1) * view.strides[axis];
    (reach < 0 ? below : above) += reach;
  }
  const std::int64_t size = itemsize(view.dtype);
  return {view.data + below * size, view.data + (above + 1) * size};
}

bool views_overlap(const View& a, const View& b) {
  const ByteHull hull_a = hull_of(a), hull_b = hull_of(b);
  if (hull_a.low == hull_a.high || hull_b.low == hull_b.high) return false;
  if (hull_a.high <= hull_b.low || hull_b.high <= hull_a.low) return false;
  const std::byte* const origin = std::min(hull_a.low, hull_b.low);
  const std::int64_t unit =
      std::gcd(std::gcd(itemsize(a.dtype), itemsize(b.dtype)), std::abs(hull_a.low - hull_b.low));
  const OffsetSet set_a = offsets_of(a, hull_a.low, origin, unit);
  const OffsetSet set_b = offsets_of(b, hull_b.low, origin, unit);
  switch (meet_on_grid(set_a, set_b)) {
    case Verdict::disjoint:
      return false;
    case Verdict::shared:
      return true;
    case Verdict::unknown:
      break;
  }
  return meet_in_bitmap(set_a, set_b);
}

}  // namespace lumus
