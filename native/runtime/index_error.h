// An index beyond the axis that it indexes, on its way to Python: kernels' callers throw it without
// the interpreter lock, and the binding of index arrays turns it into IndexOutOfRange.
#pragma once

#include <cstdint>
#include <exception>

#include "runtime/view.h"

namespace lumus {

struct OutsideIndex : std::exception {
  const char* what() const noexcept override { return "an index is out of range"; }

  std::int64_t value = 0;  // as it was given
  std::int64_t bound = 0;  // the length of the axis
  int rank = 0;
  std::int64_t position[kMaxRank] = {};  // where in the index array it stands
  int axis = 0;                          // that it indexes
  int step = -1;                         // of an executable, in which it was met
};

}  // namespace lumus
