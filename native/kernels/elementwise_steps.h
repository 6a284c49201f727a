// Loops over the dense elements of a tile, and where to find the one for an instruction.
#pragma once

#include "kernels/elementwise.h"
#include "kernels/simd.h"
#include "kernels/strided.h"

namespace lumus::LUMUS_ISA {

// Null when the type has no such instruction.
StepFunction find_float_step(Opcode opcode, DType dtype);
StepFunction find_special_step(Opcode opcode, DType dtype);
StepFunction find_pair_step(Opcode inner, Opcode outer, bool is_reversed, DType dtype);
StepFunction find_integer_step(Opcode opcode, DType dtype);  // booleans included
void (*find_block(BlockForm form, Opcode opcode, DType dtype, bool is_narrow))();
void run_block(const ElementwiseBlock& block, std::byte* const* slots, const bool* is_fixed,
               std::int64_t count);
StepFunction find_cast_step(DType source, DType target);
StepFunction find_copy_step(std::int64_t itemsize);
StepFunction find_select_step(std::int64_t itemsize);

// In the loops below a result may be the very memory of an argument: equal positions only, so
// iterations do not depend on each other, which `ivdep` tells the compiler.

// result[i] = Function(first[i]), one element at a time. For functions whose result does not depend
// on how the compiler makes vectors of them.
template <class In, class Out, class Function>
void unary_elements(std::byte* result, const std::byte* first, const std::byte*, const std::byte*,
                    std::int64_t count, unsigned) {
  Loose<Out>* const to = reinterpret_cast<Loose<Out>*>(result);
  const Loose<In>* const x = reinterpret_cast<const Loose<In>*>(first);
#pragma GCC ivdep
  for (std::int64_t index = 0; index < count; ++index) {
    to[index] = Function::of(static_cast<In>(x[index]));
  }
}

template <class In, class Out, class Function>
void binary_elements(std::byte* result, const std::byte* first, const std::byte* second,
                     const std::byte*, std::int64_t count, unsigned) {
  Loose<Out>* const to = reinterpret_cast<Loose<Out>*>(result);
  const Loose<In>* const x = reinterpret_cast<const Loose<In>*>(first);
  const Loose<In>* const y = reinterpret_cast<const Loose<In>*>(second);
#pragma GCC ivdep
  for (std::int64_t index = 0; index < count; ++index) {
    to[index] = Function::of(static_cast<In>(x[index]), static_cast<In>(y[index]));
  }
}

// Vectors of one argument, one after the other; absent lanes of the last one read as 1.
template <class T>
class Reader {
 public:
  Reader(const std::byte* from, bool is_fixed)
      : from_(from), step_(is_fixed ? 0 : kLanes<T> * static_cast<std::int64_t>(sizeof(T))) {}

  __attribute__((always_inline)) Vec<T> next(std::int64_t left) {
    const T* const from = reinterpret_cast<const T*>(from_);
    from_ += step_;
    const bool is_full = __builtin_expect(left >= kLanes<T>, 1);
    return is_full ? load<T>(from) : load_partial<T>(from, left, T(1));
  }

 private:
  const std::byte* from_;
  const std::int64_t step_;
};

template <class T>
LUMUS_INLINE void write(std::byte* to, Vec<T> value, std::int64_t left) {
  if (__builtin_expect(left >= kLanes<T>, 1)) {
    store<T>(reinterpret_cast<T*>(to), value);
  } else {
    store_partial<T>(reinterpret_cast<T*>(to), value, left);
  }
}

// result = Function(first), a vector at a time.
template <class T, class Function>
void unary_vectors(std::byte* result, const std::byte* first, const std::byte*, const std::byte*,
                   std::int64_t count, unsigned) {
  Reader<T> x(first, false);
  for (std::int64_t left = count; left > 0; left -= kLanes<T>) {
    write<T>(result, Function::of(x.next(left)), left);
    result += LUMUS_VECTOR_BYTES;
  }
}

template <class T, class Function>
void binary_vectors(std::byte* result, const std::byte* first, const std::byte* second,
                    const std::byte*, std::int64_t count, unsigned fixed) {
  Reader<T> x(first, fixed & 1);
  Reader<T> y(second, fixed & 2);
  for (std::int64_t left = count; left > 0; left -= kLanes<T>) {
    write<T>(result, Function::of(x.next(left), y.next(left)), left);
    result += LUMUS_VECTOR_BYTES;
  }
}

template <class T, class Inner, class Outer, bool kIsReversed>
void pair_vectors(std::byte* result, const std::byte* first, const std::byte* second,
                  const std::byte* third, std::int64_t count, unsigned fixed) {
  Reader<T> x(first, fixed & 1);
  Reader<T> y(second, fixed & 2);
  Reader<T> z(third, fixed & 4);
  for (std::int64_t left = count; left > 0; left -= kLanes<T>) {
    const Vec<T> inner = Inner::of(x.next(left), y.next(left));
    const Vec<T> other = z.next(left);
    write<T>(result, kIsReversed ? Outer::of(other, inner) : Outer::of(inner, other), left);
    result += LUMUS_VECTOR_BYTES;
  }
}

template <class T, class Test, bool kIsReversed>
void choice_vectors(std::byte* result, const std::byte* first, const std::byte* second,
                    const std::byte* third, std::int64_t count, unsigned fixed) {
  Reader<T> x(first, fixed & 1);
  Reader<T> y(second, fixed & 2);
  Reader<T> z(third, fixed & 4);
  for (std::int64_t left = count; left > 0; left -= kLanes<T>) {
    const Vec<T> value = x.next(left);
    const auto holds = Test::of(value, y.next(left));
    const Vec<T> other = z.next(left);
    write<T>(result, kIsReversed ? (holds ? other : value) : (holds ? value : other), left);
    result += LUMUS_VECTOR_BYTES;
  }
}

}  // namespace lumus::LUMUS_ISA
