// Epilogues: elementwise programs that a product runs over each block of its result as soon as the
// block is computed, while it is in the cache.
//
// Layout. The result is dense, rows by columns.
// Aliasing. The program reads the result as its first input, and its output overwrites it. What
// else it reads shares no memory with the result.
// Numerics. The bits are those of a program that runs when all of the result is there.
#pragma once

#include "kernels/elementwise.h"

namespace lumus {

// Inputs of an epilogue, the result included.
constexpr int kMaxEpilogueInputs = 8;

struct EpilogueOperand {
  std::byte* data;
  DType dtype;
  std::int64_t stride;  // from column to column; 0 if there is one element for all
};

struct Epilogue {
  const ElementwiseProgram* program;             // of one output, whose dtype is the result's
  EpilogueOperand operands[kMaxEpilogueInputs];  // its inputs; the first is the result
};

// A block of a result of `pitch` columns.
struct EpilogueBlock {
  std::int64_t row, rows;
  std::int64_t column, columns;
  std::int64_t pitch;
};

static inline void run_epilogue(const Epilogue& epilogue, const EpilogueBlock& block) {
  const std::int64_t shape[2] = {block.rows, block.columns};
  View views[kMaxEpilogueInputs];
  const View* inputs[kMaxEpilogueInputs];
  for (int input = 0; input < epilogue.program->num_inputs; ++input) {
    const EpilogueOperand& operand = epilogue.operands[input];
    const std::int64_t row_stride = input == 0 ? block.pitch : 0;
    View& view = views[input];
    view.data = operand.data +
                (block.row * row_stride + block.column * operand.stride) * itemsize(operand.dtype);
    view.dtype = operand.dtype;
    view.rank = 2;
    view.shape[0] = input == 0 ? block.rows : 1;
    view.shape[1] = operand.stride == 0 ? 1 : block.columns;
    view.strides[0] = row_stride;
    view.strides[1] = operand.stride;
    inputs[input] = &view;
  }
  elementwise_kernels().run(*epilogue.program, inputs, inputs, 2, shape);
}

}  // namespace lumus
