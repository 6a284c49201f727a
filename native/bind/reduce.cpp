// Reduction: an object that holds everything that does not change between calls; and arg_reduce.
#include "kernels/reduce.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>

#include <string_view>

#include "bind/axes.h"
#include "bind/program.h"
#include "bind/release.h"
#include "runtime/array.h"

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
        compiled_(program_.is_none() ? nullptr : &program_of(program_)),
        kind_(kind_of(kind)),
        out_dtype_(static_cast<DType>(out_dtype)),
        axes_(axis_mask(axes)),
        keepdims_(keepdims) {}

  Array run1(const Array& input) const {
    const View& view = input.view;
    if (compiled_) {
      const View* const inputs[] = {&view};
      return run_program(inputs, 1);
    }
    Array output = make_reduced_array(view.rank, view.shape, axes_, keepdims_, out_dtype_);
    run_released(num_elements(view),
                 [&] { reduce_kernels().reduce(kind_, view, axes_, output.view); });
    return output;
  }

  Array run(nb::list arrays) const {
    // A tuple of our own: another thread may change the caller's list while the lock is released.
    const nb::tuple kept(arrays);
    const int count = static_cast<int>(nb::len(kept));
    if (count > kMaxProgramOperands) throw nb::value_error("too many arrays for a program");
    if (!compiled_) {
      if (count != 1) throw nb::value_error("a reduction without a program takes one array");
      return run1(nb::cast<const Array&>(kept[0]));
    }
    const View* inputs[kMaxProgramOperands];
    for (int input = 0; input < count; ++input) {
      inputs[input] = &nb::cast<const Array&>(kept[input]).view;
    }
    return run_program(inputs, count);
  }

 private:
  Array run_program(const View* const* inputs, int num_inputs) const {
    if (num_inputs != compiled_->num_inputs || compiled_->num_outputs != 1) {
      throw nb::value_error(
          "a reduction's program got another number of arrays than it has inputs");
    }
    std::int64_t shape[kMaxRank];
    const int rank = broadcast_inputs(inputs, num_inputs, shape);
    std::int64_t size = 1;
    for (int axis = 0; axis < rank; ++axis) size *= shape[axis];
    View views[kMaxProgramOperands];
    for (int input = 0; input < num_inputs; ++input) {
      const View& from = *inputs[input];
      if (from.dtype != compiled_->input_dtypes[input]) {
        throw nb::value_error("an input of a program has another dtype than the program");
      }
      views[input].data = from.data;
      views[input].dtype = from.dtype;
      views[input].rank = rank;
      const int missing = rank - from.rank;
      for (int axis = 0; axis < rank; ++axis) {
        const bool is_broadcast = axis < missing || from.shape[axis - missing] == 1;
        views[input].shape[axis] = shape[axis];
        views[input].strides[axis] = is_broadcast ? 0 : from.strides[axis - missing];
      }
    }
    Array output = make_reduced_array(rank, shape, axes_, keepdims_, out_dtype_);
    const ComputedValues values = {
        evaluate_program, compiled_, compiled_->output_dtypes[0], rank, shape, num_inputs, views};
    run_released(size * compiled_->cost,
                 [&] { reduce_kernels().reduce_computed(kind_, values, axes_, output.view); });
    return output;
  }

  nb::object program_;
  const ElementwiseProgram* compiled_;
  ReduceKind kind_;
  DType out_dtype_;
  std::uint32_t axes_;
  bool keepdims_;
};

Array arg_reduce(std::string_view kind, const Array& input, nb::object axis, bool keepdims) {
  const View& view = input.view;
  const int reduced = axis.is_none() ? -1 : nb::cast<int>(axis);
  Array output = make_reduced_array(view.rank, view.shape, reduced < 0 ? ~0u : 1u << reduced,
                                    keepdims, DType::int64);
  run_released(num_elements(view),
               [&] { reduce_kernels().arg_reduce(kind == "max", view, reduced, output.view); });
  return output;
}

}  // namespace
}  // namespace lumus

void bind_reduce(nb::module_& m) {
  using namespace lumus;
  nb::class_<Reduction>(m, "Reduction")
      .def(nb::init<std::string_view, nb::object, int, int, nb::tuple, int, bool>(), nb::arg(),
           nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg())
      .def("run1", &Reduction::run1)
      .def("run", &Reduction::run);
  m.def("arg_reduce", arg_reduce, nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
}
