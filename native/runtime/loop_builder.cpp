#include "runtime/loop_builder.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "runtime/cpu.h"
#include "runtime/loop_compiler.h"
#include "runtime/recorded_instructions.h"

namespace lumus {
namespace {

// From here on a loop is worth it for instructions that have one, too: it computes two vectors in
// turns.
constexpr std::size_t kManyNodes = 16;
// Beyond this a loop outgrows the cache of instructions; what comes after it has another loop.
constexpr std::size_t kMaxNodes = 600;

std::size_t position(int name) { return static_cast<std::size_t>(name); }

bool is_logical(Opcode opcode) {
  return opcode == Opcode::logical_and || opcode == Opcode::logical_or ||
         opcode == Opcode::logical_xor || opcode == Opcode::logical_not;
}

class Recorder {
 public:
  Recorder(RegisterRange range, const std::vector<ConstantDescription>& constants,
           const std::vector<DType>& dtypes)
      : range_(range), constants_(constants), dtypes_(dtypes), nodes_(dtypes.size(), -1) {}

  const VectorGraph& graph() const { return graph_; }
  // The registers that are read from outside, in the order of the graph's operands.
  const std::vector<int>& inputs() const { return inputs_; }
  int node(int name) const { return nodes_[position(name)]; }

  // False, and nothing is added, for an instruction that cannot be in a loop.
  bool add(const ProgramInstruction& instruction) {
    const bool is_boolean = instruction.dtype == DType::boolean &&
                            (is_logical(instruction.opcode) || instruction.opcode == Opcode::copy);
    if (instruction.opcode == Opcode::cast) return false;
    if (instruction.dtype != DType::float32 && !is_boolean) return false;
    const std::size_t num_nodes = graph_.nodes().size();
    const std::size_t num_inputs = inputs_.size();
    int operands[3] = {-1, -1, -1};
    for (std::size_t at = 0; at < instruction.arguments.size(); ++at) {
      operands[at] = read(instruction.arguments[at]);
    }
    const int result = record(graph_, instruction.opcode, operands);
    if (result < 0) {
      graph_.truncate(num_nodes);
      for (std::size_t at = num_inputs; at < inputs_.size(); ++at)
        nodes_[position(inputs_[at])] = -1;
      inputs_.resize(num_inputs);
      return false;
    }
    nodes_[position(instruction.result)] = result;
    return true;
  }

 private:
  int read(int name) {
    int& node = nodes_[position(name)];
    const bool is_flag = dtypes_[position(name)] == DType::boolean;
    if (range_.has(name)) {
      const ConstantDescription& value = constants_[position(name - range_.begin)];
      if (!is_flag) return graph_.constant(static_cast<float>(value.real));
      return graph_.add(VectorOp::constant, value.integer != 0 ? 0xffffffff : 0);
    }
    if (node < 0) {
      node = graph_.add(is_flag ? VectorOp::flags : VectorOp::input,
                        static_cast<std::uint32_t>(inputs_.size()));
      inputs_.push_back(name);
    }
    return node;
  }

  const RegisterRange range_;
  const std::vector<ConstantDescription>& constants_;
  const std::vector<DType>& dtypes_;
  VectorGraph graph_;
  std::vector<int> nodes_;  // of each register, or -1
  std::vector<int> inputs_;
};

// Whether instructions have one loop already (see `join_pairs`), which needs no memory of its own.
bool have_loop(const std::vector<ProgramInstruction>& instructions, std::size_t begin,
               std::size_t end) {
  if (end - begin != 2) return end - begin < 2;
  const Opcode first = instructions[begin].opcode, second = instructions[begin + 1].opcode;
  if (second == Opcode::select) return is_comparison(first);
  return (first == Opcode::square || joins_in_pairs(first)) && joins_in_pairs(second);
}

// How many results of instructions [begin, end) are read afterwards.
std::size_t num_results(const std::vector<ProgramInstruction>& instructions, std::size_t begin,
                        std::size_t end, const std::vector<std::size_t>& last_reads) {
  return static_cast<std::size_t>(
      std::count_if(instructions.begin() + static_cast<std::ptrdiff_t>(begin),
                    instructions.begin() + static_cast<std::ptrdiff_t>(end),
                    [&](const auto& one) { return last_reads[position(one.result)] >= end; }));
}

}  // namespace

bool has_loops() {
  return std::string_view(isa_name(active_isa)) == "v3" && can_make_machine_code();
}

bool build_loop(const std::vector<ProgramInstruction>& instructions, std::size_t begin,
                RegisterRange range, const std::vector<ConstantDescription>& constants,
                const std::vector<DType>& dtypes, const std::vector<std::size_t>& last_reads,
                BuiltBlock& block, std::size_t& end) {
  // The longest run whose operands have a place.
  Recorder tried(range, constants, dtypes);
  std::size_t limit = begin;
  for (std::size_t next = begin; next < instructions.size(); ++next) {
    if (tried.graph().nodes().size() > kMaxNodes || !tried.add(instructions[next])) break;
    const std::size_t num_inputs = tried.inputs().size();
    if (num_inputs >= kMaxLoopOperands) break;
    if (num_inputs + num_results(instructions, begin, next + 1, last_reads) <= kMaxLoopOperands) {
      limit = next + 1;
    }
  }
  end = std::max(limit, begin + 1);

  Recorder recorder(range, constants, dtypes);
  std::vector<LoopStore> stores;
  std::vector<int> results;
  for (std::size_t index = begin; index < limit; ++index) {
    const ProgramInstruction& instruction = instructions[index];
    recorder.add(instruction);
    if (last_reads[position(instruction.result)] < limit) continue;
    stores.push_back({recorder.node(instruction.result), static_cast<int>(results.size()),
                      dtypes[position(instruction.result)] == DType::boolean,
                      recorder.graph().nodes().size()});
    results.push_back(instruction.result);
  }
  if (have_loop(instructions, begin, limit) && recorder.graph().nodes().size() < kManyNodes) {
    return false;
  }
  const std::size_t num_inputs = recorder.inputs().size();
  for (LoopStore& store : stores) store.operand += static_cast<int>(num_inputs);
  block.registers = recorder.inputs();
  block.registers.insert(block.registers.end(), results.begin(), results.end());
  block.itemsize = itemsize(DType::float32);
  block.code = compile_loop(recorder.graph(), stores, static_cast<int>(block.registers.size()));
  if (block.code == nullptr) {
    block = BuiltBlock();
    return false;
  }
  block.loop = reinterpret_cast<BlockLoop>(block.code->entry(0));
  for (std::size_t at = 0; at < block.registers.size(); ++at) {
    const bool is_flag = dtypes[position(block.registers[at])] == DType::boolean;
    block.operands.push_back({0, is_flag, at >= num_inputs});
  }
  return true;
}

}  // namespace lumus
