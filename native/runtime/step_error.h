// Errors of steps, on their way to Python: thrown without the interpreter lock.
#pragma once

#include <cstdint>
#include <exception>

#include "runtime/view.h"

namespace lumus {

struct StepError : std::exception {
  int step = -1;  // of an executable, in which it happened
};

// An index beyond the axis that it indexes; the binding of index arrays turns it into
// IndexOutOfRange.
struct OutsideIndex : StepError {
  const char* what() const noexcept override { return "an index is out of range"; }

  std::int64_t value = 0;  // as it was given
  std::int64_t bound = 0;  // the length of the axis
  int rank = 0;
  std::int64_t position[kMaxRank] = {};  // where in the index array it stands
  int axis = 0;                          // that it indexes
};

// A value that does not hold what a check asks; the binding of checks turns it into CheckFailed.
struct NotHeld : StepError {
  const char* what() const noexcept override { return "a check of a value failed"; }

  bool is_integer = false;
  std::int64_t integer = 0;  // the value,
  double real = 0;           // or this if it is no integer
};

}  // namespace lumus
