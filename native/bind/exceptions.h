// Python exceptions that native code names or makes. For binding sources only.
#pragma once

#include <nanobind/nanobind.h>

namespace lumus {

// Raised with (value, bound, position, axis, step): the index as it was given, the length of the
// axis, where in the index array it stands, which axis it indexes, and the step of an executable or
// -1.
extern PyObject* index_out_of_range;

// Raised with (value, step): what does not hold what a step of an executable checks.
extern PyObject* check_failed;

// Raised when a callback of an executable runs that executable.
extern PyObject* called_within;

// Within a handler: sets the Python error that nanobind makes of the exception that is handled.
inline void set_python_error() {
  static PyObject* const rethrow = nanobind::cpp_function([] { throw; }).release().ptr();
  Py_XDECREF(PyObject_CallNoArgs(rethrow));
}

}  // namespace lumus
