// The Python module: each family of kernels adds its functions. Keep the lines sorted.
#include <nanobind/nanobind.h>

#include <stdexcept>
#include <string>

#include "runtime/cpu.h"
#include "runtime/thread_pool.h"

namespace nb = nanobind;

void bind_array(nb::module_& m);
void bind_attention(nb::module_& m);
void bind_call_site(nb::module_& m);
void bind_call_table(nb::module_& m);
void bind_check(nb::module_& m);
void bind_convolution(nb::module_& m);
void bind_copy(nb::module_& m);
void bind_cross_entropy(nb::module_& m);
void bind_ctc(nb::module_& m);
void bind_dispatch(nb::module_& m);
void bind_dlpack(nb::module_& m);
void bind_elementwise(nb::module_& m);
void bind_embedding(nb::module_& m);
void bind_executor(nb::module_& m);
void bind_index(nb::module_& m);
void bind_matmul(nb::module_& m);
void bind_memory(nb::module_& m);
void bind_normalization(nb::module_& m);
void bind_norms(nb::module_& m);
void bind_number_source(nb::module_& m);
void bind_placement(nb::module_& m);
void bind_plan_call(nb::module_& m);
void bind_pooling(nb::module_& m);
void bind_random(nb::module_& m);
void bind_recurrent(nb::module_& m);
void bind_reduce(nb::module_& m);
void bind_rows(nb::module_& m);
void bind_scan(nb::module_& m);
void bind_snapshot(nb::module_& m);
void bind_sort(nb::module_& m);
void bind_step(nb::module_& m);
void bind_writes(nb::module_& m);

NB_MODULE(_native, m) {
  std::string problem;
  if (!lumus::choose_isa(&problem) || !lumus::choose_num_threads(&problem)) {
    throw nb::import_error(problem.c_str());
  }
  // Arrays live in user globals that may outlive the module at interpreter exit.
  nb::set_leak_warnings(false);

  bind_array(m);
  bind_attention(m);
  bind_call_site(m);
  bind_call_table(m);
  bind_check(m);
  bind_convolution(m);
  bind_copy(m);
  bind_cross_entropy(m);
  bind_ctc(m);
  bind_dispatch(m);
  bind_dlpack(m);
  bind_elementwise(m);
  bind_embedding(m);
  bind_executor(m);
  bind_index(m);
  bind_matmul(m);
  bind_memory(m);
  bind_normalization(m);
  bind_norms(m);
  bind_number_source(m);
  bind_placement(m);
  bind_plan_call(m);
  bind_pooling(m);
  bind_random(m);
  bind_recurrent(m);
  bind_reduce(m);
  bind_rows(m);
  bind_scan(m);
  bind_snapshot(m);
  bind_sort(m);
  bind_step(m);
  bind_writes(m);
}
