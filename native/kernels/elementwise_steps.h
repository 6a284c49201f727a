// Loops over the dense elements of a tile, and where to find the one for an instruction.
#pragma once

#include "kernels/elementwise.h"
#include "kernels/simd.h"

namespace lumus::LUMUS_ISA {

// Null when the type has no such instruction.
StepFunction find_float_step(Opcode opcode, DType dtype);
StepFunction find_integer_step(Opcode opcode, DType dtype);  // booleans included
StepFunction find_cast_step(DType source, DType target);
StepFunction find_copy_step(std::int64_t itemsize);
StepFunction find_select_step(std::int64_t itemsize);

// In the loops below a result may be the very memory of an argument: equal positions only, so
// iterations do not depend on each other, which `ivdep` tells the compiler.

// result[i] = Function(first[i]), one element at a time. For functions whose result does not depend
// on how the compiler makes vectors of them.
template <class In, class Out, class Function>
void unary_elements(std::byte* result, const std::byte* first, const std::byte*, const std::byte*,
                    std::int64_t count) {
  Out* const to = reinterpret_cast<Out*>(result);
  const In* const x = reinterpret_cast<const In*>(first);
#pragma GCC ivdep
  for (std::int64_t index = 0; index < count; ++index) to[index] = Function::of(x[index]);
}

template <class In, class Out, class Function>
void binary_elements(std::byte* result, const std::byte* first, const std::byte* second,
                     const std::byte*, std::int64_t count) {
  Out* const to = reinterpret_cast<Out*>(result);
  const In* const x = reinterpret_cast<const In*>(first);
  const In* const y = reinterpret_cast<const In*>(second);
#pragma GCC ivdep
  for (std::int64_t index = 0; index < count; ++index) to[index] = Function::of(x[index], y[index]);
}

// result = Function(first), a vector at a time; absent lanes of the last vector compute with 1. The
// function appears once in the loop, for the sake of its code's size.
template <class T, class Function>
void unary_vectors(std::byte* result, const std::byte* first, const std::byte*, const std::byte*,
                   std::int64_t count) {
  T* const to = reinterpret_cast<T*>(result);
  const T* const x = reinterpret_cast<const T*>(first);
  for (std::int64_t index = 0; index < count; index += kLanes<T>) {
    const std::int64_t left = count - index;
    const bool is_full = __builtin_expect(left >= kLanes<T>, 1);
    const Vec<T> value =
        Function::of(is_full ? load<T>(x + index) : load_partial<T>(x + index, left, T(1)));
    if (is_full) {
      store<T>(to + index, value);
    } else {
      store_partial<T>(to + index, value, left);
    }
  }
}

template <class T, class Function>
void binary_vectors(std::byte* result, const std::byte* first, const std::byte* second,
                    const std::byte*, std::int64_t count) {
  T* const to = reinterpret_cast<T*>(result);
  const T* const x = reinterpret_cast<const T*>(first);
  const T* const y = reinterpret_cast<const T*>(second);
  for (std::int64_t index = 0; index < count; index += kLanes<T>) {
    const std::int64_t left = count - index;
    const bool is_full = __builtin_expect(left >= kLanes<T>, 1);
    const Vec<T> one = is_full ? load<T>(x + index) : load_partial<T>(x + index, left, T(1));
    const Vec<T> other = is_full ? load<T>(y + index) : load_partial<T>(y + index, left, T(1));
    const Vec<T> value = Function::of(one, other);
    if (is_full) {
      store<T>(to + index, value);
    } else {
      store_partial<T>(to + index, value, left);
    }
  }
}

}  // namespace lumus::LUMUS_ISA
