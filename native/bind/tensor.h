// The Python class Tensor as native code sees it: objects of three slots. For binding sources only.
#pragma once

#include <nanobind/nanobind.h>
#include <structmember.h>

namespace lumus {

// Where a slot of a Python class lies in its instances.
struct ObjectSlot {
  Py_ssize_t offset = 0;

  PyObject* get(PyObject* object) const {
    return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset);
  }
  // Fills a slot of a new object, which is empty.
  void fill(PyObject* object, PyObject* value) const {
    *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset) = Py_NewRef(value);
  }
};

// Whether an attribute of a class is a slot, and which one.
inline bool find_slot(nanobind::handle descriptor, ObjectSlot* slot) {
  if (!PyObject_TypeCheck(descriptor.ptr(), &PyMemberDescr_Type)) return false;
  const PyMemberDef* const member =
      reinterpret_cast<PyMemberDescrObject*>(descriptor.ptr())->d_member;
  slot->offset = member->offset;
  return member->type == T_OBJECT_EX;
}

inline ObjectSlot slot_of(nanobind::handle cls, const char* name) {
  ObjectSlot slot;
  if (!find_slot(nanobind::getattr(cls, name), &slot)) {
    throw nanobind::type_error("a slot was expected");
  }
  return slot;
}

class TensorClass {
 public:
  ObjectSlot data, spec, origin;

  // Once, when the class has been made.
  void bind(nanobind::handle cls) {
    type_ = reinterpret_cast<PyTypeObject*>(Py_NewRef(cls.ptr()));  // for the life of the process
    data = slot_of(cls, "data");
    spec = slot_of(cls, "spec");
    origin = slot_of(cls, "origin");
  }

  bool has(PyObject* object) const {
    return Py_TYPE(object) == type_ || PyType_IsSubtype(Py_TYPE(object), type_);
  }

  // A new tensor, or null with an error set.
  PyObject* make(PyObject* of_data, PyObject* of_spec, PyObject* of_origin) const {
    PyObject* const made = type_->tp_alloc(type_, 0);
    if (!made) return nullptr;
    data.fill(made, of_data);
    spec.fill(made, of_spec);
    origin.fill(made, of_origin);
    return made;
  }

 private:
  PyTypeObject* type_ = nullptr;
};

extern TensorClass tensor_class;

}  // namespace lumus
