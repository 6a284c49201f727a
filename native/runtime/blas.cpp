#include "runtime/blas.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>

namespace lumus {
namespace {

std::atomic<const Blas*> active_blas{nullptr};
std::mutex loading;

// While the library starts, asks it for one thread, so that it does not create threads it never
// uses.
class OneBlasThread {
 public:
  OneBlasThread() {
    const char* before = std::getenv(kVariable);
    was_set_ = before != nullptr;
    if (was_set_) before_ = before;
    setenv(kVariable, "1", 1);
  }
  ~OneBlasThread() {
    if (was_set_) {
      setenv(kVariable, before_.c_str(), 1);
    } else {
      unsetenv(kVariable);
    }
  }
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;

 private:
  static constexpr const char* kVariable = "OPENBLAS_NUM_THREADS";
  bool was_set_;
  std::string before_;
};

template <class Function>
bool find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

const Blas* blas() { return active_blas.load(std::memory_order_acquire); }

bool load_blas(const char* path, const char** problem) {
  const std::lock_guard<std::mutex> guard(loading);
  if (active_blas.load(std::memory_order_relaxed)) return true;

  void* library;
  {
    const OneBlasThread one_thread;
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  static Blas table;
  void (*set_num_threads)(int) = nullptr;
  const char* (*get_config)() = nullptr;
  const char* (*get_core_name)() = nullptr;
  if (!library || !find(library, "scipy_cblas_sgemm", &table.sgemm) ||
      !find(library, "scipy_cblas_dgemm", &table.dgemm) ||
      !find(library, "scipy_cblas_sgemv", &table.sgemv) ||
      !find(library, "scipy_cblas_dgemv", &table.dgemv) ||
      !find(library, "scipy_openblas_set_num_threads", &set_num_threads) ||
      !find(library, "scipy_openblas_get_config", &get_config) ||
      !find(library, "scipy_openblas_get_corename", &get_core_name)) {
    *problem = dlerror();
    return false;
  }
  set_num_threads(1);
  table.config = get_config();
  table.core_name = get_core_name();
  active_blas.store(&table, std::memory_order_release);
  return true;
}

}  // namespace lumus
