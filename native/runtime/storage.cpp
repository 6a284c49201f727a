#include "runtime/storage.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/allocator.h"
#include "runtime/array.h"
#include "runtime/overlap.h"

namespace lumus {
namespace {

std::atomic<std::int64_t> num_borrowed{0};
std::atomic<std::uint64_t> num_made{0};

bool same_region(const View& a, const View& b) {
  if (a.data != b.data || a.dtype != b.dtype || a.rank != b.rank) return false;
  for (int axis = 0; axis < a.rank; ++axis) {  // few: quicker than calls of memcmp
    if (a.shape[axis] != b.shape[axis] || a.strides[axis] != b.strides[axis]) return false;
  }
  return true;
}

}  // namespace

class Journal {
 public:
  // Writes of one op at one call site to one region, with no other between them.
  struct Entry {
    std::uint64_t first;  // versions of the storage after the first and the last of them
    std::uint64_t last;
    View region;
    void* op;
    void* site;
    void (*release)(void* object);

    void give_back() const {
      release(op);
      release(site);
    }
  };

  ~Journal() {
    for (const auto& entry : entries_) entry->give_back();
  }

  // True when the newest entry takes in the write that makes `version`.
  bool repeats(std::uint64_t version, const View& region, const void* op, const void* site) {
    if (entries_.empty()) return false;
    Entry& newest = *entries_.back();
    if (newest.op != op || newest.site != site || !same_region(newest.region, region)) return false;
    newest.last = version;
    return true;
  }

  // Gives the entry that had to leave for it, or null.
  std::unique_ptr<Entry> add(std::uint64_t version, const View& region, void* op, void* site,
                             void (*release)(void* object)) {
    std::unique_ptr<Entry> entry(new Entry), removed;
    entry->first = entry->last = version;
    copy_view(region, &entry->region);
    entry->op = op;
    entry->site = site;
    entry->release = release;
    if (entries_.size() == kCapacity) {
      const auto victim = choose_victim();
      removed = std::move(*victim);
      entries_.erase(victim);
    }
    entries_.push_back(std::move(entry));
    return removed;
  }

  void remove_after(std::uint64_t version, std::vector<std::unique_ptr<Entry>>* removed) {
    while (!entries_.empty() && entries_.back()->first > version) {
      removed->push_back(std::move(entries_.back()));
      entries_.pop_back();
    }
    if (!entries_.empty()) entries_.back()->last = std::min(entries_.back()->last, version);
  }

  bool find(std::uint64_t version, const View& saved, void** op, void** site) const {
    *op = *site = nullptr;
    if (forgotten_version_ > version) {
      const ByteHull hull = hull_of(saved);
      if (hull.low < forgotten_.high && forgotten_.low < hull.high) return true;
    }
    for (const auto& entry : entries_) {
      if (entry->last > version && views_overlap(entry->region, saved)) {
        *op = entry->op;
        *site = entry->site;
        return true;
      }
    }
    return false;
  }

  mutable std::mutex mutex;

 private:
  static constexpr std::size_t kCapacity = 16;

  using Entries = std::vector<std::unique_ptr<Entry>>;

  // A write that a later entry repeats can leave without loss: the later one answers for it.
  // Otherwise the oldest leaves, and only its byte range is remembered.
  Entries::iterator choose_victim() {
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      for (auto later = entry + 1; later != entries_.end(); ++later) {
        if (same_region((*entry)->region, (*later)->region)) return entry;
      }
    }
    const ByteHull hull = hull_of(entries_.front()->region);
    if (hull.low != hull.high) {
      const bool first = forgotten_.low == forgotten_.high;
      forgotten_.low = first ? hull.low : std::min(forgotten_.low, hull.low);
      forgotten_.high = first ? hull.high : std::max(forgotten_.high, hull.high);
      forgotten_version_ = entries_.front()->last;
    }
    return entries_.begin();
  }

  Entries entries_;  // oldest first
  ByteHull forgotten_{nullptr, nullptr};
  std::uint64_t forgotten_version_ = 0;
};

Storage* Storage::allocate(std::int64_t nbytes) {
  std::byte* const data = allocate_bytes(nbytes);
  Storage* const storage = new Storage;
  storage->data_ = data;
  storage->nbytes_ = nbytes;
  return storage;
}

Storage* Storage::borrow(std::byte* data, std::int64_t nbytes, bool readonly, void* owner,
                         void (*release)(void* owner, Storage* storage)) {
  Storage* const storage = new Storage;
  storage->data_ = data;
  storage->nbytes_ = nbytes;
  storage->readonly_ = readonly;
  storage->owner_ = owner;
  storage->release_ = release;
  num_borrowed.fetch_add(1, std::memory_order_relaxed);
  return storage;
}

std::int64_t Storage::num_live() {
  return memory_statistics().live_blocks + num_borrowed.load(std::memory_order_relaxed);
}

Storage::Storage() : serial_(num_made.fetch_add(1, std::memory_order_relaxed)) {}

Storage::~Storage() {
  delete journal_.load(std::memory_order_relaxed);
  if (release_) {
    num_borrowed.fetch_sub(1, std::memory_order_relaxed);
    release_(owner_, this);
  } else {
    free_bytes(data_, nbytes_);
  }
}

bool Storage::try_retain() {
  std::int64_t count = use_count_.load(std::memory_order_relaxed);
  while (count > 0) {
    if (use_count_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

void Storage::drop() {
  // The only holder needs no atomic decrement: nobody else can retain from it meanwhile, registries
  // excepted, and those are for borrowed memory.
  if (use_count_.load(std::memory_order_acquire) == 1 && !release_) {
    delete this;
    return;
  }
  if (use_count_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

void Storage::widen(std::byte* low, std::byte* high) {
  std::byte* const end = std::max(data_ + nbytes_, high);
  data_ = std::min(data_, low);
  nbytes_ = end - data_;
}

void Storage::note_write(const View& region, void* op, void* site, void (*release)(void* object)) {
  Journal* journal = journal_.load(std::memory_order_acquire);
  if (!journal) {
    Journal* const made = new Journal;
    if (journal_.compare_exchange_strong(journal, made, std::memory_order_acq_rel)) {
      journal = made;
    } else {
      delete made;
    }
  }
  std::unique_ptr<Journal::Entry> removed;
  {
    std::lock_guard<std::mutex> guard(journal->mutex);
    const std::uint64_t version = version_.load(std::memory_order_relaxed) + 1;
    removed = journal->add(version, region, op, site, release);
    version_.store(version, std::memory_order_release);
  }
  // Outside of the lock: giving back an object may run code that comes back here.
  if (removed) removed->give_back();
}

bool Storage::repeat_write(const View& region, const void* op, const void* site) {
  Journal* const journal = journal_.load(std::memory_order_acquire);
  if (!journal) return false;
  std::lock_guard<std::mutex> guard(journal->mutex);
  const std::uint64_t version = version_.load(std::memory_order_relaxed) + 1;
  if (!journal->repeats(version, region, op, site)) return false;
  version_.store(version, std::memory_order_release);
  return true;
}

void Storage::rewind(std::uint64_t version) {
  Journal* const journal = journal_.load(std::memory_order_acquire);
  if (!journal) return;
  std::vector<std::unique_ptr<Journal::Entry>> removed;
  {
    std::lock_guard<std::mutex> guard(journal->mutex);
    if (version_.load(std::memory_order_relaxed) <= version) return;
    journal->remove_after(version, &removed);
    version_.store(version, std::memory_order_release);
  }
  for (const auto& entry : removed) entry->give_back();
}

bool Storage::overwritten_since(std::uint64_t version, const View& saved, void** op,
                                void** site) const {
  *op = *site = nullptr;
  if (version_.load(std::memory_order_acquire) <= version) return false;
  const Journal* const journal = journal_.load(std::memory_order_acquire);
  if (!journal) return false;
  std::lock_guard<std::mutex> guard(journal->mutex);
  return journal->find(version, saved, op, site);
}

}  // namespace lumus
