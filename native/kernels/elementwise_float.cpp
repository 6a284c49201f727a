// The instructions of elementwise programs on float32 and float64.
#include "kernels/elementwise_functions.h"
#include "kernels/elementwise_steps.h"

namespace lumus::LUMUS_ISA {
namespace {

// Functions of elements that give booleans: exact, so the compiler may make vectors of them as it
// likes. The comparisons are functions of vectors, too, and give lanes of zeros or ones.
#define LUMUS_TEST(Name, arguments, expression) \
  struct Name {                                 \
    template <class T>                          \
    LUMUS_INLINE auto of arguments {            \
      return expression;                        \
    }                                           \
  };

LUMUS_TEST(Equal, (T x, T y), x == y)
LUMUS_TEST(NotEqual, (T x, T y), x != y)
LUMUS_TEST(Less, (T x, T y), x < y)
LUMUS_TEST(LessEqual, (T x, T y), x <= y)
LUMUS_TEST(Greater, (T x, T y), x > y)
LUMUS_TEST(GreaterEqual, (T x, T y), x >= y)
LUMUS_TEST(IsNan, (T x), x != x)
LUMUS_TEST(IsInf, (T x), x - x != x - x && x == x)
LUMUS_TEST(IsFinite, (T x), x - x == x - x)

#undef LUMUS_TEST

template <class T>
StepFunction find(Opcode opcode) {
  using Flag = std::uint8_t;
  switch (opcode) {
    case Opcode::absolute:
      return unary_vectors<T, Absolute>;
    case Opcode::add:
      return binary_vectors<T, Add>;
    case Opcode::ceil:
      return unary_vectors<T, Ceil>;
    case Opcode::cos:
      return unary_vectors<T, Cos>;
    case Opcode::divide:
      return binary_vectors<T, Divide>;
    case Opcode::equal:
      return binary_elements<T, Flag, Equal>;
    case Opcode::erf:
      return unary_vectors<T, Erf>;
    case Opcode::erfc:
      return unary_vectors<T, Erfc>;
    case Opcode::exp:
      return unary_vectors<T, Exp>;
    case Opcode::expm1:
      return unary_vectors<T, Expm1>;
    case Opcode::floor:
      return unary_vectors<T, Floor>;
    case Opcode::floor_divide:
      return binary_vectors<T, FloorDivide>;
    case Opcode::greater:
      return binary_elements<T, Flag, Greater>;
    case Opcode::greater_equal:
      return binary_elements<T, Flag, GreaterEqual>;
    case Opcode::isfinite:
      return unary_elements<T, Flag, IsFinite>;
    case Opcode::isinf:
      return unary_elements<T, Flag, IsInf>;
    case Opcode::isnan:
      return unary_elements<T, Flag, IsNan>;
    case Opcode::less:
      return binary_elements<T, Flag, Less>;
    case Opcode::less_equal:
      return binary_elements<T, Flag, LessEqual>;
    case Opcode::log:
      return unary_vectors<T, Log>;
    case Opcode::log1p:
      return unary_vectors<T, Log1p>;
    case Opcode::maximum:
      return binary_vectors<T, Maximum>;
    case Opcode::minimum:
      return binary_vectors<T, Minimum>;
    case Opcode::multiply:
      return binary_vectors<T, Multiply>;
    case Opcode::negative:
      return unary_vectors<T, Negative>;
    case Opcode::not_equal:
      return binary_elements<T, Flag, NotEqual>;
    case Opcode::power:
      return binary_vectors<T, Power>;
    case Opcode::reciprocal:
      return unary_vectors<T, Reciprocal>;
    case Opcode::remainder:
      return binary_vectors<T, Remainder>;
    case Opcode::round:
      return unary_vectors<T, Round>;
    case Opcode::rsqrt:
      return unary_vectors<T, Rsqrt>;
    case Opcode::select:
      return find_select_step(sizeof(T));
    case Opcode::sigmoid:
      return unary_vectors<T, Sigmoid>;
    case Opcode::sign:
      return unary_vectors<T, Sign>;
    case Opcode::sin:
      return unary_vectors<T, Sin>;
    case Opcode::sqrt:
      return unary_vectors<T, Sqrt>;
    case Opcode::square:
      return unary_vectors<T, Square>;
    case Opcode::subtract:
      return binary_vectors<T, Subtract>;
    case Opcode::tanh:
      return unary_vectors<T, Tanh>;
    case Opcode::trunc:
      return unary_vectors<T, Trunc>;
    default:
      return nullptr;
  }
}

template <class T, class Inner>
StepFunction find_outer(Opcode outer, bool is_reversed) {
  switch (outer) {
    case Opcode::add:
      return pair_vectors<T, Inner, Add, false>;
    case Opcode::multiply:
      return pair_vectors<T, Inner, Multiply, false>;
    case Opcode::subtract:
      return is_reversed ? pair_vectors<T, Inner, Subtract, true>
                         : pair_vectors<T, Inner, Subtract, false>;
    default:
      return nullptr;
  }
}

template <class T, class Test>
StepFunction find_choice(bool is_reversed) {
  return is_reversed ? choice_vectors<T, Test, true> : choice_vectors<T, Test, false>;
}

template <class T>
StepFunction find_choice(Opcode test, bool is_reversed) {
  switch (test) {
    case Opcode::equal:
      return find_choice<T, Equal>(is_reversed);
    case Opcode::greater:
      return find_choice<T, Greater>(is_reversed);
    case Opcode::greater_equal:
      return find_choice<T, GreaterEqual>(is_reversed);
    case Opcode::less:
      return find_choice<T, Less>(is_reversed);
    case Opcode::less_equal:
      return find_choice<T, LessEqual>(is_reversed);
    case Opcode::not_equal:
      return find_choice<T, NotEqual>(is_reversed);
    default:
      return nullptr;
  }
}

template <class T>
StepFunction find_pair(Opcode inner, Opcode outer, bool is_reversed) {
  if (outer == Opcode::select) return find_choice<T>(inner, is_reversed);
  switch (inner) {
    case Opcode::add:
      return find_outer<T, Add>(outer, is_reversed);
    case Opcode::multiply:
      return find_outer<T, Multiply>(outer, is_reversed);
    case Opcode::subtract:
      return find_outer<T, Subtract>(outer, is_reversed);
    default:
      return nullptr;
  }
}

}  // namespace

StepFunction find_pair_step(Opcode inner, Opcode outer, bool is_reversed, DType dtype) {
  if (dtype == DType::float32) return find_pair<float>(inner, outer, is_reversed);
  if (dtype == DType::float64) return find_pair<double>(inner, outer, is_reversed);
  return nullptr;
}

StepFunction find_float_step(Opcode opcode, DType dtype) {
  const StepFunction found = dtype == DType::float32 ? find<float>(opcode) : find<double>(opcode);
  return found != nullptr ? found : find_special_step(opcode, dtype);
}

}  // namespace lumus::LUMUS_ISA
