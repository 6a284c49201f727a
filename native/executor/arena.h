// The memory in which executables compute, shared by those that rarely run at the same time.
#pragma once

#include <cstdint>
#include <utility>

#include "runtime/storage.h"

namespace lumus {

// Keeps one storage, as large as the largest of its users needs, which each has for the time of a
// run. Nobody waits for it: who finds it taken (by another thread, or by a run whose callback led
// here) gets memory of its own. Called under the interpreter lock alone.
class Arena {
 public:
  // Room for a user that needs so many bytes. Throws std::bad_alloc.
  void reserve(std::int64_t nbytes) {
    if (nbytes <= nbytes_) return;
    nbytes_ = 0;
    idle_ = StorageRef();  // before the larger one is there
    idle_ = StorageRef(Storage::allocate(nbytes));
    nbytes_ = nbytes;
  }

  StorageRef take(std::int64_t nbytes) {
    if (idle_.get() && idle_->nbytes() >= nbytes) return std::exchange(idle_, StorageRef());
    return StorageRef(Storage::allocate(nbytes));
  }

  void give_back(StorageRef memory) {
    if (!idle_.get() || idle_->nbytes() < memory->nbytes()) idle_ = std::move(memory);
  }

  // What its users need at most.
  std::int64_t nbytes() const { return nbytes_; }

 private:
  StorageRef idle_;
  std::int64_t nbytes_ = 0;
};

}  // namespace lumus
