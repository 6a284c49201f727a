// Steps as Python objects: made by the bindings of the kernels, run by executables.
#include "executor/step.h"

#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include "bind/conversion.h"
#include "bind/release.h"
#include "runtime/array.h"

namespace nb = nanobind;

namespace lumus {
namespace {

// Views of arrays that somebody else holds; without an allocation for the few of most kernels.
class ViewList {
 public:
  explicit ViewList(std::size_t count) {
    if (count > kFew) many_.reset(new const View*[count]);
  }
  explicit ViewList(const nb::tuple& arrays) : ViewList(arrays.size()) {
    for (nb::handle array : arrays) add(nb::cast<const Array&>(array));
  }

  void add(const Array& array) { data()[count_++] = &array.view; }
  Views get() const { return many_ ? many_.get() : few_; }
  int count() const { return count_; }

 private:
  static constexpr std::size_t kFew = 16;

  const View** data() { return many_ ? many_.get() : few_; }

  const View* few_[kFew];
  std::unique_ptr<const View*[]> many_;
  int count_ = 0;
};

void run_checked(const Step& step, const ViewList& inputs, const ViewList& outputs) {
  const StepTraits& traits = step.traits();
  if (inputs.count() != traits.num_inputs || outputs.count() != traits.num_outputs) {
    throw nb::value_error("a step got another number of arrays than it takes");
  }
  step.check(inputs.get(), outputs.get());
  run_released(step.work(inputs.get(), outputs.get()),
               [&] { step.run(inputs.get(), outputs.get()); });
}

void run(const Step& step, nb::list inputs, nb::list outputs) {
  // Tuples of our own: another thread may change the lists while the lock is released.
  const nb::tuple from(inputs), to(outputs);
  run_checked(step, ViewList(from), ViewList(to));
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
    const ViewList inputs(arrays);
    if (outputs_.size() == 1) return run_into(new_array(outputs_[0]), inputs);
    ViewList outputs(outputs_.size());
    nb::object results = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(outputs_.size())));
    if (!results.is_valid()) throw nb::python_error();
    for (std::size_t at = 0; at < outputs_.size(); ++at) {
      nb::object result = new_array(outputs_[at]);
      outputs.add(*nb::inst_ptr<Array>(result));
      PyTuple_SET_ITEM(results.ptr(), static_cast<Py_ssize_t>(at), result.release().ptr());
    }
    run_checked(*step_, inputs, outputs);
    return results;
  }

 private:
  static nb::object new_array(const View& like) {
    return nb::cast(make_array(like.dtype, like.rank, like.shape));
  }
  nb::object run_into(nb::object result, const ViewList& inputs) const {
    ViewList outputs(1);
    outputs.add(*nb::inst_ptr<Array>(result));
    run_checked(*step_, inputs, outputs);
    return result;
  }

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
