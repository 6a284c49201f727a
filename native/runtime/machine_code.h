// Machine code made at run time: instructions as bytes, and memory that can be executed. Where the
// system gives none, nobody needs it: what is compiled here has a slower twin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace lumus {

// Bytes that can be executed, until it is destroyed.
class MachineCode {
 public:
  // Null where the processor or the system does not allow it, or when there is too much already.
  static std::unique_ptr<MachineCode> make(const std::vector<std::uint8_t>& bytes);
  ~MachineCode();
  MachineCode(const MachineCode&) = delete;
  MachineCode& operator=(const MachineCode&) = delete;

  // The function that begins at a distance from the first byte.
  void (*entry(std::size_t distance) const)() {
    return reinterpret_cast<void (*)()>(data_ + distance);
  }

 private:
  MachineCode(std::byte* data, std::size_t size) : data_(data), size_(size) {}

  std::byte* data_;
  std::size_t size_;
};

// Whether `make` may succeed; LUMUS_MACHINE_CODE=0 in the environment says that it does not.
bool can_make_machine_code();

// General registers by their numbers in the instruction set.
enum class Register : std::uint8_t {
  rax,
  rcx,
  rdx,
  rbx,
  rsp,
  rbp,
  rsi,
  rdi,
  r8,
  r9,
  r10,
  r11,
  r12,
  r13,
  r14,
  r15
};

// A vector register, or a vector in memory: at an address in a general register and a distance, or
// among the constants behind the code.
struct VectorOperand {
  bool is_memory;
  int number;  // of the vector register
  Register base;
  std::int32_t distance;
  int constant = -1;

  static VectorOperand in_register(int number) { return {false, number, Register::rax, 0}; }
  static VectorOperand in_memory(Register base, std::int32_t distance) {
    return {true, 0, base, distance};
  }
};

// How two numbers are compared, as the processor counts it: with NaN only `unordered` and
// `not_equal` hold.
enum class Comparison : std::uint8_t {
  equal = 0,
  less = 1,
  less_equal = 2,
  unordered = 3,
  not_equal = 4,
  greater_equal = 0x1d,
  greater = 0x1e
};

// Of vectors; `bitwise_and_not` inverts the first operand, extrema are the second one where either
// is NaN or both are zero.
enum class Arithmetic : std::uint8_t {
  add = 0x58,
  multiply = 0x59,
  subtract = 0x5c,
  minimum = 0x5d,
  divide = 0x5e,
  maximum = 0x5f,
  bitwise_and = 0x54,
  bitwise_and_not = 0x55,
  bitwise_or = 0x56,
  bitwise_xor = 0x57
};

// Appends instructions of x86-64, here those on general registers.
class Assembler {
 public:
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

  void push(Register from);
  void pop(Register to);
  void load(Register to, Register base, std::int32_t distance);
  void add(Register to, Register base, std::int32_t distance);
  void bitwise_and(Register to, Register from);
  void add(Register to, std::int32_t number);  // sets the flags that jumps look at
  void jump(Register to);
  void give_back();  // returns to the caller

  // After an `add` whose result is negative, or not.
  enum class Condition : std::uint8_t { negative = 0x88, not_negative = 0x89 };
  std::size_t jump_if(Condition condition);                // a jump to be completed by `land`
  void land(std::size_t jump);                             // here
  void jump_back_if(Condition condition, std::size_t to);  // to a number of bytes

 protected:
  enum class Map : std::uint8_t { of_0f = 1, of_0f38 = 2, of_0f3a = 3 };
  enum class Prefix : std::uint8_t { none, of_66, of_f3, of_f2 };

  void byte(int value) { bytes_.push_back(static_cast<std::uint8_t>(value)); }
  void number(std::int32_t value);
  void put_number(std::size_t at, std::int32_t value);
  void memory_operand(int reg, Register base, std::int32_t distance);

  std::vector<std::uint8_t> bytes_;
};

// Vectors of 64 bytes of float32, or float64, with AVX-512 (F, DQ).
class Avx512Assembler : public Assembler {
 public:
  explicit Avx512Assembler(bool is_double) : is_double_(is_double) {}

  void load(int to, const VectorOperand& from);
  using Assembler::load;
  void store(const VectorOperand& to, int from);
  void arithmetic(Arithmetic what, int to, int first, const VectorOperand& second);
  void square_root(int to, const VectorOperand& from);
  // A bit for each lane, in one of the registers for masks, 1 to 7.
  void compare(Comparison what, int mask, int first, const VectorOperand& second);
  void test(int mask, const VectorOperand& lanes, int same);  // lanes are zeros or ones
  void either(int mask, int first, int second);
  void select(int to, int mask, int unchosen, const VectorOperand& chosen);
  void lanes_of(int to, int mask);  // zeros or ones
  void ones(int to);
  void shift_left(int to, int from, int count);   // of each lane
  void shift_right(int to, int from, int count);  // zeros come in

 private:
  void vector_instruction(Map map, Prefix prefix, bool is_wide, int opcode, int reg, int second,
                          const VectorOperand& rm, int mask = 0);
  // Of those whose prefix and width go with float32 or float64.
  void typed_instruction(int opcode, int reg, int second, const VectorOperand& rm, int mask = 0);

  bool is_double_;
};

// Vectors of 32 bytes of float32, with AVX2 and FMA. Constants lie behind the code.
class Avx2Assembler : public Assembler {
 public:
  void load(int to, const VectorOperand& from);
  using Assembler::load;
  void store(const VectorOperand& to, int from);
  void arithmetic(Arithmetic what, int to, int first, const VectorOperand& second);
  void square_root(int to, const VectorOperand& from);
  void round(int mode, int to, const VectorOperand& from);
  void shift_left(int to, int from, int count);  // of each lane
  // Lanes of zeros or ones.
  void compare(Comparison what, int to, int first, const VectorOperand& second);
  void select(int to, int lanes, int unchosen, const VectorOperand& chosen);
  // to * first + second, to * second + first, first * second + to; each rounded once.
  void multiply_add(int to, int first, const VectorOperand& second);
  void multiply_second_add(int to, int first, const VectorOperand& second);
  void add_product(int to, int first, const VectorOperand& second);
  // Between lanes of zeros or ones and a byte each, 0 or 1 (any but 0 is read as 1). `spare` is
  // overwritten.
  void load_flags(int to, const VectorOperand& from);
  void store_flags(const VectorOperand& to, int from, int spare);
  void leave_vectors();  // before code without AVX

  // An operand of eight times these bits, which `finish` puts behind the code.
  VectorOperand constant(std::uint32_t bits);
  void finish();

 private:
  struct Reference {
    std::size_t at;  // of the distance within an instruction
    std::size_t end;
    std::size_t constant;
  };

  void vector_instruction(Map map, Prefix prefix, int opcode, int reg, int second,
                          const VectorOperand& rm, int num_following = 0, bool is_half = false);

  std::vector<std::uint32_t> constants_;
  std::vector<Reference> references_;
};

}  // namespace lumus
