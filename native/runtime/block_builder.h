// Finds the runs of instructions of an elementwise program that become blocks, and builds them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/elementwise_block.h"
#include "runtime/machine_code.h"

namespace lumus {

struct ProgramInstruction {
  Opcode opcode;
  DType dtype;   // of the operands; the target of a cast
  DType source;  // what a cast converts from
  std::vector<int> arguments;
  int result;  // its register
  // A pair: `inner` of the first two arguments, then `opcode` of that and the third one (of the
  // third one and that when reversed). A select in one: the first argument where `inner` holds, the
  // third one elsewhere (or the other way round).
  bool is_pair = false;
  Opcode inner = Opcode::add;
  bool is_reversed = false;
  int block = -1;  // the number of the block that it belongs to
};

// A block whose operands are registers still.
struct BuiltBlock {
  std::vector<BlockInstruction> instructions;
  std::vector<BlockOperand> operands;  // slots are not known yet
  std::vector<int> registers;          // of the operands
  int num_locals = 0;
  std::int64_t itemsize = 0;
  std::shared_ptr<MachineCode> code;  // that instructions point into, if any does, or the loop
  BlockLoop loop = nullptr;           // instead of instructions

  bool is_empty() const { return operands.empty(); }
};

// Registers that follow each other.
struct RegisterRange {
  int begin, end;
  bool has(int name) const { return begin <= name && name < end; }
};

bool is_comparison(Opcode opcode);

// Moves each comparison that only chooses between two values right before that choice, where a
// block makes one instruction of both.
void move_comparisons(std::vector<ProgramInstruction>& instructions, std::size_t num_registers,
                      const std::vector<int>& outputs);

// Builds a block of the instructions from `begin` on, as many as it can have; `end` is set to the
// first one that does not belong to it. False if too few do for a block to be worth it.
//
// `dtypes` are those of the registers, `last_reads` the last instructions that read them, or
// beyond all instructions for outputs.
bool build_block(const std::vector<ProgramInstruction>& instructions, std::size_t begin,
                 RegisterRange constants, const std::vector<DType>& dtypes,
                 const std::vector<std::size_t>& last_reads, BuiltBlock& block, std::size_t& end);

}  // namespace lumus
