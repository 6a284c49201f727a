#include "runtime/machine_code.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>

#if defined(__linux__) && defined(__x86_64__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace lumus {

#if defined(__linux__) && defined(__x86_64__)
namespace {

// Each has pages of its own, and the system has a limit on the number of mappings.
constexpr int kMaxMappings = 8192;

std::atomic<int> num_mappings{0};

std::size_t whole_pages(std::size_t size) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (size + page - 1) / page * page;
}

}  // namespace

bool can_make_machine_code() {
  static const bool is_allowed = [] {
    const char* const text = std::getenv("LUMUS_MACHINE_CODE");
    return text == nullptr || std::string_view(text) != "0";
  }();
  return is_allowed && num_mappings.load(std::memory_order_relaxed) < kMaxMappings;
}

// Written first and executable then, never both at once.
std::unique_ptr<MachineCode> MachineCode::make(const std::vector<std::uint8_t>& bytes) {
  if (!can_make_machine_code()) return nullptr;
  const std::size_t size = whole_pages(bytes.size());
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  std::memcpy(memory, bytes.data(), bytes.size());
  if (mprotect(memory, size, PROT_READ | PROT_EXEC) != 0) {
    munmap(memory, size);
    return nullptr;
  }
  num_mappings.fetch_add(1, std::memory_order_relaxed);
  return std::unique_ptr<MachineCode>(new MachineCode(static_cast<std::byte*>(memory), size));
}

MachineCode::~MachineCode() {
  munmap(data_, size_);
  num_mappings.fetch_sub(1, std::memory_order_relaxed);
}

#else

bool can_make_machine_code() { return false; }
std::unique_ptr<MachineCode> MachineCode::make(const std::vector<std::uint8_t>&) { return nullptr; }
MachineCode::~MachineCode() = default;

#endif

// ---- general registers --------------------------------------------------------------------------

namespace {

int low(Register name) { return static_cast<int>(name) & 7; }
int high(Register name) { return static_cast<int>(name) >> 3; }
bool is_short(std::int32_t distance) { return distance >= -128 && distance < 128; }

}  // namespace

void Assembler::number(std::int32_t value) {
  for (int at = 0; at < 4; ++at) byte(value >> (8 * at) & 0xff);
}

// The byte that names both operands, and where in memory the second one is.
void Assembler::memory_operand(int reg, Register base, std::int32_t distance) {
  byte(0x80 | (reg & 7) << 3 | low(base));
  if (low(base) == low(Register::rsp)) byte(0x24);
  number(distance);
}

void Assembler::push(Register from) {
  if (high(from)) byte(0x41);
  byte(0x50 | low(from));
}

void Assembler::pop(Register to) {
  if (high(to)) byte(0x41);
  byte(0x58 | low(to));
}

void Assembler::load(Register to, Register base, std::int32_t distance) {
  byte(0x48 | high(to) << 2 | high(base));
  byte(0x8b);
  memory_operand(low(to), base, distance);
}

void Assembler::add(Register to, Register base, std::int32_t distance) {
  byte(0x48 | high(to) << 2 | high(base));
  byte(0x03);
  memory_operand(low(to), base, distance);
}

void Assembler::bitwise_and(Register to, Register from) {
  byte(0x48 | high(from) << 2 | high(to));
  byte(0x21);
  byte(0xc0 | low(from) << 3 | low(to));
}

void Assembler::add(Register to, std::int32_t value) {
  byte(0x48 | high(to));
  byte(0x81);
  byte(0xc0 | low(to));
  number(value);
}

void Assembler::jump(Register to) {
  if (high(to)) byte(0x41);
  byte(0xff);
  byte(0xe0 | low(to));
}

// ---- vectors ------------------------------------------------------------------------------------

void Assembler::vector_instruction(Map map, Prefix prefix, bool is_wide, int opcode, int reg,
                                   int second, const VectorOperand& rm, int mask) {
  const int rm_bits = rm.is_memory ? static_cast<int>(rm.base) : rm.number;
  const bool rm_is_high = (rm_bits & 16) != 0;  // of vector registers alone
  byte(0x62);
  byte((reg & 8 ? 0 : 0x80) | (rm_is_high ? 0 : 0x40) | (rm_bits & 8 ? 0 : 0x20) |
       (reg & 16 ? 0 : 0x10) | static_cast<int>(map));
  byte((is_wide ? 0x80 : 0) | (~second & 15) << 3 | 0x04 | static_cast<int>(prefix));
  byte(0x40 | (second & 16 ? 0 : 0x08) | mask);  // 64 bytes
  byte(opcode);
  if (rm.is_memory && rm.distance % 64 == 0 && is_short(rm.distance / 64)) {
    // Short distances are counted in vectors.
    byte(0x40 | (reg & 7) << 3 | low(rm.base));
    if (low(rm.base) == low(Register::rsp)) byte(0x24);
    byte(rm.distance / 64 & 0xff);
  } else if (rm.is_memory) {
    memory_operand(reg, rm.base, rm.distance);
  } else {
    byte(0xc0 | (reg & 7) << 3 | (rm.number & 7));
  }
}

void Assembler::typed_instruction(int opcode, int reg, int second, const VectorOperand& rm,
                                  int mask) {
  vector_instruction(Map::of_0f, is_double_ ? Prefix::of_66 : Prefix::none, is_double_, opcode, reg,
                     second, rm, mask);
}

void Assembler::load(int to, const VectorOperand& from) { typed_instruction(0x10, to, 0, from); }
void Assembler::store(const VectorOperand& to, int from) { typed_instruction(0x11, from, 0, to); }

void Assembler::arithmetic(Arithmetic what, int to, int first, const VectorOperand& second) {
  typed_instruction(static_cast<int>(what), to, first, second);
}

void Assembler::square_root(int to, const VectorOperand& from) {
  typed_instruction(0x51, to, 0, from);
}

void Assembler::compare(Comparison what, int mask, int first, const VectorOperand& second) {
  typed_instruction(0xc2, mask, first, second);
  byte(static_cast<int>(what));
}

void Assembler::test(int mask, const VectorOperand& lanes, int same) {
  vector_instruction(Map::of_0f38, Prefix::of_66, is_double_, 0x27, mask, same, lanes);
}

void Assembler::either(int mask, int first, int second) {
  byte(0xc5);
  byte((~first & 15) << 3 | 0x84);
  byte(0x45);
  byte(0xc0 | mask << 3 | second);
}

void Assembler::select(int to, int mask, int unchosen, const VectorOperand& chosen) {
  vector_instruction(Map::of_0f38, Prefix::of_66, is_double_, 0x65, to, unchosen, chosen, mask);
}

void Assembler::lanes_of(int to, int mask) {
  vector_instruction(Map::of_0f38, Prefix::of_f3, is_double_, 0x38, to, 0,
                     VectorOperand::in_register(mask));
}

void Assembler::ones(int to) {
  vector_instruction(Map::of_0f3a, Prefix::of_66, false, 0x25, to, to,
                     VectorOperand::in_register(to));
  byte(0xff);
}

void Assembler::shift_left(int to, int from, int count) {
  vector_instruction(Map::of_0f, Prefix::of_66, is_double_, is_double_ ? 0x73 : 0x72, 6, to,
                     VectorOperand::in_register(from));
  byte(count);
}

void Assembler::shift_right(int to, int from, int count) {
  vector_instruction(Map::of_0f, Prefix::of_66, is_double_, is_double_ ? 0x73 : 0x72, 2, to,
                     VectorOperand::in_register(from));
  byte(count);
}

}  // namespace lumus
