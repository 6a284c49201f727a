// Blocks: runs of float instructions of an elementwise program that keep their values in registers.
//
// Instead of one loop over the tile for each instruction, all instructions run for eight vectors,
// then for the next eight; what is left at the end of a tile runs by two vectors, unless it is more
// than four. A value that the next instruction uses stays in the registers ("the accumulator");
// others pass through a block of memory or their slot.
// Each instruction jumps to the next one with the accumulator as arguments of the call.
//
// There are such blocks where vectors have 64 bytes. Shorter ones leave too little work between two
// jumps, and 16 registers are too few for the accumulator beside what an exponential needs. There
// a block is machine code made for it, exponentials included: one loop over the tile
// (runtime/loop_compiler.h). Where none can be made, there are no blocks.
//
// Layout      operands and results are dense or one value throughout, as slots are; local values
//             have a block each. Booleans are lanes of zeros or ones, bytes only in slots.
// Aliasing    results are stored in the order of the instructions; a slot that is read after
//             another one at the same place was written has been taken care of by the caller. The
//             end of a tile is computed again from elements before it only where no result is in
//             the place of an operand.
// Numerics    the functions of single instructions: the bits are the same.
#pragma once

#include "kernels/elementwise.h"

namespace lumus {

// As many elements of a single value as a block may read.
constexpr std::int64_t kBlockLength = 128;

constexpr int kMaxBlockOperands = 160;
constexpr int kMaxBlockLocals = 32;
constexpr int kMaxBlockInstructions = 256;

// What an instruction of a block does with the accumulator and up to three operands.
enum class BlockForm : std::uint8_t {
  load,         // accumulator = operand
  load_flags,   // the same from bytes
  store,        // operand = accumulator
  store_flags,  // the same to bytes
  unary,        // accumulator = opcode(accumulator)
  first,        // accumulator = opcode(accumulator, operand)
  second,       // accumulator = opcode(operand, accumulator)
  condition,    // accumulator = accumulator ? operand : operand
  chosen,       // accumulator = operand ? accumulator : operand
  other,        // accumulator = operand ? operand : accumulator
  // With the condition opcode(operand, operand), before the third operand:
  compared_chosen,  // accumulator = condition ? accumulator : operand
  compared_other,   // accumulator = condition ? operand : accumulator
  // With the condition opcode(accumulator, operand), before the second operand:
  tested_chosen,  // accumulator = condition ? accumulator : operand
  tested_other,   // accumulator = condition ? operand : accumulator
  finish,
};

struct BlockInstruction {
  void (*function)();         // of the type that elementwise_block.cpp knows
  void (*narrow)();           // the same for two vectors
  std::uint16_t operands[3];  // numbers in the list of operands, then of locals
};

// Slots that a block reads and writes.
struct BlockOperand {
  std::uint16_t slot;
  bool is_flag;     // a byte for each element
  bool is_written;  // else it is read
};

// As many operands as have an address in a register throughout.
constexpr int kMaxLoopOperands = 12;

// See `compile_loop`.
using BlockLoop = void (*)(std::byte* const* operands, const std::int64_t* steps,
                           std::int64_t num_vectors);

struct ElementwiseBlock {
  std::int64_t itemsize;
  int num_operands;
  int num_locals;
  const BlockOperand* operands;
  const BlockInstruction* instructions;  // the last one is `finish`
  BlockLoop loop;                        // instead of instructions, where vectors have 32 bytes
};

}  // namespace lumus
