// The time loop of recurrent layers, and its gradient.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/dtype.h"

namespace lumus {

enum class RecurrentCell : int { tanh, relu, lstm, gru };

// Gates per unit: the blocks of rows of the weights.
static constexpr std::int64_t num_gates(RecurrentCell cell) {
  return cell == RecurrentCell::lstm ? 4 : cell == RecurrentCell::gru ? 3 : 1;
}

// What both directions of a layer share. All arrays are contiguous and hold `dtype` (float32 or
// float64): G gates, steps outermost. Steps from a row's length on do not count: the output is 0
// and the state stays as it is.
struct RecurrentTask {
  RecurrentCell cell;
  DType dtype;
  bool reverse;  // from the last step to the first
  std::int64_t num_steps, batch, hidden;
  const std::int64_t* lengths;    // of the batch's rows; null if all steps count
  const std::byte* weight;        // (G * hidden, hidden), what the hidden state is multiplied by
  const std::byte* first_hidden;  // (batch, hidden)
  const std::byte* first_cell;    // (batch, hidden); lstm
};

struct RecurrentForward : RecurrentTask {
  // (num_steps, batch, G * hidden): in comes the product with the inputs, out go the activated
  // gates. That of a simple cell is `output` itself.
  std::byte* gates;
  const std::byte* input_bias;   // (G * hidden), or null
  const std::byte* hidden_bias;  // (G * hidden), or null
  std::byte* output;             // (num_steps, batch, hidden)
  // (num_steps, batch, hidden): the cell states of an lstm, what the reset gate of a gru scales.
  std::byte* memory;
  std::byte* last_hidden;  // (batch, hidden)
  std::byte* last_cell;    // (batch, hidden); lstm
};

struct RecurrentBackward : RecurrentTask {
  const std::byte* gates;  // as the forward loop left them
  const std::byte* output;
  const std::byte* memory;
  const std::byte* grad_output;
  // By the products with the inputs, and for a gru by those with the hidden state, which differ.
  std::byte* grad_gates;
  std::byte* grad_hidden_gates;
  // In come the gradients of the last states, out go those of the first.
  std::byte* grad_hidden;
  std::byte* grad_cell;
};

struct RecurrentKernels {
  void (*forward)(const RecurrentForward& task);
  void (*backward)(const RecurrentBackward& task);
};

const RecurrentKernels& recurrent_kernels();

}  // namespace lumus
