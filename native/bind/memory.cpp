// What the process is using: memory, threads, instruction set.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <vector>

#include "bind/conversion.h"
#include "bind/release.h"
#include "runtime/allocator.h"
#include "runtime/cpu.h"
#include "runtime/denormals.h"
#include "runtime/storage.h"
#include "runtime/thread_pool.h"

namespace nb = nanobind;

namespace lumus {
namespace {

nb::dict memory_stats() {
  const MemoryStatistics statistics = memory_statistics();
  nb::dict result;
  result["live_bytes"] = statistics.live_bytes;
  result["peak_bytes"] = statistics.peak_bytes;
  result["cached_bytes"] = statistics.cached_bytes;
  result["live_storages"] = Storage::num_live();
  result["num_allocations"] = statistics.num_allocations;
  return result;
}

nb::tuple available_isas() {
  nb::list names;
  for (int isa = 0; isa < num_isas(); ++isa) {
    if (isa_available(isa)) names.append(isa_name(isa));
  }
  return nb::tuple(names);
}

nb::dict build_info() {
  nb::dict result;
#if defined(__clang__)
  result["compiler"] = "clang " __clang_version__;
#else
  result["compiler"] = "gcc " __VERSION__;
#endif
  result["build_type"] = LUMUS_BUILD_TYPE;
  result["sanitizers"] = static_cast<bool>(LUMUS_SANITIZE);
  result["isa"] = isa_name(active_isa);
  nb::list compiled;
  for (int isa = 0; isa < num_isas(); ++isa) compiled.append(isa_name(isa));
  result["compiled_isas"] = nb::tuple(compiled);
  result["available_isas"] = available_isas();
  result["python"] = PY_VERSION;
  return result;
}

// Whether the pool runs each of [0, count) once, in pieces cut at multiples of `grain`: a
// self-check that needs no kernel.
bool check_thread_pool(std::int64_t count, std::int64_t grain) {
  std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
  std::atomic<bool> cut_right{true};
  {
    const ReleasedLock released;
    parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
      if (begin % grain || end != std::min(begin + grain, count)) cut_right = false;
      for (std::int64_t at = begin; at < end; ++at) {
        visits[static_cast<std::size_t>(at)].fetch_add(1, std::memory_order_relaxed);
      }
      // What a piece calls in turn is run by the same thread.
      parallel_for(2, 1, [](std::int64_t, std::int64_t) {});
    });
  }
  return cut_right &&
         std::all_of(visits.begin(), visits.end(), [](const auto& n) { return n == 1; });
}

// Runs pieces of which the one with `failing` finds no memory: raises MemoryError.
void check_thread_pool_without_memory(std::int64_t count, std::int64_t grain,
                                      std::int64_t failing) {
  const ReleasedLock released;
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    if (begin <= failing && failing < end) throw std::bad_alloc();
  });
}

}  // namespace
}  // namespace lumus

void bind_memory(nb::module_& m) {
  using namespace lumus;
  m.def("memory_stats", memory_stats);
  m.def("reset_peak", reset_peak_bytes);
  m.def("empty_cache", empty_cache);
  m.def("num_threads", num_threads);
  m.def("set_num_threads", [](int count) {
    if (count < 1) throw nb::value_error("the number of threads is at least 1");
    set_num_threads(count);
  });
  m.def("flushes_denormal", [] { return denormal_control.load() != 0; });
  m.def("set_flush_denormal",
        [](bool flushes) { denormal_control.store(flushes ? kFlushBit : 0); });
  m.def("check_thread_pool", check_thread_pool);
  m.def("check_thread_pool_without_memory", check_thread_pool_without_memory);
  m.def("isa", [] { return isa_name(active_isa); });
  m.def("available_isas", available_isas);
  m.def("build_info", build_info);
}
