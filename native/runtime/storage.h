// Memory that arrays share: aligned bytes, a version that every write bumps, and a journal of the
// last writes, so that a saved value that was overwritten can name who did it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/view.h"

namespace lumus {

class Journal;  // the last writes; kept apart, since most storages never see an in-place write

class Storage {
 public:
  // Uninitialised memory from the caching allocator, 64-byte aligned.
  static Storage* allocate(std::int64_t nbytes);
  // Memory owned elsewhere; `release(owner, storage)` is called when the last array lets go of it.
  static Storage* borrow(std::byte* data, std::int64_t nbytes, bool readonly, void* owner,
                         void (*release)(void* owner, Storage* storage));
  // Storages that exist now.
  static std::int64_t num_live();

  void retain() { use_count_.fetch_add(1, std::memory_order_relaxed); }
  // Retains unless the last reference is gone already: for registries that do not own.
  bool try_retain();
  void drop();  // frees at zero
  std::int64_t use_count() const { return use_count_.load(std::memory_order_relaxed); }

  // A number that no other storage of the process ever has, where an address is used again.
  std::uint64_t serial() const { return serial_; }
  std::byte* data() const { return data_; }
  std::int64_t nbytes() const { return nbytes_; }
  bool readonly() const { return readonly_; }
  void freeze() { readonly_ = true; }
  // Borrowed memory turned out to reach further: another array on the same owner.
  void widen(std::byte* low, std::byte* high);
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

  // Notes a write to `region` by operation `op` at call site `site` (owned references that
  // `release` gives back, each on its own); bumps the version.
  void note_write(const View& region, void* op, void* site, void (*release)(void* object));

  // The same if the last write was of the same op at the same call site to the same region, as
  // those of a training loop are: takes over no references. False if it was another.
  bool repeat_write(const View& region, const void* op, const void* site);

  // Forgets the writes after `version`, which were announced and not done.
  void rewind(std::uint64_t version);

  // True when a write newer than `version` shares an element with `saved`; `*op` and `*site` are
  // then those of the first such write. The journal is bounded: of writes that fell out it keeps
  // the byte range only, so a hit there may be a neighbour's, and `*op` and `*site` are null. The
  // two are borrowed from the journal: hold the interpreter lock across the call.
  bool overwritten_since(std::uint64_t version, const View& saved, void** op, void** site) const;

 private:
  Storage();
  ~Storage();

  const std::uint64_t serial_;
  std::byte* data_ = nullptr;
  std::int64_t nbytes_ = 0;
  std::atomic<std::int64_t> use_count_{1};
  std::atomic<std::uint64_t> version_{0};
  bool readonly_ = false;
  void* owner_ = nullptr;
  void (*release_)(void* owner, Storage* storage) = nullptr;
  std::atomic<Journal*> journal_{nullptr};
};

// An owning pointer to a storage.
class StorageRef {
 public:
  StorageRef() = default;
  explicit StorageRef(Storage* adopted) : storage_(adopted) {}
  StorageRef(const StorageRef& other) : storage_(other.storage_) {
    if (storage_) storage_->retain();
  }
  StorageRef(StorageRef&& other) noexcept : storage_(other.storage_) { other.storage_ = nullptr; }
  StorageRef& operator=(StorageRef other) noexcept {
    Storage* mine = storage_;
    storage_ = other.storage_;
    other.storage_ = mine;
    return *this;
  }
  ~StorageRef() {
    if (storage_) storage_->drop();
  }
  Storage* operator->() const { return storage_; }
  Storage* get() const { return storage_; }

 private:
  Storage* storage_ = nullptr;
};

}  // namespace lumus
