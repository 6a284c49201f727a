// Compiles the description of an elementwise program into the form that the kernels run.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/elementwise.h"
#include "runtime/block_builder.h"
#include "runtime/elementwise_constant.h"

namespace lumus {

struct InstructionDescription {
  std::string opcode;
  DType dtype;
  std::vector<int> arguments;
};

// Owns what an `ElementwiseProgram` points at.
class CompiledProgram {
 public:
  // Throws std::invalid_argument when the description is not a valid program.
  CompiledProgram(std::vector<DType> inputs, const std::vector<ConstantDescription>& constants,
                  const std::vector<InstructionDescription>& instructions,
                  const std::vector<int>& outputs);
  CompiledProgram(const CompiledProgram&) = delete;
  CompiledProgram& operator=(const CompiledProgram&) = delete;

  const ElementwiseProgram& program() const { return program_; }

 private:
  struct FreeBytes {
    void operator()(std::byte* bytes) const;
  };

  // What becomes one step: an instruction, or a block of several.
  struct Unit {
    ProgramInstruction instruction;
    BuiltBlock block;  // empty if it is none
    std::vector<int> read;
    std::vector<int> written;
  };

  std::vector<Unit> make_units(std::vector<ProgramInstruction> instructions,
                               const std::vector<ConstantDescription>& constants,
                               const std::vector<DType>& dtypes, const std::vector<int>& outputs);
  void allocate_slots(const std::vector<Unit>& units, const std::vector<DType>& dtypes,
                      const std::vector<int>& outputs);
  void add_step(const ProgramInstruction& instruction, const std::vector<int>& slots,
                std::size_t index);
  void add_block(const Unit& unit, const std::vector<int>& slots);
  void make_constants(const std::vector<ConstantDescription>& constants);

  ElementwiseProgram program_{};
  std::vector<DType> input_dtypes_;
  std::vector<DType> output_dtypes_;
  std::unique_ptr<std::byte, FreeBytes> constant_memory_;
  std::vector<std::byte*> constants_;
  std::vector<ProgramStep> steps_;
  std::vector<std::unique_ptr<BuiltBlock>> built_blocks_;
  std::vector<std::unique_ptr<ElementwiseBlock>> blocks_;
  std::vector<int> last_read_;
  std::vector<int> written_;
};

}  // namespace lumus
