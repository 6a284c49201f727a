// Builds blocks that are loops of machine code, where vectors have 32 bytes.
#pragma once

#include "runtime/block_builder.h"
#include "runtime/elementwise_constant.h"

namespace lumus {

// Whether blocks are loops on this machine.
bool has_loops();

// As `build_block`, for instructions that are recorded (recorded_instructions.h). `constants` are
// the values of the registers in `range`.
bool build_loop(const std::vector<ProgramInstruction>& instructions, std::size_t begin,
                RegisterRange range, const std::vector<ConstantDescription>& constants,
                const std::vector<DType>& dtypes, const std::vector<std::size_t>& last_reads,
                BuiltBlock& block, std::size_t& end);

}  // namespace lumus
