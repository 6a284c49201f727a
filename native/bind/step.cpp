// Steps as Python objects: made by the bindings of the kernels, run by executables.
#include "executor/step.h"

#include <nanobind/nanobind.h>

#include <vector>

#include "bind/release.h"
#include "runtime/array.h"

namespace nb = nanobind;

namespace lumus {
namespace {

std::vector<const View*> views_of(nb::tuple arrays) {
  std::vector<const View*> views;
  for (nb::handle array : arrays) views.push_back(&nb::cast<const Array&>(array).view);
  return views;
}

void run(const Step& step, nb::list inputs, nb::list outputs) {
  // Tuples of our own: another thread may change the lists while the lock is released.
  const nb::tuple from_arrays(inputs), to_arrays(outputs);
  const std::vector<const View*> from = views_of(from_arrays), to = views_of(to_arrays);
  const StepTraits& traits = step.traits();
  if (static_cast<int>(from.size()) != traits.num_inputs ||
      static_cast<int>(to.size()) != traits.num_outputs) {
    throw nb::value_error("a step got another number of arrays than it takes");
  }
  step.check(from.data(), to.data());
  run_released(step.work(from.data(), to.data()), [&] { step.run(from.data(), to.data()); });
}

bool may_overwrite(const Step& step, int input) {
  const InPlace in_place = step.traits().in_place;
  return in_place == InPlace::all || (in_place == InPlace::first && input == 0);
}

}  // namespace
}  // namespace lumus

void bind_step(nb::module_& m) {
  using namespace lumus;
  nb::class_<Step>(m, "Step", nb::is_final())
      .def_prop_ro("num_inputs", [](const Step& step) { return step.traits().num_inputs; })
      .def_prop_ro("num_outputs", [](const Step& step) { return step.traits().num_outputs; })
      .def_prop_ro("in_place",
                   [](const Step& step) { return step.traits().in_place == InPlace::all; })
      .def_prop_ro("takes_strided_outputs",
                   [](const Step& step) { return step.traits().takes_strided_outputs; })
      .def("may_overwrite", may_overwrite)
      .def("run", run);
}
