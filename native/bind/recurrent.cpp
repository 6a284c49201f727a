// The time loop of recurrent layers with the product before it, and the loop's gradient.
#include "kernels/recurrent.h"

#include <nanobind/nanobind.h>

#include <optional>

#include "executor/step.h"
#include "kernels/matmul.h"
#include "runtime/copies.h"

namespace nb = nanobind;

namespace lumus {
namespace {

struct RecurrentOptions {
  RecurrentCell cell;
  bool reverse;
  bool has_bias;
  bool has_lengths;

  bool has_cell() const { return cell == RecurrentCell::lstm; }
  // The others keep their gates and a memory for the backward loop.
  bool is_simple() const { return num_gates(cell) == 1; }
};

// The inputs in order as the kernels take them: dense, half types as float32, lengths as int64.
class Arguments {
 public:
  explicit Arguments(Views inputs)
      : inputs_(inputs), dtype_(is_half(inputs[0]->dtype) ? DType::float32 : inputs[0]->dtype) {}

  DType dtype() const { return dtype_; }
  const View& next() { return next(dtype_); }
  const View& next(DType dtype) {
    held_[at_] = dense(*inputs_[at_], dtype);
    return held_[at_++].view;
  }
  const std::byte* next_data(bool is_there = true) { return is_there ? next().data : nullptr; }
  const std::int64_t* next_lengths(bool is_there) {
    return is_there ? data_of<std::int64_t>(next(DType::int64)) : nullptr;
  }

 private:
  Views inputs_;
  DType dtype_;
  Array held_[10];
  int at_ = 0;
};

// The same dense memory as a matrix of its last axis.
View as_matrix(const View& view) {
  View matrix;
  matrix.data = view.data;
  matrix.dtype = view.dtype;
  matrix.rank = 2;
  matrix.shape[0] = view.shape[0] * view.shape[1];
  matrix.shape[1] = matrix.strides[0] = view.shape[2];
  matrix.strides[1] = 1;
  return matrix;
}

View transposed(const View& matrix) {
  View result;
  copy_view(matrix, &result);
  result.shape[0] = matrix.shape[1];
  result.shape[1] = matrix.shape[0];
  result.strides[0] = matrix.strides[1];
  result.strides[1] = matrix.strides[0];
  return result;
}

// Of (x, first states, weight_ih, weight_hh, [bias_ih, bias_hh], [lengths]): output, last states,
// and gates and memory but of a simple cell, whose activated gates are the output.
void run_forward(const RecurrentOptions& options, Views inputs, Views outputs) {
  Arguments arguments(inputs);
  const DType dtype = arguments.dtype();
  const View& x = arguments.next();
  const Rounded output(**outputs++, dtype), last_hidden(**outputs++, dtype);
  std::optional<Rounded> last_cell;
  if (options.has_cell()) last_cell.emplace(**outputs++, dtype);
  const View& gates = options.is_simple() ? output.view() : *outputs[0];

  RecurrentForward task{};
  task.cell = options.cell;
  task.dtype = dtype;
  task.reverse = options.reverse;
  task.num_steps = x.shape[0];
  task.batch = x.shape[1];
  task.hidden = output.view().shape[2];
  task.first_hidden = arguments.next_data();
  task.first_cell = arguments.next_data(options.has_cell());
  matmul_kernels().matmul(as_matrix(x), transposed(arguments.next()), nullptr, nullptr,
                          as_matrix(gates));
  task.weight = arguments.next_data();
  task.input_bias = arguments.next_data(options.has_bias);
  task.hidden_bias = arguments.next_data(options.has_bias);
  task.lengths = arguments.next_lengths(options.has_lengths);
  task.gates = gates.data;
  task.output = output.view().data;
  task.last_hidden = last_hidden.view().data;
  task.last_cell = last_cell ? last_cell->view().data : nullptr;
  task.memory = options.is_simple() ? nullptr : outputs[1]->data;
  recurrent_kernels().forward(task);
  output.finish();
  last_hidden.finish();
  if (last_cell) last_cell->finish();
}

// Of (grad of the output, grads of the last states, output, [gates, memory], first states,
// weight_hh, [lengths]): the gradients by the products with the inputs, of a gru by those with the
// states, and of the first states.
void run_backward(const RecurrentOptions& options, Views inputs, Views outputs) {
  Arguments arguments(inputs);
  const DType dtype = arguments.dtype();
  const bool is_gru = options.cell == RecurrentCell::gru;
  RecurrentBackward task{};
  task.cell = options.cell;
  task.dtype = dtype;
  task.reverse = options.reverse;
  const View& grad_output = arguments.next();
  task.num_steps = grad_output.shape[0];
  task.batch = grad_output.shape[1];
  task.hidden = grad_output.shape[2];
  task.grad_output = grad_output.data;

  const Rounded grad_gates(**outputs++, dtype);
  task.grad_gates = grad_gates.view().data;
  std::optional<Rounded> grad_hidden_gates, grad_cell;
  if (is_gru) {
    grad_hidden_gates.emplace(**outputs++, dtype);
    task.grad_hidden_gates = grad_hidden_gates->view().data;
  }
  // The gradients of the last states become those of the first ones in place.
  const Rounded grad_hidden(**outputs++, dtype);
  assign(grad_hidden.view(), arguments.next());
  task.grad_hidden = grad_hidden.view().data;
  if (options.has_cell()) {
    grad_cell.emplace(**outputs++, dtype);
    assign(grad_cell->view(), arguments.next());
    task.grad_cell = grad_cell->view().data;
  }

  task.output = arguments.next_data();
  task.gates = options.is_simple() ? task.output : arguments.next_data();
  task.memory = arguments.next_data(!options.is_simple());
  task.first_hidden = arguments.next_data();
  task.first_cell = arguments.next_data(options.has_cell());
  task.weight = arguments.next_data();
  task.lengths = arguments.next_lengths(options.has_lengths);
  recurrent_kernels().backward(task);
  grad_gates.finish();
  grad_hidden.finish();
  if (grad_hidden_gates) grad_hidden_gates->finish();
  if (grad_cell) grad_cell->finish();
}

// Multiply-adds of the loop, from its output or the gradient of that.
std::int64_t work_of(const RecurrentOptions& options, const View& output) {
  return num_elements(output) * num_gates(options.cell) * output.shape[output.rank - 1];
}

Step* recurrent_step(int cell, bool reverse, bool has_bias, bool has_lengths) {
  const RecurrentOptions options{static_cast<RecurrentCell>(cell), reverse, has_bias, has_lengths};
  const int num_states = options.has_cell() ? 2 : 1;
  return make_step(
      {3 + num_states + 2 * has_bias + has_lengths, 1 + num_states + (options.is_simple() ? 0 : 2)},
      [=](Views inputs, Views outputs) { run_forward(options, inputs, outputs); },
      [=](Views, Views outputs) { return work_of(options, *outputs[0]); });
}

Step* recurrent_grad_step(int cell, bool reverse, bool has_lengths) {
  const RecurrentOptions options{static_cast<RecurrentCell>(cell), reverse, false, has_lengths};
  const int num_states = options.has_cell() ? 2 : 1;
  const bool is_gru = options.cell == RecurrentCell::gru;
  return make_step(
      {3 + 2 * num_states + (options.is_simple() ? 0 : 2) + has_lengths, 1 + is_gru + num_states},
      [=](Views inputs, Views outputs) { run_backward(options, inputs, outputs); },
      [=](Views inputs, Views) { return work_of(options, *inputs[0]); });
}

}  // namespace
}  // namespace lumus

void bind_recurrent(nb::module_& m) {
  m.def("recurrent_step", lumus::recurrent_step);
  m.def("recurrent_grad_step", lumus::recurrent_grad_step);
}
