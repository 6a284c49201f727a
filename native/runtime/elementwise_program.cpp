#include "runtime/elementwise_program.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "runtime/loop_builder.h"
#include "runtime/overlap.h"

namespace lumus {
namespace {

struct OpcodeInfo {
  const char* name;
  int arity;
  bool gives_boolean;
  int cost;  // of an element, against an addition
};

// In the order of `Opcode`.
constexpr OpcodeInfo kOpcodes[kNumOpcodes] = {
    {"absolute", 1, false, 1},
    {"acos", 1, false, 16},
    {"acosh", 1, false, 24},
    {"add", 2, false, 1},
    {"asin", 1, false, 16},
    {"asinh", 1, false, 24},
    {"atan", 1, false, 16},
    {"atan2", 2, false, 20},
    {"atanh", 1, false, 24},
    {"bitwise_and", 2, false, 1},
    {"bitwise_invert", 1, false, 1},
    {"bitwise_left_shift", 2, false, 1},
    {"bitwise_or", 2, false, 1},
    {"bitwise_right_shift", 2, false, 1},
    {"bitwise_xor", 2, false, 1},
    {"cast", 1, false, 1},
    {"ceil", 1, false, 1},
    {"cos", 1, false, 16},
    {"cosh", 1, false, 16},
    {"digamma", 1, false, 64},
    {"divide", 2, false, 2},
    {"equal", 2, true, 1},
    {"erf", 1, false, 16},
    {"erfc", 1, false, 16},
    {"erfinv", 1, false, 32},
    {"exp", 1, false, 8},
    {"exp2", 1, false, 8},
    {"expm1", 1, false, 12},
    {"floor", 1, false, 1},
    {"floor_divide", 2, false, 8},
    {"fmod", 2, false, 8},
    {"greater", 2, true, 1},
    {"greater_equal", 2, true, 1},
    {"hypot", 2, false, 6},
    {"isfinite", 1, true, 1},
    {"isinf", 1, true, 1},
    {"isnan", 1, true, 1},
    {"less", 2, true, 1},
    {"less_equal", 2, true, 1},
    {"lgamma", 1, false, 64},
    {"log", 1, false, 8},
    {"log10", 1, false, 16},
    {"log1p", 1, false, 12},
    {"log2", 1, false, 12},
    {"logical_and", 2, true, 1},
    {"logical_not", 1, true, 1},
    {"logical_or", 2, true, 1},
    {"logical_xor", 2, true, 1},
    {"maximum", 2, false, 1},
    {"minimum", 2, false, 1},
    {"multiply", 2, false, 1},
    {"negative", 1, false, 1},
    {"not_equal", 2, true, 1},
    {"power", 2, false, 24},
    {"reciprocal", 1, false, 2},
    {"remainder", 2, false, 8},
    {"round", 1, false, 1},
    {"rsqrt", 1, false, 4},
    {"select", 3, false, 1},
    {"sigmoid", 1, false, 12},
    {"sign", 1, false, 1},
    {"sin", 1, false, 16},
    {"sinh", 1, false, 16},
    {"sqrt", 1, false, 3},
    {"square", 1, false, 1},
    {"subtract", 2, false, 1},
    {"tan", 1, false, 20},
    {"tanh", 1, false, 12},
    {"trunc", 1, false, 1},
    {"zeta", 2, false, 400},
    {"copy", 1, false, 1},
};

// The tiles of a program's registers stay within this, less than a first-level cache.
constexpr std::int64_t kTileBudget = 24 * 1024;
constexpr std::int64_t kMinTile = 128;
constexpr std::int64_t kMaxTile = 1024;
// Keeps equal offsets of neighbouring buffers off the same address modulo 4096, where loads would
// wait for unrelated stores.
constexpr std::int64_t kSlotPadding = 576;

const OpcodeInfo& info(Opcode opcode) { return kOpcodes[static_cast<int>(opcode)]; }

Opcode parse_opcode(const std::string& name) {
  // The last one, copy, is for the compiler's own use.
  for (int code = 0; code + 1 < kNumOpcodes; ++code) {
    if (name == kOpcodes[code].name) return static_cast<Opcode>(code);
  }
  throw std::invalid_argument("elementwise program: unknown opcode '" + name + "'");
}

[[noreturn]] void invalid(std::size_t index, const std::string& opcode, const std::string& what) {
  throw std::invalid_argument("elementwise program: instruction " + std::to_string(index) + " (" +
                              opcode + "): " + what);
}

void write_constant(std::byte* to, const ConstantDescription& constant, std::int64_t count) {
  const auto fill = [&](auto value) {
    for (std::int64_t index = 0; index < count; ++index) {
      std::memcpy(to + index * static_cast<std::int64_t>(sizeof value), &value, sizeof value);
    }
  };
  switch (constant.dtype) {
    case DType::float64:
      return fill(constant.real);
    case DType::float32:
      return fill(static_cast<float>(constant.real));
    case DType::int64:
      return fill(constant.integer);
    case DType::int32:
      return fill(static_cast<std::int32_t>(constant.integer));
    case DType::int16:
      return fill(static_cast<std::int16_t>(constant.integer));
    case DType::int8:
      return fill(static_cast<std::int8_t>(constant.integer));
    case DType::uint8:
      return fill(static_cast<std::uint8_t>(constant.integer));
    case DType::boolean:
      return fill(static_cast<std::uint8_t>(constant.integer != 0));
    default:
      throw std::invalid_argument("elementwise program: a constant cannot have a half type");
  }
}

// The comparison with its operands exchanged.
Opcode mirrored(Opcode comparison) {
  switch (comparison) {
    case Opcode::greater:
      return Opcode::less;
    case Opcode::greater_equal:
      return Opcode::less_equal;
    case Opcode::less:
      return Opcode::greater;
    case Opcode::less_equal:
      return Opcode::greater_equal;
    default:
      return comparison;
  }
}

// Joins a comparison with the choice between one of its operands and another value.
bool join_choice(ProgramInstruction& choice, const ProgramInstruction& comparison) {
  if (!is_comparison(comparison.opcode) || comparison.dtype != choice.dtype) return false;
  for (const std::size_t position : {std::size_t{1}, std::size_t{2}}) {
    const int kept = choice.arguments[position];
    const std::vector<int>& compared = comparison.arguments;
    if (kept != compared[0] && kept != compared[1]) continue;
    const bool is_second = kept != compared[0];
    choice.is_pair = true;
    choice.inner = is_second ? mirrored(comparison.opcode) : comparison.opcode;
    choice.is_reversed = position == 2;
    choice.arguments = {kept, compared[is_second ? 0 : 1], choice.arguments[3 - position]};
    return true;
  }
  return false;
}

// Joins an addition, subtraction or multiplication with the one that alone uses its result, and a
// comparison with its choice: one loop that loads and stores once instead of twice, with the same
// two roundings.
std::vector<ProgramInstruction> join_pairs(std::vector<ProgramInstruction> instructions,
                                           std::size_t num_registers,
                                           const std::vector<int>& outputs) {
  std::vector<int> num_uses(num_registers, 0);
  std::vector<ProgramInstruction*> makers(num_registers, nullptr);
  for (const int output : outputs) num_uses[static_cast<std::size_t>(output)] += 2;
  for (ProgramInstruction& instruction : instructions) {
    makers[static_cast<std::size_t>(instruction.result)] = &instruction;
    for (const int argument : instruction.arguments) ++num_uses[static_cast<std::size_t>(argument)];
  }
  std::vector<bool> is_joined(num_registers, false);  // into the instruction that uses it
  for (ProgramInstruction& outer : instructions) {
    const bool is_computed = outer.dtype == DType::float32 || outer.dtype == DType::float64;
    if (outer.block >= 0 || !is_computed) continue;
    if (outer.opcode == Opcode::select) {
      const auto condition = static_cast<std::size_t>(outer.arguments[0]);
      const ProgramInstruction* const inner = makers[condition];
      const bool is_alone = inner != nullptr && inner->block < 0 && num_uses[condition] == 1;
      if (is_alone && join_choice(outer, *inner)) is_joined[condition] = true;
      continue;
    }
    if (!joins_in_pairs(outer.opcode)) continue;
    for (const std::size_t position : {std::size_t{0}, std::size_t{1}}) {
      const auto candidate = static_cast<std::size_t>(outer.arguments[position]);
      ProgramInstruction* const inner = makers[candidate];
      if (inner == nullptr || inner->block >= 0 || inner->is_pair) continue;
      if (num_uses[candidate] != 1) continue;
      const bool is_square = inner->opcode == Opcode::square;
      if (!is_square && !joins_in_pairs(inner->opcode)) continue;
      outer.is_pair = true;
      outer.inner = is_square ? Opcode::multiply : inner->opcode;
      outer.is_reversed = position == 1;
      outer.arguments = {inner->arguments.front(), inner->arguments.back(),
                         outer.arguments[1 - position]};
      is_joined[candidate] = true;
      break;
    }
  }
  std::vector<ProgramInstruction> result;
  for (ProgramInstruction& instruction : instructions) {
    if (!is_joined[static_cast<std::size_t>(instruction.result)]) {
      result.push_back(std::move(instruction));
    }
  }
  return result;
}

}  // namespace

void CompiledProgram::FreeBytes::operator()(std::byte* bytes) const { std::free(bytes); }

CompiledProgram::CompiledProgram(std::vector<DType> inputs,
                                 const std::vector<ConstantDescription>& constants,
                                 const std::vector<InstructionDescription>& descriptions,
                                 const std::vector<int>& outputs)
    : input_dtypes_(std::move(inputs)) {
  if (outputs.empty()) throw std::invalid_argument("elementwise program: no outputs");
  if (input_dtypes_.size() + outputs.size() > kMaxProgramOperands) {
    throw std::invalid_argument("elementwise program: more than " +
                                std::to_string(kMaxProgramOperands) + " inputs and outputs");
  }
  std::vector<DType> dtypes = input_dtypes_;  // of each register
  for (const ConstantDescription& constant : constants) dtypes.push_back(constant.dtype);

  std::vector<ProgramInstruction> instructions;
  for (std::size_t index = 0; index < descriptions.size(); ++index) {
    const InstructionDescription& description = descriptions[index];
    const std::string& name = description.opcode;
    const Opcode opcode = parse_opcode(name);
    if (static_cast<int>(description.arguments.size()) != info(opcode).arity) {
      invalid(index, name, "takes " + std::to_string(info(opcode).arity) + " arguments");
    }
    for (std::size_t position = 0; position < description.arguments.size(); ++position) {
      const int argument = description.arguments[position];
      if (argument < 0 || argument >= static_cast<int>(dtypes.size())) {
        invalid(index, name, "register " + std::to_string(argument) + " is not defined yet");
      }
      const bool is_condition = opcode == Opcode::select && position == 0;
      const DType expected = is_condition ? DType::boolean : description.dtype;
      if (opcode != Opcode::cast && dtypes[static_cast<std::size_t>(argument)] != expected) {
        invalid(index, name, "argument " + std::to_string(position) + " has another dtype");
      }
    }
    const DType source = dtypes[static_cast<std::size_t>(description.arguments[0])];
    instructions.push_back({opcode, description.dtype, source, description.arguments,
                            static_cast<int>(dtypes.size())});
    dtypes.push_back(info(opcode).gives_boolean ? DType::boolean : description.dtype);
  }

  // Each output gets a register of its own that an instruction writes.
  const int first_result = static_cast<int>(input_dtypes_.size() + constants.size());
  std::vector<int> output_registers;
  for (const int output : outputs) {
    if (output < 0 || output >= static_cast<int>(dtypes.size())) {
      throw std::invalid_argument("elementwise program: output register " + std::to_string(output) +
                                  " is not defined");
    }
    const DType dtype = dtypes[static_cast<std::size_t>(output)];
    output_dtypes_.push_back(dtype);
    const bool is_taken = std::find(output_registers.begin(), output_registers.end(), output) !=
                          output_registers.end();
    if (output >= first_result && !is_taken) {
      output_registers.push_back(output);
      continue;
    }
    const int result = static_cast<int>(dtypes.size());
    instructions.push_back({Opcode::copy, dtype, dtype, {output}, result});
    dtypes.push_back(dtype);
    output_registers.push_back(result);
  }

  // Instructions that no output needs are dropped.
  std::vector<bool> is_needed(dtypes.size(), false);
  for (const int output : output_registers) is_needed[static_cast<std::size_t>(output)] = true;
  std::vector<ProgramInstruction> needed;
  for (auto instruction = instructions.rbegin(); instruction != instructions.rend();
       ++instruction) {
    if (!is_needed[static_cast<std::size_t>(instruction->result)]) continue;
    for (const int argument : instruction->arguments) {
      is_needed[static_cast<std::size_t>(argument)] = true;
    }
    needed.push_back(*instruction);
  }
  std::reverse(needed.begin(), needed.end());

  program_.num_inputs = static_cast<int>(input_dtypes_.size());
  program_.num_constants = static_cast<int>(constants.size());
  program_.num_outputs = static_cast<int>(output_dtypes_.size());
  allocate_slots(make_units(std::move(needed), constants, dtypes, output_registers), dtypes,
                 output_registers);

  std::int64_t widest = 1;
  for (const DType dtype : dtypes) widest = std::max(widest, itemsize(dtype));
  // What passes through the cache with each tile; constants are read a vector at a time.
  const std::int64_t num_streams =
      program_.num_temporaries + program_.num_inputs + program_.num_outputs;
  program_.tile = kMaxTile;
  while (program_.tile > kMinTile && num_streams * program_.tile * widest > kTileBudget) {
    program_.tile /= 2;
  }
  program_.slot_bytes = program_.tile * widest + kSlotPadding;
  make_constants(constants);

  program_.num_steps = static_cast<int>(steps_.size());
  program_.is_one_block = steps_.size() == 1 && steps_.front().block != nullptr;
  program_.input_dtypes = input_dtypes_.data();
  program_.output_dtypes = output_dtypes_.data();
  program_.steps = steps_.data();
  program_.last_read = last_read_.data();
  program_.written = written_.data();
}

std::vector<CompiledProgram::Unit> CompiledProgram::make_units(
    std::vector<ProgramInstruction> instructions, const std::vector<ConstantDescription>& constants,
    const std::vector<DType>& dtypes, const std::vector<int>& outputs) {
  move_comparisons(instructions, dtypes.size(), outputs);
  std::vector<std::size_t> last_reads(dtypes.size(), 0);
  for (std::size_t index = 0; index < instructions.size(); ++index) {
    for (const int argument : instructions[index].arguments) {
      last_reads[static_cast<std::size_t>(argument)] = index;
    }
  }
  for (const int output : outputs) last_reads[static_cast<std::size_t>(output)] = SIZE_MAX;
  const RegisterRange range{program_.num_inputs, program_.num_inputs + program_.num_constants};
  const auto build = [&](std::size_t begin, BuiltBlock& block, std::size_t& end) {
    return has_loops()
               ? build_loop(instructions, begin, range, constants, dtypes, last_reads, block, end)
               : build_block(instructions, begin, range, dtypes, last_reads, block, end);
  };
  std::vector<BuiltBlock> blocks;
  for (std::size_t begin = 0, end = 0; begin < instructions.size(); begin = end) {
    BuiltBlock block;
    if (!build(begin, block, end)) continue;
    for (std::size_t index = begin; index < end; ++index) {
      instructions[index].block = static_cast<int>(blocks.size());
    }
    blocks.push_back(std::move(block));
  }

  std::vector<Unit> units;
  last_read_.assign(input_dtypes_.size(), -1);
  written_.assign(outputs.size(), 0);
  int time = 0;
  int current = -1;  // block
  for (ProgramInstruction& instruction :
       join_pairs(std::move(instructions), dtypes.size(), outputs)) {
    for (const int argument : instruction.arguments) {
      if (argument < program_.num_inputs) last_read_[static_cast<std::size_t>(argument)] = time;
    }
    const auto output = std::find(outputs.begin(), outputs.end(), instruction.result);
    if (output != outputs.end()) {
      written_[static_cast<std::size_t>(output - outputs.begin())] = time;
    }
    ++time;
    program_.cost += info(instruction.opcode).cost;
    if (instruction.is_pair) program_.cost += info(instruction.inner).cost;
    if (instruction.block >= 0 && instruction.block == current) continue;
    current = instruction.block;
    Unit unit;
    if (current >= 0) {
      unit.block = std::move(blocks[static_cast<std::size_t>(current)]);
      for (std::size_t index = 0; index < unit.block.operands.size(); ++index) {
        auto& list = unit.block.operands[index].is_written ? unit.written : unit.read;
        list.push_back(unit.block.registers[index]);
      }
    } else {
      unit.read = instruction.arguments;
      unit.written = {instruction.result};
    }
    unit.instruction = std::move(instruction);
    units.push_back(std::move(unit));
  }
  return units;
}

// Linear scan: a temporary's buffer is free again after the last step that reads it; the result of
// an instruction takes over the buffer of an argument that dies there when their elements have one
// size. Blocks store results before they have read everything.
void CompiledProgram::allocate_slots(const std::vector<Unit>& units,
                                     const std::vector<DType>& dtypes,
                                     const std::vector<int>& outputs) {
  const int first_temporary = program_.num_inputs + program_.num_constants;
  std::vector<int> last_read(dtypes.size(), -1);
  for (std::size_t index = 0; index < units.size(); ++index) {
    for (const int name : units[index].read) {
      last_read[static_cast<std::size_t>(name)] = static_cast<int>(index);
    }
  }

  // Slots of outputs come after all temporaries, whose number is known at the end: they are counted
  // down from -1 until then.
  std::vector<int> slots(dtypes.size(), 0);
  for (int slot = 0; slot < first_temporary; ++slot) slots[static_cast<std::size_t>(slot)] = slot;
  std::vector<int> free_slots;
  for (std::size_t index = 0; index < units.size(); ++index) {
    const Unit& unit = units[index];
    const bool is_block = !unit.block.is_empty();
    std::vector<int> dying;  // registers
    for (const int name : unit.read) {
      const auto position = static_cast<std::size_t>(name);
      if (slots[position] < first_temporary || last_read[position] != static_cast<int>(index)) {
        continue;
      }
      if (std::find(dying.begin(), dying.end(), name) == dying.end()) dying.push_back(name);
    }
    for (const int name : unit.written) {
      const auto position = static_cast<std::size_t>(name);
      const auto output = std::find(outputs.begin(), outputs.end(), name);
      const auto reused = std::find_if(dying.begin(), dying.end(), [&](int one) {
        return itemsize(dtypes[static_cast<std::size_t>(one)]) == itemsize(dtypes[position]);
      });
      if (output != outputs.end()) {
        slots[position] = -1 - static_cast<int>(output - outputs.begin());
      } else if (!is_block && reused != dying.end()) {
        slots[position] = slots[static_cast<std::size_t>(*reused)];
        dying.erase(reused);
      } else if (!free_slots.empty()) {
        slots[position] = free_slots.back();
        free_slots.pop_back();
      } else {
        slots[position] = first_temporary + program_.num_temporaries++;
      }
    }
    for (const int name : dying) free_slots.push_back(slots[static_cast<std::size_t>(name)]);
    is_block ? add_block(unit, slots) : add_step(unit.instruction, slots, index);
  }

  const int first_output = first_temporary + program_.num_temporaries;
  if (first_output + static_cast<int>(outputs.size()) > 4096) {
    throw std::invalid_argument("elementwise program: too many registers alive at once");
  }
  const auto settle = [&](std::uint16_t& slot) {
    const int value = static_cast<std::int16_t>(slot);
    if (value < 0) slot = static_cast<std::uint16_t>(first_output + (-1 - value));
  };
  for (ProgramStep& step : steps_) {
    settle(step.result);
    for (std::uint16_t& argument : step.arguments) settle(argument);
  }
  for (const auto& block : built_blocks_) {
    for (BlockOperand& operand : block->operands) settle(operand.slot);
  }
}

// Slots of outputs are negative still and wrap around.
void CompiledProgram::add_step(const ProgramInstruction& instruction, const std::vector<int>& slots,
                               std::size_t index) {
  ProgramStep step{};
  const ElementwiseKernels& kernels = elementwise_kernels();
  step.function =
      instruction.is_pair
          ? kernels.find_pair(instruction.inner, instruction.opcode, instruction.is_reversed,
                              instruction.dtype)
          : kernels.find_step(instruction.opcode, instruction.dtype, instruction.source);
  if (step.function == nullptr) {
    invalid(index, info(instruction.opcode).name, "not available for this dtype");
  }
  step.result = static_cast<std::uint16_t>(slots[static_cast<std::size_t>(instruction.result)]);
  for (std::size_t position = 0; position < instruction.arguments.size(); ++position) {
    const auto argument = static_cast<std::size_t>(instruction.arguments[position]);
    step.arguments[position] = static_cast<std::uint16_t>(slots[argument]);
  }
  steps_.push_back(step);
}

void CompiledProgram::add_block(const Unit& unit, const std::vector<int>& slots) {
  built_blocks_.push_back(std::make_unique<BuiltBlock>(unit.block));
  BuiltBlock& built = *built_blocks_.back();
  for (std::size_t index = 0; index < built.operands.size(); ++index) {
    const auto name = static_cast<std::size_t>(built.registers[index]);
    built.operands[index].slot = static_cast<std::uint16_t>(slots[name]);
  }
  blocks_.push_back(std::make_unique<ElementwiseBlock>(
      ElementwiseBlock{built.itemsize, static_cast<int>(built.operands.size()), built.num_locals,
                       built.operands.data(), built.instructions.data(), built.loop}));
  ProgramStep step{};
  step.block = blocks_.back().get();
  steps_.push_back(step);
}

void CompiledProgram::make_constants(const std::vector<ConstantDescription>& constants) {
  constexpr std::size_t alignment = 64;
  const auto tile_bytes = static_cast<std::size_t>(program_.slot_bytes);
  if (!constants.empty()) {
    constant_memory_.reset(
        static_cast<std::byte*>(std::aligned_alloc(alignment, tile_bytes * constants.size())));
    if (constant_memory_ == nullptr) throw std::bad_alloc();
  }
  for (std::size_t index = 0; index < constants.size(); ++index) {
    std::byte* memory = constant_memory_.get() + index * tile_bytes;
    write_constant(memory, constants[index], program_.tile);
    constants_.push_back(memory);
  }
  program_.constants = constants_.data();
}

bool overlaps_partly(const View& output, const View& input) {
  // The same view has equal strides on every axis that has a second element.
  bool is_same = output.data == input.data && itemsize(output.dtype) == itemsize(input.dtype);
  const int missing = output.rank - input.rank;
  for (int axis = 0; axis < output.rank && is_same; ++axis) {
    const std::int64_t length = axis < missing ? 1 : input.shape[axis - missing];
    is_same = output.shape[axis] == length &&
              (length <= 1 || output.strides[axis] == input.strides[axis - missing]);
  }
  return !is_same && views_overlap(output, input);
}

}  // namespace lumus
