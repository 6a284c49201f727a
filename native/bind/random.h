// Keys of random streams. For binding sources only.
#pragma once

#include "kernels/random.h"
#include "runtime/array.h"

namespace lumus {

// The stream of a key, an int64 array [seed, counter].
inline PhiloxStream stream_of(const View& key) {
  const std::int64_t* numbers = data_of<std::int64_t>(key);
  return {static_cast<std::uint64_t>(numbers[0]),
          static_cast<std::uint64_t>(numbers[key.strides[0]]), 0};
}
inline PhiloxStream stream_of(const Array& key) { return stream_of(key.view); }

}  // namespace lumus
