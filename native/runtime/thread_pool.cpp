// One job at a time. Its description lies in the pool; a ticket word says whether it may be joined:
//
//   ticket = slots (high half: helpers that may still join) | active (low half: helpers inside)
//
// A worker joins by moving one from slots to active, in one compare-and-swap, so it can only ever
// see a job that is open. The caller works too; when the pieces have run out it closes the job
// (slots = 0) and waits for active == 0, after which the description may be overwritten.
//
// Each thread has a share of the pieces, the same for every job of as many pieces, and begins with
// it: what it computed is still in its cache when the next job reads it. Then it helps the others.
#include "runtime/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>

#include "runtime/cpu.h"
#include "runtime/denormals.h"
#include "runtime/spin_lock.h"

namespace lumus {
namespace {

constexpr int kMaxThreads = 1024;
constexpr auto kSpinTime = std::chrono::microseconds(50);
constexpr std::uint64_t kOneSlot = std::uint64_t{1} << 32;
constexpr std::uint64_t kActiveMask = kOneSlot - 1;

std::atomic<int> wanted_threads{1};

// Set on a thread while it runs pieces: what they call in turn runs inline.
thread_local bool inside_piece = false;

// Pieces [next, end) of a job are not taken yet.
struct alignas(64) Share {
  std::atomic<std::int64_t> next{0};
  std::int64_t end = 0;

  bool take(std::int64_t* piece) {
    if (next.load(std::memory_order_relaxed) >= end) return false;
    *piece = next.fetch_add(1, std::memory_order_relaxed);
    return *piece < end;
  }
};

struct Pool {
  // Each in its own cache line: workers spin on the ticket.
  alignas(64) std::atomic<std::uint64_t> ticket{0};
  alignas(64) std::atomic<std::uint32_t> wake_count{0};
  std::atomic<int> sleepers{0};
  alignas(64) std::atomic<std::uint32_t> done_count{0};
  std::atomic<bool> caller_sleeps{false};

  std::atomic<bool> ran_out{false};
  std::atomic<int> num_serving{0};

  alignas(64) std::atomic<bool> busy{false};
  int num_workers = 0;  // guarded by busy
  std::int64_t count = 0, grain = 1;
  void (*run)(void*, std::int64_t, std::int64_t) = nullptr;
  void* context = nullptr;
  std::uint32_t control = 0;  // of the caller's arithmetic: a worker computes like it
  int num_shares = 0;
  Share shares[kMaxThreads];

  // A piece that finds no memory for its scratch throws. On a worker that would end the process, on
  // the caller leave the job open behind it: the pieces that are left are given up, and the caller
  // throws when all threads are out.
  void work(int thread) {
    try {
      for (int at = 0; at < num_shares; ++at) {
        Share& share = shares[(thread + at) % num_shares];
        for (std::int64_t piece; share.take(&piece);) {
          const std::int64_t begin = piece * grain;
          run(context, begin, std::min(begin + grain, count));
        }
      }
    } catch (const std::bad_alloc&) {
      ran_out.store(true, std::memory_order_relaxed);
      for (int at = 0; at < num_shares; ++at) {
        shares[at].next.store(shares[at].end, std::memory_order_relaxed);
      }
    }
  }

  void cut(std::int64_t num_pieces, int threads) {
    num_shares = threads;
    for (int at = 0; at < threads; ++at) {
      shares[at].next.store(num_pieces * at / threads, std::memory_order_relaxed);
      shares[at].end = num_pieces * (at + 1) / threads;
    }
  }

  bool try_join() {
    std::uint64_t seen = ticket.load(std::memory_order_relaxed);
    while (seen >= kOneSlot) {
      if (ticket.compare_exchange_weak(seen, seen - kOneSlot + 1, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  void leave() {
    const std::uint64_t before = ticket.fetch_sub(1, std::memory_order_seq_cst);
    if (before == 1 && caller_sleeps.load(std::memory_order_seq_cst)) {
      done_count.fetch_add(1, std::memory_order_seq_cst);
      done_count.notify_one();
    }
  }

  // Returns once a job may be joined.
  void wait_for_job() {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + kSpinTime;
    do {
      for (int spins = 0; spins < 64; ++spins) {
        if (ticket.load(std::memory_order_relaxed) >= kOneSlot) return;
        relax_cpu();
      }
    } while (Clock::now() < deadline);
    // Sequentially consistent on both sides: either we see the open job, or its caller sees a
    // sleeper.
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    const std::uint32_t woken = wake_count.load(std::memory_order_seq_cst);
    if (ticket.load(std::memory_order_seq_cst) < kOneSlot) {
      wake_count.wait(woken, std::memory_order_seq_cst);
    }
    sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }

  [[noreturn]] void serve() {
    inside_piece = true;
    const int thread = 1 + num_serving.fetch_add(1, std::memory_order_relaxed);
    while (true) {
      wait_for_job();
      if (try_join()) {
        if (float_control() != control) set_float_control(control);
        work(thread);
        leave();
      }
    }
  }

  // With `busy` held. Fewer workers than wanted, when the system refuses, is not an error.
  void grow(int workers) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the interpreter's business
    while (num_workers < workers) {
      pthread_attr_t attributes;
      pthread_attr_init(&attributes);
      pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
      pthread_t thread;
      const int error = pthread_create(
          &thread, &attributes, [](void* pool) -> void* { static_cast<Pool*>(pool)->serve(); },
          this);
      pthread_attr_destroy(&attributes);
      if (error) break;
      ++num_workers;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void close() {
    std::uint64_t seen = ticket.load(std::memory_order_relaxed);
    while (seen >= kOneSlot && !ticket.compare_exchange_weak(seen, seen & kActiveMask)) {
    }
    for (int spins = 0; spins < 4000; ++spins) {
      if (ticket.load(std::memory_order_acquire) == 0) return;
      relax_cpu();
    }
    caller_sleeps.store(true, std::memory_order_seq_cst);
    while (true) {
      const std::uint32_t done = done_count.load(std::memory_order_seq_cst);
      if (ticket.load(std::memory_order_seq_cst) == 0) break;
      done_count.wait(done, std::memory_order_seq_cst);
    }
    caller_sleeps.store(false, std::memory_order_relaxed);
  }
};

// Never destroyed: its threads may be running while the process exits. A forked child, which has
// none of them, starts over with a new pool and leaves the old one as it was.
std::atomic<Pool*> current_pool{nullptr};

Pool* pool() {
  Pool* found = current_pool.load(std::memory_order_acquire);
  if (found) return found;
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    current_pool.store(nullptr, std::memory_order_relaxed);
    inside_piece = false;
  });
  static_cast<void>(registered);
  Pool* const made = new Pool;
  if (current_pool.compare_exchange_strong(found, made, std::memory_order_acq_rel)) return made;
  delete made;
  return found;
}

void run_inline(std::int64_t count, std::int64_t grain,
                void (*run)(void*, std::int64_t, std::int64_t), void* context) {
  for (std::int64_t begin = 0; begin < count;) {
    const std::int64_t end = count - begin > grain ? begin + grain : count;
    run(context, begin, end);
    begin = end;
  }
}

int available_cpus() {
#ifdef __linux__
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return 1;
}

}  // namespace

int num_threads() { return wanted_threads.load(std::memory_order_relaxed); }

void set_num_threads(int count) {
  wanted_threads.store(std::clamp(count, 1, kMaxThreads), std::memory_order_relaxed);
}

bool choose_num_threads(std::string* problem) {
  const char* text = std::getenv("LUMUS_NUM_THREADS");
  if (!text || !*text) {
    set_num_threads(available_cpus());
    return true;
  }
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end || value < 1 || value > kMaxThreads) {
    *problem = "LUMUS_NUM_THREADS='" + std::string(text) +
               "' is not a number of threads from 1 to " + std::to_string(kMaxThreads);
    return false;
  }
  set_num_threads(static_cast<int>(value));
  return true;
}

void parallel_for_raw(std::int64_t count, std::int64_t grain,
                      void (*run)(void* context, std::int64_t begin, std::int64_t end),
                      void* context) {
  if (count <= 0) return;
  if (count <= grain) return run(context, 0, count);

  const int threads = num_threads();
  if (threads == 1 || inside_piece) return run_inline(count, grain, run, context);
  Pool& shared = *pool();
  if (shared.busy.exchange(true, std::memory_order_acquire)) {
    return run_inline(count, grain, run, context);
  }

  const std::int64_t num_pieces = (count - 1) / grain + 1;
  const int helpers = static_cast<int>(std::min<std::int64_t>(threads - 1, num_pieces - 1));
  if (shared.num_workers < helpers) shared.grow(helpers);
  shared.count = count;
  shared.grain = grain;
  shared.run = run;
  shared.context = context;
  shared.control = float_control();
  shared.cut(num_pieces, helpers + 1);
  shared.ticket.store(static_cast<std::uint64_t>(helpers) * kOneSlot, std::memory_order_seq_cst);
  if (shared.sleepers.load(std::memory_order_seq_cst) > 0) {
    shared.wake_count.fetch_add(1, std::memory_order_seq_cst);
    shared.wake_count.notify_all();
  }
  inside_piece = true;
  shared.work(0);
  inside_piece = false;
  shared.close();
  const bool ran_out = shared.ran_out.exchange(false, std::memory_order_relaxed);
  shared.busy.store(false, std::memory_order_release);
  if (ran_out) throw std::bad_alloc();
}

}  // namespace lumus
