// Reduction: an object that holds everything that does not change between calls; and arg_reduce.
#include "kernels/reduce.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>

#include <stdexcept>
#include <string_view>

#include "bind/axes.h"
#include "bind/program.h"
#include "bind/release.h"
#include "executor/step.h"
#include "runtime/copies.h"

namespace nb = nanobind;

namespace lumus {
namespace {

static_assert(kMaxComputedInputs >= kMaxProgramOperands);

ReduceKind kind_of(std::string_view name) {
  constexpr std::string_view names[] = {"sum", "mean", "prod", "max", "min", "any", "all"};
  for (int code = 0; code < 7; ++code) {
    if (name == names[code]) return static_cast<ReduceKind>(code);
  }
  throw nb::value_error("a kind of reduction that does not exist");
}

void evaluate_program(const void* context, const std::byte* const* inputs,
                      const std::int64_t* strides, std::int64_t count, std::byte* result) {
  elementwise_kernels().evaluate(*static_cast<const ElementwiseProgram*>(context), inputs, strides,
                                 count, result);
}

class Reduction {
 public:
  // `program` is a Program, or None to reduce an array as it is. The dtype of the input and the
  // rank come with each array; they are part of the signature for the sake of other devices.
  Reduction(std::string_view kind, nb::object program, int, int out_dtype, nb::tuple axes, int,
            bool keepdims)
      : program_(std::move(program)),
        compiled_(program_or_null(program_)),
        kind_(kind_of(kind)),
        out_dtype_(static_cast<DType>(out_dtype)),
        axes_(axis_mask(axes)),
        keepdims_(keepdims) {}

  Array run1(const Array& input) const {
    const View* const inputs[] = {&input.view};
    if (compiled_) return run_views(inputs, 1);
    const View& view = input.view;
    Array output = make_reduced_array(view.rank, view.shape, axes_, keepdims_, out_dtype_);
    run_released(num_elements(view), [&] { write(inputs, output.view); });
    return output;
  }

  Array run(nb::list arrays) const {
    // A tuple of our own: another thread may change the caller's list while the lock is released.
    const nb::tuple kept(arrays);
    const int count = static_cast<int>(nb::len(kept));
    if (count > kMaxProgramOperands) throw nb::value_error("too many arrays for a program");
    const View* inputs[kMaxProgramOperands];
    for (int input = 0; input < count; ++input) {
      inputs[input] = &nb::cast<const Array&>(kept[input]).view;
    }
    return run_views(inputs, count);
  }

  int num_inputs() const { return compiled_ ? compiled_->num_inputs : 1; }

  void check(Views inputs, int num_given) const {
    if (num_given != num_inputs() || (compiled_ && compiled_->num_outputs != 1)) {
      throw std::invalid_argument("a reduction got another number of arrays than it has inputs");
    }
    if (!compiled_) return;
    for (int input = 0; input < num_given; ++input) {
      if (inputs[input]->dtype != compiled_->input_dtypes[input]) {
        throw std::invalid_argument("an input of a program has another dtype than the program");
      }
    }
  }

  // Of checked inputs.
  void write(Views inputs, const View& output) const {
    if (!compiled_) return reduce_kernels().reduce(kind_, *inputs[0], axes_, output);
    const int num_inputs = compiled_->num_inputs;
    std::int64_t shape[kMaxRank];
    const int rank = broadcast_inputs(inputs, num_inputs, shape);
    View views[kMaxProgramOperands];
    for (int input = 0; input < num_inputs; ++input) {
      copy_view(broadcasted(borrowed(*inputs[input]), rank, shape).view, &views[input]);
    }
    const ComputedValues values = {
        evaluate_program, compiled_, compiled_->output_dtypes[0], rank, shape, num_inputs, views};
    reduce_kernels().reduce_computed(kind_, values, axes_, output);
  }

  std::int64_t work(Views inputs) const {
    if (!compiled_) return num_elements(*inputs[0]);
    std::int64_t shape[kMaxRank];
    const int rank = broadcast_inputs(inputs, compiled_->num_inputs, shape);
    std::int64_t size = compiled_->cost;
    for (int axis = 0; axis < rank; ++axis) size *= shape[axis];
    return size;
  }

 private:
  Array run_views(Views inputs, int count) const {
    check(inputs, count);
    std::int64_t shape[kMaxRank];
    const int rank = broadcast_inputs(inputs, count, shape);
    Array output = make_reduced_array(rank, shape, axes_, keepdims_, out_dtype_);
    run_released(work(inputs), [&] { write(inputs, output.view); });
    return output;
  }

  nb::object program_;
  const ElementwiseProgram* compiled_;
  ReduceKind kind_;
  DType out_dtype_;
  std::uint32_t axes_;
  bool keepdims_;
};

class ReductionStep final : public Step {
 public:
  // `reduction` belongs to the caller, and outlives this.
  explicit ReductionStep(const Reduction& reduction)
      : Step({reduction.num_inputs()}), reduction_(reduction) {}

  void check(Views inputs, Views) const override {
    reduction_.check(inputs, reduction_.num_inputs());
  }
  void run(Views inputs, Views outputs) const override { reduction_.write(inputs, *outputs[0]); }
  std::int64_t work(Views inputs, Views) const override { return reduction_.work(inputs); }

 private:
  const Reduction& reduction_;
};

Step* reduction_step(const Reduction& reduction) { return new ReductionStep(reduction); }

Array arg_reduce(std::string_view kind, const Array& input, nb::object axis, bool keepdims) {
  const View& view = input.view;
  const int reduced = axis.is_none() ? -1 : nb::cast<int>(axis);
  Array output = make_reduced_array(view.rank, view.shape, reduced < 0 ? ~0u : 1u << reduced,
                                    keepdims, DType::int64);
  run_released(num_elements(view),
               [&] { reduce_kernels().arg_reduce(kind == "max", view, reduced, output.view); });
  return output;
}

Step* arg_reduce_step(std::string_view kind, nb::object axis) {
  const bool is_max = kind == "max";
  const int reduced = axis.is_none() ? -1 : nb::cast<int>(axis);
  return make_step({1}, [=](Views inputs, Views outputs) {
    reduce_kernels().arg_reduce(is_max, *inputs[0], reduced, *outputs[0]);
  });
}

}  // namespace
}  // namespace lumus

void bind_reduce(nb::module_& m) {
  using namespace lumus;
  nb::class_<Reduction>(m, "Reduction")
      .def(nb::init<std::string_view, nb::object, int, int, nb::tuple, int, bool>(), nb::arg(),
           nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg())
      .def("run1", &Reduction::run1)
      .def("run", &Reduction::run)
      .def("step", reduction_step, nb::keep_alive<0, 1>());
  m.def("arg_reduce", arg_reduce, nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
  m.def("arg_reduce_step", arg_reduce_step, nb::arg(), nb::arg().none());
}
