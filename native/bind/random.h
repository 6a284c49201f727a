// Keys of random streams. For binding sources only.
#pragma once

#include "kernels/random.h"
#include "runtime/array.h"

namespace lumus {

// The stream of a key, an int64 array [seed, counter].
inline PhiloxStream stream_of(const Array& key) {
  const std::int64_t* numbers = data_of<std::int64_t>(key.view);
  return {static_cast<std::uint64_t>(numbers[0]),
          static_cast<std::uint64_t>(numbers[key.view.strides[0]]), 0};
}

}  // namespace lumus
