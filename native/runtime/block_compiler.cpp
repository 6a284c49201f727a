#include "runtime/block_compiler.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace lumus {
namespace {

constexpr int kWide = 8;  // vectors that the functions of elementwise_block.cpp take at once
constexpr int kNarrow = 2;
constexpr std::int32_t kVectorBytes = 64;

// Vector registers: the first eight are the accumulator, then come values, then what stays.
constexpr int kFirstValue = 8;
constexpr int kNumValues = 21;
constexpr int kOne = 29;
constexpr int kSigns = 30;
constexpr int kScratch = 31;
constexpr int kNumSpare = 3;       // of them for the accumulator, a result, an operand read again
constexpr int kMostConstants = 8;  // in registers throughout, the last of the values

constexpr int kMask = 1;  // mask registers
constexpr int kOtherMask = 2;

// The arguments of an instruction of a block, and what else may be used.
constexpr Register kInstruction = Register::rdi;
constexpr Register kPlaces = Register::rsi;
constexpr Register kOffset = Register::rdx;
constexpr Register kPointers[] = {Register::rax, Register::rcx, Register::r8,  Register::r9,
                                  Register::r10, Register::r11, Register::rbx, Register::rbp,
                                  Register::r12, Register::r13, Register::r14, Register::r15};
constexpr std::size_t kNumPointers = std::size(kPointers);
constexpr std::size_t kNumFree = 6;  // of them; the others belong to the caller

// Of a place, in elementwise_block.cpp: the address of its memory, then its mask.
constexpr std::int32_t kPlaceBytes = 16;
constexpr std::int32_t kMaskOffset = 8;

std::optional<Arithmetic> arithmetic_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::add:
      return Arithmetic::add;
    case Opcode::subtract:
      return Arithmetic::subtract;
    case Opcode::multiply:
      return Arithmetic::multiply;
    case Opcode::divide:
      return Arithmetic::divide;
    case Opcode::logical_and:
      return Arithmetic::bitwise_and;
    case Opcode::logical_or:
      return Arithmetic::bitwise_or;
    case Opcode::logical_xor:
      return Arithmetic::bitwise_xor;
    default:
      return std::nullopt;
  }
}

std::optional<Comparison> comparison_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::equal:
      return Comparison::equal;
    case Opcode::not_equal:
      return Comparison::not_equal;
    case Opcode::less:
      return Comparison::less;
    case Opcode::less_equal:
      return Comparison::less_equal;
    case Opcode::greater:
      return Comparison::greater;
    case Opcode::greater_equal:
      return Comparison::greater_equal;
    default:
      return std::nullopt;
  }
}

bool commutes(Arithmetic what) {
  return what != Arithmetic::subtract && what != Arithmetic::divide;
}

bool is_extremum(Opcode opcode) { return opcode == Opcode::maximum || opcode == Opcode::minimum; }

bool is_simple(const BlockStep& step) {
  switch (step.form) {
    case BlockForm::load:
    case BlockForm::store:
    case BlockForm::condition:
    case BlockForm::chosen:
    case BlockForm::other:
    case BlockForm::compared_chosen:
    case BlockForm::compared_other:
    case BlockForm::tested_chosen:
    case BlockForm::tested_other:
      return true;
    case BlockForm::unary:
      return step.opcode == Opcode::absolute || step.opcode == Opcode::negative ||
             step.opcode == Opcode::reciprocal || step.opcode == Opcode::sqrt ||
             step.opcode == Opcode::square || step.opcode == Opcode::isnan ||
             step.opcode == Opcode::logical_not;
    case BlockForm::first:
    case BlockForm::second:
      return arithmetic_of(step.opcode) || comparison_of(step.opcode) || is_extremum(step.opcode);
    default:
      return false;
  }
}

int num_read(BlockForm form) {
  switch (form) {
    case BlockForm::compared_chosen:
    case BlockForm::compared_other:
      return 3;
    case BlockForm::condition:
    case BlockForm::chosen:
    case BlockForm::other:
    case BlockForm::tested_chosen:
    case BlockForm::tested_other:
      return 2;
    case BlockForm::load:
    case BlockForm::load_flags:
    case BlockForm::first:
    case BlockForm::second:
      return 1;
    default:
      return 0;
  }
}

bool is_read_by(const BlockStep& step, int place) {
  return std::find(step.operands, step.operands + num_read(step.form), place) !=
         step.operands + num_read(step.form);
}

bool reads_accumulator(BlockForm form) {
  return form != BlockForm::load && form != BlockForm::load_flags && form != BlockForm::finish;
}

// Steps [begin, end) of a block, which become one instruction.
class Run {
 public:
  Run(const std::vector<BlockStep>& steps, const std::vector<OperandSort>& sorts, std::size_t begin,
      std::size_t end)
      : steps_(steps), sorts_(sorts), begin_(begin), end_(end) {
    for (std::size_t index = begin; index < end; ++index) {
      for (int at = 0; at < num_read(steps[index].form); ++at)
        add_constant(steps[index].operands[at]);
    }
  }

  const BlockStep& step(std::size_t index) const { return steps_[index]; }
  std::size_t begin() const { return begin_; }
  std::size_t end() const { return end_; }
  bool is_local(int place) const { return sort(place) == OperandSort::local; }
  // The constants that have registers of their own.
  const std::vector<int>& constants() const { return constants_; }
  int num_values() const { return kNumValues - static_cast<int>(constants_.size()); }

  // How often steps [from, end) read what `place` holds before them.
  int num_reads(int place, std::size_t from) const {
    int count = 0;
    for (std::size_t index = from; index < end_; ++index) {
      if (is_read_by(steps_[index], place)) ++count;
      if (writes(index, place)) break;
    }
    return count;
  }

  // Whether what step `index` stores must be in memory: for the caller, or for a step after the
  // run.
  bool needs_memory(std::size_t index) const {
    const int place = steps_[index].operands[0];
    if (!is_local(place)) return true;
    for (std::size_t later = index + 1; later < steps_.size(); ++later) {
      if (later >= end_ && is_read_by(steps_[later], place)) return true;
      if (writes(later, place)) return false;
    }
    return false;
  }

  // The places whose memory is read or written.
  std::vector<int> places_in_memory() const {
    std::vector<int> places;
    const auto add = [&](int place) {
      if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
    };
    for (std::size_t index = begin_; index < end_; ++index) {
      const BlockStep& one = steps_[index];
      for (int at = 0; at < num_read(one.form); ++at) {
        const int place = one.operands[at];
        if (!is_constant(place) && !is_made_before(place, index)) add(place);
      }
      if (one.form == BlockForm::store && needs_memory(index)) add(one.operands[0]);
    }
    return places;
  }

  bool fits() const {
    if (places_in_memory().size() > kNumPointers) return false;
    std::vector<int> alive;  // locals in registers
    for (std::size_t index = begin_; index < end_; ++index) {
      std::erase_if(alive, [&](int place) { return num_reads(place, index) == 0; });
      if (steps_[index].form != BlockForm::store) continue;
      const int place = steps_[index].operands[0];
      std::erase(alive, place);
      if (num_reads(place, index + 1) > 0) alive.push_back(place);
      if (static_cast<int>(alive.size()) > num_values() - kNumSpare) return false;
    }
    return true;
  }

  bool is_constant(int place) const {
    return std::find(constants_.begin(), constants_.end(), place) != constants_.end();
  }

 private:
  OperandSort sort(int place) const {
    const auto index = static_cast<std::size_t>(place);
    return index < sorts_.size() ? sorts_[index] : OperandSort::local;
  }
  void add_constant(int place) {
    if (sort(place) != OperandSort::constant || is_constant(place)) return;
    if (constants_.size() < kMostConstants) constants_.push_back(place);
  }
  bool writes(std::size_t index, int place) const {
    return steps_[index].form == BlockForm::store && steps_[index].operands[0] == place;
  }
  bool is_made_before(int place, std::size_t index) const {
    for (std::size_t earlier = begin_; earlier < index; ++earlier) {
      if (writes(earlier, place)) return true;
    }
    return false;
  }

  const std::vector<BlockStep>& steps_;
  const std::vector<OperandSort>& sorts_;
  std::size_t begin_, end_;
  std::vector<int> constants_;
};

// The machine code of a run.
class Emitter {
 public:
  Emitter(const Run& run, bool is_double, Avx512Assembler& assembler)
      : run_(run), is_double_(is_double), code_(assembler), places_(run.places_in_memory()) {}

  // `next` is where an instruction of a block has the function for as many vectors.
  void emit(int num_vectors, std::int32_t next) {
    for (std::size_t at = kNumFree; at < places_.size(); ++at) code_.push(kPointers[at]);
    emit_constants();
    for (std::size_t at = 0; at < places_.size(); ++at) {
      const std::int32_t place = kPlaceBytes * places_[at];
      code_.load(kPointers[at], kPlaces, place + kMaskOffset);
      code_.bitwise_and(kPointers[at], kOffset);
      code_.add(kPointers[at], kPlaces, place);
    }
    for (int vector = 0; vector < num_vectors; ++vector) emit_vector(vector);
    for (std::size_t at = places_.size(); at > kNumFree; --at) code_.pop(kPointers[at - 1]);
    constexpr auto size = static_cast<std::int32_t>(sizeof(BlockInstruction));
    code_.load(Register::rax, kInstruction, size + next);
    code_.add(kInstruction, size);
    code_.jump(Register::rax);
  }

 private:
  static constexpr int kNowhere = -1;

  bool has(Opcode opcode) const {
    for (std::size_t index = run_.begin(); index < run_.end(); ++index) {
      if (run_.step(index).form == BlockForm::unary && run_.step(index).opcode == opcode)
        return true;
    }
    return false;
  }

  void emit_constants() {
    for (const int place : run_.constants()) {
      code_.load(kPointers[0], kPlaces, kPlaceBytes * place);
      code_.load(constant_register(place), VectorOperand::in_memory(kPointers[0], 0));
    }
    if (has(Opcode::absolute) || has(Opcode::negative)) {
      code_.ones(kSigns);
      code_.shift_left(kSigns, kSigns, is_double_ ? 63 : 31);
    }
    if (has(Opcode::reciprocal)) {
      code_.ones(kOne);
      code_.shift_left(kOne, kOne, is_double_ ? 54 : 25);
      code_.shift_right(kOne, kOne, 2);
    }
  }

  void emit_vector(int vector) {
    vector_ = vector;
    accumulator_ = VectorOperand::in_register(vector);
    values_.fill(kNowhere);
    for (index_ = run_.begin(); index_ < run_.end(); ++index_) {
      emit_step(run_.step(index_));
      forget_dead_values();
    }
    if (!reads_accumulator(run_.step(run_.end()).form)) return;
    if (accumulator_.is_memory || accumulator_.number != vector_) {
      code_.load(vector_, accumulator_);
    }
  }

  void emit_step(const BlockStep& step) {
    const int place = step.operands[0];
    switch (step.form) {
      case BlockForm::load:
        accumulator_ = value_of(place);
        return;
      case BlockForm::store:
        return emit_store(place);
      case BlockForm::unary:
        return emit_unary(step.opcode);
      case BlockForm::first: {
        const VectorOperand second = value_of(place);
        return emit_binary(step.opcode, accumulator_, second);
      }
      case BlockForm::second: {
        const VectorOperand first = value_of(place);
        return emit_binary(step.opcode, first, accumulator_);
      }
      case BlockForm::condition: {
        const int lanes = in_register(accumulator_);
        code_.test(kMask, VectorOperand::in_register(lanes), lanes);
        const VectorOperand chosen = value_of(place);
        return emit_select(chosen, value_of(step.operands[1]));
      }
      case BlockForm::chosen:
      case BlockForm::other: {
        const int lanes = in_register(value_of(place));
        code_.test(kMask, VectorOperand::in_register(lanes), lanes);
        return emit_choice(step.form == BlockForm::chosen, step.operands[1]);
      }
      case BlockForm::compared_chosen:
      case BlockForm::compared_other: {
        const int first = in_register(value_of(place));
        code_.compare(*comparison_of(step.opcode), kMask, first, value_of(step.operands[1]));
        return emit_choice(step.form == BlockForm::compared_chosen, step.operands[2]);
      }
      default: {
        const int first = in_register(accumulator_);
        code_.compare(*comparison_of(step.opcode), kMask, first, value_of(place));
        return emit_choice(step.form == BlockForm::tested_chosen, step.operands[1]);
      }
    }
  }

  void emit_unary(Opcode opcode) {
    if (opcode == Opcode::sqrt) {
      code_.square_root(result(), accumulator_);
    } else if (opcode == Opcode::absolute) {
      code_.arithmetic(Arithmetic::bitwise_and_not, result(), kSigns, accumulator_);
    } else if (opcode == Opcode::negative) {
      code_.arithmetic(Arithmetic::bitwise_xor, result(), kSigns, accumulator_);
    } else if (opcode == Opcode::reciprocal) {
      code_.arithmetic(Arithmetic::divide, result(), kOne, accumulator_);
    } else if (opcode == Opcode::square) {
      const int x = in_register(accumulator_);
      code_.arithmetic(Arithmetic::multiply, result(), x, VectorOperand::in_register(x));
    } else if (opcode == Opcode::isnan) {
      const int x = in_register(accumulator_);
      code_.compare(Comparison::unordered, kMask, x, VectorOperand::in_register(x));
      code_.lanes_of(result(), kMask);
    } else {
      code_.ones(kScratch);
      code_.arithmetic(Arithmetic::bitwise_xor, result(), kScratch, accumulator_);
    }
    accumulator_ = VectorOperand::in_register(result_);
  }

  void emit_binary(Opcode opcode, const VectorOperand& first, const VectorOperand& second) {
    if (const auto what = arithmetic_of(opcode)) {
      if (first.is_memory && !second.is_memory && commutes(*what)) {
        code_.arithmetic(*what, result(), second.number, first);
      } else {
        const int left = in_register(first);
        code_.arithmetic(*what, result(), left, second);
      }
    } else if (const auto comparison = comparison_of(opcode)) {
      code_.compare(*comparison, kMask, in_register(first), second);
      code_.lanes_of(result(), kMask);
    } else {
      // The first one where it is NaN, or not beyond the second one.
      const auto order =
          opcode == Opcode::maximum ? Comparison::greater_equal : Comparison::less_equal;
      const int left = in_register(first);
      code_.compare(order, kMask, left, second);
      code_.compare(Comparison::unordered, kOtherMask, left, VectorOperand::in_register(left));
      code_.either(kMask, kMask, kOtherMask);
      if (left == kScratch) {
        const int right = in_register(second, vector_);
        code_.select(result(), kMask, right, VectorOperand::in_register(left));
      } else {
        code_.select(result(), kMask, in_register(second), VectorOperand::in_register(left));
      }
    }
    accumulator_ = VectorOperand::in_register(result_);
  }

  // The accumulator where the mask says so, else a value; or the other way round.
  void emit_choice(bool is_chosen, int place) {
    const VectorOperand rest = value_of(place);
    is_chosen ? emit_select(accumulator_, rest) : emit_select(rest, accumulator_);
  }

  void emit_select(const VectorOperand& chosen, const VectorOperand& unchosen) {
    const int rest = in_register(unchosen);
    code_.select(result(), kMask, rest, chosen);
    accumulator_ = VectorOperand::in_register(result_);
  }

  void emit_store(int place) {
    if (accumulator_.is_memory) {
      code_.load(vector_, accumulator_);
      accumulator_ = VectorOperand::in_register(vector_);
    }
    if (run_.needs_memory(index_)) code_.store(memory_of(place), accumulator_.number);
    forget(place);
    if (run_.num_reads(place, index_ + 1) == 0) return;
    // Values that are read again have registers of their own.
    const int number = accumulator_.number;
    if (number < kFirstValue || values_[value_index(number)] != kNowhere) {
      const int copy = free_value();
      code_.load(copy, accumulator_);
      accumulator_ = VectorOperand::in_register(copy);
    }
    values_[value_index(accumulator_.number)] = place;
  }

  // ---- where values are

  static std::size_t value_index(int number) {
    return static_cast<std::size_t>(number - kFirstValue);
  }

  VectorOperand memory_of(int place) const {
    const auto found = std::find(places_.begin(), places_.end(), place);
    return VectorOperand::in_memory(kPointers[found - places_.begin()], vector_ * kVectorBytes);
  }

  int constant_register(int place) const {
    const auto& all = run_.constants();
    const auto at = std::find(all.begin(), all.end(), place) - all.begin();
    return kFirstValue + run_.num_values() + static_cast<int>(at);
  }

  VectorOperand value_of(int place) {
    if (run_.is_constant(place)) return VectorOperand::in_register(constant_register(place));
    const auto found = std::find(values_.begin(), values_.end(), place);
    if (found != values_.end()) {
      return VectorOperand::in_register(kFirstValue + static_cast<int>(found - values_.begin()));
    }
    const VectorOperand memory = memory_of(place);
    // An operand that others read, too, is loaded once.
    const bool is_kept = !run_.is_local(place) && run_.num_reads(place, index_) > 1;
    if (!is_kept || num_free() < 3) return memory;
    const int value = free_value();
    code_.load(value, memory);
    values_[value_index(value)] = place;
    return VectorOperand::in_register(value);
  }

  int in_register(const VectorOperand& value, int scratch = kScratch) {
    if (!value.is_memory) return value.number;
    code_.load(scratch, value);
    return scratch;
  }

  // The register of this step's result: a value's, if the next step keeps it.
  int result() {
    result_ = vector_;
    if (index_ + 1 < run_.end()) {
      const BlockStep& next = run_.step(index_ + 1);
      if (next.form == BlockForm::store && run_.num_reads(next.operands[0], index_ + 2) > 0) {
        result_ = free_value();
      }
    }
    return result_;
  }

  bool is_free(int number) const {
    const bool is_accumulator = !accumulator_.is_memory && accumulator_.number == number;
    return values_[value_index(number)] == kNowhere && !is_accumulator;
  }
  int num_free() const {
    int count = 0;
    for (int number = kFirstValue; number < kFirstValue + run_.num_values(); ++number) {
      if (is_free(number)) ++count;
    }
    return count;
  }

  // One that holds nothing, or else what can be read from memory again.
  int free_value() {
    for (int number = kFirstValue; number < kFirstValue + run_.num_values(); ++number) {
      if (is_free(number)) return number;
    }
    for (int number = kFirstValue; number < kFirstValue + run_.num_values(); ++number) {
      const bool is_accumulator = !accumulator_.is_memory && accumulator_.number == number;
      if (!run_.is_local(values_[value_index(number)]) && !is_accumulator) {
        values_[value_index(number)] = kNowhere;
        return number;
      }
    }
    return kScratch;  // `Run::fits` has seen to it that this is not reached
  }

  void forget(int place) { std::replace(values_.begin(), values_.end(), place, kNowhere); }

  void forget_dead_values() {
    for (int& place : values_) {
      if (place != kNowhere && run_.num_reads(place, index_ + 1) == 0) place = kNowhere;
    }
  }

  const Run run_;
  bool is_double_;
  Avx512Assembler& code_;
  std::vector<int> places_;  // those in memory; each has the pointer of the same number
  int vector_ = 0;
  std::size_t index_ = 0;
  int result_ = 0;
  VectorOperand accumulator_ = VectorOperand::in_register(0);
  std::array<int, kNumValues> values_{};  // the place whose value each register holds
};

BlockInstruction instruction_of(const BlockStep& step, DType dtype) {
  const auto find = elementwise_kernels().find_block;
  return {find(step.form, step.opcode, dtype, false),
          find(step.form, step.opcode, dtype, true),
          {step.operands[0], step.operands[1], step.operands[2]}};
}

// The end of the longest run from `begin` on that can be compiled as one.
std::size_t end_of_run(const std::vector<BlockStep>& steps, const std::vector<OperandSort>& sorts,
                       std::size_t begin) {
  std::size_t limit = begin;
  while (is_simple(steps[limit])) ++limit;
  std::size_t fitting = begin;
  while (fitting < limit) {
    const std::size_t middle = fitting + (limit - fitting + 1) / 2;
    if (Run(steps, sorts, begin, middle).fits()) {
      fitting = middle;
    } else {
      limit = middle - 1;
    }
  }
  return fitting;
}

}  // namespace

std::vector<BlockInstruction> compile_block(const std::vector<BlockStep>& steps, DType dtype,
                                            const std::vector<OperandSort>& sorts,
                                            std::shared_ptr<MachineCode>& code) {
  const bool is_double = dtype == DType::float64;
  Avx512Assembler assembler(is_double);
  struct Entry {
    std::size_t instruction, wide, narrow;
  };
  std::vector<Entry> entries;
  std::vector<BlockInstruction> instructions, compiled;
  for (const BlockStep& step : steps) instructions.push_back(instruction_of(step, dtype));
  if (!can_make_machine_code()) return instructions;
  for (std::size_t begin = 0; begin < steps.size();) {
    const std::size_t end = end_of_run(steps, sorts, begin);
    if (end < begin + 2) {
      compiled.push_back(instructions[begin++]);
      continue;
    }
    Emitter emitter(Run(steps, sorts, begin, end), is_double, assembler);
    Entry entry{compiled.size(), assembler.bytes().size(), 0};
    emitter.emit(kWide, offsetof(BlockInstruction, function));
    entry.narrow = assembler.bytes().size();
    emitter.emit(kNarrow, offsetof(BlockInstruction, narrow));
    entries.push_back(entry);
    compiled.push_back({});
    begin = end;
  }
  if (entries.empty()) return instructions;
  code = MachineCode::make(assembler.bytes());
  if (code == nullptr) return instructions;
  for (const Entry& entry : entries) {
    BlockInstruction& one = compiled[entry.instruction];
    one.function = code->entry(entry.wide);
    one.narrow = code->entry(entry.narrow);
  }
  return compiled;
}

}  // namespace lumus
