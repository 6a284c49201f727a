// A value that an elementwise program knows.
#pragma once

#include <cstdint>

#include "runtime/dtype.h"

namespace lumus {

struct ConstantDescription {
  DType dtype;
  double real;           // the value for a floating dtype
  std::int64_t integer;  // the value for an integer dtype or a boolean
};

}  // namespace lumus
