#include "executor/elementwise_step.h"

#include <algorithm>
#include <stdexcept>

namespace lumus {
namespace {

bool broadcasts_to(const View& view, int rank, const std::int64_t* shape) {
  const int missing = rank - view.rank;
  if (missing < 0) return false;
  for (int axis = 0; axis < view.rank; ++axis) {
    if (view.shape[axis] != 1 && view.shape[axis] != shape[axis + missing]) return false;
  }
  return true;
}

void check_operands(const ElementwiseProgram& program, Views inputs, Views outputs, int rank,
                    const std::int64_t* shape) {
  for (int index = 0; index < program.num_inputs; ++index) {
    if (inputs[index]->dtype != program.input_dtypes[index]) {
      throw std::invalid_argument("an input of a program has another dtype than the program");
    }
    if (!broadcasts_to(*inputs[index], rank, shape)) {
      throw std::invalid_argument("an input of a program does not broadcast to its outputs");
    }
  }
  for (int index = 0; index < program.num_outputs; ++index) {
    const View& output = *outputs[index];
    if (output.dtype != program.output_dtypes[index]) {
      throw std::invalid_argument("an output of a program has another dtype than the program");
    }
    if (output.rank != rank || !std::equal(shape, shape + rank, output.shape)) {
      throw std::invalid_argument("the outputs of a program have different shapes");
    }
  }
}

// Elements times cost, in elements moved.
std::int64_t work_of(const ElementwiseProgram& program, std::int64_t count) {
  return count * program.cost / 2;
}

}  // namespace

void ElementwiseStep::check(Views inputs, Views outputs) const {
  check_operands(program_, inputs, outputs, outputs[0]->rank, outputs[0]->shape);
}

void ElementwiseStep::run(Views inputs, Views outputs) const {
  elementwise_kernels().run(program_, outputs, inputs, outputs[0]->rank, outputs[0]->shape);
}

std::int64_t ElementwiseStep::work(Views, Views outputs) const {
  return work_of(program_, num_elements(*outputs[0]));
}

}  // namespace lumus
