// Blocks as machine code: runs of simple instructions become one that keeps all values between
// them in registers.
//
// The compiled instruction takes the place of its run in the block, with the same arguments (see
// elementwise_block.cpp), so that instructions which stay as they are (exponentials and the like)
// come before and after it.
//
// Numerics    the instructions of the processor are those of the functions in
//             elementwise_functions.h, one for one: the bits are the same.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/elementwise_block.h"
#include "runtime/machine_code.h"

namespace lumus {

// An instruction of a block before its function is found. Operands are numbers in the list of the
// block's operands, then of its locals.
struct BlockStep {
  BlockForm form;
  Opcode opcode;
  std::uint16_t operands[3];
};

enum class OperandSort : std::uint8_t { variable, constant, local };

// The instructions of a block of `dtype` whose operands are of these sorts; locals come after them.
// Those that are compiled point into `code`, which is null if none is.
std::vector<BlockInstruction> compile_block(const std::vector<BlockStep>& steps, DType dtype,
                                            const std::vector<OperandSort>& sorts,
                                            std::shared_ptr<MachineCode>& code);

}  // namespace lumus
