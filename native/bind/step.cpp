// Steps as Python objects: made by the bindings of the kernels, run by executables.
#include "executor/step.h"

#include <nanobind/nanobind.h>

#include <utility>
#include <vector>

#include "bind/conversion.h"
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

// A step with the shapes of its outputs: called with arrays, it gives new ones.
class StepRun {
 public:
  StepRun(nb::handle_t<Step> step, nb::list outputs)
      : kept_(nb::borrow(step)), step_(nb::inst_ptr<Step>(kept_)) {
    for (nb::handle output : outputs) {
      outputs_.emplace_back();
      outputs_.back().dtype = static_cast<DType>(nb::cast<int>(output[0]));
      outputs_.back().rank = read_integers(output[1], outputs_.back().shape);
    }
    if (static_cast<int>(outputs_.size()) != step_->traits().num_outputs) {
      throw nb::value_error("a step got another number of outputs than it has");
    }
  }

  nb::object run(nb::args arrays) const {
    const std::vector<const View*> inputs = views_of(arrays);
    if (static_cast<int>(inputs.size()) != step_->traits().num_inputs) {
      throw nb::value_error("a step got another number of arrays than it takes");
    }
    std::vector<nb::object> results;
    std::vector<const View*> outputs;
    for (const View& output : outputs_) {
      results.push_back(nb::cast(make_array(output.dtype, output.rank, output.shape)));
      outputs.push_back(&nb::inst_ptr<Array>(results.back())->view);
    }
    step_->check(inputs.data(), outputs.data());
    run_released(step_->work(inputs.data(), outputs.data()),
                 [&] { step_->run(inputs.data(), outputs.data()); });
    if (results.size() == 1) return results[0];
    nb::list list;
    for (nb::object& result : results) list.append(std::move(result));
    return nb::tuple(list);
  }

 private:
  nb::object kept_;
  const Step* step_;
  std::vector<View> outputs_;  // dtypes and shapes
};

}  // namespace
}  // namespace lumus

void bind_step(nb::module_& m) {
  using namespace lumus;
  nb::class_<Step>(m, "Step", nb::is_final())
      .def_prop_ro("num_inputs", [](const Step& step) { return step.traits().num_inputs; })
      .def_prop_ro("num_outputs", [](const Step& step) { return step.traits().num_outputs; })
      .def_prop_ro("in_place",
                   [](const Step& step) { return step.traits().in_place == InPlace::all; })
      .def_prop_ro(
          "takes_permuted_outputs",
          [](const Step& step) { return step.traits().output_layout != OutputLayout::dense; })
      .def_prop_ro(
          "takes_strided_outputs",
          [](const Step& step) { return step.traits().output_layout == OutputLayout::strided; })
      .def("may_overwrite", may_overwrite)
      .def("run", run);
  nb::class_<StepRun>(m, "StepRun", nb::is_final())
      .def(nb::init<nb::handle_t<Step>, nb::list>())
      .def("__call__", &StepRun::run);
}
