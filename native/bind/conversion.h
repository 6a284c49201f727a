// Between Python objects and the runtime's plain types. For binding sources only.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "runtime/array.h"

namespace lumus {

namespace nb = nanobind;

// The integers of a tuple, at most kMaxRank of them, which must be all Python ints.
inline int read_integers(nb::handle tuple, std::int64_t* values) {
  const Py_ssize_t count = PyTuple_GET_SIZE(tuple.ptr());
  if (count > kMaxRank) throw nb::value_error("an array has at most 16 axes");
  for (Py_ssize_t at = 0; at < count; ++at) {
    values[at] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple.ptr(), at));
    if (values[at] == -1 && PyErr_Occurred()) throw nb::python_error();
  }
  return static_cast<int>(count);
}

inline nb::tuple make_tuple(int count, const std::int64_t* values) {
  PyObject* const tuple = PyTuple_New(count);
  if (!tuple) throw nb::python_error();
  for (int at = 0; at < count; ++at) {
    PyObject* const value = PyLong_FromLongLong(values[at]);
    if (!value) {
      Py_DECREF(tuple);
      throw nb::python_error();
    }
    PyTuple_SET_ITEM(tuple, at, value);
  }
  return nb::steal<nb::tuple>(tuple);
}

// Gives back a Python reference from any thread, with or without the interpreter lock. When the
// interpreter is shutting down and this thread has no lock, the reference is left to the process's
// end.
inline void release_object(void* object) {
  if (!object || !Py_IsInitialized()) return;
  if (PyGILState_Check()) {
    Py_DECREF(static_cast<PyObject*>(object));
    return;
  }
#if PY_VERSION_HEX >= 0x030d0000
  if (Py_IsFinalizing()) return;
#else
  if (_Py_IsFinalizing()) return;
#endif
  const PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF(static_cast<PyObject*>(object));
  PyGILState_Release(state);
}

}  // namespace lumus
