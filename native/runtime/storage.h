// Memory that arrays share: aligned bytes, a version that every write bumps, and a journal of the last
// writes, so that a saved value that was overwritten can name who did it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/view.h"

namespace lumus {

class Journal;  // the last writes; kept apart, since most storages never see an in-place write

class Storage {
 public:
  // Uninitialised memory from the caching allocator, 64-byte aligned.
  static Storage* allocate(std::int64_t nbytes);
  // Memory owned elsewhere; `release(owner)` is called when the last array lets go of it.
  static Storage* borrow(std::byte* data, std::int64_t nbytes, bool readonly, void* owner,
                         void (*release)(void* owner));

  void retain() { use_count_.fetch_add(1, std::memory_order_relaxed); }
  void drop();  // frees at zero
  std::int64_t use_count() const { return use_count_.load(std::memory_order_relaxed); }

  std::byte* data() const { return data_; }
  std::int64_t nbytes() const { return nbytes_; }
  bool readonly() const { return readonly_; }
  void freeze() { readonly_ = true; }
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

  // Notes a write to `region` by operation `op` at call site `site` (an owned reference that
  // `release_site` gives back); bumps the version.
  void note_write(const View& region, void* op, void* site, void (*release)(void* object));

  // The first journal entry newer than `version` whose region shares an element with `saved`; false if
  // none does. Entries that fell out of the journal count as a write to everything by an unknown op.
  bool overwritten_since(std::uint64_t version, const View& saved, void** op, void** site) const;

 private:
  Storage() = default;
  ~Storage();

  std::byte* data_ = nullptr;
  std::int64_t nbytes_ = 0;
  std::atomic<std::int64_t> use_count_{1};
  std::atomic<std::uint64_t> version_{0};
  bool readonly_ = false;
  void* owner_ = nullptr;
  void (*release_)(void* owner) = nullptr;
  std::unique_ptr<Journal> journal_;
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
