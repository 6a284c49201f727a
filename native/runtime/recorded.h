// A vector of float32 that is not computed but recorded: functions of math.h over `Float32` values
// (math_basic.h), run with these, give the graph of what they compute. So each is written once,
// whether it becomes a kernel or part of a loop that is made at run time.
#pragma once

#include "runtime/vector_graph.h"

namespace lumus {

class Recorded {
 public:
  using RecordsFloat32 = void;

  Recorded(VectorGraph& graph, int node) : graph_(&graph), node_(node) {}
  explicit Recorded(float constant) : constant_(constant) {}  // of any graph

  int node() const { return node_; }
  bool is_constant() const { return graph_ == nullptr; }
  float constant() const { return constant_; }

  static Recorded make(VectorOp op, std::uint32_t detail, const Recorded& first) {
    VectorGraph& graph = *first.graph_;
    return {graph, graph.add(op, detail, first.node_in(graph))};
  }
  static Recorded make(VectorOp op, std::uint32_t detail, const Recorded& first,
                       const Recorded& second) {
    VectorGraph& graph = *(first.graph_ != nullptr ? first : second).graph_;
    return {graph, graph.add(op, detail, first.node_in(graph), second.node_in(graph))};
  }
  static Recorded make(VectorOp op, std::uint32_t detail, const Recorded& first,
                       const Recorded& second, const Recorded& third) {
    VectorGraph* known = first.graph_ != nullptr ? first.graph_ : second.graph_;
    VectorGraph& graph = *(known != nullptr ? known : third.graph_);
    return {graph, graph.add(op, detail, first.node_in(graph), second.node_in(graph),
                             third.node_in(graph))};
  }

 private:
  int node_in(VectorGraph& graph) const {
    return graph_ != nullptr ? node_ : graph.constant(constant_);
  }

  VectorGraph* graph_ = nullptr;  // null for a constant
  int node_ = -1;
  float constant_ = 0;
};

// ---- the operators of vectors -------------------------------------------------------------------

#define LUMUS_RECORDED_BINARY(name, op, detail)                         \
  inline Recorded name(const Recorded& first, const Recorded& second) { \
    return Recorded::make(VectorOp::op, detail, first, second);         \
  }                                                                     \
  inline Recorded name(const Recorded& first, float second) {           \
    return name(first, Recorded(second));                               \
  }                                                                     \
  inline Recorded name(float first, const Recorded& second) {           \
    return name(Recorded(first), second);                               \
  }

LUMUS_RECORDED_BINARY(operator+, add, 0)
LUMUS_RECORDED_BINARY(operator-, subtract, 0)
LUMUS_RECORDED_BINARY(operator*, multiply, 0)
LUMUS_RECORDED_BINARY(operator/, divide, 0)
LUMUS_RECORDED_BINARY(operator&, bitwise_and, 0)
LUMUS_RECORDED_BINARY(operator|, bitwise_or, 0)
LUMUS_RECORDED_BINARY(operator^, bitwise_xor, 0)
LUMUS_RECORDED_BINARY(operator==, compare, static_cast<std::uint32_t>(Comparison::equal))
LUMUS_RECORDED_BINARY(operator!=, compare, static_cast<std::uint32_t>(Comparison::not_equal))
LUMUS_RECORDED_BINARY(operator<, compare, static_cast<std::uint32_t>(Comparison::less))
LUMUS_RECORDED_BINARY(operator<=, compare, static_cast<std::uint32_t>(Comparison::less_equal))
LUMUS_RECORDED_BINARY(operator>, compare, static_cast<std::uint32_t>(Comparison::greater))
LUMUS_RECORDED_BINARY(operator>=, compare, static_cast<std::uint32_t>(Comparison::greater_equal))

#undef LUMUS_RECORDED_BINARY

inline Recorded operator&(const Recorded& x, std::int32_t mask) {
  return x & std::bit_cast<float>(mask);
}
inline Recorded operator<<(const Recorded& x, int count) {
  return Recorded::make(VectorOp::shift_left, static_cast<std::uint32_t>(count), x);
}
inline Recorded operator-(const Recorded& x) { return x ^ -0.0f; }

// ---- the functions of math_basic.h --------------------------------------------------------------

inline Recorded bits(const Recorded& x) { return x; }
inline Recorded from_bits(const Recorded& x) { return x; }
inline Recorded sign_bit(const Recorded& x) { return x & -0.0f; }
inline Recorded absolute(const Recorded& x) {
  if (x.is_constant()) return Recorded(__builtin_fabsf(x.constant()));
  return Recorded::make(VectorOp::bitwise_and_not, 0, Recorded(-0.0f), x);
}
inline Recorded copysign(const Recorded& magnitude, const Recorded& from) {
  return absolute(magnitude) | sign_bit(from);
}
inline Recorded choose(const Recorded& mask, const Recorded& chosen, const Recorded& other) {
  return Recorded::make(VectorOp::select, 0, mask, chosen, other);
}
inline Recorded fma(const Recorded& a, const Recorded& b, const Recorded& c) {
  return Recorded::make(VectorOp::fused, 0, a, b, c);
}
inline Recorded sqrt(const Recorded& x) { return Recorded::make(VectorOp::square_root, 0, x); }
inline Recorded round_even(const Recorded& x) { return Recorded::make(VectorOp::round, 0, x); }
inline Recorded floor(const Recorded& x) { return Recorded::make(VectorOp::round, 1, x); }
inline Recorded ceil(const Recorded& x) { return Recorded::make(VectorOp::round, 2, x); }
inline Recorded trunc(const Recorded& x) { return Recorded::make(VectorOp::round, 3, x); }
inline Recorded at_most(const Recorded& x, float bound) {
  return Recorded::make(VectorOp::minimum, 0, Recorded(bound), x);
}
inline Recorded at_least(const Recorded& x, float bound) {
  return Recorded::make(VectorOp::maximum, 0, Recorded(bound), x);
}
inline Recorded is_nan(const Recorded& x) {
  return Recorded::make(VectorOp::compare, static_cast<std::uint32_t>(Comparison::unordered), x, x);
}
inline Recorded is_inf(const Recorded& x) { return absolute(x) == __builtin_inff(); }
inline Recorded is_finite(const Recorded& x) { return absolute(x) < __builtin_inff(); }

}  // namespace lumus
