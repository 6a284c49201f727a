// Reading and writing at positions named by index arrays.
#pragma once

#include <cstdint>

#include "runtime/view.h"

namespace lumus {

// Index arrays are int64. A negative index counts from the end. Indices are checked by
// `first_outside` or `resolve` before any kernel below that reads or writes with them.
// `offsets` are element offsets from `data` of the view that is indexed.
struct IndexKernels {
  // Flat row-major position of the first index outside [low, high), or -1.
  std::int64_t (*first_outside)(const View& indices, std::int64_t low, std::int64_t high);
  // offsets[p] (+)= index p, counted from the start, times `stride`; false when one is outside.
  bool (*resolve)(std::int64_t* offsets, const View& indices, std::int64_t bound,
                  std::int64_t stride, bool add);

  // to[p, ...] = x[offsets[p] + ...]. `to` is (count, rest...), x is one block of shape (rest...).
  void (*gather)(const View& to, const View& x, const std::int64_t* offsets);
  // x[offsets[p] + ...] = values[p, ...], in order of p.
  void (*put)(const View& x, const View& values, const std::int64_t* offsets);
  // x[offsets[p] + ...] += values[p, ...], in order of p, for each cell. Not for half types, whose
  // sums belong in float32; a sum of truths is whether any is true.
  void (*accumulate)(const View& x, const View& values, const std::int64_t* offsets);

  // to[.., k, ..] = x[.., indices[.., k, ..], ..] along `axis`. All have the rank of `to`, and its
  // shape but for x along `axis`.
  void (*take_along_axis)(const View& to, const View& x, const View& indices, int axis);
  // x[.., indices[.., k, ..], ..] += values[.., k, ..] along `axis`, in order of k, for each cell.
  // `values` has the shape of `indices`; elsewhere than along `axis` x is at least as long. Not for
  // half types.
  void (*scatter_add)(const View& x, const View& indices, const View& values, int axis);

  // `mask` is bool and contiguous. counts[k] = how many are true in its k-th piece of kMaskPiece.
  void (*count_true)(const View& mask, std::int64_t* counts);
  // Writes the coordinates of the true elements, `starts[k]` being where those of piece k go.
  void (*list_true)(const View& mask, const std::int64_t* starts, std::int64_t* const* coordinates);

  // last[p] = no later position has offset[p]. `table` has room for the largest offset, and may be
  // uninitialised.
  void (*mark_last)(bool* last, const std::int64_t* offsets, std::int64_t count,
                    std::int64_t* table);
};

constexpr std::int64_t kMaskPiece = 65536;

const IndexKernels& index_kernels();

}  // namespace lumus
