// Size classes: multiples of 64 bytes up to 1 KiB, then eight classes to each doubling, so at most
// one part in nine of a block is unused. Small blocks come from the C library; blocks of 4 MiB and
// more are mapped directly, aligned to and advised for huge pages (only touched pages count).
// All state sits behind one spin lock that is held for a handful of instructions; system calls are
// made outside of it. Nothing here is ever destroyed, so arrays may die after static destructors
// ran.
#include "runtime/allocator.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>

#include "runtime/spin_lock.h"

#if defined(__SANITIZE_ADDRESS__)
#define LUMUS_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LUMUS_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef LUMUS_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace lumus {
namespace {

constexpr std::int64_t kLinearLimit = 1024;
constexpr int kLinearClasses = kLinearLimit / kAlignment;  // sizes 64, 128, ..., 1024
constexpr int kClassesPerDoubling = 8;
constexpr int kNumClasses = kLinearClasses + kClassesPerDoubling * (62 - 10);
constexpr std::int64_t kMappedSize = std::int64_t{4} << 20;
constexpr std::int64_t kHugePage = std::int64_t{2} << 20;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 60;

int class_of(std::int64_t nbytes) {
  if (nbytes <= kLinearLimit) {
    return nbytes == 0 ? 0 : static_cast<int>((nbytes - 1) / static_cast<std::int64_t>(kAlignment));
  }
  const std::uint64_t last = static_cast<std::uint64_t>(nbytes - 1);
  const int exponent = 63 - __builtin_clzll(last);  // 2^exponent <= nbytes - 1, exponent >= 10
  const int eighth = static_cast<int>((last >> (exponent - 3)) & 7);
  return kLinearClasses + (exponent - 10) * kClassesPerDoubling + eighth;
}

std::int64_t class_bytes(int size_class) {
  if (size_class < kLinearClasses) return (size_class + 1) * static_cast<std::int64_t>(kAlignment);
  const int above = size_class - kLinearClasses;
  const int exponent = 10 + above / kClassesPerDoubling;
  return static_cast<std::int64_t>(9 + above % kClassesPerDoubling) << (exponent - 3);
}

struct FreeBlock {
  FreeBlock* next;
};

struct ClassList {
  FreeBlock* head = nullptr;
  std::uint64_t last_use = 0;
};

struct State {
  SpinLock lock;
  ClassList classes[kNumClasses];
  std::uint64_t clock = 0;
  std::int64_t cache_limit = 0;
  MemoryStatistics statistics{};
};

std::int64_t default_cache_limit() {
  const std::int64_t pages = sysconf(_SC_PHYS_PAGES);
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  const std::int64_t most = std::int64_t{1} << 30;
  return pages > 0 && page > 0 ? std::min(most, pages / 8 * page) : most / 4;
}

// A process that forks while another thread allocates must not leave the child a taken lock.
State& make_state() {
  alignas(State) static std::byte room[sizeof(State)];
  static State* const state = [] {
    State* made = new (room) State;
    made->cache_limit = default_cache_limit();
    pthread_atfork([] { reinterpret_cast<State*>(room)->lock.lock(); },
                   [] { reinterpret_cast<State*>(room)->lock.unlock(); },
                   [] { reinterpret_cast<State*>(room)->lock.unlock(); });
    return made;
  }();
  return *state;
}

State& state = make_state();

void poison([[maybe_unused]] std::byte* data, [[maybe_unused]] std::int64_t nbytes) {
#ifdef LUMUS_ADDRESS_SANITIZER
  ASAN_POISON_MEMORY_REGION(data, static_cast<std::size_t>(nbytes));
#endif
}

void unpoison([[maybe_unused]] void* data, [[maybe_unused]] std::int64_t nbytes) {
#ifdef LUMUS_ADDRESS_SANITIZER
  ASAN_UNPOISON_MEMORY_REGION(data, static_cast<std::size_t>(nbytes));
#endif
}

std::byte* system_allocate(std::int64_t block) {
  const std::size_t size = static_cast<std::size_t>(block);
  if (block < kMappedSize) return static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
  // Map one huge page more than needed and trim both ends to alignment.
  const std::size_t mapped = size + kHugePage;
  void* base = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  std::byte* const low = static_cast<std::byte*>(base);
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(low);
  const std::size_t before = (kHugePage - address % kHugePage) % kHugePage;
  if (before) munmap(low, before);
  if (mapped - before - size) munmap(low + before + size, mapped - before - size);
#ifdef MADV_HUGEPAGE
  madvise(low + before, size, MADV_HUGEPAGE);
#endif
  return low + before;
}

void system_free(void* data, std::int64_t block) noexcept {
  unpoison(data, block);
  if (block < kMappedSize) {
    std::free(data);
  } else {
    munmap(data, static_cast<std::size_t>(block));
  }
}

// A chain of blocks of one class, taken out of the cache under the lock and freed outside of it.
void free_chain(FreeBlock* head, std::int64_t block) noexcept {
  while (head) {
    unpoison(head, sizeof(FreeBlock));
    FreeBlock* const next = head->next;
    system_free(head, block);
    head = next;
  }
}

}  // namespace

std::byte* allocate_bytes(std::int64_t nbytes) {
  if (nbytes > kMaxBytes) throw std::bad_alloc();
  const int size_class = class_of(nbytes);
  const std::int64_t block = class_bytes(size_class);
  MemoryStatistics& statistics = state.statistics;

  state.lock.lock();
  ClassList& list = state.classes[size_class];
  list.last_use = ++state.clock;
  statistics.live_bytes += nbytes;
  statistics.live_blocks += 1;
  statistics.num_allocations += 1;
  const std::int64_t peak_before = statistics.peak_bytes;
  if (statistics.live_bytes > peak_before) statistics.peak_bytes = statistics.live_bytes;
  FreeBlock* const cached = list.head;
  if (cached) {
    unpoison(cached, sizeof(FreeBlock));
    list.head = cached->next;
    statistics.cached_bytes -= block;
  }
  state.lock.unlock();

  if (cached) {
    std::byte* const data = reinterpret_cast<std::byte*>(cached);
    poison(data, block);
    unpoison(data, nbytes);
    return data;
  }
  std::byte* data = system_allocate(block);
  if (!data) {
    empty_cache();
    data = system_allocate(block);
  }
  if (!data) {
    std::lock_guard<SpinLock> guard(state.lock);
    statistics.live_bytes -= nbytes;
    statistics.live_blocks -= 1;
    statistics.num_allocations -= 1;
    statistics.peak_bytes = std::max(peak_before, statistics.live_bytes);
    throw std::bad_alloc();
  }
  poison(data, block);
  unpoison(data, nbytes);
  return data;
}

void free_bytes(std::byte* data, std::int64_t nbytes) noexcept {
  const int size_class = class_of(nbytes);
  const std::int64_t block = class_bytes(size_class);
  FreeBlock* const freed = reinterpret_cast<FreeBlock*>(data);
  MemoryStatistics& statistics = state.statistics;

  state.lock.lock();
  statistics.live_bytes -= nbytes;
  statistics.live_blocks -= 1;
  // When the cache is full, the class that has gone unused for longest makes room.
  while (statistics.cached_bytes + block > state.cache_limit && block <= state.cache_limit) {
    int oldest = -1;
    for (int other = 0; other < kNumClasses; ++other) {
      if (state.classes[other].head &&
          (oldest < 0 || state.classes[other].last_use < state.classes[oldest].last_use)) {
        oldest = other;
      }
    }
    if (oldest < 0) break;
    const std::int64_t oldest_block = class_bytes(oldest);
    FreeBlock* const evicted = state.classes[oldest].head;
    unpoison(evicted, sizeof(FreeBlock));
    state.classes[oldest].head = evicted->next;
    statistics.cached_bytes -= oldest_block;
    state.lock.unlock();
    system_free(evicted, oldest_block);
    state.lock.lock();
  }
  const bool keep = statistics.cached_bytes + block <= state.cache_limit;
  if (keep) {
    ClassList& list = state.classes[size_class];
    list.last_use = ++state.clock;
    unpoison(freed, sizeof(FreeBlock));
    freed->next = list.head;
    poison(data, block);
    list.head = freed;
    statistics.cached_bytes += block;
  }
  state.lock.unlock();
  if (!keep) system_free(data, block);
}

MemoryStatistics memory_statistics() {
  std::lock_guard<SpinLock> guard(state.lock);
  return state.statistics;
}

void reset_peak_bytes() {
  std::lock_guard<SpinLock> guard(state.lock);
  state.statistics.peak_bytes = state.statistics.live_bytes;
}

void empty_cache() {
  for (int size_class = 0; size_class < kNumClasses; ++size_class) {
    state.lock.lock();
    FreeBlock* const head = state.classes[size_class].head;
    state.classes[size_class].head = nullptr;
    const std::int64_t block = class_bytes(size_class);
    for (FreeBlock* entry = head; entry;) {
      unpoison(entry, sizeof(FreeBlock));
      state.statistics.cached_bytes -= block;
      entry = entry->next;
    }
    state.lock.unlock();
    free_chain(head, block);
  }
}

}  // namespace lumus
