// Instructions of elementwise programs as graphs of vectors, by running the functions of the
// kernels with values that record. No vector is computed here, whatever instruction set this is
// compiled for.
#include "runtime/recorded_instructions.h"

#define LUMUS_ISA recorded
#include "kernels/elementwise_functions.h"
#include "runtime/recorded.h"

namespace lumus {
namespace {

using namespace recorded;

template <class Function>
int unary(VectorGraph& graph, const int* operands) {
  return Function::of(Recorded(graph, operands[0])).node();
}

template <class Function>
int binary(VectorGraph& graph, const int* operands) {
  return Function::of(Recorded(graph, operands[0]), Recorded(graph, operands[1])).node();
}

int compare(VectorGraph& graph, Comparison comparison, const int* operands) {
  return graph.add(VectorOp::compare, static_cast<std::uint32_t>(comparison), operands[0],
                   operands[1]);
}

int combine(VectorGraph& graph, VectorOp op, const int* operands) {
  return graph.add(op, 0, operands[0], operands[1]);
}

}  // namespace

int record(VectorGraph& graph, Opcode opcode, const int* operands) {
  switch (opcode) {
    case Opcode::absolute:
      return unary<Absolute>(graph, operands);
    case Opcode::add:
      return binary<Add>(graph, operands);
    case Opcode::ceil:
      return unary<Ceil>(graph, operands);
    case Opcode::copy:
      return operands[0];
    case Opcode::divide:
      return binary<Divide>(graph, operands);
    case Opcode::equal:
      return compare(graph, Comparison::equal, operands);
    case Opcode::erf:
      return unary<Erf>(graph, operands);
    case Opcode::erfc:
      return unary<Erfc>(graph, operands);
    case Opcode::exp:
      return unary<Exp>(graph, operands);
    case Opcode::expm1:
      return unary<Expm1>(graph, operands);
    case Opcode::floor:
      return unary<Floor>(graph, operands);
    case Opcode::greater:
      return compare(graph, Comparison::greater, operands);
    case Opcode::greater_equal:
      return compare(graph, Comparison::greater_equal, operands);
    case Opcode::isfinite:
      return is_finite(Recorded(graph, operands[0])).node();
    case Opcode::isinf:
      return is_inf(Recorded(graph, operands[0])).node();
    case Opcode::isnan:
      return is_nan(Recorded(graph, operands[0])).node();
    case Opcode::less:
      return compare(graph, Comparison::less, operands);
    case Opcode::less_equal:
      return compare(graph, Comparison::less_equal, operands);
    case Opcode::logical_and:
      return combine(graph, VectorOp::bitwise_and, operands);
    case Opcode::logical_not:
      return graph.add(VectorOp::bitwise_xor, 0, operands[0],
                       graph.add(VectorOp::constant, 0xffffffff));
    case Opcode::logical_or:
      return combine(graph, VectorOp::bitwise_or, operands);
    case Opcode::logical_xor:
      return combine(graph, VectorOp::bitwise_xor, operands);
    case Opcode::maximum:
      return binary<Maximum>(graph, operands);
    case Opcode::minimum:
      return binary<Minimum>(graph, operands);
    case Opcode::multiply:
      return binary<Multiply>(graph, operands);
    case Opcode::negative:
      return unary<Negative>(graph, operands);
    case Opcode::not_equal:
      return compare(graph, Comparison::not_equal, operands);
    case Opcode::reciprocal:
      return (1.0f / Recorded(graph, operands[0])).node();
    case Opcode::round:
      return unary<Round>(graph, operands);
    case Opcode::rsqrt:
      return unary<Rsqrt>(graph, operands);
    case Opcode::select:
      return graph.add(VectorOp::select, 0, operands[0], operands[1], operands[2]);
    case Opcode::sigmoid:
      return unary<Sigmoid>(graph, operands);
    case Opcode::sign:
      return unary<Sign>(graph, operands);
    case Opcode::sqrt:
      return unary<Sqrt>(graph, operands);
    case Opcode::square:
      return unary<Square>(graph, operands);
    case Opcode::subtract:
      return binary<Subtract>(graph, operands);
    case Opcode::tanh:
      return unary<Tanh>(graph, operands);
    case Opcode::trunc:
      return unary<Trunc>(graph, operands);
    default:
      return -1;
  }
}

}  // namespace lumus
