// The Python class Mode as native code sees it (`core.mode`): how operations run in the context.
// For binding sources only.
#pragma once

#include <nanobind/nanobind.h>

#include "bind/tensor.h"

namespace lumus {

class ModeClass {
 public:
  ObjectSlot interpreter, tracks, records, derives;

  // Once, when the class has been made: with the context variable that holds the mode.
  void bind(nanobind::handle cls, nanobind::handle variable) {
    variable_ = Py_NewRef(variable.ptr());  // for the life of the process
    interpreter = slot_of(cls, "interpreter");
    tracks = slot_of(cls, "tracks");
    records = slot_of(cls, "records");
    derives = slot_of(cls, "derives");
  }

  // Borrowed: the context, or the variable as its default, keeps it. Null with an error set.
  PyObject* current() const {
    PyObject* mode;
    if (PyContextVar_Get(variable_, nullptr, &mode) < 0) return nullptr;
    Py_DECREF(mode);
    return mode;
  }

 private:
  PyObject* variable_ = nullptr;
};

extern ModeClass mode_class;

}  // namespace lumus
