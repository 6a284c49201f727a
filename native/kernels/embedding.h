// Sums of rows by the number of the row that they belong to: the gradient of a table of rows.
#pragma once

#include <cstdint>

#include "runtime/view.h"

namespace lumus {

struct EmbeddingKernels {
  // table[i] = the sum of the rows values[p] with ids[p] == i, in order of p; with `averages`
  // divided by how many they are. Row `skipped` of the table stays 0 (-1: none does). `values` is
  // (count, width) with dense rows, `ids` contiguous int64 in [0, rows of the table), `table`
  // contiguous; they share no memory.
  void (*sum_rows)(const View& values, const View& ids, std::int64_t skipped, bool averages,
                   const View& table);
};

const EmbeddingKernels& embedding_kernels();

}  // namespace lumus
