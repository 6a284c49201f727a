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
  bytes_.resize(bytes_.size() + 4);
  put_number(bytes_.size() - 4, value);
}

void Assembler::put_number(std::size_t at, std::int32_t value) {
  std::memcpy(bytes_.data() + at, &value, sizeof value);  // x86 has the lowest byte first, too
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

void Assembler::give_back() { byte(0xc3); }

std::size_t Assembler::jump_if(Condition condition) {
  byte(0x0f);
  byte(static_cast<int>(condition));
  number(0);
  return bytes_.size();
}

void Assembler::land(std::size_t jump) {
  put_number(jump - 4, static_cast<std::int32_t>(bytes_.size() - jump));
}

void Assembler::jump_back_if(Condition condition, std::size_t to) {
  const std::size_t jump = jump_if(condition);
  put_number(jump - 4, static_cast<std::int32_t>(to) - static_cast<std::int32_t>(jump));
}

// ---- vectors of 64 bytes ------------------------------------------------------------------------

void Avx512Assembler::vector_instruction(Map map, Prefix prefix, bool is_wide, int opcode, int reg,
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

void Avx512Assembler::typed_instruction(int opcode, int reg, int second, const VectorOperand& rm,
                                        int mask) {
  vector_instruction(Map::of_0f, is_double_ ? Prefix::of_66 : Prefix::none, is_double_, opcode, reg,
                     second, rm, mask);
}

void Avx512Assembler::load(int to, const VectorOperand& from) {
  typed_instruction(0x10, to, 0, from);
}
void Avx512Assembler::store(const VectorOperand& to, int from) {
  typed_instruction(0x11, from, 0, to);
}

void Avx512Assembler::arithmetic(Arithmetic what, int to, int first, const VectorOperand& second) {
  typed_instruction(static_cast<int>(what), to, first, second);
}

void Avx512Assembler::square_root(int to, const VectorOperand& from) {
  typed_instruction(0x51, to, 0, from);
}

void Avx512Assembler::compare(Comparison what, int mask, int first, const VectorOperand& second) {
  typed_instruction(0xc2, mask, first, second);
  byte(static_cast<int>(what));
}

void Avx512Assembler::test(int mask, const VectorOperand& lanes, int same) {
  vector_instruction(Map::of_0f38, Prefix::of_66, is_double_, 0x27, mask, same, lanes);
}

void Avx512Assembler::either(int mask, int first, int second) {
  byte(0xc5);
  byte((~first & 15) << 3 | 0x84);
  byte(0x45);
  byte(0xc0 | mask << 3 | second);
}

void Avx512Assembler::select(int to, int mask, int unchosen, const VectorOperand& chosen) {
  vector_instruction(Map::of_0f38, Prefix::of_66, is_double_, 0x65, to, unchosen, chosen, mask);
}

void Avx512Assembler::lanes_of(int to, int mask) {
  vector_instruction(Map::of_0f38, Prefix::of_f3, is_double_, 0x38, to, 0,
                     VectorOperand::in_register(mask));
}

void Avx512Assembler::ones(int to) {
  vector_instruction(Map::of_0f3a, Prefix::of_66, false, 0x25, to, to,
                     VectorOperand::in_register(to));
  byte(0xff);
}

void Avx512Assembler::shift_left(int to, int from, int count) {
  vector_instruction(Map::of_0f, Prefix::of_66, is_double_, is_double_ ? 0x73 : 0x72, 6, to,
                     VectorOperand::in_register(from));
  byte(count);
}

void Avx512Assembler::shift_right(int to, int from, int count) {
  vector_instruction(Map::of_0f, Prefix::of_66, is_double_, is_double_ ? 0x73 : 0x72, 2, to,
                     VectorOperand::in_register(from));
  byte(count);
}

// ---- vectors of 32 bytes ------------------------------------------------------------------------

// `num_following` bytes come after the operands; a half instruction is on the first 16 bytes.
void Avx2Assembler::vector_instruction(Map map, Prefix prefix, int opcode, int reg, int second,
                                       const VectorOperand& rm, int num_following, bool is_half) {
  const int rm_high = rm.is_memory ? high(rm.base) : rm.number >> 3;
  byte(0xc4);
  byte((reg & 8 ? 0 : 0x80) | 0x40 | (rm_high ? 0 : 0x20) | static_cast<int>(map));
  byte((~second & 15) << 3 | (is_half ? 0 : 0x04) | static_cast<int>(prefix));
  byte(opcode);
  if (rm.constant >= 0) {
    byte(0x05 | (reg & 7) << 3);
    references_.push_back({bytes_.size(),
                           bytes_.size() + 4 + static_cast<std::size_t>(num_following),
                           static_cast<std::size_t>(rm.constant)});
    number(0);
  } else if (rm.is_memory) {
    memory_operand(reg, rm.base, rm.distance);
  } else {
    byte(0xc0 | (reg & 7) << 3 | (rm.number & 7));
  }
}

void Avx2Assembler::load(int to, const VectorOperand& from) {
  vector_instruction(Map::of_0f, Prefix::none, 0x10, to, 0, from);
}

void Avx2Assembler::store(const VectorOperand& to, int from) {
  vector_instruction(Map::of_0f, Prefix::none, 0x11, from, 0, to);
}

void Avx2Assembler::arithmetic(Arithmetic what, int to, int first, const VectorOperand& second) {
  vector_instruction(Map::of_0f, Prefix::none, static_cast<int>(what), to, first, second);
}

void Avx2Assembler::square_root(int to, const VectorOperand& from) {
  vector_instruction(Map::of_0f, Prefix::none, 0x51, to, 0, from);
}

void Avx2Assembler::round(int mode, int to, const VectorOperand& from) {
  vector_instruction(Map::of_0f3a, Prefix::of_66, 0x08, to, 0, from, 1);
  byte(mode | 0x08);  // no flag for an inexact result
}

void Avx2Assembler::shift_left(int to, int from, int count) {
  vector_instruction(Map::of_0f, Prefix::of_66, 0x72, 6, to, VectorOperand::in_register(from), 1);
  byte(count);
}

void Avx2Assembler::compare(Comparison what, int to, int first, const VectorOperand& second) {
  vector_instruction(Map::of_0f, Prefix::none, 0xc2, to, first, second, 1);
  byte(static_cast<int>(what));
}

void Avx2Assembler::select(int to, int lanes, int unchosen, const VectorOperand& chosen) {
  vector_instruction(Map::of_0f3a, Prefix::of_66, 0x4a, to, unchosen, chosen, 1);
  byte(lanes << 4);
}

void Avx2Assembler::multiply_add(int to, int first, const VectorOperand& second) {
  vector_instruction(Map::of_0f38, Prefix::of_66, 0xa8, to, first, second);
}

void Avx2Assembler::multiply_second_add(int to, int first, const VectorOperand& second) {
  vector_instruction(Map::of_0f38, Prefix::of_66, 0x98, to, first, second);
}

void Avx2Assembler::add_product(int to, int first, const VectorOperand& second) {
  vector_instruction(Map::of_0f38, Prefix::of_66, 0xb8, to, first, second);
}

void Avx2Assembler::load_flags(int to, const VectorOperand& from) {
  vector_instruction(Map::of_0f38, Prefix::of_66, 0x31, to, 0, from);        // bytes to lanes
  vector_instruction(Map::of_0f, Prefix::of_66, 0x66, to, to, constant(0));  // greater than 0
}

void Avx2Assembler::store_flags(const VectorOperand& to, int from, int spare) {
  const VectorOperand own = VectorOperand::in_register(spare);
  vector_instruction(Map::of_0f3a, Prefix::of_66, 0x39, from, 0, own, 1);  // the upper half
  byte(1);
  vector_instruction(Map::of_0f, Prefix::of_66, 0x6b, spare, from, own, 0, true);   // to 16 bits
  vector_instruction(Map::of_0f, Prefix::of_66, 0x63, spare, spare, own, 0, true);  // to 8
  vector_instruction(Map::of_0f38, Prefix::of_66, 0x1c, spare, 0, own, 0, true);    // -1 to 1
  vector_instruction(Map::of_0f, Prefix::of_66, 0xd6, spare, 0, to, 0, true);
}

void Avx2Assembler::leave_vectors() {
  byte(0xc5);
  byte(0xf8);
  byte(0x77);
}

VectorOperand Avx2Assembler::constant(std::uint32_t bits) {
  std::size_t index = 0;
  while (index < constants_.size() && constants_[index] != bits) ++index;
  if (index == constants_.size()) constants_.push_back(bits);
  VectorOperand operand = VectorOperand::in_memory(Register::rax, 0);
  operand.constant = static_cast<int>(index);
  return operand;
}

void Avx2Assembler::finish() {
  constexpr std::size_t size = 32;
  while (bytes_.size() % size != 0) byte(0xcc);
  const std::size_t begin = bytes_.size();
  for (const Reference& one : references_) {
    const std::size_t place = begin + size * one.constant;
    put_number(one.at, static_cast<std::int32_t>(place - one.end));
  }
  for (const std::uint32_t bits : constants_) {
    for (std::size_t lane = 0; lane < size / sizeof bits; ++lane) {
      number(static_cast<std::int32_t>(bits));
    }
  }
}

}  // namespace lumus
