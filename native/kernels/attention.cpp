// Scaled dot-product attention by blocks of queries and keys.
//
// Layout. attention_blocks.h: scores stand with the queries side by side. Queries, and in backward
// the gradient of the output, are packed so once for each block of queries; keys and values are
// read where they lie if their rows are whole vectors, else copied block by block.
//
// Forward. For each block of queries, over the blocks of keys: scores, mask, new maxima (what was
// summed up so far is scaled to them), exponentials, their product with the values (Milakov and
// Gimelshein, "Online normalizer calculation for softmax"; Dao et al., "FlashAttention").
//
// Backward. The weights are computed again from the scores and the saved logarithms; five products
// a block. A task has one matrix of keys, or where there are few of those a range of its rows, and
// goes through the queries of all heads that share it, so that the gradients of keys and values
// have one writer. Ranges leave their part of the gradient of the queries to be summed at the end.
//
// Aliasing. Outputs share no memory with the arguments.
//
// Threads. Forward is cut by blocks of queries, backward as said; the cut depends on shapes alone,
// and every sum has its order: the bits do not depend on the number of threads.
//
// Numerics. Half types are widened, everything is computed in float32 (float64 for float64), and
// results are rounded once. What a mask excludes adds nothing to anything, also where it is not
// finite. A query with nothing to attend to has output 0, gradient 0; one whose scores are all
// -inf, or hold +inf or NaN, is NaN, as softmax has it.
#include "kernels/attention.h"

#include "kernels/attention_blocks.h"
#include "runtime/scratch.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {

namespace {

constexpr std::int64_t kPieceProducts = 1 << 19;  // multiply-adds worth a piece
constexpr std::int64_t kMinRangeBlocks = 4;       // of keys, in backward
constexpr std::int64_t kWantedTasks = 16;

// What a call is about, in numbers.
struct Sizes {
  std::int64_t num_matrices;      // of queries
  std::int64_t num_key_matrices;  // of keys
  std::int64_t queries, keys, width, value_width;

  explicit Sizes(const AttentionArguments& arguments) {
    const int rank = arguments.query.rank;
    num_matrices = num_key_matrices = 1;
    for (int axis = 0; axis < rank - 2; ++axis) {
      num_matrices *= arguments.query.shape[axis];
      num_key_matrices *= arguments.key.shape[axis];
    }
    queries = arguments.query.shape[rank - 2];
    width = arguments.query.shape[rank - 1];
    keys = arguments.key.shape[rank - 2];
    value_width = arguments.value.shape[rank - 1];
  }

  template <class T>
  std::int64_t padded_width() const {
    return rounded_up(width, kLanes<T>);
  }
  template <class T>
  std::int64_t padded_value_width() const {
    return rounded_up(value_width, kLanes<T>);
  }
  std::int64_t query_blocks() const { return divided_up(queries, kQueries); }
  // Multiply-adds of one product of a block of queries with all keys.
  std::int64_t block_work() const {
    return smaller(queries, kQueries) * keys * (width + value_width + 16) / 2;
  }
};

// Element offset of the matrix of `view` that belongs to matrix number `matrix` of the queries.
std::int64_t matrix_offset(const View& view, const View& query, std::int64_t matrix) {
  std::int64_t offset = 0;
  for (int axis = query.rank - 3; axis >= 0; --axis) {
    const std::int64_t size = query.shape[axis];
    const std::int64_t shared = size / view.shape[axis];
    offset += matrix % size / shared * view.strides[axis];
    matrix /= size;
  }
  return offset;
}

template <class Element>
Matrix<Element> matrix_of(const View& view, const View& query, std::int64_t matrix,
                          std::int64_t row) {
  const std::int64_t row_stride = view.strides[view.rank - 2];
  const Element* data = reinterpret_cast<const Element*>(view.data);
  return {data + matrix_offset(view, query, matrix) + row * row_stride, row_stride,
          view.strides[view.rank - 1]};
}

Mask mask_of(const AttentionArguments& arguments, std::int64_t matrix) {
  Mask mask;
  mask.is_causal = arguments.is_causal;
  const View& view = arguments.mask;
  if (!view.data) return mask;
  mask.holds_truths = view.dtype == DType::boolean;
  mask.data = view.data + matrix_offset(view, arguments.query, matrix) * itemsize(view.dtype);
  mask.query_stride = view.strides[view.rank - 2];
  mask.key_stride = view.strides[view.rank - 1];
  return mask;
}

// Parts of a piece of scratch memory, each on lines of its own. Without memory, only counted.
template <class T>
class Sections {
 public:
  explicit Sections(T* memory) : memory_(memory) {}
  T* take(std::int64_t count) {
    T* const section = memory_ ? memory_ + count_ : nullptr;
    count_ += rounded_up(count, 64);
    return section;
  }
  std::int64_t nbytes() const { return count_ * static_cast<std::int64_t>(sizeof(T)); }

 private:
  T* memory_;
  std::int64_t count_ = 0;
};

template <class T>
void clear(T* numbers, std::int64_t count) {
  std::memset(numbers, 0, static_cast<std::size_t>(count) * sizeof(T));
}

// Keys, from the first, that some query of a block may attend to.
std::int64_t visible_keys(const AttentionArguments& arguments, const Sizes& sizes,
                          const Block& block) {
  return arguments.is_causal ? smaller(sizes.keys, block.query + block.num_queries) : sizes.keys;
}

// The queries of a block, turned and scaled.
template <class Element, class T>
void turn_queries(const AttentionArguments& arguments, std::int64_t matrix, const Block& block,
                  T* to) {
  const View& view = arguments.query;
  const std::int64_t width = view.shape[view.rank - 1];
  turn_rows<Element, T>(matrix_of<Element>(view, view, matrix, block.query), block.num_queries,
                        width, block.pitch, to);
  const T scale = static_cast<T>(arguments.scale);
  for_each_vector<T>(width * block.pitch, to, [&](Vec<T> x, std::int64_t) { return x * scale; });
}

// ---- forward ------------------------------------------------------------------------------------

// The running softmax of a block of queries.
template <class T>
struct Running {
  T* maxima;
  T* sums;
  T* decays;   // what sums and outputs so far were last scaled with
  T* outputs;  // value width x pitch
};

// Turns a block of scores into exponentials under the new maxima. Returns whether outputs so far
// need scaling.
template <class T>
bool exponentiate(const Block& block, T* scores, const Running<T>& running) {
  const std::int64_t pitch = block.pitch;
  auto changes = splat<T>(T(0)) != splat<T>(T(0));
  for (std::int64_t q = 0; q < pitch; q += kLanes<T>) {
    const std::int64_t num_keys = block.keys_seen(q + kLanes<T>);
    const Vec<T> before = load<T>(running.maxima + q);
    // A NaN is passed over here, and comes back in the sum.
    Vec<T> tops[4] = {before, before, before, before};
    std::int64_t k = 0;
    for (; k + 4 <= num_keys; k += 4) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const Vec<T> score = load<T>(scores + (k + i) * pitch + q);
        tops[i] = score > tops[i] ? score : tops[i];
      }
    }
    for (; k < num_keys; ++k) {
      const Vec<T> score = load<T>(scores + k * pitch + q);
      tops[0] = score > tops[0] ? score : tops[0];
    }
    tops[0] = tops[1] > tops[0] ? tops[1] : tops[0];
    tops[2] = tops[3] > tops[2] ? tops[3] : tops[2];
    const Vec<T> top = tops[2] > tops[0] ? tops[2] : tops[0];
    // Nothing but -inf so far: exp(-inf - 0) is 0.
    const Vec<T> shift = top == -kInfinity<T> ? Vec<T>{} : top;
    const Vec<T> decay = exp(before - shift);
    Vec<T> sums[4] = {};
    for (k = 0; k + 4 <= num_keys; k += 4) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        T* const at = scores + (k + i) * pitch + q;
        const Vec<T> weight = exp(load<T>(at) - shift);
        store<T>(at, weight);
        sums[i] += weight;
      }
    }
    for (; k < num_keys; ++k) {
      T* const at = scores + k * pitch + q;
      const Vec<T> weight = exp(load<T>(at) - shift);
      store<T>(at, weight);
      sums[0] += weight;
    }
    for (; k < block.num_keys; ++k) store<T>(scores + k * pitch + q, Vec<T>{});
    const Vec<T> sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    store<T>(running.sums + q, load<T>(running.sums + q) * decay + sum);
    store<T>(running.maxima + q, top);
    store<T>(running.decays + q, decay);
    changes |= decay != T(1);
  }
  return any(changes);
}

template <class T>
void scale_columns(std::int64_t rows, std::int64_t pitch, const T* factors, T* numbers) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for_each_vector<T>(pitch, numbers + row * pitch, [&](Vec<T> number, std::int64_t q) {
      return number * load<T>(factors + q);
    });
  }
}

template <class T>
struct ForwardBuffers {
  T *queries, *key_copy, *value_copy, *scores, *numbers, *rows, *written;
  Running<T> running;

  ForwardBuffers(const Sizes& sizes, Sections<T>& sections)
      : queries(sections.take(sizes.width * kQueries)),
        key_copy(sections.take(kKeys * sizes.padded_width<T>())),
        value_copy(sections.take(kKeys * sizes.padded_value_width<T>())),
        scores(sections.take(kQueries * kKeys)),
        numbers(sections.take(kQueries * kKeys)),
        rows(sections.take(kQueries * kKeys)),
        written(sections.take(kQueries * sizes.padded_value_width<T>())) {
    running.maxima = sections.take(kQueries);
    running.sums = sections.take(kQueries);
    running.decays = sections.take(kQueries);
    running.outputs = sections.take(sizes.value_width * kQueries);
  }

  static std::int64_t nbytes(const Sizes& sizes) {
    Sections<T> sections(nullptr);
    const ForwardBuffers counted(sizes, sections);
    return sections.nbytes();
  }
};

template <class Element>
class Forward {
  using T = Computed<Element>;

 public:
  Forward(const AttentionArguments& arguments, const View& output, const View& logsumexp)
      : arguments_(arguments),
        output_(output),
        logsumexp_(logsumexp),
        sizes_(arguments),
        dropout_(arguments) {}

  void run() const {
    const std::int64_t blocks = sizes_.query_blocks();
    const std::int64_t grain = 1 + kPieceProducts / (sizes_.block_work() + 512);
    parallel_for(sizes_.num_matrices * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
      const Scratch scratch(ForwardBuffers<T>::nbytes(sizes_));
      Sections<T> sections(scratch.as<T>());
      const ForwardBuffers<T> buffers(sizes_, sections);
      for (std::int64_t piece = begin; piece < end; ++piece) {
        run_block(piece / blocks, piece % blocks * kQueries, buffers);
      }
    });
  }

 private:
  void run_block(std::int64_t matrix, std::int64_t query, const ForwardBuffers<T>& buffers) const {
    Block block;
    block.query = query;
    block.num_queries = smaller(kQueries, sizes_.queries - query);
    block.pitch = pitch_of(block.num_queries);
    block.is_causal = arguments_.is_causal;
    const Mask mask = mask_of(arguments_, matrix);
    turn_queries<Element, T>(arguments_, matrix, block, buffers.queries);
    for_each_vector<T>(block.pitch, buffers.running.maxima,
                       [](Vec<T>, std::int64_t) { return splat<T>(-kInfinity<T>); });
    clear(buffers.running.sums, kQueries);
    clear(buffers.running.outputs, sizes_.value_width * block.pitch);

    const std::int64_t end = visible_keys(arguments_, sizes_, block);
    for (block.key = 0; block.key < end; block.key += kKeys) {
      block.num_keys = smaller(kKeys, end - block.key);
      add_block(matrix, mask, block, buffers);
    }
    finish(matrix, mask, block, buffers);
  }

  // Adds what a block of keys gives to the queries.
  void add_block(std::int64_t matrix, const Mask& mask, const Block& block,
                 const ForwardBuffers<T>& buffers) const {
    const Running<T>& running = buffers.running;
    const std::int64_t pitch = block.pitch;
    T* const scores = buffers.scores;
    const View& like = arguments_.query;
    const Rows<T> keys =
        read_rows<Element, T>(matrix_of<Element>(arguments_.key, like, matrix, block.key),
                              block.num_keys, sizes_.width, buffers.key_copy);
    const Rows<T> values =
        read_rows<Element, T>(matrix_of<Element>(arguments_.value, like, matrix, block.key),
                              block.num_keys, sizes_.value_width, buffers.value_copy);
    multiply_rows<T>(block, sizes_.width, {keys.data, keys.stride, 1}, buffers.queries, scores);
    const bool excludes = apply_mask<T>(mask, block, scores, buffers.numbers, buffers.rows);
    if (exponentiate(block, scores, running) && block.key > 0) {
      scale_columns<T>(sizes_.value_width, pitch, running.decays, running.outputs);
    }
    if (dropout_.is_active) {
      dropout_.fill<T>(block, matrix * sizes_.queries + block.query, buffers.numbers);
      for_each_vector<T>(block.num_keys * pitch, scores, [&](Vec<T> weight, std::int64_t i) {
        return dropped<T>(weight, load<T>(buffers.numbers + i));
      });
    }
    if (excludes && !all_finite<T>(values, block.num_keys, sizes_.value_width)) {
      add_allowed<T>(mask, block, sizes_.value_width, scores, values, false, running.outputs, 1,
                     pitch);
      return;
    }
    add_weighted<T>(block, sizes_.value_width, {values.data, 1, values.stride}, scores,
                    running.outputs, block.key > 0);
  }

  // Divides by the sums, and writes outputs and logarithms.
  void finish(std::int64_t matrix, const Mask& mask, const Block& block,
              const ForwardBuffers<T>& buffers) const {
    const Running<T>& running = buffers.running;
    for (std::int64_t q = 0; q < block.num_queries; ++q) {
      // Scores that are all -inf have no softmax; that there are none is another matter.
      if (running.sums[q] == 0 && sees_any(mask, block.query + q)) {
        running.sums[q] = static_cast<T>(__builtin_nan(""));
      }
    }
    for (std::int64_t q = 0; q < block.pitch; q += kLanes<T>) {
      const Vec<T> sum = load<T>(running.sums + q);
      const auto is_empty = sum == T(0);
      store<T>(running.decays + q, is_empty ? Vec<T>{} : T(1) / sum);
      store<T>(running.sums + q,
               is_empty ? splat<T>(-kInfinity<T>) : load<T>(running.maxima + q) + log(sum));
    }
    scale_columns<T>(sizes_.value_width, block.pitch, running.decays, running.outputs);
    const View& like = arguments_.query;
    const Matrix<Element> to = matrix_of<Element>(output_, like, matrix, block.query);
    write_turned<Element, T>(running.outputs, block.pitch, block.num_queries, sizes_.value_width,
                             const_cast<Element*>(to.data), to.row_stride, to.column_stride,
                             buffers.written);
    T* const logarithms =
        reinterpret_cast<T*>(logsumexp_.data) + matrix_offset(logsumexp_, like, matrix);
    const std::int64_t stride = logsumexp_.strides[logsumexp_.rank - 1];
    for (std::int64_t q = 0; q < block.num_queries; ++q) {
      logarithms[(block.query + q) * stride] = running.sums[q];
    }
  }

  bool sees_any(const Mask& mask, std::int64_t query) const {
    for (std::int64_t key = 0; key < sizes_.keys; ++key) {
      if (mask.allows<T>(query, key)) return true;
    }
    return false;
  }

  const AttentionArguments& arguments_;
  const View& output_;
  const View& logsumexp_;
  const Sizes sizes_;
  const Dropout dropout_;
};

// ---- backward -----------------------------------------------------------------------------------

struct Gradients {
  const View& grad;
  const View& output;
  const View& logsumexp;
  const View& grad_query;
  const View& grad_key;
  const View& grad_value;
  const View& grad_scores;
};

// A range of the keys of one matrix, in whole blocks.
struct Range {
  std::int64_t key_matrix, first, last;
  std::int64_t size() const { return last - first; }
};

template <class T>
struct BackwardBuffers {
  T *queries, *grads, *outputs;                              // turned
  T *query_copy, *grad_copy, *key_copy, *value_copy;         // rows
  T *weights, *kept, *factors, *grad_weights, *grad_scores;  // blocks
  T *logarithms, *deltas;                                    // of the queries of a block
  T *grad_query, *grad_key, *grad_value;                     // sums

  BackwardBuffers(const Sizes& sizes, std::int64_t range_keys, Sections<T>& sections)
      : queries(sections.take(sizes.width * kQueries)),
        grads(sections.take(sizes.value_width * kQueries)),
        outputs(sections.take(sizes.value_width * kQueries)),
        query_copy(sections.take(kQueries * sizes.padded_width<T>())),
        grad_copy(sections.take(kQueries * sizes.padded_value_width<T>())),
        key_copy(sections.take(kKeys * sizes.padded_width<T>())),
        value_copy(sections.take(kKeys * sizes.padded_value_width<T>())),
        weights(sections.take(kQueries * kKeys)),
        kept(sections.take(kQueries * kKeys)),
        factors(sections.take(kQueries * kKeys)),
        grad_weights(sections.take(kQueries * kKeys)),
        grad_scores(sections.take(kQueries * kKeys)),
        logarithms(sections.take(kQueries)),
        deltas(sections.take(kQueries)),
        grad_query(sections.take(kQueries * sizes.padded_width<T>())),
        grad_key(sections.take(range_keys * sizes.padded_width<T>())),
        grad_value(sections.take(range_keys * sizes.padded_value_width<T>())) {}

  static std::int64_t nbytes(const Sizes& sizes, std::int64_t range_keys) {
    Sections<T> sections(nullptr);
    const BackwardBuffers counted(sizes, range_keys, sections);
    return sections.nbytes();
  }
};

template <class Element>
class Backward {
  using T = Computed<Element>;

 public:
  Backward(const AttentionArguments& arguments, const Gradients& gradients)
      : arguments_(arguments), gradients_(gradients), sizes_(arguments), dropout_(arguments) {
    const std::int64_t blocks = divided_up(sizes_.keys, kKeys);
    const std::int64_t wanted = divided_up(kWantedTasks, sizes_.num_key_matrices);
    const std::int64_t most = blocks / kMinRangeBlocks;
    num_ranges_ = smaller(wanted, most < 1 ? 1 : most);
    range_keys_ = divided_up(blocks, num_ranges_) * kKeys;
    num_ranges_ = divided_up(sizes_.keys, range_keys_);
  }

  void run() const {
    const std::int64_t part = sizes_.num_matrices * sizes_.queries * sizes_.padded_width<T>();
    const Scratch parts((num_ranges_ > 1 ? num_ranges_ * part : 0) *
                        static_cast<std::int64_t>(sizeof(T)));
    const std::int64_t num_tasks = sizes_.num_key_matrices * num_ranges_;
    const std::int64_t work = sizes_.block_work() * sizes_.query_blocks() * 5 / 2;
    const std::int64_t grain = 1 + kPieceProducts / (work * sizes_.num_matrices / num_tasks + 512);
    const std::int64_t most_keys = smaller(range_keys_, sizes_.keys);
    parallel_for(num_tasks, grain, [&](std::int64_t begin, std::int64_t end) {
      const Scratch scratch(BackwardBuffers<T>::nbytes(sizes_, most_keys));
      Sections<T> sections(scratch.as<T>());
      const BackwardBuffers<T> buffers(sizes_, most_keys, sections);
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t number = task % num_ranges_;
        const std::int64_t first = number * range_keys_;
        const Range range = {task / num_ranges_, first, smaller(first + range_keys_, sizes_.keys)};
        run_range(range, buffers, num_ranges_ > 1 ? parts.as<T>() + number * part : nullptr);
      }
    });
    if (num_ranges_ > 1) sum_parts(parts.as<T>(), part);
  }

 private:
  // The gradients of a range of keys and values, and what they add to that of the queries: all of
  // it, or with `part` a part.
  void run_range(const Range& range, const BackwardBuffers<T>& buffers, T* part) const {
    clear(buffers.grad_key, range.size() * sizes_.padded_width<T>());
    clear(buffers.grad_value, range.size() * sizes_.padded_value_width<T>());
    const std::int64_t shared = sizes_.num_matrices / sizes_.num_key_matrices;
    for (std::int64_t one = 0; one < shared; ++one) {
      const std::int64_t matrix = range.key_matrix * shared + one;
      for (std::int64_t query = 0; query < sizes_.queries; query += kQueries) {
        Block block;
        block.query = query;
        block.num_queries = smaller(kQueries, sizes_.queries - query);
        block.pitch = pitch_of(block.num_queries);
        block.is_causal = arguments_.is_causal;
        run_queries(range, matrix, block, buffers);
        write_query_gradient(matrix, block, buffers.grad_query, part);
      }
    }
    write_rows(gradients_.grad_key, range, buffers.grad_key, sizes_.width,
               sizes_.padded_width<T>());
    write_rows(gradients_.grad_value, range, buffers.grad_value, sizes_.value_width,
               sizes_.padded_value_width<T>());
  }

  // One block of queries beside all blocks of a range of keys.
  void run_queries(const Range& range, std::int64_t matrix, Block block,
                   const BackwardBuffers<T>& buffers) const {
    clear(buffers.grad_query, block.num_queries * sizes_.padded_width<T>());
    const std::int64_t end = smaller(range.last, visible_keys(arguments_, sizes_, block));
    if (range.first >= end) return;
    const View& like = arguments_.query;
    turn_queries<Element, T>(arguments_, matrix, block, buffers.queries);
    const Matrix<Element> grad = matrix_of<Element>(gradients_.grad, like, matrix, block.query);
    turn_rows<Element, T>(grad, block.num_queries, sizes_.value_width, block.pitch, buffers.grads);
    read_statistics(matrix, block, buffers);
    const Rows<T> grads =
        read_rows<Element, T>(grad, block.num_queries, sizes_.value_width, buffers.grad_copy);
    const Rows<T> queries =
        read_rows<Element, T>(matrix_of<Element>(arguments_.query, like, matrix, block.query),
                              block.num_queries, sizes_.width, buffers.query_copy);
    for (block.key = range.first; block.key < end; block.key += kKeys) {
      block.num_keys = smaller(kKeys, end - block.key);
      run_block(range, matrix, block, queries, grads, buffers);
    }
  }

  // The saved logarithms, and sum(grad * output) of each query.
  void read_statistics(std::int64_t matrix, const Block& block,
                       const BackwardBuffers<T>& buffers) const {
    const View& like = arguments_.query;
    turn_rows<Element, T>(matrix_of<Element>(gradients_.output, like, matrix, block.query),
                          block.num_queries, sizes_.value_width, block.pitch, buffers.outputs);
    clear(buffers.deltas, block.pitch);
    for (std::int64_t i = 0; i < sizes_.value_width; ++i) {
      const std::int64_t row = i * block.pitch;
      for_each_vector<T>(block.pitch, buffers.deltas, [&](Vec<T> sum, std::int64_t q) {
        return multiply_add<T>(load<T>(buffers.grads + row + q), load<T>(buffers.outputs + row + q),
                               sum);
      });
    }
    const View& view = gradients_.logsumexp;
    const T* from = reinterpret_cast<const T*>(view.data) + matrix_offset(view, like, matrix);
    const std::int64_t stride = view.strides[view.rank - 1];
    clear(buffers.logarithms, block.pitch);
    for (std::int64_t q = 0; q < block.num_queries; ++q) {
      const T logarithm = from[(block.query + q) * stride];
      // Where nothing may be attended to every score is -inf, and exp(-inf - 0) is 0.
      buffers.logarithms[q] = logarithm == -kInfinity<T> ? T(0) : logarithm;
    }
  }

  void run_block(const Range& range, std::int64_t matrix, const Block& block, Rows<T> queries,
                 Rows<T> grads, const BackwardBuffers<T>& buffers) const {
    const View& like = arguments_.query;
    const std::int64_t pitch = block.pitch, count = block.num_keys * pitch;
    const std::int64_t width = sizes_.padded_width<T>();
    const std::int64_t value_width = sizes_.padded_value_width<T>();
    const Mask mask = mask_of(arguments_, matrix);
    const Rows<T> keys =
        read_rows<Element, T>(matrix_of<Element>(arguments_.key, like, matrix, block.key),
                              block.num_keys, sizes_.width, buffers.key_copy);
    const Rows<T> values =
        read_rows<Element, T>(matrix_of<Element>(arguments_.value, like, matrix, block.key),
                              block.num_keys, sizes_.value_width, buffers.value_copy);
    T* const grad_key = buffers.grad_key + (block.key - range.first) * width;
    T* const grad_value = buffers.grad_value + (block.key - range.first) * value_width;

    multiply_rows<T>(block, sizes_.width, {keys.data, keys.stride, 1}, buffers.queries,
                     buffers.weights);
    const Rows<T> scores = {buffers.weights, pitch};
    const bool is_plain = !mask.concerns(block) || all_finite<T>(scores, block.num_keys, pitch);
    const bool excludes =
        apply_mask<T>(mask, block, buffers.weights, buffers.kept, buffers.grad_weights);
    multiply_rows<T>(block, sizes_.value_width, {values.data, values.stride, 1}, buffers.grads,
                     buffers.grad_weights);
    const Rows<T> logarithms = {buffers.logarithms, pitch},
                  products = {buffers.grad_weights, pitch};
    // What is excluded must be left out where it would bring in something that is not finite.
    const bool is_delicate =
        excludes && !(is_plain && all_finite<T>(products, block.num_keys, pitch) &&
                      all_finite<T>(logarithms, 1, pitch));
    for (std::int64_t k = 0; k < block.num_keys; ++k) {
      T* const row = buffers.weights + k * pitch;
      const std::int64_t first = smaller(block.first_seeing(k) / kLanes<T> * kLanes<T>, pitch);
      clear(row, first);
      for_each_vector<T>(pitch - first, row + first, [&](Vec<T> score, std::int64_t q) {
        return exp(score - load<T>(buffers.logarithms + first + q));
      });
    }
    if (is_delicate) zero_excluded<T>(mask, block, buffers.weights);
    const T* kept = buffers.weights;
    if (dropout_.is_active) {
      dropout_.fill<T>(block, matrix * sizes_.queries + block.query, buffers.factors);
      for (std::int64_t i = 0; i < count; i += kLanes<T>) {
        store<T>(buffers.kept + i,
                 dropped<T>(load<T>(buffers.weights + i), load<T>(buffers.factors + i)));
      }
      kept = buffers.kept;
    }
    score_gradients(block, buffers);
    if (is_delicate) zero_excluded<T>(mask, block, buffers.grad_scores);
    if (gradients_.grad_scores.data) write_score_gradients(matrix, block, buffers);
    const T scale = static_cast<T>(arguments_.scale);
    for_each_vector<T>(count, buffers.grad_scores,
                       [&](Vec<T> grad, std::int64_t) { return grad * scale; });
    if (is_delicate) {
      add_allowed<T>(mask, block, sizes_.value_width, kept, grads, true, grad_value, value_width,
                     1);
      add_allowed<T>(mask, block, sizes_.width, buffers.grad_scores, queries, true, grad_key, width,
                     1);
      add_allowed<T>(mask, block, sizes_.width, buffers.grad_scores, keys, false,
                     buffers.grad_query, width, 1);
      return;
    }
    add_to_keys<T>(block, value_width, kept, grads.data, grads.stride, grad_value);
    add_to_keys<T>(block, width, buffers.grad_scores, queries.data, queries.stride, grad_key);
    add_to_queries<T>(block, width, buffers.grad_scores, keys.data, keys.stride,
                      buffers.grad_query);
  }

  // weight * (grad of the weight - sum(grad * output)).
  void score_gradients(const Block& block, const BackwardBuffers<T>& buffers) const {
    for (std::int64_t k = 0; k < block.num_keys; ++k) {
      const std::int64_t row = k * block.pitch;
      for_each_vector<T>(block.pitch, buffers.grad_scores + row, [&](Vec<T>, std::int64_t q) {
        Vec<T> grad = load<T>(buffers.grad_weights + row + q);
        if (dropout_.is_active) grad = dropped<T>(grad, load<T>(buffers.factors + row + q));
        return load<T>(buffers.weights + row + q) * (grad - load<T>(buffers.deltas + q));
      });
    }
  }

  void write_score_gradients(std::int64_t matrix, const Block& block,
                             const BackwardBuffers<T>& buffers) const {
    const View& view = gradients_.grad_scores;
    const Matrix<T> to = matrix_of<T>(view, arguments_.query, matrix, block.query);
    write_turned<T, T>(buffers.grad_scores, block.pitch, block.num_queries, block.num_keys,
                       const_cast<T*>(to.data) + block.key * to.column_stride, to.row_stride,
                       to.column_stride, buffers.grad_weights);
  }

  void write_query_gradient(std::int64_t matrix, const Block& block, const T* rows, T* part) const {
    const std::int64_t width = sizes_.padded_width<T>();
    if (part) {
      std::memcpy(part + (matrix * sizes_.queries + block.query) * width, rows,
                  static_cast<std::size_t>(block.num_queries * width) * sizeof(T));
      return;
    }
    const Matrix<Element> to =
        matrix_of<Element>(gradients_.grad_query, arguments_.query, matrix, block.query);
    for (std::int64_t row = 0; row < block.num_queries; ++row) {
      narrow_run<Element, T>(rows + row * width, sizes_.width,
                             const_cast<Element*>(to.data) + row * to.row_stride, to.column_stride);
    }
  }

  void write_rows(const View& view, const Range& range, const T* rows, std::int64_t width,
                  std::int64_t stride) const {
    const Matrix<Element> to =
        matrix_of<Element>(view, arguments_.key, range.key_matrix, range.first);
    for (std::int64_t row = 0; row < range.size(); ++row) {
      narrow_run<Element, T>(rows + row * stride, width,
                             const_cast<Element*>(to.data) + row * to.row_stride, to.column_stride);
    }
  }

  void sum_parts(const T* parts, std::int64_t part) const {
    const std::int64_t width = sizes_.padded_width<T>();
    const std::int64_t blocks = sizes_.query_blocks();
    parallel_for(sizes_.num_matrices * blocks, 4, [&](std::int64_t begin, std::int64_t end) {
      const Scratch scratch(kQueries * width * static_cast<std::int64_t>(sizeof(T)));
      for (std::int64_t piece = begin; piece < end; ++piece) {
        Block block;
        block.query = piece % blocks * kQueries;
        block.num_queries = smaller(kQueries, sizes_.queries - block.query);
        const std::int64_t matrix = piece / blocks;
        const T* from = parts + (matrix * sizes_.queries + block.query) * width;
        for_each_vector<T>(block.num_queries * width, scratch.as<T>(), [&](Vec<T>, std::int64_t i) {
          Vec<T> sum = load<T>(from + i);
          for (std::int64_t range = 1; range < num_ranges_; ++range) {
            sum += load<T>(from + range * part + i);
          }
          return sum;
        });
        write_query_gradient(matrix, block, scratch.as<T>(), nullptr);
      }
    });
  }

  const AttentionArguments& arguments_;
  const Gradients& gradients_;
  const Sizes sizes_;
  const Dropout dropout_;
  std::int64_t num_ranges_;
  std::int64_t range_keys_;
};

// ---- entry points -------------------------------------------------------------------------------

void forward(const AttentionArguments& arguments, const View& output, const View& logsumexp) {
  if (num_elements(logsumexp) == 0) return;
  switch (arguments.query.dtype) {
    case DType::float64:
      return Forward<double>(arguments, output, logsumexp).run();
    case DType::float32:
      return Forward<float>(arguments, output, logsumexp).run();
    case DType::float16:
      return Forward<Float16>(arguments, output, logsumexp).run();
    default:
      return Forward<BFloat16>(arguments, output, logsumexp).run();
  }
}

void clear_array(const View& view) { clear(view.data, num_elements(view) * itemsize(view.dtype)); }

template <class Element>
void run_backward(const AttentionArguments& arguments, const Gradients& gradients) {
  Backward<Element>(arguments, gradients).run();
}

void backward(const AttentionArguments& arguments, const View& grad, const View& output,
              const View& logsumexp, const View& grad_query, const View& grad_key,
              const View& grad_value, const View& grad_scores) {
  const Gradients gradients = {grad,     output,     logsumexp,  grad_query,
                               grad_key, grad_value, grad_scores};
  if (grad_scores.data) clear_array(grad_scores);
  const Sizes sizes(arguments);
  if (sizes.num_matrices == 0 || sizes.queries == 0 || sizes.keys == 0) {
    clear_array(grad_query);
    clear_array(grad_key);
    return clear_array(grad_value);
  }
  switch (arguments.query.dtype) {
    case DType::float64:
      return run_backward<double>(arguments, gradients);
    case DType::float32:
      return run_backward<float>(arguments, gradients);
    case DType::float16:
      return run_backward<Float16>(arguments, gradients);
    default:
      return run_backward<BFloat16>(arguments, gradients);
  }
}

}  // namespace

extern const AttentionKernels attention_table;
const AttentionKernels attention_table = {&forward, &backward};

}  // namespace lumus::LUMUS_ISA
