// The caching allocator behind storages. Freed blocks wait in lists by size class for the next
// request of the same class; what the cache holds beyond its limit goes back to the system.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lumus {

struct MemoryStatistics {
  std::int64_t live_bytes;       // asked for and not given back
  std::int64_t peak_bytes;       // highest live_bytes since the start or the last reset_peak
  std::int64_t cached_bytes;     // held for the next request
  std::int64_t live_blocks;      // blocks behind live_bytes
  std::int64_t num_allocations;  // requests since the start
};

constexpr std::size_t kAlignment = 64;

// Room for `nbytes` (which may be 0), 64-byte aligned; from 4 MiB on aligned to huge pages.
// Throws std::bad_alloc when even an empty cache does not help.
std::byte* allocate_bytes(std::int64_t nbytes);
// Takes what allocate_bytes(nbytes) gave, from any thread.
void free_bytes(std::byte* data, std::int64_t nbytes) noexcept;

MemoryStatistics memory_statistics();
void reset_peak_bytes();
// Gives all cached blocks back to the system.
void empty_cache();

}  // namespace lumus
