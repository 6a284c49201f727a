// The instructions of blocks (elementwise_block.h) and the loop over a tile.
#include "kernels/elementwise_block.h"

#include "kernels/elementwise_functions.h"
#include "kernels/elementwise_steps.h"

namespace lumus::LUMUS_ISA {

using Pointer = void (*)();
using std::int64_t;

namespace {

// Where an operand is. One that holds a single value throughout has no bits in `mask`: its first
// block is read over and over.
struct Place {
  std::byte* data;
  int64_t mask;

  std::byte* at(int64_t offset) const { return data + (offset & mask); }
};

// Between a slot and a block of memory, which has room for whole vectors.
template <class T>
[[maybe_unused]] void move_rest(std::byte* to, const std::byte* from, int64_t count,
                                bool is_into_block) {
  for (; count > 0; count -= kLanes<T>) {
    const T* const source = reinterpret_cast<const T*>(from);
    T* const target = reinterpret_cast<T*>(to);
    if (count >= kLanes<T>) {
      store<T>(target, load<T>(source));
    } else if (is_into_block) {
      store<T>(target, load_partial<T>(source, count, T(1)));
    } else {
      store_partial<T>(target, load<T>(source), count);
    }
    from += LUMUS_VECTOR_BYTES;
    to += LUMUS_VECTOR_BYTES;
  }
}

[[maybe_unused]] void move_rest(std::byte* to, const std::byte* from, int64_t count, int64_t size,
                                bool is_into_block) {
  if (size == 4) return move_rest<float>(to, from, count, is_into_block);
  if (size == 8) return move_rest<double>(to, from, count, is_into_block);
  std::memcpy(to, from, static_cast<std::size_t>(count));
}

// Whether computing an element again would read what computing it has overwritten.
[[maybe_unused]] bool writes_what_it_reads(const ElementwiseBlock& block, const Place* places) {
  for (int written = 0; written < block.num_operands; ++written) {
    if (!block.operands[written].is_written) continue;
    for (int read = 0; read < block.num_operands; ++read) {
      if (read != written && places[read].data == places[written].data) return true;
    }
  }
  return false;
}

}  // namespace

#if LUMUS_VECTOR_BYTES == 64
namespace {

constexpr int kBlockVectors = 8;  // as many as calls take in registers
constexpr int64_t kBlockBytes = kBlockVectors * LUMUS_VECTOR_BYTES;
constexpr int64_t kNarrowBytes = 2 * LUMUS_VECTOR_BYTES;

template <class T>
struct IntegerOf {
  using type = std::int64_t;
};
template <>
struct IntegerOf<float> {
  using type = std::int32_t;
};
template <class T>
using Mask = Vec<typename IntegerOf<T>::type>;

template <class T>
LUMUS_INLINE Vec<T> vector_at(const std::byte* block, int index) {
  return load<T>(reinterpret_cast<const T*>(block + index * LUMUS_VECTOR_BYTES));
}

template <class T>
struct FlagsOf {
  typedef std::uint8_t type __attribute__((vector_size(kLanes<T>)));
};

template <class T>
LUMUS_INLINE Vec<T> flags_at(const std::byte* bytes, int index) {
  typename FlagsOf<T>::type flags;
  std::memcpy(&flags, bytes + index * kLanes<T>, sizeof flags);
  return (Vec<T>)(__builtin_convertvector(flags, Mask<T>) != 0);
}

template <class T>
LUMUS_INLINE void put_flags(std::byte* bytes, int index, Mask<T> lanes) {
  const auto flags = __builtin_convertvector(lanes & 1, typename FlagsOf<T>::type);
  std::memcpy(bytes + index * kLanes<T>, &flags, sizeof flags);
}

// ---- functions that give lanes of zeros or ones, or take them -----------------------------------

#define LUMUS_TEST(Name, T, parameters, expression) \
  struct Name {                                     \
    template <class T>                              \
    LUMUS_INLINE auto of parameters {               \
      return expression;                            \
    }                                               \
  };

LUMUS_TEST(Equal, V, (V x, V y), x == y)
LUMUS_TEST(NotEqual, V, (V x, V y), x != y)
LUMUS_TEST(Less, V, (V x, V y), x < y)
LUMUS_TEST(LessEqual, V, (V x, V y), x <= y)
LUMUS_TEST(Greater, V, (V x, V y), x > y)
LUMUS_TEST(GreaterEqual, V, (V x, V y), x >= y)
LUMUS_TEST(IsNan, V, (V x), x != x)
LUMUS_TEST(IsInf, V, (V x), (x - x != x - x) & (x == x))
LUMUS_TEST(IsFinite, V, (V x), x - x == x - x)

#undef LUMUS_TEST

struct And {
  LUMUS_INLINE i32v of(f32v x, f32v y) { return (i32v)x & (i32v)y; }
};
struct Or {
  LUMUS_INLINE i32v of(f32v x, f32v y) { return (i32v)x | (i32v)y; }
};
struct Xor {
  LUMUS_INLINE i32v of(f32v x, f32v y) { return (i32v)x ^ (i32v)y; }
};
struct Not {
  LUMUS_INLINE i32v of(f32v x) { return ~(i32v)x; }
};

template <class T, bool kIsChosen>
LUMUS_INLINE Vec<T> select(Mask<T> condition, Vec<T> value, Vec<T> other) {
  return kIsChosen ? (condition ? value : other) : (condition ? other : value);
}

// ---- instructions -------------------------------------------------------------------------------

// Each ends in a call of the next one, which compilers make a jump. The accumulator is of f32v
// whatever its type is.
template <class Positions>
struct Block;

template <int... kIndex>
struct Block<Indices<kIndex...>> {
  template <int>
  using Value = f32v;
  using Run = void (*)(const BlockInstruction*, const Place*, int64_t, Value<kIndex>...);

#define LUMUS_BLOCK_ARGUMENTS \
  const BlockInstruction *instruction, const Place *places, int64_t offset, Value<kIndex>... values

  LUMUS_INLINE Pointer function_of(const BlockInstruction& instruction) {
    return sizeof...(kIndex) == kBlockVectors ? instruction.function : instruction.narrow;
  }

  LUMUS_INLINE void next(LUMUS_BLOCK_ARGUMENTS) {
    reinterpret_cast<Run>(function_of(instruction[1]))(instruction + 1, places, offset, values...);
  }

  LUMUS_INLINE std::byte* operand(const BlockInstruction* instruction, int position,
                                  const Place* places, int64_t offset) {
    return places[instruction->operands[position]].at(offset);
  }

  static void load(LUMUS_BLOCK_ARGUMENTS) {
    const std::byte* const x = operand(instruction, 0, places, offset);
    ((values = vector_at<float>(x, kIndex)), ...);
    next(instruction, places, offset, values...);
  }

  static void store(LUMUS_BLOCK_ARGUMENTS) {
    std::byte* const to = operand(instruction, 0, places, offset);
    (lumus::LUMUS_ISA::store<float>(reinterpret_cast<float*>(to + kIndex * LUMUS_VECTOR_BYTES),
                                    values),
     ...);
    next(instruction, places, offset, values...);
  }

  template <class T>
  static void load_flags(LUMUS_BLOCK_ARGUMENTS) {
    const int64_t element = offset / static_cast<int64_t>(sizeof(T));
    const std::byte* const x = operand(instruction, 0, places, element);
    ((values = (f32v)flags_at<T>(x, kIndex)), ...);
    next(instruction, places, offset, values...);
  }

  template <class T>
  static void store_flags(LUMUS_BLOCK_ARGUMENTS) {
    const int64_t element = offset / static_cast<int64_t>(sizeof(T));
    std::byte* const to = operand(instruction, 0, places, element);
    (put_flags<T>(to, kIndex, (Mask<T>)values), ...);
    next(instruction, places, offset, values...);
  }

  template <class T, class Function>
  static void unary(LUMUS_BLOCK_ARGUMENTS) {
    next(instruction, places, offset, (f32v)Function::of((Vec<T>)values)...);
  }

  template <class T, class Function>
  static void first(LUMUS_BLOCK_ARGUMENTS) {
    const std::byte* const y = operand(instruction, 0, places, offset);
    next(instruction, places, offset,
         (f32v)Function::of((Vec<T>)values, vector_at<T>(y, kIndex))...);
  }

  template <class T, class Function>
  static void second(LUMUS_BLOCK_ARGUMENTS) {
    const std::byte* const x = operand(instruction, 0, places, offset);
    next(instruction, places, offset,
         (f32v)Function::of(vector_at<T>(x, kIndex), (Vec<T>)values)...);
  }

  template <class T>
  static void condition(LUMUS_BLOCK_ARGUMENTS) {
    const std::byte* const x = operand(instruction, 0, places, offset);
    const std::byte* const y = operand(instruction, 1, places, offset);
    next(instruction, places, offset,
         (f32v)((Mask<T>)values ? vector_at<T>(x, kIndex) : vector_at<T>(y, kIndex))...);
  }

  template <class T>
  static void chosen(LUMUS_BLOCK_ARGUMENTS) {
    const std::byte* const lanes = operand(instruction, 0, places, offset);
    const std::byte* const y = operand(instruction, 1, places, offset);
    next(
        instruction, places, offset,
        (f32v)((Mask<T>)vector_at<T>(lanes, kIndex) ? (Vec<T>)values : vector_at<T>(y, kIndex))...);
  }

  template <class T>
  static void other(LUMUS_BLOCK_ARGUMENTS) {
    const std::byte* const lanes = operand(instruction, 0, places, offset);
    const std::byte* const x = operand(instruction, 1, places, offset);
    next(
        instruction, places, offset,
        (f32v)((Mask<T>)vector_at<T>(lanes, kIndex) ? vector_at<T>(x, kIndex) : (Vec<T>)values)...);
  }

  template <class T, class Test, bool kIsChosen>
  static void compared(LUMUS_BLOCK_ARGUMENTS) {
    const std::byte* const x = operand(instruction, 0, places, offset);
    const std::byte* const y = operand(instruction, 1, places, offset);
    const std::byte* const z = operand(instruction, 2, places, offset);
    next(instruction, places, offset,
         (f32v)select<T, kIsChosen>(Test::of(vector_at<T>(x, kIndex), vector_at<T>(y, kIndex)),
                                    (Vec<T>)values, vector_at<T>(z, kIndex))...);
  }

  template <class T, class Test, bool kIsChosen>
  static void tested(LUMUS_BLOCK_ARGUMENTS) {
    const std::byte* const y = operand(instruction, 0, places, offset);
    const std::byte* const z = operand(instruction, 1, places, offset);
    next(instruction, places, offset,
         (f32v)select<T, kIsChosen>(Test::of((Vec<T>)values, vector_at<T>(y, kIndex)),
                                    (Vec<T>)values, vector_at<T>(z, kIndex))...);
  }

  static void finish(const BlockInstruction*, const Place*, int64_t, Value<kIndex>...) {}

  static void start(const ElementwiseBlock& block, const Place* places, int64_t offset) {
    reinterpret_cast<Run>(function_of(*block.instructions))(block.instructions, places, offset,
                                                            (static_cast<void>(kIndex), f32v{})...);
  }

#undef LUMUS_BLOCK_ARGUMENTS
};

using Wide = Block<Indices<0, 1, 2, 3, 4, 5, 6, 7>>;
using Narrow = Block<Indices<0, 1>>;

// ---- finding them -------------------------------------------------------------------------------

// Of a member of B, a Block.
#define LUMUS_POINTER(...) reinterpret_cast<Pointer>(&B::template __VA_ARGS__)

template <class B, class T>
Pointer find_unary(Opcode opcode) {
  switch (opcode) {
    case Opcode::absolute:
      return LUMUS_POINTER(unary<T, Absolute>);
    case Opcode::ceil:
      return LUMUS_POINTER(unary<T, Ceil>);
    case Opcode::erf:
      return LUMUS_POINTER(unary<T, Erf>);
    case Opcode::erfc:
      return LUMUS_POINTER(unary<T, Erfc>);
    case Opcode::exp:
      return LUMUS_POINTER(unary<T, Exp>);
    case Opcode::expm1:
      return LUMUS_POINTER(unary<T, Expm1>);
    case Opcode::floor:
      return LUMUS_POINTER(unary<T, Floor>);
    case Opcode::isfinite:
      return LUMUS_POINTER(unary<T, IsFinite>);
    case Opcode::isinf:
      return LUMUS_POINTER(unary<T, IsInf>);
    case Opcode::isnan:
      return LUMUS_POINTER(unary<T, IsNan>);
    case Opcode::log:
      return LUMUS_POINTER(unary<T, Log>);
    case Opcode::log1p:
      return LUMUS_POINTER(unary<T, Log1p>);
    case Opcode::logical_not:
      return LUMUS_POINTER(unary<float, Not>);
    case Opcode::negative:
      return LUMUS_POINTER(unary<T, Negative>);
    case Opcode::reciprocal:
      return LUMUS_POINTER(unary<T, Reciprocal>);
    case Opcode::round:
      return LUMUS_POINTER(unary<T, Round>);
    case Opcode::rsqrt:
      return LUMUS_POINTER(unary<T, Rsqrt>);
    case Opcode::sigmoid:
      return LUMUS_POINTER(unary<T, Sigmoid>);
    case Opcode::sign:
      return LUMUS_POINTER(unary<T, Sign>);
    case Opcode::sqrt:
      return LUMUS_POINTER(unary<T, Sqrt>);
    case Opcode::square:
      return LUMUS_POINTER(unary<T, Square>);
    case Opcode::tanh:
      return LUMUS_POINTER(unary<T, Tanh>);
    case Opcode::trunc:
      return LUMUS_POINTER(unary<T, Trunc>);
    default:
      return nullptr;
  }
}

template <class B, class T>
Pointer find_first(Opcode opcode) {
  switch (opcode) {
    case Opcode::add:
      return LUMUS_POINTER(first<T, Add>);
    case Opcode::divide:
      return LUMUS_POINTER(first<T, Divide>);
    case Opcode::equal:
      return LUMUS_POINTER(first<T, Equal>);
    case Opcode::greater:
      return LUMUS_POINTER(first<T, Greater>);
    case Opcode::greater_equal:
      return LUMUS_POINTER(first<T, GreaterEqual>);
    case Opcode::less:
      return LUMUS_POINTER(first<T, Less>);
    case Opcode::less_equal:
      return LUMUS_POINTER(first<T, LessEqual>);
    case Opcode::logical_and:
      return LUMUS_POINTER(first<float, And>);
    case Opcode::logical_or:
      return LUMUS_POINTER(first<float, Or>);
    case Opcode::logical_xor:
      return LUMUS_POINTER(first<float, Xor>);
    case Opcode::maximum:
      return LUMUS_POINTER(first<T, Maximum>);
    case Opcode::minimum:
      return LUMUS_POINTER(first<T, Minimum>);
    case Opcode::multiply:
      return LUMUS_POINTER(first<T, Multiply>);
    case Opcode::not_equal:
      return LUMUS_POINTER(first<T, NotEqual>);
    case Opcode::subtract:
      return LUMUS_POINTER(first<T, Subtract>);
    default:
      return nullptr;
  }
}

// Of those that do not commute; a comparison is its mirror image.
template <class B, class T>
Pointer find_second(Opcode opcode) {
  switch (opcode) {
    case Opcode::divide:
      return LUMUS_POINTER(second<T, Divide>);
    case Opcode::greater:
      return LUMUS_POINTER(first<T, Less>);
    case Opcode::greater_equal:
      return LUMUS_POINTER(first<T, LessEqual>);
    case Opcode::less:
      return LUMUS_POINTER(first<T, Greater>);
    case Opcode::less_equal:
      return LUMUS_POINTER(first<T, GreaterEqual>);
    case Opcode::maximum:
      return LUMUS_POINTER(second<T, Maximum>);
    case Opcode::minimum:
      return LUMUS_POINTER(second<T, Minimum>);
    case Opcode::subtract:
      return LUMUS_POINTER(second<T, Subtract>);
    default:
      return find_first<B, T>(opcode);
  }
}

template <class B, class T, bool kIsChosen>
Pointer find_compared(Opcode opcode) {
  switch (opcode) {
    case Opcode::equal:
      return LUMUS_POINTER(compared<T, Equal, kIsChosen>);
    case Opcode::greater:
      return LUMUS_POINTER(compared<T, Greater, kIsChosen>);
    case Opcode::greater_equal:
      return LUMUS_POINTER(compared<T, GreaterEqual, kIsChosen>);
    case Opcode::less:
      return LUMUS_POINTER(compared<T, Less, kIsChosen>);
    case Opcode::less_equal:
      return LUMUS_POINTER(compared<T, LessEqual, kIsChosen>);
    case Opcode::not_equal:
      return LUMUS_POINTER(compared<T, NotEqual, kIsChosen>);
    default:
      return nullptr;
  }
}

template <class B, class T, bool kIsChosen>
Pointer find_tested(Opcode opcode) {
  switch (opcode) {
    case Opcode::equal:
      return LUMUS_POINTER(tested<T, Equal, kIsChosen>);
    case Opcode::greater:
      return LUMUS_POINTER(tested<T, Greater, kIsChosen>);
    case Opcode::greater_equal:
      return LUMUS_POINTER(tested<T, GreaterEqual, kIsChosen>);
    case Opcode::less:
      return LUMUS_POINTER(tested<T, Less, kIsChosen>);
    case Opcode::less_equal:
      return LUMUS_POINTER(tested<T, LessEqual, kIsChosen>);
    case Opcode::not_equal:
      return LUMUS_POINTER(tested<T, NotEqual, kIsChosen>);
    default:
      return nullptr;
  }
}

template <class B, class T>
Pointer find(BlockForm form, Opcode opcode) {
  switch (form) {
    case BlockForm::load:
      return reinterpret_cast<Pointer>(&B::load);
    case BlockForm::load_flags:
      return LUMUS_POINTER(load_flags<T>);
    case BlockForm::store:
      return reinterpret_cast<Pointer>(&B::store);
    case BlockForm::store_flags:
      return LUMUS_POINTER(store_flags<T>);
    case BlockForm::unary:
      return find_unary<B, T>(opcode);
    case BlockForm::first:
      return find_first<B, T>(opcode);
    case BlockForm::second:
      return find_second<B, T>(opcode);
    case BlockForm::condition:
      return LUMUS_POINTER(condition<T>);
    case BlockForm::chosen:
      return LUMUS_POINTER(chosen<T>);
    case BlockForm::other:
      return LUMUS_POINTER(other<T>);
    case BlockForm::compared_chosen:
      return find_compared<B, T, true>(opcode);
    case BlockForm::compared_other:
      return find_compared<B, T, false>(opcode);
    case BlockForm::tested_chosen:
      return find_tested<B, T, true>(opcode);
    case BlockForm::tested_other:
      return find_tested<B, T, false>(opcode);
    case BlockForm::finish:
      return reinterpret_cast<Pointer>(&B::finish);
  }
  return nullptr;
}

// ---- running ------------------------------------------------------------------------------------

// Fewer elements than two vectors hold, by way of memory that does: slots may end with them.
__attribute__((noinline)) void run_moved(const ElementwiseBlock& block, const Place* places,
                                         int64_t begin, int64_t count) {
  alignas(64) std::byte memory[kMaxBlockOperands * kNarrowBytes];
  Place moved[kMaxBlockOperands + kMaxBlockLocals];
  for (int index = 0; index < block.num_operands; ++index) {
    moved[index] = places[index];
    if (places[index].mask == 0) continue;
    const BlockOperand& operand = block.operands[index];
    const int64_t size = operand.is_flag ? 1 : block.itemsize;
    moved[index].data = memory + index * kNarrowBytes;
    if (!operand.is_written) {
      move_rest(moved[index].data, places[index].data + begin * size, count, size, true);
    }
  }
  for (int index = 0; index < block.num_locals; ++index) {
    moved[block.num_operands + index] = places[block.num_operands + index];
  }
  Narrow::start(block, moved, 0);
  for (int index = 0; index < block.num_operands; ++index) {
    const BlockOperand& operand = block.operands[index];
    if (!operand.is_written) continue;
    const int64_t size = operand.is_flag ? 1 : block.itemsize;
    move_rest(places[index].data + begin * size, moved[index].data, count, size, false);
  }
}

// The bytes from `whole` on, after the last whole block. Where that does no harm, the last vectors
// reach back into elements that are done already, and compute them again.
void run_rest(const ElementwiseBlock& block, const Place* places, int64_t whole, int64_t nbytes) {
  const bool may_reach_back = !writes_what_it_reads(block, places);
  if (nbytes - whole > kBlockBytes / 2 && nbytes >= kBlockBytes && may_reach_back) {
    return Wide::start(block, places, nbytes - kBlockBytes);
  }
  for (; whole + kNarrowBytes <= nbytes; whole += kNarrowBytes) {
    Narrow::start(block, places, whole);
  }
  if (whole == nbytes) return;
  if (nbytes >= kNarrowBytes && may_reach_back) {
    return Narrow::start(block, places, nbytes - kNarrowBytes);
  }
  run_moved(block, places, whole / block.itemsize, (nbytes - whole) / block.itemsize);
}

}  // namespace

Pointer find_block(BlockForm form, Opcode opcode, DType dtype, bool is_narrow) {
  if (dtype == DType::float32) {
    return is_narrow ? find<Narrow, float>(form, opcode) : find<Wide, float>(form, opcode);
  }
  if (dtype == DType::float64) {
    return is_narrow ? find<Narrow, double>(form, opcode) : find<Wide, double>(form, opcode);
  }
  return nullptr;
}

void run_block(const ElementwiseBlock& block, std::byte* const* slots, const bool* is_fixed,
               int64_t count) {
  alignas(64) std::byte memory[kMaxBlockLocals * kBlockBytes];
  Place places[kMaxBlockOperands + kMaxBlockLocals];
  for (int index = 0; index < block.num_operands; ++index) {
    const int slot = block.operands[index].slot;
    places[index] = {slots[slot], is_fixed[slot] ? 0 : -1};
  }
  for (int index = 0; index < block.num_locals; ++index) {
    places[block.num_operands + index] = {memory + index * kBlockBytes, 0};
  }
  const int64_t nbytes = count * block.itemsize;
  const int64_t whole = nbytes - nbytes % kBlockBytes;
  for (int64_t offset = 0; offset < whole; offset += kBlockBytes) {
    Wide::start(block, places, offset);
  }
  if (whole < nbytes) run_rest(block, places, whole, nbytes);
}

#elif LUMUS_VECTOR_BYTES == 32
namespace {

constexpr int64_t kLaneCount = kLanes<float>;

// Fewer elements than a vector holds, by way of memory that does: operands may end with them.
__attribute__((noinline)) void run_moved(const ElementwiseBlock& block, const Place* places,
                                         int64_t begin, int64_t count) {
  alignas(32) std::byte memory[kMaxLoopOperands * LUMUS_VECTOR_BYTES];
  std::byte* moved[kMaxLoopOperands];
  const int64_t steps[kMaxLoopOperands] = {};
  for (int index = 0; index < block.num_operands; ++index) {
    const BlockOperand& operand = block.operands[index];
    const int64_t size = operand.is_flag ? 1 : block.itemsize;
    moved[index] = places[index].data;
    if (places[index].mask == 0) continue;
    moved[index] = memory + index * LUMUS_VECTOR_BYTES;
    if (operand.is_written) continue;
    move_rest(moved[index], places[index].data + begin * size, count, size, true);
  }
  block.loop(moved, steps, 1);
  for (int index = 0; index < block.num_operands; ++index) {
    const BlockOperand& operand = block.operands[index];
    if (!operand.is_written) continue;
    const int64_t size = operand.is_flag ? 1 : block.itemsize;
    move_rest(places[index].data + begin * size, moved[index], count, size, false);
  }
}

}  // namespace

Pointer find_block(BlockForm, Opcode, DType, bool) { return nullptr; }

void run_block(const ElementwiseBlock& block, std::byte* const* slots, const bool* is_fixed,
               int64_t count) {
  Place places[kMaxLoopOperands];
  std::byte* operands[kMaxLoopOperands];
  int64_t steps[kMaxLoopOperands];
  for (int index = 0; index < block.num_operands; ++index) {
    const BlockOperand& operand = block.operands[index];
    const bool is_one_value = is_fixed[operand.slot];
    places[index] = {slots[operand.slot], is_one_value ? 0 : -1};
    operands[index] = places[index].data;
    steps[index] = is_one_value ? 0 : 2 * kLaneCount * (operand.is_flag ? 1 : block.itemsize);
  }
  const int64_t num_vectors = count / kLaneCount;
  if (num_vectors > 0) block.loop(operands, steps, num_vectors);
  const int64_t rest = count % kLaneCount;
  if (rest == 0) return;
  // Where that does no harm, the last vector reaches back into elements that are done already.
  if (num_vectors == 0 || writes_what_it_reads(block, places)) {
    return run_moved(block, places, count - rest, rest);
  }
  for (int index = 0; index < block.num_operands; ++index) {
    const int64_t size = block.operands[index].is_flag ? 1 : block.itemsize;
    operands[index] = places[index].at((count - kLaneCount) * size);
  }
  block.loop(operands, steps, 1);
}

#else

Pointer find_block(BlockForm, Opcode, DType, bool) { return nullptr; }
void run_block(const ElementwiseBlock&, std::byte* const*, const bool*, std::int64_t) {}

#endif

}  // namespace lumus::LUMUS_ISA
