// A graph of vectors as machine code: a loop over vectors that keeps everything between loads and
// stores in registers.
//
// Numerics    an instruction of the processor for each node: nothing is reordered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/elementwise_block.h"
#include "runtime/machine_code.h"
#include "runtime/vector_graph.h"

namespace lumus {

// A node's value goes to an operand, before any node from `before` on reads its own.
struct LoopStore {
  int node;
  int operand;
  bool is_flags;  // bytes
  std::size_t before;
};

// The function that runs `num_vectors` times:
//
//   void loop(std::byte* const* operands, const std::int64_t* steps, std::int64_t num_vectors)
//
// `steps` are the bytes from each operand's vector to the next but one, 0 where it holds one value
// throughout, which then fills two vectors. Stores are in the order of `before`. Null where there
// can be no machine code.
std::unique_ptr<MachineCode> compile_loop(const VectorGraph& graph,
                                          const std::vector<LoopStore>& stores, int num_operands);

}  // namespace lumus
