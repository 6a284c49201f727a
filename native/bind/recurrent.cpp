// The time loop of recurrent layers, and its gradient. Arrays are contiguous, of one dtype.
#include "kernels/recurrent.h"

#include <nanobind/nanobind.h>

#include "bind/release.h"
#include "runtime/array.h"

namespace nb = nanobind;

namespace lumus {
namespace {

const std::byte* data_or_null(const Array* array) { return array ? array->view.data : nullptr; }

// A new array of the shape of `like`, but for a last axis of `width` elements.
Array make_like(const Array& like, std::int64_t width) {
  std::int64_t shape[kMaxRank];
  for (int axis = 0; axis < like.view.rank; ++axis) shape[axis] = like.view.shape[axis];
  shape[like.view.rank - 1] = width;
  return make_array(like.view.dtype, like.view.rank, shape);
}

// `gates` is (num_steps, batch, G * hidden).
void describe(RecurrentTask* task, int cell, const Array& gates, const Array& weight,
              const Array& first_hidden, const Array* first_cell, const Array* lengths,
              bool reverse) {
  task->cell = static_cast<RecurrentCell>(cell);
  task->dtype = gates.view.dtype;
  task->reverse = reverse;
  task->num_steps = gates.view.shape[0];
  task->batch = gates.view.shape[1];
  task->hidden = gates.view.shape[2] / num_gates(task->cell);
  task->lengths = lengths ? data_of<std::int64_t>(lengths->view) : nullptr;
  task->weight = weight.view.data;
  task->first_hidden = first_hidden.view.data;
  task->first_cell = data_or_null(first_cell);
}

// Activates `gates` in place, which of a simple cell is the output. Gives (output, last hidden
// state, last cell state of an lstm, memory but of a simple cell).
nb::tuple recurrent(int cell, const Array& gates, const Array& weight, const Array& first_hidden,
                    const Array* first_cell, const Array* input_bias, const Array* hidden_bias,
                    const Array* lengths, bool reverse) {
  RecurrentForward task{};
  describe(&task, cell, gates, weight, first_hidden, first_cell, lengths, reverse);
  const bool is_simple = num_gates(task.cell) == 1;
  Array output = is_simple ? gates : make_like(gates, task.hidden);
  Array last_hidden = make_like(first_hidden, task.hidden);
  Array memory, last_cell;
  if (!is_simple) memory = make_like(gates, task.hidden);
  if (first_cell) last_cell = make_like(*first_cell, task.hidden);
  task.gates = gates.view.data;
  task.input_bias = data_or_null(input_bias);
  task.hidden_bias = data_or_null(hidden_bias);
  task.output = output.view.data;
  task.last_hidden = last_hidden.view.data;
  task.memory = is_simple ? nullptr : memory.view.data;
  task.last_cell = first_cell ? last_cell.view.data : nullptr;
  run_released(num_elements(gates.view) * task.hidden, [&] { recurrent_kernels().forward(task); });
  if (is_simple) return nb::make_tuple(output, last_hidden);
  if (!first_cell) return nb::make_tuple(output, last_hidden, memory);
  return nb::make_tuple(output, last_hidden, last_cell, memory);
}

// Turns `grad_hidden` and `grad_cell` from the gradients of the last states into those of the first
// ones; returns those by the products with the inputs and, of a gru, by those with the states.
nb::tuple recurrent_grad(int cell, const Array& grad_output, const Array& gates,
                         const Array& output, const Array* memory, const Array& weight,
                         const Array& first_hidden, const Array* first_cell, const Array* lengths,
                         const Array& grad_hidden, const Array* grad_cell, bool reverse) {
  RecurrentBackward task{};
  describe(&task, cell, gates, weight, first_hidden, first_cell, lengths, reverse);
  const bool is_gru = task.cell == RecurrentCell::gru;
  Array grad_gates = make_like(gates, gates.view.shape[2]);
  Array grad_hidden_gates;
  if (is_gru) grad_hidden_gates = make_like(gates, gates.view.shape[2]);
  task.gates = gates.view.data;
  task.output = output.view.data;
  task.memory = data_or_null(memory);
  task.grad_output = grad_output.view.data;
  task.grad_gates = grad_gates.view.data;
  task.grad_hidden_gates = is_gru ? grad_hidden_gates.view.data : nullptr;
  task.grad_hidden = grad_hidden.view.data;
  task.grad_cell = grad_cell ? grad_cell->view.data : nullptr;
  run_released(num_elements(gates.view) * task.hidden, [&] { recurrent_kernels().backward(task); });
  if (!is_gru) return nb::make_tuple(grad_gates);
  return nb::make_tuple(grad_gates, grad_hidden_gates);
}

}  // namespace
}  // namespace lumus

void bind_recurrent(nb::module_& m) {
  m.def("recurrent", lumus::recurrent, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
        nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg());
  m.def("recurrent_grad", lumus::recurrent_grad, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg().none(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(),
        nb::arg().none(), nb::arg());
}
