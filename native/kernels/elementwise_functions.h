// The float instructions of elementwise programs as functions of vectors.
#pragma once

#include "kernels/math.h"

namespace lumus::LUMUS_ISA {

// `of` takes and gives Vec<float> or Vec<double>.
#define LUMUS_UNARY(Name, expression) \
  struct Name {                       \
    template <class V>                \
    LUMUS_INLINE V of(V x) {          \
      return expression;              \
    }                                 \
  };
#define LUMUS_BINARY(Name, expression) \
  struct Name {                        \
    template <class V>                 \
    LUMUS_INLINE V of(V x, V y) {      \
      return expression;               \
    }                                  \
  };

LUMUS_UNARY(Absolute, absolute(x))
LUMUS_UNARY(Ceil, ceil(x))
LUMUS_UNARY(Cos, cos(x))
LUMUS_UNARY(Erf, erf(x))
LUMUS_UNARY(Erfc, erfc(x))
LUMUS_UNARY(Exp, exp(x))
LUMUS_UNARY(Expm1, expm1(x))
LUMUS_UNARY(Floor, floor(x))
LUMUS_UNARY(Log, log(x))
LUMUS_UNARY(Log1p, log1p(x))
LUMUS_UNARY(Negative, -x)
LUMUS_UNARY(Reciprocal, 1 / x)
LUMUS_UNARY(Round, round_even(x))
LUMUS_UNARY(Rsqrt, rsqrt(x))
LUMUS_UNARY(Sigmoid, sigmoid(x))
LUMUS_UNARY(Sign, sign(x))
LUMUS_UNARY(Sin, sin(x))
LUMUS_UNARY(Sqrt, sqrt(x))
LUMUS_UNARY(Square, x* x)
LUMUS_UNARY(Tanh, tanh(x))
LUMUS_UNARY(Trunc, trunc(x))

LUMUS_BINARY(Add, x + y)
LUMUS_BINARY(Divide, x / y)
LUMUS_BINARY(FloorDivide, floor_divide(x, y))
LUMUS_BINARY(Maximum, maximum(x, y))
LUMUS_BINARY(Minimum, minimum(x, y))
LUMUS_BINARY(Multiply, x* y)
LUMUS_BINARY(Power, pow(x, y))
LUMUS_BINARY(Remainder, remainder(x, y))
LUMUS_BINARY(Subtract, x - y)

}  // namespace lumus::LUMUS_ISA
