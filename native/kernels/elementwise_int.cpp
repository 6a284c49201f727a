// The instructions of elementwise programs on integers and booleans, and those that only move
// elements. Arithmetic wraps, so where signs make no difference one loop serves all types of a
// size.
#include "kernels/elementwise_steps.h"

namespace lumus::LUMUS_ISA {
namespace {

// clang-format off
template <class T> struct UnsignedOf { using type = T; };
template <> struct UnsignedOf<std::int8_t> { using type = std::uint8_t; };
template <> struct UnsignedOf<std::int16_t> { using type = std::uint16_t; };
template <> struct UnsignedOf<std::int32_t> { using type = std::uint32_t; };
template <> struct UnsignedOf<std::int64_t> { using type = std::uint64_t; };
// clang-format on
template <class T>
using Unsigned = typename UnsignedOf<T>::type;

template <class T>
constexpr bool kIsSigned = static_cast<T>(-1) < static_cast<T>(0);

// The C++ rules promote small operands to int, whose products of two uint16 could overflow: all
// goes through unsigned numbers of at least 32 bits.
template <class T>
LUMUS_INLINE T wrapped(std::uint64_t value) {
  return static_cast<T>(value);
}

#define LUMUS_INTEGER(Name, arguments, expression) \
  struct Name {                                    \
    template <class T>                             \
    LUMUS_INLINE T of arguments {                  \
      return static_cast<T>(expression);           \
    }                                              \
  };
#define LUMUS_TEST(Name, arguments, expression)     \
  struct Name {                                     \
    template <class T>                              \
    LUMUS_INLINE std::uint8_t of arguments {        \
      return static_cast<std::uint8_t>(expression); \
    }                                               \
  };

// `1u *` widens small unsigned operands to unsigned int instead of int.
LUMUS_INTEGER(Add, (T x, T y), 1u * x + y)
LUMUS_INTEGER(Subtract, (T x, T y), 1u * x - y)
LUMUS_INTEGER(Multiply, (T x, T y), 1u * x * y)
LUMUS_INTEGER(Negative, (T x), 0u - x)
LUMUS_INTEGER(Square, (T x), 1u * x * x)
LUMUS_INTEGER(Maximum, (T x, T y), x > y ? x : y)
LUMUS_INTEGER(Minimum, (T x, T y), x < y ? x : y)
LUMUS_INTEGER(Absolute, (T x), x < 0 ? 0u - Unsigned<T>(x) : Unsigned<T>(x))
LUMUS_INTEGER(Sign, (T x), (x > 0) - (x < 0))
LUMUS_INTEGER(Copy, (T x), x)
LUMUS_INTEGER(BitwiseAnd, (T x, T y), x& y)
LUMUS_INTEGER(BitwiseInvert, (T x), ~x)
LUMUS_INTEGER(BitwiseOr, (T x, T y), x | y)
LUMUS_INTEGER(BitwiseXor, (T x, T y), x ^ y)

LUMUS_TEST(Equal, (T x, T y), x == y)
LUMUS_TEST(NotEqual, (T x, T y), x != y)
LUMUS_TEST(Less, (T x, T y), x < y)
LUMUS_TEST(LessEqual, (T x, T y), x <= y)
LUMUS_TEST(LogicalAnd, (T x, T y), (x != 0) & (y != 0))
LUMUS_TEST(LogicalOr, (T x, T y), (x != 0) | (y != 0))
LUMUS_TEST(LogicalXor, (T x, T y), (x != 0) != (y != 0))
LUMUS_TEST(LogicalNot, (T x), x == 0)
LUMUS_TEST(BooleanEqual, (T x, T y), (x != 0) == (y != 0))
LUMUS_TEST(BooleanLess, (T x, T y), (x == 0) & (y != 0))
LUMUS_TEST(BooleanLessEqual, (T x, T y), (x == 0) | (y != 0))

#undef LUMUS_INTEGER
#undef LUMUS_TEST

// The arguments swapped: greater from less.
template <class Function>
struct Swapped {
  template <class T>
  LUMUS_INLINE auto of(T x, T y) {
    return Function::of(y, x);
  }
};

// Rounds towards minus infinity. Quotients of integers of up to 32 bits: a float64 quotient is off
// by less than 2^-21, and one that is not an integer is at least 2^-32 / 2^-31 away from the next
// in proportion to its divisor, so its floor is exact; unlike integer division it has vector
// instructions.
struct FloorDivide {
  template <class T>
  LUMUS_INLINE T of(T x, T y) {
    if constexpr (sizeof(T) == 8) {
      if (y == 0) return 0;
      if (y == -1) return static_cast<T>(0u - Unsigned<T>(x));
      const T quotient = x / y;
      return quotient - ((x % y != 0) & ((x < 0) != (y < 0)));
    } else {
      const double divisor = y == 0 ? 1.0 : static_cast<double>(y);
      const double quotient = __builtin_floor(static_cast<double>(x) / divisor);
      // The lowest int32 over -1 is the one quotient that does not fit; it wraps.
      const double fitting = quotient >= 2147483648.0 ? -2147483648.0 : quotient;
      const T value = static_cast<T>(static_cast<std::int32_t>(fitting));
      return y == 0 ? T(0) : value;
    }
  }
};

struct Remainder {
  template <class T>
  LUMUS_INLINE T of(T x, T y) {
    if constexpr (sizeof(T) == 8) {
      if (y == 0 || y == -1) return 0;
      const T rest = x % y;
      return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
    } else {
      const double number = static_cast<double>(x);
      const double divisor = y == 0 ? 1.0 : static_cast<double>(y);
      // Both the product and the difference are integers below 2^53: exact.
      const double rest = number - __builtin_floor(number / divisor) * divisor;
      return y == 0 ? T(0) : static_cast<T>(static_cast<std::int32_t>(rest));
    }
  }
};

// The remainder of a division that rounds towards zero.
struct Fmod {
  template <class T>
  LUMUS_INLINE T of(T x, T y) {
    if constexpr (sizeof(T) == 8) {
      return y == 0 || y == -1 ? T(0) : x % y;
    } else {
      const double number = static_cast<double>(x);
      const double divisor = y == 0 ? 1.0 : static_cast<double>(y);
      const double rest = number - __builtin_trunc(number / divisor) * divisor;
      return y == 0 ? T(0) : static_cast<T>(static_cast<std::int32_t>(rest));
    }
  }
};

// By a negative count, or by the width and more, all bits are shifted out.
template <class T>
constexpr Unsigned<T> kWidth = 8 * sizeof(T);
struct LeftShift {
  template <class T>
  LUMUS_INLINE T of(T x, T y) {
    const Unsigned<T> count = static_cast<Unsigned<T>>(y);
    const Unsigned<T> bits = static_cast<Unsigned<T>>(x);
    return count < kWidth<T> ? static_cast<T>(static_cast<std::uint64_t>(bits) << count) : T(0);
  }
};
struct RightShift {
  template <class T>
  LUMUS_INLINE T of(T x, T y) {
    const Unsigned<T> count = static_cast<Unsigned<T>>(y);
    if constexpr (!kIsSigned<T>) {
      return count < kWidth<T> ? static_cast<T>(x >> count) : T(0);
    } else {
      return static_cast<T>(x >> (count < kWidth<T> ? count : kWidth<T> - 1));
    }
  }
};

struct Power {
  template <class T>
  LUMUS_INLINE T of(T base, T exponent) {
    if constexpr (kIsSigned<T>) {
      if (exponent < 0) {
        if (base == 1) return 1;
        return base == -1 ? ((exponent & 1) != 0 ? T(-1) : T(1)) : T(0);
      }
    }
    std::uint64_t factor = static_cast<std::uint64_t>(base);
    std::uint64_t result = 1;
    for (Unsigned<T> rest = static_cast<Unsigned<T>>(exponent); rest != 0; rest >>= 1) {
      if ((rest & 1) != 0) result *= factor;
      factor *= factor;
    }
    return wrapped<T>(result);
  }
};

template <class T>
void select_elements(std::byte* result, const std::byte* condition, const std::byte* first,
                     const std::byte* second, std::int64_t count, unsigned) {
  T* const to = reinterpret_cast<T*>(result);
  const auto* const chooses = reinterpret_cast<const std::uint8_t*>(condition);
  const T* const x = reinterpret_cast<const T*>(first);
  const T* const y = reinterpret_cast<const T*>(second);
#pragma GCC ivdep
  for (std::int64_t index = 0; index < count; ++index) {
    const T one = x[index];
    const T other = y[index];
    to[index] = chooses[index] != 0 ? one : other;
  }
}

template <class T>
StepFunction find(Opcode opcode) {
  using U = Unsigned<T>;
  using Flag = std::uint8_t;
  switch (opcode) {
    case Opcode::absolute:
      return unary_elements<T, T, Absolute>;
    case Opcode::add:
      return binary_elements<U, U, Add>;
    case Opcode::bitwise_and:
      return binary_elements<U, U, BitwiseAnd>;
    case Opcode::bitwise_invert:
      return unary_elements<U, U, BitwiseInvert>;
    case Opcode::bitwise_left_shift:
      return binary_elements<T, T, LeftShift>;
    case Opcode::bitwise_or:
      return binary_elements<U, U, BitwiseOr>;
    case Opcode::bitwise_right_shift:
      return binary_elements<T, T, RightShift>;
    case Opcode::bitwise_xor:
      return binary_elements<U, U, BitwiseXor>;
    case Opcode::ceil:
    case Opcode::floor:
    case Opcode::round:
    case Opcode::trunc:
      return find_copy_step(sizeof(T));
    case Opcode::equal:
      return binary_elements<U, Flag, Equal>;
    case Opcode::floor_divide:
      return binary_elements<T, T, FloorDivide>;
    case Opcode::fmod:
      return binary_elements<T, T, Fmod>;
    case Opcode::greater:
      return binary_elements<T, Flag, Swapped<Less>>;
    case Opcode::greater_equal:
      return binary_elements<T, Flag, Swapped<LessEqual>>;
    case Opcode::less:
      return binary_elements<T, Flag, Less>;
    case Opcode::less_equal:
      return binary_elements<T, Flag, LessEqual>;
    case Opcode::maximum:
      return binary_elements<T, T, Maximum>;
    case Opcode::minimum:
      return binary_elements<T, T, Minimum>;
    case Opcode::multiply:
      return binary_elements<U, U, Multiply>;
    case Opcode::negative:
      return unary_elements<U, U, Negative>;
    case Opcode::not_equal:
      return binary_elements<U, Flag, NotEqual>;
    case Opcode::power:
      return binary_elements<T, T, Power>;
    case Opcode::remainder:
      return binary_elements<T, T, Remainder>;
    case Opcode::select:
      return find_select_step(sizeof(T));
    case Opcode::sign:
      return unary_elements<T, T, Sign>;
    case Opcode::square:
      return unary_elements<U, U, Square>;
    case Opcode::subtract:
      return binary_elements<U, U, Subtract>;
    default:
      return nullptr;
  }
}

// Any byte but 0 is true, so memory that comes from elsewhere may hold more than 0 and 1.
StepFunction find_boolean(Opcode opcode) {
  using Flag = std::uint8_t;
  switch (opcode) {
    case Opcode::equal:
      return binary_elements<Flag, Flag, BooleanEqual>;
    case Opcode::greater:
      return binary_elements<Flag, Flag, Swapped<BooleanLess>>;
    case Opcode::greater_equal:
      return binary_elements<Flag, Flag, Swapped<BooleanLessEqual>>;
    case Opcode::less:
      return binary_elements<Flag, Flag, BooleanLess>;
    case Opcode::less_equal:
      return binary_elements<Flag, Flag, BooleanLessEqual>;
    case Opcode::logical_and:
    case Opcode::minimum:
      return binary_elements<Flag, Flag, LogicalAnd>;
    case Opcode::logical_not:
      return unary_elements<Flag, Flag, LogicalNot>;
    case Opcode::logical_or:
    case Opcode::maximum:
      return binary_elements<Flag, Flag, LogicalOr>;
    case Opcode::logical_xor:
    case Opcode::not_equal:
      return binary_elements<Flag, Flag, LogicalXor>;
    case Opcode::select:
      return find_select_step(1);
    default:
      return nullptr;
  }
}

}  // namespace

StepFunction find_integer_step(Opcode opcode, DType dtype) {
  switch (dtype) {
    case DType::int64:
      return find<std::int64_t>(opcode);
    case DType::int32:
      return find<std::int32_t>(opcode);
    case DType::int16:
      return find<std::int16_t>(opcode);
    case DType::int8:
      return find<std::int8_t>(opcode);
    case DType::uint8:
      return find<std::uint8_t>(opcode);
    case DType::boolean:
      return find_boolean(opcode);
    default:
      return nullptr;
  }
}

StepFunction find_copy_step(std::int64_t itemsize) {
  switch (itemsize) {
    case 1:
      return unary_elements<std::uint8_t, std::uint8_t, Copy>;
    case 2:
      return unary_elements<std::uint16_t, std::uint16_t, Copy>;
    case 4:
      return unary_elements<std::uint32_t, std::uint32_t, Copy>;
    default:
      return unary_elements<std::uint64_t, std::uint64_t, Copy>;
  }
}

StepFunction find_select_step(std::int64_t itemsize) {
  switch (itemsize) {
    case 1:
      return select_elements<std::uint8_t>;
    case 2:
      return select_elements<std::uint16_t>;
    case 4:
      return select_elements<std::uint32_t>;
    default:
      return select_elements<std::uint64_t>;
  }
}

}  // namespace lumus::LUMUS_ISA
