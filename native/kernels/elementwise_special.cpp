// The instructions of elementwise programs on float32 and float64 that are met less often: inverse
// and hyperbolic functions, other bases, and the gamma functions.
#include "kernels/elementwise_functions.h"
#include "kernels/elementwise_steps.h"
#include "kernels/math_gamma.h"

namespace lumus::LUMUS_ISA {
namespace {

LUMUS_UNARY(Acos, acos(x))
LUMUS_UNARY(Acosh, acosh(x))
LUMUS_UNARY(Asin, asin(x))
LUMUS_UNARY(Asinh, asinh(x))
LUMUS_UNARY(Atan, atan(x))
LUMUS_UNARY(Atanh, atanh(x))
LUMUS_UNARY(Cosh, cosh(x))
LUMUS_UNARY(Digamma, digamma(x))
LUMUS_UNARY(Erfinv, erfinv(x))
LUMUS_UNARY(Exp2, exp2(x))
LUMUS_UNARY(Lgamma, lgamma(x))
LUMUS_UNARY(Log10, log10(x))
LUMUS_UNARY(Log2, log2(x))
LUMUS_UNARY(Sinh, sinh(x))
LUMUS_UNARY(Tan, tan(x))

LUMUS_BINARY(Atan2, atan2(x, y))
LUMUS_BINARY(Fmod, truncated_remainder(x, y))
LUMUS_BINARY(Hypot, hypot(x, y))
LUMUS_BINARY(Zeta, zeta(x, y))

template <class T>
StepFunction find(Opcode opcode) {
  switch (opcode) {
    case Opcode::acos:
      return unary_vectors<T, Acos>;
    case Opcode::acosh:
      return unary_vectors<T, Acosh>;
    case Opcode::asin:
      return unary_vectors<T, Asin>;
    case Opcode::asinh:
      return unary_vectors<T, Asinh>;
    case Opcode::atan:
      return unary_vectors<T, Atan>;
    case Opcode::atan2:
      return binary_vectors<T, Atan2>;
    case Opcode::atanh:
      return unary_vectors<T, Atanh>;
    case Opcode::cosh:
      return unary_vectors<T, Cosh>;
    case Opcode::digamma:
      return unary_vectors<T, Digamma>;
    case Opcode::erfinv:
      return unary_vectors<T, Erfinv>;
    case Opcode::exp2:
      return unary_vectors<T, Exp2>;
    case Opcode::fmod:
      return binary_vectors<T, Fmod>;
    case Opcode::hypot:
      return binary_vectors<T, Hypot>;
    case Opcode::lgamma:
      return unary_vectors<T, Lgamma>;
    case Opcode::log10:
      return unary_vectors<T, Log10>;
    case Opcode::log2:
      return unary_vectors<T, Log2>;
    case Opcode::sinh:
      return unary_vectors<T, Sinh>;
    case Opcode::tan:
      return unary_vectors<T, Tan>;
    case Opcode::zeta:
      return binary_vectors<T, Zeta>;
    default:
      return nullptr;
  }
}

}  // namespace

StepFunction find_special_step(Opcode opcode, DType dtype) {
  return dtype == DType::float32 ? find<float>(opcode) : find<double>(opcode);
}

}  // namespace lumus::LUMUS_ISA
