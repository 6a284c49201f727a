// A check of values as a step of a plan.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstring>

#include "bind/exceptions.h"
#include "executor/step.h"
#include "runtime/copies.h"
#include "runtime/step_error.h"

namespace nb = nanobind;

namespace lumus {

PyObject* check_failed = nullptr;

namespace {

void translate(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const NotHeld& failed) {
    const nb::object value = failed.is_integer ? nb::object(nb::int_(failed.integer))
                                               : nb::object(nb::float_(failed.real));
    PyErr_SetObject(check_failed, nb::make_tuple(value, failed.step).ptr());
  }
}

// The first element of `value` that the element number `at` of `holds`, broadcast to it, is for.
const std::byte* element_for(const View& value, const View& holds, std::int64_t at) {
  const std::byte* element = value.data;
  for (int axis = holds.rank - 1; axis >= 0; --axis) {
    const int of_value = axis + value.rank - holds.rank;
    element += at % holds.shape[axis] * value.strides[of_value] * itemsize(value.dtype);
    at /= holds.shape[axis];
  }
  return element;
}

NotHeld not_held(const View& value, const View& holds, std::int64_t at) {
  NotHeld failed;
  View one;
  one.dtype = value.dtype;
  one.rank = 0;
  one.data = const_cast<std::byte*>(element_for(value, holds, at));
  failed.is_integer = !is_float(value.dtype);
  if (failed.is_integer) {
    failed.integer = *data_of<std::int64_t>(converted(one, DType::int64).view);
  } else {
    failed.real = *data_of<double>(converted(one, DType::float64).view);
  }
  return failed;
}

// Of (value, holds): the value. Throws NotHeld for the first one that does not hold.
Step* check_step() {
  StepTraits traits{2};
  traits.in_place = InPlace::first;
  traits.output_layout = OutputLayout::strided;
  return make_step(traits, [](Views inputs, Views outputs) {
    const Array holds = dense(*inputs[1]);
    const std::int64_t count = num_elements(holds.view);
    // Of no values none fails, whatever holds.
    if (count > 0 && num_elements(*inputs[0]) > 0) {
      const void* const wrong = std::memchr(holds.view.data, 0, static_cast<std::size_t>(count));
      if (wrong) {
        throw not_held(*inputs[0], holds.view,
                       static_cast<const std::byte*>(wrong) - holds.view.data);
      }
    }
    if (!is_same_view(*outputs[0], *inputs[0])) assign(*outputs[0], *inputs[0]);
  });
}

}  // namespace
}  // namespace lumus

void bind_check(nb::module_& m) {
  using namespace lumus;
  check_failed = PyErr_NewExceptionWithDoc("lumus._native.CheckFailed", "args: (value, step)",
                                           PyExc_ValueError, nullptr);
  m.attr("CheckFailed") = nb::borrow(check_failed);
  nb::register_exception_translator(translate);
  m.def("check_step", check_step);
}
