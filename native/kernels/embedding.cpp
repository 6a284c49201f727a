// Sums of rows by number.
//
// Layout. Positions of one number are chained in ascending order, so that each row of the table is
// written once: the sum of its chain, or zeros, past the caches where the table is larger than
// they are.
//
// Threads. Cut by rows of the table, by size; each row is the work of one thread, in the order of
// its chain: the bits do not depend on the threads.
//
// Numerics. Half types are summed in float32 and rounded once.
#include "kernels/embedding.h"

#include "kernels/gemm.h"
#include "kernels/transpose.h"
#include "runtime/scratch.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {
namespace {

constexpr std::int64_t kPieceBytes = 128 * 1024;
constexpr std::int64_t kStreamFrom = 4 << 20;  // bytes
constexpr std::int64_t kRowsAtOnce = 32;       // of a chain

void fill_with_zeros(std::byte* to, std::int64_t count, bool streaming) {
  if (!streaming || count < 4 * LUMUS_VECTOR_BYTES) {
    std::memset(to, 0, static_cast<std::size_t>(count));
    return;
  }
  while (!is_line_aligned(to)) {
    *to++ = std::byte{0};
    --count;
  }
  constexpr std::int64_t line_bytes = sizeof(StreamLine);
  const StreamLine line = {};
  for (; count >= line_bytes; count -= line_bytes, to += line_bytes) stream(to, line);
  std::memset(to, 0, static_cast<std::size_t>(count));
}

// Where the positions of each number begin, and which one follows each; -1 ends a chain.
template <class Index>
struct Chains {
  Index* first;
  Index* next;

  Chains(const std::int64_t* ids, std::int64_t count, std::int64_t rows, Index* memory)
      : first(memory), next(memory + rows) {
    std::memset(first, 0xff, static_cast<std::size_t>(rows) * sizeof(Index));
    for (std::int64_t position = count - 1; position >= 0; --position) {
      next[position] = first[ids[position]];
      first[ids[position]] = static_cast<Index>(position);
    }
  }
};

template <class Element>
struct Table {
  using T = Computed<Element>;
  const Element* values;
  std::int64_t value_stride;
  std::int64_t width;
  bool averages;

  // The sum of a chain, in `sums`, which may be the row of the table itself.
  template <class Index>
  void sum_chain(const Chains<Index>& chains, Index position, T* sums) const {
    std::int64_t length = 0;
    while (position >= 0) {
      const Element* rows[kRowsAtOnce];
      std::int64_t count = 0;
      for (; position >= 0 && count < kRowsAtOnce; position = chains.next[position]) {
        rows[count++] = values + position * value_stride;
      }
      for (std::int64_t i = 0; i < width; i += kLanes<T>) {
        const std::int64_t present = smaller(kLanes<T>, width - i);
        Vec<T> sum = length > 0 ? load_partial<T>(sums + i, present, T(0))
                                : load_widened<Element>(rows[0] + i, present);
        for (std::int64_t row = length > 0 ? 0 : 1; row < count; ++row) {
          sum += load_widened<Element>(rows[row] + i, present);
        }
        store_partial<T>(sums + i, sum, present);
      }
      length += count;
    }
    if (!averages || length == 1) return;
    for (std::int64_t i = 0; i < width; ++i) sums[i] /= static_cast<T>(length);
  }

  template <class Index>
  void write(const Chains<Index>& chains, std::int64_t begin, std::int64_t end, bool streaming,
             Element* table, T* spare) const {
    std::int64_t row = begin;
    while (row < end) {
      const std::int64_t first_zero = row;
      while (row < end && chains.first[row] < 0) ++row;
      fill_with_zeros(reinterpret_cast<std::byte*>(table + first_zero * width),
                      (row - first_zero) * width * static_cast<std::int64_t>(sizeof(Element)),
                      streaming);
      for (; row < end && chains.first[row] >= 0; ++row) {
        Element* const to = table + row * width;
        if constexpr (__is_same(Element, T)) {
          sum_chain(chains, chains.first[row], to);
        } else {
          sum_chain(chains, chains.first[row], spare);
          narrow_run<Element, T>(spare, width, to, 1);
        }
      }
    }
    if (streaming) stream_fence();
  }
};

template <class Element, class Index>
void sum_rows_of(const View& values, const View& ids, std::int64_t skipped, bool averages,
                 const View& table) {
  using T = Computed<Element>;
  const std::int64_t rows = table.shape[0], width = table.shape[1], count = ids.shape[0];
  const Scratch memory((rows + count) * static_cast<std::int64_t>(sizeof(Index)));
  const Chains<Index> chains(reinterpret_cast<const std::int64_t*>(ids.data), count, rows,
                             memory.as<Index>());
  if (skipped >= 0) chains.first[skipped] = -1;
  const std::int64_t row_bytes = width * static_cast<std::int64_t>(sizeof(Element));
  const bool streaming = rows * row_bytes >= kStreamFrom;
  const Table<Element> sums = {reinterpret_cast<const Element*>(values.data), values.strides[0],
                               width, averages};
  // What is read counts as well as what is written.
  const std::int64_t work = row_bytes * (rows + count) / rows;
  parallel_for(rows, 1 + kPieceBytes / (work + 64), [&](std::int64_t begin, std::int64_t end) {
    const Scratch spare(width * static_cast<std::int64_t>(sizeof(T)));
    sums.write(chains, begin, end, streaming, reinterpret_cast<Element*>(table.data),
               spare.as<T>());
  });
}

template <class Element>
void sum_rows_as(const View& values, const View& ids, std::int64_t skipped, bool averages,
                 const View& table) {
  if (ids.shape[0] < INT32_MAX) {
    sum_rows_of<Element, std::int32_t>(values, ids, skipped, averages, table);
  } else {
    sum_rows_of<Element, std::int64_t>(values, ids, skipped, averages, table);
  }
}

void sum_rows(const View& values, const View& ids, std::int64_t skipped, bool averages,
              const View& table) {
  if (num_elements(table) == 0) return;
  switch (table.dtype) {
    case DType::float64:
      return sum_rows_as<double>(values, ids, skipped, averages, table);
    case DType::float32:
      return sum_rows_as<float>(values, ids, skipped, averages, table);
    case DType::float16:
      return sum_rows_as<Float16>(values, ids, skipped, averages, table);
    default:
      return sum_rows_as<BFloat16>(values, ids, skipped, averages, table);
  }
}

}  // namespace

extern const EmbeddingKernels embedding_table;
const EmbeddingKernels embedding_table = {&sum_rows};

}  // namespace lumus::LUMUS_ISA
