#include "runtime/loop_compiler.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace lumus {
namespace {

constexpr int kNumRegisters = 16;
constexpr std::int32_t kVectorBytes = 32;
constexpr std::int32_t kFlagBytes = 8;  // of a vector's lanes

constexpr Register kOperands = Register::rdi;  // the arguments of the function
constexpr Register kSteps = Register::rsi;
constexpr Register kCount = Register::rdx;
constexpr Register kPointers[kMaxLoopOperands] = {
    Register::rax, Register::rcx, Register::r8,  Register::r9,  Register::r10, Register::r11,
    Register::rbx, Register::rbp, Register::r12, Register::r13, Register::r14, Register::r15};
constexpr int kNumFree = 6;  // of them; the others belong to the caller

std::size_t position(int index) { return static_cast<std::size_t>(index); }

constexpr int kNowhere = -1;
constexpr int kNever = std::numeric_limits<int>::max();

Arithmetic arithmetic_of(VectorOp op) {
  switch (op) {
    case VectorOp::add:
      return Arithmetic::add;
    case VectorOp::subtract:
      return Arithmetic::subtract;
    case VectorOp::multiply:
      return Arithmetic::multiply;
    case VectorOp::divide:
      return Arithmetic::divide;
    case VectorOp::minimum:
      return Arithmetic::minimum;
    case VectorOp::maximum:
      return Arithmetic::maximum;
    case VectorOp::bitwise_and:
      return Arithmetic::bitwise_and;
    case VectorOp::bitwise_and_not:
      return Arithmetic::bitwise_and_not;
    case VectorOp::bitwise_or:
      return Arithmetic::bitwise_or;
    default:
      return Arithmetic::bitwise_xor;
  }
}

bool commutes(VectorOp op) {
  return op == VectorOp::add || op == VectorOp::multiply || op == VectorOp::bitwise_and ||
         op == VectorOp::bitwise_or || op == VectorOp::bitwise_xor;
}

// Operands of the second of two vectors come after those of the first.
int operand_of(int place) { return place % kMaxLoopOperands; }
int vector_of(int place) { return place / kMaxLoopOperands; }

struct Loop {
  VectorGraph graph;
  std::vector<LoopStore> stores;
};

// The work of vectors [begin, end) in turns, node by node.
Loop work_of(const VectorGraph& graph, const std::vector<LoopStore>& stores, int begin, int end) {
  Loop loop;
  std::vector<std::array<int, 2>> copies;
  auto store = stores.begin();
  const auto store_before = [&](std::size_t limit) {
    for (; store != stores.end() && store->before <= limit; ++store) {
      for (int vector = begin; vector < end; ++vector) {
        loop.stores.push_back({copies[position(store->node)][position(vector)],
                               store->operand + vector * kMaxLoopOperands, store->is_flags,
                               loop.graph.nodes().size()});
      }
    }
  };
  for (std::size_t index = 0; index < graph.nodes().size(); ++index) {
    store_before(index);
    const VectorNode& node = graph.nodes()[index];
    const bool is_read = node.op == VectorOp::input || node.op == VectorOp::flags;
    std::array<int, 2> made{};
    for (int vector = begin; vector < end; ++vector) {
      std::array<int, 3> operands = node.operands;
      for (int& operand : operands) {
        if (operand >= 0) operand = copies[position(operand)][position(vector)];
      }
      const int place = is_read ? vector * kMaxLoopOperands : 0;
      made[position(vector)] =
          loop.graph.add(node.op, node.detail + static_cast<std::uint32_t>(place), operands[0],
                         operands[1], operands[2]);
    }
    copies.push_back(made);
  }
  store_before(graph.nodes().size());
  return loop;
}

// When each node is read: the numbers of the nodes that do, in order. A store counts as the node
// before which it comes.
class Uses {
 public:
  Uses(const VectorGraph& graph, const std::vector<LoopStore>& stores)
      : uses_(graph.nodes().size()) {
    for (const LoopStore& store : stores) add(store.node, static_cast<int>(store.before));
    for (int index = static_cast<int>(uses_.size()) - 1; index >= 0; --index) {
      if (!is_used(index)) continue;
      const VectorNode& node = graph.node(index);
      for (int at = 0; at < num_operands(node.op); ++at) add(node.operands[at], index);
    }
    for (auto& list : uses_) std::sort(list.begin(), list.end());
  }

  bool is_used(int node) const { return !uses_[position(node)].empty(); }
  int count(int node) const { return static_cast<int>(uses_[position(node)].size()); }
  // The use after the first `num_done` ones.
  int next(int node, int num_done) const {
    return num_done < count(node) ? uses_[position(node)][position(num_done)] : kNever;
  }

 private:
  void add(int node, int reader) { uses_[position(node)].push_back(reader); }

  std::vector<std::vector<int>> uses_;
};

// What one turn of a loop does: registers are given out node by node, and what is read again
// soonest stays in them.
class Body {
 public:
  // `resident` are the bits of constants that the last registers hold throughout.
  Body(const Loop& loop, const std::vector<std::uint32_t>& resident, Avx2Assembler& code)
      : graph_(loop.graph),
        stores_(loop.stores),
        uses_(loop.graph, loop.stores),
        code_(code),
        values_(loop.graph.nodes().size()) {
    held_.fill(kNowhere);
    num_free_ = kNumRegisters - static_cast<int>(resident.size());
    for (std::size_t index = 0; index < values_.size(); ++index) {
      const VectorNode& node = graph_.nodes()[index];
      if (node.op != VectorOp::constant) continue;
      const auto found = std::find(resident.begin(), resident.end(), node.detail);
      if (found == resident.end()) continue;
      values_[index].reg = num_free_ + static_cast<int>(found - resident.begin());
    }
  }

  int num_registers() const { return num_registers_; }
  int num_spills() const { return num_spills_; }

  void emit() {
    auto store = stores_.begin();
    const auto store_before = [&](std::size_t limit) {
      for (; store != stores_.end() && store->before <= limit; ++store) emit_store(*store);
    };
    for (std::size_t index = 0; index < graph_.nodes().size(); ++index) {
      store_before(index);
      if (uses_.is_used(static_cast<int>(index))) emit_node(static_cast<int>(index));
    }
    store_before(graph_.nodes().size());
  }

 private:
  struct Value {
    int reg = kNowhere;
    int spill = kNowhere;
    int num_uses = 0;  // that are done
  };

  Value& value(int node) { return values_[static_cast<std::size_t>(node)]; }
  const VectorNode& at(int node) const { return graph_.node(node); }
  bool is_resident(int node) { return value(node).reg >= num_free_; }

  void emit_store(const LoopStore& store) {
    const VectorOperand target = VectorOperand::in_memory(
        kPointers[operand_of(store.operand)],
        vector_of(store.operand) * (store.is_flags ? kFlagBytes : kVectorBytes));
    const int from = in_register(store.node);
    if (store.is_flags) {
      code_.store_flags(target, from, free_register());
    } else {
      code_.store(target, from);
    }
    finish_use(store.node);
    unpin();
  }

  void emit_node(int index) {
    const VectorNode& node = at(index);
    switch (node.op) {
      case VectorOp::input:
      case VectorOp::flags:
      case VectorOp::constant:
        return;  // read where they are needed
      case VectorOp::fused:
        emit_fused(index);
        break;
      case VectorOp::square_root:
      case VectorOp::round: {
        const VectorOperand x = operand(node.operands[0]);
        finish_uses(node);
        const int to = make(index);
        if (node.op == VectorOp::round) {
          code_.round(static_cast<int>(node.detail), to, x);
        } else {
          code_.square_root(to, x);
        }
        break;
      }
      case VectorOp::shift_left: {
        const int x = in_register(node.operands[0]);
        finish_uses(node);
        code_.shift_left(make(index), x, static_cast<int>(node.detail));
        break;
      }
      case VectorOp::select: {
        const int lanes = in_register(node.operands[0]);
        const int unchosen = in_register(node.operands[2]);
        const VectorOperand chosen = operand(node.operands[1]);
        finish_uses(node);
        code_.select(make(index), lanes, unchosen, chosen);
        break;
      }
      case VectorOp::compare: {
        const int first = in_register(node.operands[0]);
        const VectorOperand second = operand(node.operands[1]);
        finish_uses(node);
        code_.compare(static_cast<Comparison>(node.detail), make(index), first, second);
        break;
      }
      default: {
        auto [one, other] = std::pair(node.operands[0], node.operands[1]);
        if (commutes(node.op) && !is_in_register(one) && is_in_register(other)) {
          std::swap(one, other);
        }
        const int first = in_register(one);
        const VectorOperand second = operand(other);
        finish_uses(node);
        code_.arithmetic(arithmetic_of(node.op), make(index), first, second);
      }
    }
    unpin();
  }

  // The result takes the place of an operand: of one that nobody reads afterwards, or of a copy of
  // what is added. One of the other two may be in memory.
  void emit_fused(int index) {
    auto [a, b, c] = at(index).operands;
    if (dies(c, index) && is_in_register(c)) {
      pin(c);
      if (!is_in_register(a)) std::swap(a, b);
      const int first = in_register(a);
      const VectorOperand second = operand(b);
      code_.add_product(take_over(c, index), first, second);
      return;
    }
    if (!dies(a, index) || !is_in_register(a)) std::swap(a, b);
    if (dies(a, index) && is_in_register(a) && (is_in_register(b) || is_in_register(c))) {
      pin(a);
      if (is_in_register(b)) {
        const int factor = in_register(b);
        const VectorOperand added = operand(c);
        code_.multiply_add(take_over(a, index), factor, added);
      } else {
        const int added = in_register(c);
        const VectorOperand factor = operand(b);
        code_.multiply_second_add(take_over(a, index), added, factor);
      }
      return;
    }
    if (!is_in_register(a)) std::swap(a, b);
    const int first = in_register(a);
    const VectorOperand second = operand(b);
    const VectorOperand added = operand(c);
    const int to = free_register();
    code_.load(to, added);
    finish_uses(at(index));
    code_.add_product(hold(index, to), first, second);
  }

  bool dies(int node, int reader) {
    const VectorNode& reading = at(reader);
    const auto count = std::count(reading.operands.begin(), reading.operands.end(), node);
    return !is_resident(node) && value(node).num_uses + count == uses_.count(node);
  }

  // ---- registers

  bool is_in_register(int node) { return value(node).reg != kNowhere; }
  void pin(int node) { is_pinned_[static_cast<std::size_t>(value(node).reg)] = true; }
  void unpin() { is_pinned_.fill(false); }

  int hold(int node, int reg) {
    held_[static_cast<std::size_t>(reg)] = node;
    value(node).reg = reg;
    is_pinned_[static_cast<std::size_t>(reg)] = true;
    return reg;
  }

  int make(int node) { return hold(node, free_register()); }

  int take_over(int from, int node) {
    const int reg = value(from).reg;
    finish_uses(at(node));
    return hold(node, reg);
  }

  // One that holds nothing, or else what is read last of all.
  int free_register() {
    int found = kNowhere, latest = -1;
    for (int reg = 0; reg < num_free_; ++reg) {
      const auto place = static_cast<std::size_t>(reg);
      if (is_pinned_[place]) continue;
      const int node = held_[place];
      const int next = node == kNowhere ? kNever : uses_.next(node, value(node).num_uses);
      if (next <= latest) continue;
      found = reg;
      latest = next;
      if (node == kNowhere) break;
    }
    num_registers_ = std::max(num_registers_, found + 1);
    evict(found);
    is_pinned_[static_cast<std::size_t>(found)] = true;
    return found;
  }

  void evict(int reg) {
    const int node = held_[static_cast<std::size_t>(reg)];
    held_[static_cast<std::size_t>(reg)] = kNowhere;
    if (node == kNowhere) return;
    Value& evicted = value(node);
    evicted.reg = kNowhere;
    if (num_operands(at(node).op) == 0 || evicted.spill != kNowhere) return;  // can be read again
    if (free_spills_.empty()) free_spills_.push_back(num_spills_++);
    evicted.spill = free_spills_.back();
    free_spills_.pop_back();
    code_.store(spilled(evicted.spill), reg);
  }

  static VectorOperand spilled(int spill) {
    return VectorOperand::in_memory(Register::rsp, spill * kVectorBytes);
  }

  VectorOperand in_memory(int node) {
    const VectorNode& read = at(node);
    const int place = static_cast<int>(read.detail);
    switch (read.op) {
      case VectorOp::input:
        return VectorOperand::in_memory(kPointers[operand_of(place)],
                                        vector_of(place) * kVectorBytes);
      case VectorOp::flags:
        return VectorOperand::in_memory(kPointers[operand_of(place)],
                                        vector_of(place) * kFlagBytes);
      case VectorOp::constant:
        return code_.constant(read.detail);
      default:
        return spilled(value(node).spill);
    }
  }

  int in_register(int node) {
    if (is_in_register(node)) {
      pin(node);
      return value(node).reg;
    }
    const int reg = make(node);
    if (at(node).op == VectorOp::flags) {
      code_.load_flags(reg, in_memory(node));
    } else {
      code_.load(reg, in_memory(node));
    }
    return reg;
  }

  // Where an instruction can read it. What is not read again, and constants, are left in memory.
  VectorOperand operand(int node) {
    const VectorOp op = at(node).op;
    const bool is_last = value(node).num_uses + 1 == uses_.count(node);
    if (is_in_register(node) || op == VectorOp::flags || (op != VectorOp::constant && !is_last)) {
      return VectorOperand::in_register(in_register(node));
    }
    return in_memory(node);
  }

  void finish_uses(const VectorNode& node) {
    for (int at = 0; at < num_operands(node.op); ++at) finish_use(node.operands[at]);
  }

  void finish_use(int node) {
    Value& read = value(node);
    if (++read.num_uses < uses_.count(node) || is_resident(node)) return;
    if (read.reg != kNowhere) {
      held_[static_cast<std::size_t>(read.reg)] = kNowhere;
      is_pinned_[static_cast<std::size_t>(read.reg)] = false;
      read.reg = kNowhere;
    }
    if (read.spill != kNowhere) free_spills_.push_back(read.spill);
  }

  const VectorGraph& graph_;
  const std::vector<LoopStore>& stores_;
  const Uses uses_;
  Avx2Assembler& code_;
  std::vector<Value> values_;
  std::array<int, kNumRegisters> held_{};        // the node in each register
  std::array<bool, kNumRegisters> is_pinned_{};  // read or made by the instruction at hand
  std::vector<int> free_spills_;
  int num_free_ = kNumRegisters;
  int num_registers_ = 0;
  int num_spills_ = 0;
};

// The constants for the registers that are left, those that are read most first.
std::vector<std::uint32_t> choose_resident(const VectorGraph& graph, int num_left) {
  std::vector<int> num_uses(graph.nodes().size(), 0);
  for (const VectorNode& node : graph.nodes()) {
    for (int at = 0; at < num_operands(node.op); ++at) ++num_uses[position(node.operands[at])];
  }
  std::vector<int> constants;
  for (std::size_t index = 0; index < graph.nodes().size(); ++index) {
    if (graph.nodes()[index].op == VectorOp::constant && num_uses[index] > 0) {
      constants.push_back(static_cast<int>(index));
    }
  }
  std::stable_sort(constants.begin(), constants.end(), [&](int first, int second) {
    return num_uses[position(first)] > num_uses[position(second)];
  });
  if (static_cast<int>(constants.size()) > num_left) constants.resize(position(num_left));
  std::vector<std::uint32_t> bits;
  for (const int constant : constants) bits.push_back(graph.node(constant).detail);
  return bits;
}

// Registers that work takes beside constants that stay in theirs.
int num_registers_of(const Loop& loop) {
  Avx2Assembler discarded;
  Body body(loop, {}, discarded);
  body.emit();
  return body.num_registers();
}

int num_spills_of(const Loop& loop, const std::vector<std::uint32_t>& resident) {
  Avx2Assembler discarded;
  Body body(loop, resident, discarded);
  body.emit();
  return body.num_spills();
}

}  // namespace

std::unique_ptr<MachineCode> compile_loop(const VectorGraph& graph,
                                          const std::vector<LoopStore>& stores, int num_operands) {
  if (!can_make_machine_code()) return nullptr;
  // Two vectors in turns keep the processor busy, whose chains of instructions are longer than it
  // looks ahead; where the registers do not suffice for it, they come one after the other.
  const Loop one = work_of(graph, stores, 0, 1);
  std::vector<Loop> turn;
  turn.push_back(work_of(graph, stores, 0, 2));
  if (num_spills_of(turn.front(), {}) > 0) turn = {one, work_of(graph, stores, 1, 2)};
  const auto resident = choose_resident(graph, kNumRegisters - num_registers_of(turn.front()));
  int num_spills = num_spills_of(one, resident);
  for (const Loop& loop : turn) num_spills = std::max(num_spills, num_spills_of(loop, resident));
  const std::int32_t frame = num_spills * kVectorBytes;

  Avx2Assembler code;
  for (int index = kNumFree; index < num_operands; ++index) code.push(kPointers[index]);
  if (frame > 0) code.add(Register::rsp, -frame);
  for (int index = 0; index < num_operands; ++index) {
    code.load(kPointers[index], kOperands, 8 * index);
  }
  const int first_resident = kNumRegisters - static_cast<int>(resident.size());
  for (std::size_t at = 0; at < resident.size(); ++at) {
    code.load(first_resident + static_cast<int>(at), code.constant(resident[at]));
  }
  code.add(kCount, -2);
  const std::size_t to_last = code.jump_if(Assembler::Condition::negative);
  const std::size_t begin = code.bytes().size();
  for (const Loop& loop : turn) Body(loop, resident, code).emit();
  for (int index = 0; index < num_operands; ++index) code.add(kPointers[index], kSteps, 8 * index);
  code.add(kCount, -2);
  code.jump_back_if(Assembler::Condition::not_negative, begin);
  code.land(to_last);
  code.add(kCount, 1);  // now 0 if one is left, -1 if none is
  const std::size_t to_end = code.jump_if(Assembler::Condition::negative);
  Body(one, resident, code).emit();
  code.land(to_end);
  if (frame > 0) code.add(Register::rsp, frame);
  for (int index = num_operands - 1; index >= kNumFree; --index) code.pop(kPointers[index]);
  code.leave_vectors();
  code.give_back();
  code.finish();
  return MachineCode::make(code.bytes());
}

}  // namespace lumus
