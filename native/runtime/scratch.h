// Working memory of a kernel, from the caching allocator, given back at the end of the scope.
// Kernel sources may not use standard containers; this is compiled once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lumus {

class Storage;

class Scratch {
 public:
  explicit Scratch(std::int64_t nbytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  Storage* storage_;
  std::byte* data_;
};

}  // namespace lumus
