#include "runtime/block_builder.h"

#include <algorithm>

#include "runtime/block_compiler.h"

namespace lumus {
namespace {

// Fewer are better off with a loop for each: a block has to be started and finished.
constexpr std::size_t kMinInstructions = 3;

bool is_logical(Opcode opcode) {
  return opcode == Opcode::logical_and || opcode == Opcode::logical_or ||
         opcode == Opcode::logical_xor || opcode == Opcode::logical_not;
}

// Whether a comparison does nothing but choose in the next instruction; see `move_comparisons`.
bool chooses_next(const ProgramInstruction& instruction, const ProgramInstruction& next,
                  std::size_t last_read, std::size_t index) {
  return is_comparison(instruction.opcode) && next.opcode == Opcode::select &&
         next.dtype == instruction.dtype && next.arguments[0] == instruction.result &&
         last_read == index + 1;
}

bool commutes(Opcode opcode) {
  return opcode == Opcode::add || opcode == Opcode::multiply || opcode == Opcode::equal ||
         opcode == Opcode::not_equal || is_logical(opcode);
}

// Whether an instruction can be in a block of `dtype`.
bool is_member(const ProgramInstruction& instruction, DType dtype) {
  if (is_logical(instruction.opcode)) return true;
  if (instruction.dtype != dtype || instruction.opcode == Opcode::cast) return false;
  if (dtype != DType::float32 && dtype != DType::float64) return false;
  if (instruction.opcode == Opcode::copy || instruction.opcode == Opcode::select) return true;
  const BlockForm form = instruction.arguments.size() == 1 ? BlockForm::unary : BlockForm::first;
  return elementwise_kernels().find_block(form, instruction.opcode, dtype, false) != nullptr;
}

class Builder {
 public:
  Builder(BuiltBlock& block, DType dtype, std::size_t limit, RegisterRange constants,
          const std::vector<DType>& dtypes, const std::vector<std::size_t>& last_reads)
      : block_(block),
        dtype_(dtype),
        limit_(limit),
        constants_(constants),
        dtypes_(dtypes),
        last_reads_(last_reads),
        operands_(dtypes.size(), -1),
        locals_(dtypes.size(), -1),
        is_made_(dtypes.size(), false),
        is_stored_(dtypes.size(), false) {
    block_.itemsize = itemsize(dtype);
  }

  // Whether there is room for an instruction, whatever it needs.
  bool has_room() const {
    return static_cast<int>(block_.registers.size()) + 6 <= kMaxBlockOperands &&
           block_.num_locals - static_cast<int>(free_locals_.size()) + 5 <= kMaxBlockLocals &&
           num_added_ < kMaxBlockInstructions;
  }

  void add(const ProgramInstruction& instruction, std::size_t index) {
    index_ = index;
    ++num_added_;
    for (const int argument : instruction.arguments) read_flags(argument);
    const std::vector<int>& arguments = instruction.arguments;
    if (instruction.opcode == Opcode::copy) {
      accumulate(arguments[0]);
      release();
    } else if (instruction.opcode == Opcode::select) {
      add_select(arguments);
    } else if (arguments.size() == 1) {
      accumulate(arguments[0]);
      release();
      emit(BlockForm::unary, instruction.opcode);
    } else {
      add_binary(instruction.opcode, arguments[0], arguments[1]);
    }
    set_accumulator(instruction.result);
    for (const int argument : arguments) free_local(argument);
  }

  // A comparison and the choice that alone uses it, which is instruction `index`.
  void add_choice(const ProgramInstruction& comparison, const ProgramInstruction& choice,
                  std::size_t index) {
    index_ = index - 1;
    num_added_ += 2;
    const int left = comparison.arguments[0];
    const int right = comparison.arguments[1];
    const int first = choice.arguments[1];
    const int second = choice.arguments[2];
    const bool is_tested = accumulator_ == left && (left == first || left == second);
    if (!is_tested && accumulator_ != second) accumulate(first);
    const bool is_chosen = accumulator_ == first;
    const int rest = is_chosen ? second : first;
    if (!is_tested) ensure_in_memory(left);
    ensure_in_memory(right);
    ensure_in_memory(rest);
    index_ = index;
    release();
    if (is_tested) {
      emit(is_chosen ? BlockForm::tested_chosen : BlockForm::tested_other, comparison.opcode,
           in_memory(right), in_memory(rest));
    } else {
      emit(is_chosen ? BlockForm::compared_chosen : BlockForm::compared_other, comparison.opcode,
           in_memory(left), in_memory(right), in_memory(rest));
    }
    set_accumulator(choice.result);
    for (const int name : {left, right, first, second}) free_local(name);
  }

  // `end` is the first instruction after the block.
  void finish(std::size_t end) {
    index_ = end;
    for (const int made : made_) {
      if (last_reads_[position(made)] < end || is_stored_[position(made)]) continue;
      accumulate(made);
      store_outside(made);
    }
    emit(BlockForm::finish, Opcode::copy);
    // Locals come after the operands, whose number is known only now.
    const auto num_operands = static_cast<int>(block_.registers.size());
    for (BlockStep& step : steps_) {
      for (std::uint16_t& operand : step.operands) {
        if (operand >= kFirstLocal) {
          operand = static_cast<std::uint16_t>(operand - kFirstLocal + num_operands);
        }
      }
    }
    std::vector<OperandSort> sorts;
    for (const int name : block_.registers) {
      sorts.push_back(constants_.has(name) ? OperandSort::constant : OperandSort::variable);
    }
    block_.instructions = compile_block(steps_, dtype_, sorts, block_.code);
  }

 private:
  static constexpr std::uint16_t kFirstLocal = 0x8000;

  static std::size_t position(int name) { return static_cast<std::size_t>(name); }
  bool is_flag(int name) const { return dtypes_[position(name)] == DType::boolean; }

  void emit(BlockForm form, Opcode opcode, int first = 0, int second = 0, int third = 0) {
    steps_.push_back({form,
                      opcode,
                      {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(second),
                       static_cast<std::uint16_t>(third)}});
  }

  void set_accumulator(int result) {
    accumulator_ = result;
    is_made_[position(result)] = true;
    made_.push_back(result);
  }

  int operand(int name) {
    int& number = operands_[position(name)];
    if (number < 0) {
      number = static_cast<int>(block_.registers.size());
      block_.registers.push_back(name);
      block_.operands.push_back({0, is_flag(name), false});
    }
    return number;
  }

  // Whether a value can be read as lanes from memory.
  bool is_in_memory(int name) const {
    if (locals_[position(name)] >= 0) return true;
    return !is_flag(name) && (!is_made_[position(name)] || is_stored_[position(name)]);
  }

  int in_memory(int name) {
    const int local = locals_[position(name)];
    return local >= 0 ? kFirstLocal + local : operand(name);
  }

  void store_outside(int name) {
    const int number = operand(name);
    block_.operands[position(number)].is_written = true;
    emit(is_flag(name) ? BlockForm::store_flags : BlockForm::store, Opcode::copy, number);
    is_stored_[position(name)] = true;
  }

  // Stores the accumulator where it is read later, by instruction `from` at the earliest.
  void keep(std::size_t from) {
    if (accumulator_ < 0) return;
    const std::size_t name = position(accumulator_);
    if (is_made_[name] && last_reads_[name] >= limit_ && !is_stored_[name]) {
      store_outside(accumulator_);
    }
    if (last_reads_[name] >= from && !is_in_memory(accumulator_)) store_local();
  }

  void store_local() {
    int local = block_.num_locals;
    if (free_locals_.empty()) {
      ++block_.num_locals;
    } else {
      local = free_locals_.back();
      free_locals_.pop_back();
    }
    locals_[position(accumulator_)] = local;
    emit(BlockForm::store, Opcode::copy, kFirstLocal + local);
  }

  void ensure_in_memory(int name) {
    if (name == accumulator_ && !is_in_memory(name)) store_local();
  }

  void free_local(int name) {
    int& local = locals_[position(name)];
    if (local < 0 || last_reads_[position(name)] > index_ || name == accumulator_) return;
    free_locals_.push_back(local);
    local = -1;
  }

  // The accumulator is overwritten by the instruction that reads it.
  void release() { keep(index_ + 1); }

  void accumulate(int name) {
    if (accumulator_ == name) return;
    keep(index_);
    emit(BlockForm::load, Opcode::copy, in_memory(name));
    accumulator_ = name;
  }

  // Booleans from outside are bytes.
  void read_flags(int name) {
    if (!is_flag(name) || is_made_[position(name)] || accumulator_ == name) return;
    if (locals_[position(name)] >= 0) return;
    keep(index_);
    emit(BlockForm::load_flags, Opcode::copy, operand(name));
    accumulator_ = name;
  }

  void add_binary(Opcode opcode, int first, int second) {
    if (first == second && opcode == Opcode::multiply) {
      accumulate(first);
      release();
      emit(BlockForm::unary, Opcode::square);
      return;
    }
    if (first == second) {
      accumulate(first);
      ensure_in_memory(first);
      release();
      emit(BlockForm::first, opcode, in_memory(first));
      return;
    }
    if (accumulator_ == second) {
      release();
      const BlockForm form = commutes(opcode) ? BlockForm::first : BlockForm::second;
      emit(form, opcode, in_memory(first));
      return;
    }
    accumulate(first);
    release();
    emit(BlockForm::first, opcode, in_memory(second));
  }

  void add_select(const std::vector<int>& arguments) {
    const int condition = arguments[0];
    const int first = arguments[1];
    const int second = arguments[2];
    if (first != second && accumulator_ == first) {
      release();
      emit(BlockForm::chosen, Opcode::select, in_memory(condition), in_memory(second));
    } else if (first != second && accumulator_ == second) {
      release();
      emit(BlockForm::other, Opcode::select, in_memory(condition), in_memory(first));
    } else {
      accumulate(condition);
      release();
      emit(BlockForm::condition, Opcode::select, in_memory(first), in_memory(second));
    }
  }

  BuiltBlock& block_;
  const DType dtype_;
  const std::size_t limit_;  // the first instruction that cannot belong to the block
  const RegisterRange constants_;
  const std::vector<DType>& dtypes_;
  const std::vector<std::size_t>& last_reads_;
  std::vector<int> operands_;  // of each register, or -1
  std::vector<int> locals_;
  std::vector<bool> is_made_;    // by the block
  std::vector<bool> is_stored_;  // outside
  std::vector<int> made_;
  std::vector<int> free_locals_;
  std::vector<BlockStep> steps_;
  std::size_t index_ = 0;
  int accumulator_ = -1;
  int num_added_ = 0;
};

}  // namespace

bool is_comparison(Opcode opcode) {
  return opcode == Opcode::equal || opcode == Opcode::not_equal || opcode == Opcode::less ||
         opcode == Opcode::less_equal || opcode == Opcode::greater ||
         opcode == Opcode::greater_equal;
}

void move_comparisons(std::vector<ProgramInstruction>& instructions, std::size_t num_registers,
                      const std::vector<int>& outputs) {
  std::vector<int> num_uses(num_registers, 0);
  std::vector<int> makers(num_registers, -1);
  for (const int output : outputs) num_uses[static_cast<std::size_t>(output)] += 2;
  for (std::size_t index = 0; index < instructions.size(); ++index) {
    makers[static_cast<std::size_t>(instructions[index].result)] = static_cast<int>(index);
    for (const int name : instructions[index].arguments) ++num_uses[static_cast<std::size_t>(name)];
  }
  // Comparisons that wait for their choice, by its number.
  std::vector<int> moved(instructions.size(), -1);
  std::vector<bool> is_moved(instructions.size(), false);
  for (std::size_t index = 0; index < instructions.size(); ++index) {
    const ProgramInstruction& choice = instructions[index];
    if (choice.opcode != Opcode::select) continue;
    const auto condition = static_cast<std::size_t>(choice.arguments[0]);
    const int maker = makers[condition];
    if (maker < 0 || num_uses[condition] != 1) continue;
    const ProgramInstruction& comparison = instructions[static_cast<std::size_t>(maker)];
    if (!is_comparison(comparison.opcode) || comparison.dtype != choice.dtype) continue;
    moved[index] = maker;
    is_moved[static_cast<std::size_t>(maker)] = true;
  }
  std::vector<ProgramInstruction> result;
  for (std::size_t index = 0; index < instructions.size(); ++index) {
    if (is_moved[index]) continue;
    if (moved[index] >= 0) result.push_back(instructions[static_cast<std::size_t>(moved[index])]);
    result.push_back(instructions[index]);
  }
  instructions = std::move(result);
}

bool build_block(const std::vector<ProgramInstruction>& instructions, std::size_t begin,
                 RegisterRange constants, const std::vector<DType>& dtypes,
                 const std::vector<std::size_t>& last_reads, BuiltBlock& block, std::size_t& end) {
  const auto find_block = elementwise_kernels().find_block;
  if (find_block(BlockForm::finish, Opcode::copy, DType::float32, false) == nullptr) {
    end = instructions.size();
    return false;
  }
  DType dtype = DType::boolean;  // not known yet
  std::size_t limit = begin;
  for (; limit < instructions.size(); ++limit) {
    const ProgramInstruction& instruction = instructions[limit];
    const bool is_float =
        instruction.dtype == DType::float32 || instruction.dtype == DType::float64;
    if (dtype == DType::boolean && is_float) dtype = instruction.dtype;
    if (!is_member(instruction, dtype)) break;
  }
  end = std::max(limit, begin + 1);
  if (dtype == DType::boolean || limit < begin + kMinInstructions) return false;
  Builder builder(block, dtype, limit, constants, dtypes, last_reads);
  end = begin;
  while (end < limit && builder.has_room()) {
    const ProgramInstruction& instruction = instructions[end];
    const auto result = static_cast<std::size_t>(instruction.result);
    if (end + 1 < limit &&
        chooses_next(instruction, instructions[end + 1], last_reads[result], end)) {
      builder.add_choice(instruction, instructions[end + 1], end + 1);
      end += 2;
    } else {
      builder.add(instruction, end);
      ++end;
    }
  }
  builder.finish(end);
  return true;
}

}  // namespace lumus
