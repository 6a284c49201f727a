// Storages on memory that others own, and on memory of ours that others hold: so that all arrays on
// one memory share one storage, and thereby one version, whichever way they came in.
#pragma once

#include <Python.h>

#include <cstddef>

#include "runtime/storage.h"

namespace lumus {

// The storage on memory that `owner`, a Python object, keeps alive; [low, high) lies in it.
StorageRef storage_of_owner(PyObject* owner, std::byte* low, std::byte* high);

// The storage on [low, high), which `release(owner, storage)` gives back. When one is known that
// shares bytes with it, that is the answer, and `*is_known` says that `owner` is not needed: bytes
// in common mean one allocation, which the known storage keeps alive.
StorageRef storage_of_import(std::byte* low, std::byte* high, void* owner,
                             void (*release)(void* owner, Storage* storage), bool* is_known);

// From here to `forget_export` somebody else holds the memory of `storage`, and may hand it back.
void note_export(Storage* storage);
void forget_export(Storage* storage);

}  // namespace lumus
