// Instructions of elementwise programs on float32 as graphs of vectors.
#pragma once

#include "kernels/elementwise.h"
#include "runtime/vector_graph.h"

namespace lumus {

// Adds what an instruction computes of these nodes, with the bits of its kernel where vectors have
// 32 bytes. Returns the node of its result, or -1 for an instruction that is not recorded.
int record(VectorGraph& graph, Opcode opcode, const int* operands);

}  // namespace lumus
