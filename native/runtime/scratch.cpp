#include "runtime/scratch.h"

#include "runtime/storage.h"

namespace lumus {

Scratch::Scratch(std::int64_t nbytes)
    : storage_(Storage::allocate(nbytes)), data_(storage_->data()) {}

Scratch::~Scratch() { storage_->drop(); }

}  // namespace lumus
