#include "bind/foreign.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "bind/conversion.h"
#include "runtime/spin_lock.h"

namespace lumus {
namespace {

// The table keeps no storage alive. A storage keeps its owner alive, so an address in the table
// cannot be reused by another object.
struct ForeignTable {
  SpinLock lock;
  std::unordered_map<void*, Storage*> by_owner;
  // Imports through DLPack, and storages of ours that are out: few, and looked through by address.
  std::vector<Storage*> by_address;

  Storage* retained_at(const std::byte* low, const std::byte* high) {
    for (Storage* const storage : by_address) {
      if (shares_bytes(storage, low, high) && storage->try_retain()) return storage;
    }
    return nullptr;
  }

  Storage* retained_of_owners_at(const std::byte* low, const std::byte* high) {
    for (const auto& [owner, storage] : by_owner) {
      if (shares_bytes(storage, low, high) && storage->try_retain()) return storage;
    }
    return nullptr;
  }

  void remove(Storage* storage) {
    const auto found = std::find(by_address.begin(), by_address.end(), storage);
    if (found != by_address.end()) by_address.erase(found);
  }

  static bool shares_bytes(const Storage* storage, const std::byte* low, const std::byte* high) {
    return low < storage->data() + storage->nbytes() && storage->data() < high;
  }
};
ForeignTable& table = *new ForeignTable;  // never destroyed: storages outlive static destructors

void release_owner(void* owner, Storage* storage) {
  {
    std::lock_guard<SpinLock> guard(table.lock);
    // A new storage may have taken the place between this one's last reference and now.
    const auto found = table.by_owner.find(owner);
    if (found != table.by_owner.end() && found->second == storage) table.by_owner.erase(found);
  }
  release_object(owner);
}

// What an import needs to be given back.
struct Import {
  void* owner;
  void (*release)(void* owner, Storage* storage);
};

void release_import(void* import, Storage* storage) {
  {
    std::lock_guard<SpinLock> guard(table.lock);
    table.remove(storage);
  }
  auto* const taken = static_cast<Import*>(import);
  taken->release(taken->owner, storage);
  delete taken;
}

}  // namespace

StorageRef storage_of_owner(PyObject* owner, std::byte* low, std::byte* high) {
  std::lock_guard<SpinLock> guard(table.lock);
  Storage*& entry = table.by_owner[owner];
  if (entry && entry->try_retain()) {
    entry->widen(low, high);
    return StorageRef(entry);
  }
  if (Storage* const known = table.retained_at(low, high)) {
    if (!entry) table.by_owner.erase(owner);
    return StorageRef(known);
  }
  Py_INCREF(owner);
  return StorageRef(entry = Storage::borrow(low, high - low, false, owner, release_owner));
}

StorageRef storage_of_import(std::byte* low, std::byte* high, void* owner,
                             void (*release)(void* owner, Storage* storage), bool* is_known) {
  std::lock_guard<SpinLock> guard(table.lock);
  Storage* known = table.retained_at(low, high);
  if (!known) known = table.retained_of_owners_at(low, high);
  *is_known = known != nullptr;
  if (known) return StorageRef(known);
  Storage* const made =
      Storage::borrow(low, high - low, false, new Import{owner, release}, release_import);
  table.by_address.push_back(made);
  return StorageRef(made);
}

void note_export(Storage* storage) {
  std::lock_guard<SpinLock> guard(table.lock);
  table.by_address.push_back(storage);
}

void forget_export(Storage* storage) {
  std::lock_guard<SpinLock> guard(table.lock);
  table.remove(storage);
}

}  // namespace lumus
