// Scaled dot-product attention, forward and backward, by blocks: memory grows with the number of
// queries and keys, never with their product.
#pragma once

#include <cstdint>

#include "kernels/random.h"
#include "runtime/view.h"

namespace lumus {

// Views have equal rank: leading axes, then rows, then the width. Leading axes are those of the
// queries; only the last of them may be shorter for keys and values, by a whole factor: so many
// neighbouring queries' heads share one of theirs. Any strides. Where the elements are half types,
// the logarithms and the mask of numbers are float32, else they have the dtype of the queries.
struct AttentionArguments {
  View query;  // (..., queries, width)
  View key;    // (..., keys, width)
  View value;  // (..., keys, value width)
  // (..., queries, keys): truths (true: may attend) or numbers to add, of which -inf excludes the
  // key. Without data: no mask.
  View mask;
  double scale;
  bool is_causal;  // query i sees keys 0 ... i
  // Each weight is dropped with probability `dropout`. The weight of query row r (counted over all
  // leading axes) for key k is kept if word k % 4 of block r ceil(keys / 4) + k / 4 of the stream
  // is below floor((1 - dropout) 2^32 + 1/2).
  double dropout;
  PhiloxStream stream;
};

struct AttentionKernels {
  // `output` (..., queries, value width) and `logsumexp` (..., queries) share no memory with the
  // arguments. A query that may attend to nothing has output 0 and logarithm -inf.
  void (*forward)(const AttentionArguments& arguments, const View& output, const View& logsumexp);
  // The gradients of all three, and of the scores (..., queries, keys) where `grad_scores` has
  // data, from the gradient of the output and what forward gave. Gradients are whole pieces of
  // memory, their axes in any order.
  void (*backward)(const AttentionArguments& arguments, const View& grad, const View& output,
                   const View& logsumexp, const View& grad_query, const View& grad_key,
                   const View& grad_value, const View& grad_scores);
};

const AttentionKernels& attention_kernels();

}  // namespace lumus
