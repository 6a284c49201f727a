// Compiles the description of an elementwise program into the form that the kernels run.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/elementwise.h"

namespace lumus {

struct ConstantDescription {
  DType dtype;
  double real;           // the value for a floating dtype
  std::int64_t integer;  // the value for an integer dtype or a boolean
};

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
  struct Instruction;
  struct FreeBytes {
    void operator()(std::byte* bytes) const;
  };

  static std::vector<Instruction> join_pairs(std::vector<Instruction> instructions,
                                             std::size_t num_registers,
                                             const std::vector<int>& outputs);
  void allocate_slots(const std::vector<Instruction>& instructions,
                      const std::vector<DType>& dtypes, const std::vector<int>& outputs);
  void make_constants(const std::vector<ConstantDescription>& constants);

  ElementwiseProgram program_{};
  std::vector<DType> input_dtypes_;
  std::vector<DType> output_dtypes_;
  std::unique_ptr<std::byte, FreeBytes> constant_memory_;
  std::vector<std::byte*> constants_;
  std::vector<ProgramStep> steps_;
  std::vector<int> last_read_;
  std::vector<int> written_;
};

}  // namespace lumus
