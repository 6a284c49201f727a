#include "runtime/denormals.h"

namespace lumus {

std::atomic<std::uint32_t> denormal_control{kFlushBit};

}  // namespace lumus
