// That numbers of rows lie within a table, for steps that read or write there.
#pragma once

#include <cstdint>

#include "runtime/view.h"

namespace lumus {

// Throws OutsideIndex, which becomes IndexOutOfRange in Python, for the first of the indices (dense
// int64) that is not in [low, bound); `axis` is the one that they index. Takes no lock.
void check_inside(const View& indices, std::int64_t low, std::int64_t bound, int axis);

}  // namespace lumus
