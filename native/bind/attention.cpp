// Attention: outputs are laid out like the argument that they belong to, so that heads which were
// cut out of wider rows go back into rows without a copy.
#include "kernels/attention.h"

#include <nanobind/nanobind.h>

#include <cstdlib>

#include "bind/random.h"
#include "bind/release.h"
#include "executor/step.h"
#include "runtime/array.h"

namespace nb = nanobind;

namespace lumus {
namespace {

DType computed(DType dtype) { return is_half(dtype) ? DType::float32 : dtype; }

// A new array of the shape of `like` but for the last axis, its axes in the same order in memory
// (the last one innermost).
Array make_like(const Array& like, std::int64_t width) {
  const View& view = like.view;
  const int last = view.rank - 1;
  std::int64_t shape[kMaxRank];
  int order[kMaxRank];  // axes of the result from the outermost in memory to the innermost
  int place[kMaxRank];  // where in that order each axis is
  for (int axis = 0; axis < last; ++axis) {
    int at = axis;
    const std::int64_t stride = std::abs(view.strides[axis]);
    for (; at > 0 && view.shape[axis] > 1; --at) {
      const int before = order[at - 1];
      if (view.shape[before] > 1 && std::abs(view.strides[before]) >= stride) break;
      order[at] = before;
    }
    order[at] = axis;
  }
  order[last] = last;
  for (int at = 0; at < view.rank; ++at) {
    shape[at] = at == last ? width : view.shape[order[at]];
    place[order[at]] = at;
  }
  return permuted(make_array(view.dtype, view.rank, shape), place);
}

// What does not change between calls; and what of the arguments is there.
struct AttentionOptions {
  double scale;
  bool is_causal;
  double dropout;

  // A mask and a random key may be null.
  AttentionArguments arguments(const View& query, const View& key, const View& value,
                               const View* mask, const View* random_key) const {
    AttentionArguments arguments;
    copy_view(query, &arguments.query);
    copy_view(key, &arguments.key);
    copy_view(value, &arguments.value);
    arguments.mask.data = nullptr;
    if (mask) copy_view(*mask, &arguments.mask);
    arguments.scale = scale;
    arguments.is_causal = is_causal;
    arguments.dropout = dropout;
    arguments.stream = random_key ? stream_of(*random_key) : PhiloxStream{0, 0, 0};
    return arguments;
  }
};

const View* view_or_null(nb::handle array) {
  return array.is_none() ? nullptr : &nb::cast<const Array&>(array).view;
}

// The scores, and what they are made of.
std::int64_t work_of(const View& query, const View& key) {
  const std::int64_t width = query.shape[query.rank - 1];
  const std::int64_t num_queries = num_elements(query) / (width > 0 ? width : 1);
  return num_queries * key.shape[key.rank - 2] + num_elements(query);
}

nb::tuple attention(const Array& query, const Array& key, const Array& value, nb::handle mask,
                    nb::handle random_key, double scale, bool is_causal, double dropout) {
  const AttentionArguments arguments = AttentionOptions{scale, is_causal, dropout}.arguments(
      query.view, key.view, value.view, view_or_null(mask), view_or_null(random_key));
  const int rank = query.view.rank;
  const Array output = make_like(query, value.view.shape[rank - 1]);
  const Array logsumexp = make_array(computed(query.view.dtype), rank - 1, query.view.shape);
  run_released(work_of(query.view, key.view),
               [&] { attention_kernels().forward(arguments, output.view, logsumexp.view); });
  return nb::make_tuple(output, logsumexp);
}

nb::tuple attention_grad(const Array& grad, const Array& query, const Array& key,
                         const Array& value, const Array& output, const Array& logsumexp,
                         nb::handle mask, nb::handle random_key, double scale, bool is_causal,
                         double dropout, bool wants_grad_scores) {
  const AttentionArguments arguments = AttentionOptions{scale, is_causal, dropout}.arguments(
      query.view, key.view, value.view, view_or_null(mask), view_or_null(random_key));
  const int rank = query.view.rank;
  const Array grad_query = make_like(query, query.view.shape[rank - 1]);
  const Array grad_key = make_like(key, key.view.shape[rank - 1]);
  const Array grad_value = make_like(value, value.view.shape[rank - 1]);
  Array grad_scores;
  grad_scores.view.data = nullptr;
  if (wants_grad_scores) {
    std::int64_t shape[kMaxRank];
    for (int axis = 0; axis < rank; ++axis) shape[axis] = query.view.shape[axis];
    shape[rank - 1] = key.view.shape[rank - 2];
    grad_scores = make_array(computed(query.view.dtype), rank, shape);
  }
  run_released(work_of(query.view, key.view), [&] {
    attention_kernels().backward(arguments, grad.view, output.view, logsumexp.view, grad_query.view,
                                 grad_key.view, grad_value.view, grad_scores.view);
  });
  if (!wants_grad_scores) return nb::make_tuple(grad_query, grad_key, grad_value);
  return nb::make_tuple(grad_query, grad_key, grad_value, grad_scores);
}

// Of (query, key, value, [mask], [random key]): (output, logarithms).
Step* attention_step(double scale, bool is_causal, double dropout, bool has_mask) {
  const AttentionOptions options{scale, is_causal, dropout};
  const bool has_key = dropout > 0;
  return make_step(
      {3 + has_mask + has_key, 2, InPlace::none, OutputLayout::strided},
      [=](Views inputs, Views outputs) {
        const AttentionArguments arguments =
            options.arguments(*inputs[0], *inputs[1], *inputs[2], has_mask ? inputs[3] : nullptr,
                              has_key ? inputs[3 + has_mask] : nullptr);
        attention_kernels().forward(arguments, *outputs[0], *outputs[1]);
      },
      [](Views inputs, Views) { return work_of(*inputs[0], *inputs[1]); });
}

// Of (grad, query, key, value, output, logarithms, [mask], [random key]).
Step* attention_grad_step(double scale, bool is_causal, double dropout, bool has_mask,
                          bool wants_grad_scores) {
  const AttentionOptions options{scale, is_causal, dropout};
  const bool has_key = dropout > 0;
  return make_step(
      {6 + has_mask + has_key, 3 + wants_grad_scores, InPlace::none, OutputLayout::permuted},
      [=](Views inputs, Views outputs) {
        const AttentionArguments arguments =
            options.arguments(*inputs[1], *inputs[2], *inputs[3], has_mask ? inputs[6] : nullptr,
                              has_key ? inputs[6 + has_mask] : nullptr);
        View none;
        none.data = nullptr;
        attention_kernels().backward(arguments, *inputs[0], *inputs[4], *inputs[5], *outputs[0],
                                     *outputs[1], *outputs[2],
                                     wants_grad_scores ? *outputs[3] : none);
      },
      [](Views inputs, Views) { return work_of(*inputs[1], *inputs[2]); });
}

}  // namespace
}  // namespace lumus

void bind_attention(nb::module_& m) {
  using namespace lumus;
  const nb::arg query("query"), key("key"), value("value"), scale("scale"), causal("is_causal"),
      dropout("dropout");
  m.def("attention", attention, query, key, value, nb::arg("mask").none(),
        nb::arg("random_key").none(), scale, causal, dropout);
  m.def("attention_grad", attention_grad, nb::arg("grad"), query, key, value, nb::arg("output"),
        nb::arg("logsumexp"), nb::arg("mask").none(), nb::arg("random_key").none(), scale, causal,
        dropout, nb::arg("wants_grad_scores"));
  m.def("attention_step", attention_step);
  m.def("attention_grad_step", attention_grad_step);
}
