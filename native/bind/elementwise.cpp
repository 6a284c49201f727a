// The Program class: elementwise programs over arrays.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "bind/conversion.h"
#include "bind/program.h"
#include "bind/release.h"
#include "executor/elementwise_step.h"
#include "kernels/elementwise.h"
#include "runtime/array.h"
#include "runtime/denormals.h"
#include "runtime/elementwise_program.h"

namespace nb = nanobind;

namespace lumus {
namespace {

DType read_dtype(nb::handle code) { return static_cast<DType>(nb::cast<int>(code)); }

std::vector<int> read_registers(nb::handle registers) {
  std::vector<int> result;
  for (nb::handle entry : registers) result.push_back(nb::cast<int>(entry));
  return result;
}

// Integers beyond int64 cannot come: Python checks a constant against its dtype.
ConstantDescription read_constant(nb::handle pair) {
  ConstantDescription constant{read_dtype(pair[0]), 0.0, 0};
  if (is_float(constant.dtype)) {
    constant.real = nb::cast<double>(pair[1]);
  } else {
    constant.integer = nb::cast<std::int64_t>(nb::int_(pair[1]));
  }
  return constant;
}

struct Shape {
  int rank;
  std::int64_t lengths[kMaxRank];
  std::int64_t count;  // of elements
};

bool has_shape(const View& view, const Shape& shape) {
  if (view.rank != shape.rank) return false;
  for (int axis = 0; axis < shape.rank; ++axis) {
    if (view.shape[axis] != shape.lengths[axis]) return false;
  }
  return true;
}

// What the shapes of all inputs broadcast to.
Shape broadcast_shape(const View* const* inputs, int num_inputs) {
  Shape shape;
  shape.rank = num_inputs > 0 ? inputs[0]->rank : 0;
  for (int axis = 0; axis < shape.rank; ++axis) shape.lengths[axis] = inputs[0]->shape[axis];
  for (int index = 1; index < num_inputs; ++index) {
    const View& view = *inputs[index];
    if (has_shape(view, shape)) continue;
    for (; shape.rank < view.rank; ++shape.rank) {
      for (int axis = shape.rank; axis > 0; --axis) shape.lengths[axis] = shape.lengths[axis - 1];
      shape.lengths[0] = 1;
    }
    const int missing = shape.rank - view.rank;
    for (int axis = 0; axis < view.rank; ++axis) {
      std::int64_t& length = shape.lengths[axis + missing];
      if (length == 1) {
        length = view.shape[axis];
      } else if (view.shape[axis] != 1 && view.shape[axis] != length) {
        throw nb::value_error("the inputs of a program do not broadcast");
      }
    }
  }
  shape.count = 1;
  for (int axis = 0; axis < shape.rank; ++axis) shape.count *= shape.lengths[axis];
  return shape;
}

class Program {
 public:
  const ElementwiseProgram& compiled() const { return compiled_.program(); }

  Program(nb::list input_dtypes, nb::list constants, nb::list instructions, nb::list outputs)
      : compiled_(read_dtypes(input_dtypes), read_constants(constants),
                  read_instructions(instructions), read_registers(outputs)) {}

  Array run1(const Array& first) const {
    const View* const inputs[] = {&first.view};
    return run_single(inputs, 1);
  }

  Array run2(const Array& first, const Array& second) const {
    const View* const inputs[] = {&first.view, &second.view};
    return run_single(inputs, 2);
  }

  Array run3(const Array& first, const Array& second, const Array& third) const {
    const View* const inputs[] = {&first.view, &second.view, &third.view};
    return run_single(inputs, 3);
  }

  Array run(nb::list arrays) const {
    const View* inputs[kMaxProgramOperands];
    return run_single(inputs, read_views(arrays, inputs), arrays);
  }

  nb::tuple run_many(nb::list arrays) const {
    const View* inputs[kMaxProgramOperands];
    const int num_inputs = read_views(arrays, inputs);
    check_inputs(inputs, num_inputs);
    const Shape shape = broadcast_shape(inputs, num_inputs);
    const ElementwiseProgram& program = compiled_.program();
    nb::object results[kMaxProgramOperands];
    const View* outputs[kMaxProgramOperands];
    for (int index = 0; index < program.num_outputs; ++index) {
      results[index] =
          nb::cast(make_array(program.output_dtypes[index], shape.rank, shape.lengths));
      outputs[index] = &nb::inst_ptr<Array>(results[index])->view;
    }
    execute(outputs, inputs, shape, arrays);
    nb::object tuple = nb::steal(PyTuple_New(program.num_outputs));
    if (!tuple.is_valid()) throw nb::python_error();
    for (int index = 0; index < program.num_outputs; ++index) {
      PyTuple_SET_ITEM(tuple.ptr(), index, results[index].release().ptr());
    }
    return nb::borrow<nb::tuple>(tuple);
  }

  void run_into(nb::list output_arrays, nb::list input_arrays) const {
    const View* outputs[kMaxProgramOperands];
    const View* inputs[kMaxProgramOperands];
    const int num_outputs = read_views(output_arrays, outputs);
    const int num_inputs = read_views(input_arrays, inputs);
    check_inputs(inputs, num_inputs);
    const ElementwiseProgram& program = compiled_.program();
    if (num_outputs != program.num_outputs) {
      throw nb::value_error("a program got another number of outputs than it has");
    }
    // Without inputs a program writes constants: of whatever shape the outputs have.
    const Shape shape =
        broadcast_shape(num_inputs > 0 ? inputs : outputs, num_inputs > 0 ? num_inputs : 1);
    for (int index = 0; index < num_outputs; ++index) {
      if (outputs[index]->dtype != program.output_dtypes[index]) {
        throw nb::value_error("an output of a program has another dtype than the program");
      }
      if (!has_shape(*outputs[index], shape)) {
        throw nb::value_error("an output of a program has another shape than its inputs give");
      }
    }
    std::vector<Array> copies;
    for (int input = 0; input < num_inputs; ++input) {
      for (int output = 0; output < num_outputs; ++output) {
        if (!overlaps_partly(*outputs[output], *inputs[input])) continue;
        copies.reserve(static_cast<std::size_t>(num_inputs));  // views must not move
        copies.push_back(copy_of(*inputs[input]));
        inputs[input] = &copies.back().view;
        break;
      }
    }
    execute(outputs, inputs, shape, output_arrays, input_arrays);
  }

 private:
  static std::vector<DType> read_dtypes(nb::list codes) {
    std::vector<DType> dtypes;
    for (nb::handle code : codes) dtypes.push_back(read_dtype(code));
    return dtypes;
  }

  static std::vector<ConstantDescription> read_constants(nb::list pairs) {
    std::vector<ConstantDescription> constants;
    for (nb::handle pair : pairs) constants.push_back(read_constant(pair));
    return constants;
  }

  static std::vector<InstructionDescription> read_instructions(nb::list triples) {
    std::vector<InstructionDescription> instructions;
    for (nb::handle triple : triples) {
      instructions.push_back(
          {nb::cast<std::string>(triple[0]), read_dtype(triple[1]), read_registers(triple[2])});
    }
    return instructions;
  }

  static int read_views(const nb::list& arrays, const View** views) {
    const Py_ssize_t count = PyList_GET_SIZE(arrays.ptr());
    if (count > kMaxProgramOperands) throw nb::value_error("too many arrays for a program");
    for (Py_ssize_t index = 0; index < count; ++index) {
      const nb::handle array = PyList_GET_ITEM(arrays.ptr(), index);
      if (!array.type().is(array_type())) throw nb::type_error("a program runs on native arrays");
      views[index] = &nb::inst_ptr<Array>(array)->view;
    }
    return static_cast<int>(count);
  }

  static nb::handle array_type() {
    static const nb::handle type = nb::type<Array>();
    return type;
  }

  static Array copy_of(const View& view) {
    Array copy = make_array(view.dtype, view.rank, view.shape);
    const CompiledProgram identity({view.dtype}, {}, {}, {0});
    const View* const output = &copy.view;
    const View* const input = &view;
    elementwise_kernels().run(identity.program(), &output, &input, view.rank, view.shape);
    return copy;
  }

  void check_inputs(const View* const* inputs, int num_inputs) const {
    const ElementwiseProgram& program = compiled_.program();
    if (num_inputs != program.num_inputs) {
      throw nb::value_error("a program got another number of inputs than it has");
    }
    for (int index = 0; index < num_inputs; ++index) {
      if (inputs[index]->dtype != program.input_dtypes[index]) {
        throw nb::value_error("an input of a program has another dtype than the program");
      }
    }
  }

  template <class... Lists>
  Array run_single(const View* const* inputs, int num_inputs, const Lists&... kept) const {
    check_inputs(inputs, num_inputs);
    const ElementwiseProgram& program = compiled_.program();
    if (program.num_outputs != 1) throw nb::value_error("the program has several outputs");
    const Shape shape = broadcast_shape(inputs, num_inputs);
    Array result = make_array(program.output_dtypes[0], shape.rank, shape.lengths);
    const View* const output = &result.view;
    execute(&output, inputs, shape, kept...);
    return result;
  }

  // `lists` hold the arrays: another thread may change them while the interpreter lock is released,
  // so that their items are then held by tuples of our own.
  template <class... Lists>
  void execute(const View* const* outputs, const View* const* inputs, const Shape& shape,
               const Lists&... lists) const {
    const ElementwiseProgram& program = compiled_.program();
    const ElementwiseKernels& kernels = elementwise_kernels();
    const KernelScope scope;
    if (shape.count * program.cost < kParallelWork) {
      kernels.run(program, outputs, inputs, shape.rank, shape.lengths);
    } else {
      [[maybe_unused]] const nb::tuple held[] = {nb::tuple(), nb::tuple(lists)...};
      const ReleasedLock unlocked;
      kernels.run(program, outputs, inputs, shape.rank, shape.lengths);
    }
  }

  CompiledProgram compiled_;
};

Step* elementwise_step(const Program& program) { return new ElementwiseStep(program.compiled()); }

}  // namespace

const ElementwiseProgram& program_of(nb::handle program) {
  return nb::cast<const Program&>(program).compiled();
}

const ElementwiseProgram* program_or_null(nb::handle program) {
  return program.is_none() ? nullptr : &program_of(program);
}

int broadcast_inputs(const View* const* inputs, int num_inputs, std::int64_t* shape) {
  const Shape common = broadcast_shape(inputs, num_inputs);
  for (int axis = 0; axis < common.rank; ++axis) shape[axis] = common.lengths[axis];
  return common.rank;
}

}  // namespace lumus

void bind_elementwise(nb::module_& m) {
  using lumus::Program;
  nb::class_<Program>(m, "Program")
      .def(nb::init<nb::list, nb::list, nb::list, nb::list>())
      .def("run1", &Program::run1)
      .def("run2", &Program::run2)
      .def("run3", &Program::run3)
      .def("run", &Program::run)
      .def("run_many", &Program::run_many)
      .def("run_into", &Program::run_into)
      .def("step", lumus::elementwise_step, nb::keep_alive<0, 1>());
}
