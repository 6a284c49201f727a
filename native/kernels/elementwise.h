// Elementwise programs: straight-line register programs that run over tiles small enough for the L1
// cache, one SIMD loop per instruction and tile.
//
// Layout      any strides (zero and negative included) on inputs and outputs; a register of a tile
// is
//             dense. Operands that are dense within a tile are read and written in place, others
//             pass through a tile buffer.
// Aliasing    an output may be identical to an input of its dtype (same first element, same
// strides):
//             computed in place. Any other overlap of an output with an input must have been
//             removed by the caller (`overlaps_partly`). Outputs do not overlap each other.
// Threads     tiles are cut by shape and program alone and grouped into pieces by cost, so the bits
// of a
//             result do not depend on the number of threads.
// Numerics    instructions are exactly those of the program: nothing is reordered or contracted,
// and the
//             tail of a tile runs the same vector code as its body.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/view.h"

namespace lumus {

// In the order of `kOpcodeNames` (runtime/elementwise_program.cpp). `copy` never comes from a
// caller.
enum class Opcode : std::uint8_t {
  absolute,
  acos,
  acosh,
  add,
  asin,
  asinh,
  atan,
  atan2,
  atanh,
  bitwise_and,
  bitwise_invert,
  bitwise_left_shift,
  bitwise_or,
  bitwise_right_shift,
  bitwise_xor,
  cast,
  ceil,
  cos,
  cosh,
  digamma,
  divide,
  equal,
  erf,
  erfc,
  erfinv,
  exp,
  exp2,
  expm1,
  floor,
  floor_divide,
  fmod,
  greater,
  greater_equal,
  hypot,
  isfinite,
  isinf,
  isnan,
  less,
  less_equal,
  lgamma,
  log,
  log10,
  log1p,
  log2,
  logical_and,
  logical_not,
  logical_or,
  logical_xor,
  maximum,
  minimum,
  multiply,
  negative,
  not_equal,
  power,
  reciprocal,
  remainder,
  round,
  rsqrt,
  select,
  sigmoid,
  sign,
  sin,
  sinh,
  sqrt,
  square,
  subtract,
  tan,
  tanh,
  trunc,
  zeta,
  copy,
};
constexpr int kNumOpcodes = static_cast<int>(Opcode::copy) + 1;

// One instruction over `count` dense elements. Arguments that an instruction lacks are null or
// unread. `result` may equal an argument whose elements have the size of the result's. Bit k of
// `fixed` says that argument k holds one value throughout, so that its first vector may be read
// over and over.
using StepFunction = void (*)(std::byte* result, const std::byte* first, const std::byte* second,
                              const std::byte* third, std::int64_t count, unsigned fixed);

struct ElementwiseBlock;  // elementwise_block.h
enum class BlockForm : std::uint8_t;

// Slots are numbered inputs, constants, temporaries, outputs.
struct ProgramStep {
  StepFunction function;
  const ElementwiseBlock* block;  // instead of a function, if not null
  std::uint16_t result;
  std::uint16_t arguments[3];  // absent ones name slot 0
};

// Inputs and outputs together.
constexpr int kMaxProgramOperands = 96;

// A compiled program; the memory behind the pointers belongs to its maker.
struct ElementwiseProgram {
  int num_inputs;
  int num_constants;
  int num_temporaries;
  int num_outputs;
  int num_steps;
  const DType* input_dtypes;
  const DType* output_dtypes;
  std::byte* const* constants;  // each a full tile of one value
  const ProgramStep* steps;
  const int* last_read;     // per input: the last instruction that reads it
  const int* written;       // per output: the instruction that writes it
  bool is_one_block;        // nothing passes through memory but inputs, constants and outputs
  std::int64_t tile;        // elements, a multiple of 64
  std::int64_t slot_bytes;  // of a tile buffer: room for `tile` elements of the widest register
  std::int64_t cost;        // of an element, in simple instructions
};

struct ElementwiseKernels {
  // The loop for an instruction, null if there is none. `dtype` is the type computed in (the target
  // for `cast`), `source` the type that a `cast` converts from.
  StepFunction (*find_step)(Opcode opcode, DType dtype, DType source);

  // One loop for two instructions, each rounding on its own: outer(inner(first, second), third), or
  // outer(third, inner(first, second)) when `is_reversed`. For the opcodes of `joins_in_pairs`, and
  // for a comparison within a select: first where it holds and third elsewhere, or the other way
  // round when `is_reversed`.
  StepFunction (*find_pair)(Opcode inner, Opcode outer, bool is_reversed, DType dtype);

  // An instruction of a block of float32 or float64 (elementwise_block.h), null if there is none.
  void (*(*find_block)(BlockForm form, Opcode opcode, DType dtype, bool is_narrow))();

  // Runs over `shape`. Inputs are broadcast to it; outputs have it.
  void (*run)(const ElementwiseProgram& program, const View* const* outputs,
              const View* const* inputs, int rank, const std::int64_t* shape);

  // For other kernels: the program's single output at `count` positions in a row into dense
  // `result`. Input i at position k is the element at inputs[i] + k * strides[i] (in elements). One
  // thread.
  void (*evaluate)(const ElementwiseProgram& program, const std::byte* const* inputs,
                   const std::int64_t* strides, std::int64_t count, std::byte* result);
};

const ElementwiseKernels& elementwise_kernels();

constexpr bool joins_in_pairs(Opcode opcode) {
  return opcode == Opcode::add || opcode == Opcode::subtract || opcode == Opcode::multiply;
}

// True when the elements of `output` and `input` share memory without the two being the same view.
bool overlaps_partly(const View& output, const View& input);

// The number of elements times cost from which a run is worth several threads and a release of the
// interpreter lock.
constexpr std::int64_t kParallelWork = 65536;

}  // namespace lumus
