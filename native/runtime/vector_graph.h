// What is computed of vectors of float32, an operation a node: the form between the instructions of
// an elementwise program and the machine code of a loop over them (loop_compiler.h).
//
// Nodes come after those that they read. Equal ones are one, and 1 * x is x. Booleans are lanes of
// zeros or ones.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "runtime/machine_code.h"

namespace lumus {

enum class VectorOp : std::uint8_t {
  input,     // elements of operand `detail`
  flags,     // the same from bytes
  constant,  // `detail` are its bits
  add,
  subtract,
  multiply,
  divide,
  minimum,  // the second one where either is NaN, or both are zero
  maximum,
  bitwise_and,
  bitwise_and_not,  // inverts the first one
  bitwise_or,
  bitwise_xor,
  square_root,
  round,  // `detail`: 0 to the nearest even, 1 down, 2 up, 3 to zero
  shift_left,
  fused,    // first * second + third, rounded once
  compare,  // `detail` is a Comparison
  select,   // the first one chooses the second one, or else the third
};

constexpr int num_operands(VectorOp op) {
  switch (op) {
    case VectorOp::input:
    case VectorOp::flags:
    case VectorOp::constant:
      return 0;
    case VectorOp::square_root:
    case VectorOp::round:
    case VectorOp::shift_left:
      return 1;
    case VectorOp::fused:
    case VectorOp::select:
      return 3;
    default:
      return 2;
  }
}

struct VectorNode {
  VectorOp op;
  std::uint32_t detail;
  std::array<int, 3> operands;
  bool operator==(const VectorNode&) const = default;
};

class VectorGraph {
 public:
  const std::vector<VectorNode>& nodes() const { return nodes_; }
  const VectorNode& node(int index) const { return nodes_[static_cast<std::size_t>(index)]; }

  int add(VectorOp op, std::uint32_t detail, int first = -1, int second = -1, int third = -1) {
    if (op == VectorOp::multiply && is_one(first)) return second;
    const VectorNode node{op, detail, {first, second, third}};
    // From the end: what is written twice is mostly written side by side.
    for (std::size_t index = nodes_.size(); index-- > 0;) {
      if (nodes_[index] == node) return static_cast<int>(index);
    }
    nodes_.push_back(node);
    return static_cast<int>(nodes_.size()) - 1;
  }
  int constant(float value) { return add(VectorOp::constant, std::bit_cast<std::uint32_t>(value)); }

  // Forgets the nodes from `size` on.
  void truncate(std::size_t size) { nodes_.resize(size); }

 private:
  bool is_one(int index) const {
    return node(index).op == VectorOp::constant &&
           node(index).detail == std::bit_cast<std::uint32_t>(1.0f);
  }

  std::vector<VectorNode> nodes_;
};

}  // namespace lumus
