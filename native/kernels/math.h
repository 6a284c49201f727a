// Elementary functions on whole vectors (f32v, f64v), for the instruction set being compiled.
//
//   exp exp2 expm1 log log2 log10 log1p sin cos tan tanh sigmoid erf erfc erfinv  pow(x, y)
//   asin acos atan atan2(y, x) sinh cosh asinh acosh atanh  sqrt rsqrt hypot(x, y)
//   floor ceil trunc round_even absolute sign copysign(magnitude, from)
//   maximum minimum (NaN from either side wins)  remainder floor_divide (NumPy's signs)
//   is_nan is_inf is_finite (integer lanes 0 / -1)  fma(a, b, c)  any(mask)
//
// (math_gamma.h, for those who ask for it: lgamma digamma zeta(s, q).)
//
// Error at most 2 ulp (pow, erf, erfc, erfinv and the gamma functions 4) over the whole range,
// subnormal inputs and results included; infinities, NaN and signed zeros as IEEE 754 has them. A
// lane's result depends on its own input alone. How the polynomials were found: README.md beside
// this file.
#pragma once

#include "kernels/math_arc.h"         // IWYU pragma: export
#include "kernels/math_basic.h"       // IWYU pragma: export
#include "kernels/math_erf.h"         // IWYU pragma: export
#include "kernels/math_exp.h"         // IWYU pragma: export
#include "kernels/math_hyperbolic.h"  // IWYU pragma: export
#include "kernels/math_log.h"         // IWYU pragma: export
#include "kernels/math_trig.h"        // IWYU pragma: export
