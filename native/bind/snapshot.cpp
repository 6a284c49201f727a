#include "bind/snapshot.h"

#include <utility>

namespace nb = nanobind;

namespace lumus {
namespace {

bool is_slot(nb::handle owner, nb::handle name, ObjectSlot* slot) {
  const nb::object descriptor =
      nb::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(owner.ptr())), name.ptr()));
  if (descriptor.is_valid()) return find_slot(descriptor, slot);
  PyErr_Clear();
  return false;
}

// False for objects that give another dict than the one they have, or none.
bool has_plain_dict(nb::handle owner) {
  const nb::object own = nb::steal(PyObject_GenericGetDict(owner.ptr(), nullptr));
  if (!own.is_valid()) PyErr_Clear();
  return own.is_valid() && own.is(nb::getattr(owner, "__dict__", nb::none()));
}

nb::object space_of_class(PyObject* cls) {
#if PY_VERSION_HEX >= 0x030c0000
  return nb::steal(PyType_GetDict(reinterpret_cast<PyTypeObject*>(cls)));
#else
  return nb::borrow(reinterpret_cast<PyTypeObject*>(cls)->tp_dict);
#endif
}

void check_function(nb::handle function) {
  if (!PyFunction_Check(function.ptr())) throw nb::type_error("a function was expected");
}

// What stands in a place that has one object, borrowed from its owner; null where there is nothing.
// False where it cannot be known.
bool look_up(PyObject* space, PyObject* name, PyObject** value) {
  *value = space ? PyDict_GetItemWithError(space, name) : nullptr;
  const bool is_known = *value || (space && !PyErr_Occurred());
  if (!is_known) PyErr_Clear();
  return is_known;
}

bool read_one(const Place& place, PyObject** value) {
  PyObject* const owner = place.owner.ptr();
  switch (place.kind) {
    case PlaceKind::slot:
      *value = place.slot.get(owner);
      return true;
    case PlaceKind::cell:
      *value = PyCell_GET(owner);
      return true;
    case PlaceKind::item:
      return look_up(owner, place.name.ptr(), value);
    case PlaceKind::code:
      *value = PyFunction_GetCode(owner);
      return true;
    case PlaceKind::ancestry:
      *value =
          (PyType_Check(owner) ? reinterpret_cast<PyTypeObject*>(owner) : Py_TYPE(owner))->tp_mro;
      return true;
    case PlaceKind::defaults:
      *value = PyFunction_GetDefaults(owner);
      return true;
    case PlaceKind::keyword_defaults:
      *value = PyFunction_GetKwDefaults(owner);
      return true;
    case PlaceKind::of_class:
      return look_up(space_of_class(owner).ptr(), place.name.ptr(), value);
    case PlaceKind::instance: {
      const nb::object space = nb::steal(PyObject_GenericGetDict(owner, nullptr));
      return look_up(space.ptr(), place.name.ptr(), value);
    }
    case PlaceKind::items:
    case PlaceKind::size:
    case PlaceKind::agreement:
      break;
  }
  return false;
}

Py_ssize_t count_of(PyObject* container) {
  if (PyList_CheckExact(container)) return PyList_GET_SIZE(container);
  return PyDict_CheckExact(container) ? PyDict_GET_SIZE(container) : -1;
}

// visit(item) for the items of a list, or the keys and values of a dict, until it gives false.
template <class Visit>
bool each_item(PyObject* container, const Visit& visit) {
  if (PyList_CheckExact(container)) {
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(container); ++at) {
      if (!visit(PyList_GET_ITEM(container, at))) return false;
    }
    return true;
  }
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(container, &at, &key, &value);) {
    if (!visit(key) || !visit(value)) return false;
  }
  return true;
}

// Of a list or dict, else null: other classes may order their items as they like.
nb::object items_of(PyObject* container, Py_ssize_t limit) {
  const Py_ssize_t count = count_of(container);
  if (count < 0) return {};
  if (count > limit) return nb::int_(count);
  const bool is_list = PyList_CheckExact(container);
  nb::object items = nb::steal(PyTuple_New(is_list ? count : 2 * count));
  if (!items.is_valid()) throw nb::python_error();
  Py_ssize_t at = 0;
  each_item(container, [&](PyObject* item) {
    PyTuple_SET_ITEM(items.ptr(), at++, Py_NewRef(item));
    return true;
  });
  return items;
}

bool stand_all(const Place& place) {
  PyObject* const container = place.owner.ptr();
  PyObject* const known = place.value.ptr();
  const Py_ssize_t count = count_of(container);
  if (PyLong_Check(known)) return PyLong_AsSsize_t(known) == count;
  if (PyTuple_GET_SIZE(known) != (PyList_CheckExact(container) ? count : 2 * count)) return false;
  Py_ssize_t at = 0;
  return each_item(container,
                   [&](PyObject* item) { return PyTuple_GET_ITEM(known, at++) == item; });
}

// 1 or 0, or -1 with an error set.
int values_agree(PyObject* dicts, PyObject* key) {
  PyObject* first = nullptr;
  for (Py_ssize_t at = 0; at < PyList_GET_SIZE(dicts); ++at) {
    PyObject* const dict = PyList_GET_ITEM(dicts, at);
    PyObject* const value = PyDict_Check(dict) ? PyDict_GetItemWithError(dict, key) : nullptr;
    if (!value) {
      if (!PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, key);
      return -1;
    }
    if (!first) first = value;
    if (value == first) continue;
    const nb::object held = nb::borrow(value), other = nb::borrow(first);
    const int is_equal = PyObject_RichCompareBool(held.ptr(), other.ptr(), Py_EQ);
    if (is_equal < 1) return is_equal;
  }
  return 1;
}

bool stand_equal(const Place& place) {
  const int agrees = values_agree(place.owner.ptr(), place.name.ptr());
  if (agrees < 0) PyErr_Clear();
  return agrees == 1;
}

// -1 for an object without a dict of its own.
Py_ssize_t size_of(PyObject* owner) {
  const nb::object space = PyType_Check(owner) ? space_of_class(owner)
                                               : nb::steal(PyObject_GenericGetDict(owner, nullptr));
  if (space.is_valid() && PyDict_Check(space.ptr())) return PyDict_GET_SIZE(space.ptr());
  PyErr_Clear();
  return -1;
}

bool stands(const Place& place) {
  if (place.kind == PlaceKind::size)
    return PyLong_AsSsize_t(place.value.ptr()) == size_of(place.owner.ptr());
  if (place.kind == PlaceKind::items) return stand_all(place);
  if (place.kind == PlaceKind::agreement) return stand_equal(place);
  PyObject* now;
  return read_one(place, &now) && now == place.value.ptr();
}

// False where it cannot be known.
bool read(const Place& place, nb::object* value) {
  if (place.kind == PlaceKind::size) {
    *value = nb::int_(size_of(place.owner.ptr()));
    return true;
  }
  if (place.kind == PlaceKind::agreement) return stand_equal(place);
  if (place.kind == PlaceKind::items) {
    *value = items_of(place.owner.ptr(), place.limit);
    return value->is_valid();
  }
  PyObject* now;
  if (!read_one(place, &now)) return false;
  *value = nb::borrow(now);
  return true;
}

}  // namespace

void Snapshot::add_attribute(nb::object owner, nb::str name) {
  Place place{PlaceKind::instance, std::move(owner), std::move(name)};
  if (PyType_Check(place.owner.ptr())) {
    place.kind = PlaceKind::of_class;
  } else if (is_slot(place.owner, place.name, &place.slot)) {
    place.kind = PlaceKind::slot;
  } else if (!has_plain_dict(place.owner)) {
    is_readable_ = false;
  }
  add(std::move(place));
}

void Snapshot::add_item(nb::dict owner, nb::object key) {
  add({PlaceKind::item, std::move(owner), std::move(key)});
}

void Snapshot::add_cell(nb::object cell) {
  if (!PyCell_Check(cell.ptr())) throw nb::type_error("a cell was expected");
  add({PlaceKind::cell, std::move(cell)});
}

void Snapshot::add_code(nb::object function) {
  check_function(function);
  add({PlaceKind::code, std::move(function)});
}

void Snapshot::add_ancestry(nb::object owner) { add({PlaceKind::ancestry, std::move(owner)}); }

void Snapshot::add_size(nb::object owner) { add({PlaceKind::size, std::move(owner)}); }

void Snapshot::add_defaults(nb::object function, bool by_keyword) {
  check_function(function);
  add({by_keyword ? PlaceKind::keyword_defaults : PlaceKind::defaults, std::move(function)});
}

void Snapshot::add_items(nb::object container, Py_ssize_t limit) {
  Place place{PlaceKind::items, std::move(container)};
  place.limit = limit;
  add(std::move(place));
}

void Snapshot::add_agreement(nb::list dicts, nb::str key) {
  add({PlaceKind::agreement, std::move(dicts), std::move(key)});
}

void Snapshot::add(Place place) {
  is_readable_ = is_readable_ && read(place, &place.value);
  places_.push_back(std::move(place));
}

bool Snapshot::holds() const {
  if (!is_readable_) return false;
  for (const Place& place : places_) {
    if (!stands(place)) return false;
  }
  return true;
}

int Snapshot::traverse(visitproc visit, void* arg) const {
  for (const Place& place : places_) {
    Py_VISIT(place.owner.ptr());
    Py_VISIT(place.name.ptr());
    Py_VISIT(place.value.ptr());
  }
  return 0;
}

void Snapshot::clear() {
  is_readable_ = false;
  const std::vector<Place> gone = std::move(places_);  // what they lead to may come back here
  places_.clear();
}

bool agree(nb::list dicts, nb::str key) {
  const int agrees = values_agree(dicts.ptr(), key.ptr());
  if (agrees < 0) throw nb::python_error();
  return agrees == 1;
}

namespace {

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<Snapshot>(self)->traverse(visit, arg) : 0;
}

int clear(PyObject* self) {
  nb::inst_ptr<Snapshot>(self)->clear();
  return 0;
}

PyType_Slot snapshot_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {0, nullptr},
};

}  // namespace
}  // namespace lumus

void bind_snapshot(nb::module_& m) {
  using lumus::Snapshot;
  nb::class_<Snapshot>(m, "Snapshot", nb::type_slots(lumus::snapshot_slots), nb::is_final())
      .def(nb::init<>())
      .def("add_attribute", &Snapshot::add_attribute)
      .def("add_item", &Snapshot::add_item)
      .def("add_cell", &Snapshot::add_cell)
      .def("add_code", &Snapshot::add_code)
      .def("add_ancestry", &Snapshot::add_ancestry)
      .def("add_size", &Snapshot::add_size)
      .def("add_defaults", &Snapshot::add_defaults)
      .def("add_items", &Snapshot::add_items)
      .def("add_agreement", &Snapshot::add_agreement)
      .def("holds", &Snapshot::holds);
}
