// Snapshots of Python values: what a compiled function looks at before each call to know that
// nothing around it has changed. Objects are compared by identity alone: whoever finds that a place
// has another one looks closer, in Python.
#include <nanobind/nanobind.h>

#include <utility>
#include <vector>

#include "bind/tensor.h"

namespace nb = nanobind;

namespace lumus {
namespace {

enum class PlaceKind : std::uint8_t {
  slot,
  instance,
  of_class,
  item,
  cell,
  items,
  defaults,
  keyword_defaults
};

// Where an object stands, and which one stood there.
struct Place {
  PlaceKind kind;
  nb::object owner;
  nb::object name = {};   // of an attribute or item
  Slot slot = {};         // of an attribute that is one
  Py_ssize_t limit = 0;   // of items: of more, only the number is watched
  nb::object value = {};  // null where there was nothing
};

class Snapshot {
 public:
  void add_attribute(nb::object owner, nb::str name) {
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
  void add_item(nb::dict owner, nb::object key) {
    add({PlaceKind::item, std::move(owner), std::move(key)});
  }
  void add_cell(nb::object cell) {
    if (!PyCell_Check(cell.ptr())) throw nb::type_error("a cell was expected");
    add({PlaceKind::cell, std::move(cell)});
  }
  void add_defaults(nb::object function, bool by_keyword) {
    if (!PyFunction_Check(function.ptr())) throw nb::type_error("a function was expected");
    add({by_keyword ? PlaceKind::keyword_defaults : PlaceKind::defaults, std::move(function)});
  }
  void add_items(nb::object container, Py_ssize_t limit) {
    Place place{PlaceKind::items, std::move(container)};
    place.limit = limit;
    add(std::move(place));
  }

  bool holds() const {
    if (!is_readable_) return false;
    for (const Place& place : places_) {
      if (!stands(place)) return false;
    }
    return true;
  }

  int traverse(visitproc visit, void* arg) const {
    for (const Place& place : places_) {
      Py_VISIT(place.owner.ptr());
      Py_VISIT(place.name.ptr());
      Py_VISIT(place.value.ptr());
    }
    return 0;
  }
  void clear() {
    is_readable_ = false;
    const std::vector<Place> gone = std::move(places_);  // what they lead to may come back here
  }

 private:
  static bool is_slot(nb::handle owner, nb::handle name, Slot* slot) {
    const nb::object descriptor =
        nb::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(owner.ptr())), name.ptr()));
    if (descriptor.is_valid()) return find_slot(descriptor, slot);
    PyErr_Clear();
    return false;
  }

  // False for objects that give another dict than the one they have, or none.
  static bool has_plain_dict(nb::handle owner) {
    const nb::object own = nb::steal(PyObject_GenericGetDict(owner.ptr(), nullptr));
    if (!own.is_valid()) PyErr_Clear();
    return own.is_valid() && own.is(nb::getattr(owner, "__dict__", nb::none()));
  }

  void add(Place place) {
    is_readable_ = is_readable_ && read(place, &place.value);
    places_.push_back(std::move(place));
  }

  // False where it cannot be known; an empty `value` where there is nothing.
  static bool read(const Place& place, nb::object* value) {
    PyObject* const owner = place.owner.ptr();
    switch (place.kind) {
      case PlaceKind::slot:
        *value = nb::borrow(place.slot.get(owner));
        return true;
      case PlaceKind::cell:
        *value = nb::steal(PyCell_Get(owner));
        return true;
      case PlaceKind::item:
        return look_up(owner, place.name.ptr(), value);
      case PlaceKind::defaults:
        *value = nb::borrow(PyFunction_GetDefaults(owner));
        return true;
      case PlaceKind::keyword_defaults:
        *value = nb::borrow(PyFunction_GetKwDefaults(owner));
        return true;
      case PlaceKind::of_class:
        return look_up(space_of_class(owner).ptr(), place.name.ptr(), value);
      case PlaceKind::instance:
        return look_up(nb::steal(PyObject_GenericGetDict(owner, nullptr)).ptr(), place.name.ptr(),
                       value);
      case PlaceKind::items:
        break;
    }
    *value = items_of(owner, place.limit);
    return value->is_valid();
  }

  static nb::object space_of_class(PyObject* cls) {
#if PY_VERSION_HEX >= 0x030c0000
    return nb::steal(PyType_GetDict(reinterpret_cast<PyTypeObject*>(cls)));
#else
    return nb::borrow(reinterpret_cast<PyTypeObject*>(cls)->tp_dict);
#endif
  }

  static bool look_up(PyObject* space, PyObject* name, nb::object* value) {
    *value = nb::borrow(space ? PyDict_GetItemWithError(space, name) : nullptr);
    const bool is_known = value->is_valid() || (space && !PyErr_Occurred());
    if (!is_known) PyErr_Clear();
    return is_known;
  }

  // Of a list or dict, else null: other classes may order their items as they like.
  static nb::object items_of(PyObject* container, Py_ssize_t limit) {
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

  static Py_ssize_t count_of(PyObject* container) {
    if (PyList_CheckExact(container)) return PyList_GET_SIZE(container);
    return PyDict_CheckExact(container) ? PyDict_GET_SIZE(container) : -1;
  }

  // visit(item) for the items of a list, or the keys and values of a dict, until it gives false.
  template <class Visit>
  static bool each_item(PyObject* container, const Visit& visit) {
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

  static bool stands(const Place& place) {
    if (place.kind == PlaceKind::items) return stand_all(place);
    nb::object now;
    return read(place, &now) && now.is(place.value);
  }

  static bool stand_all(const Place& place) {
    PyObject* const container = place.owner.ptr();
    PyObject* const known = place.value.ptr();
    const Py_ssize_t count = count_of(container);
    if (PyLong_Check(known)) return PyLong_AsSsize_t(known) == count;
    if (PyTuple_GET_SIZE(known) != (PyList_CheckExact(container) ? count : 2 * count)) return false;
    Py_ssize_t at = 0;
    return each_item(container,
                     [&](PyObject* item) { return PyTuple_GET_ITEM(known, at++) == item; });
  }

  std::vector<Place> places_;
  bool is_readable_ = true;  // all of them
};

// Whether dicts have equal values under a key, which each has.
bool agree(nb::list dicts, nb::str key) {
  PyObject* first = nullptr;
  for (nb::handle dict : dicts) {
    PyObject* const value =
        PyDict_Check(dict.ptr()) ? PyDict_GetItemWithError(dict.ptr(), key.ptr()) : nullptr;
    if (!value) throw nb::key_error(nb::cast<const char*>(key));
    if (!first) first = value;
    const int is_equal = PyObject_RichCompareBool(value, first, Py_EQ);
    if (is_equal < 0) throw nb::python_error();
    if (!is_equal) return false;
  }
  return true;
}

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
  m.def("agree", lumus::agree);
  nb::class_<Snapshot>(m, "Snapshot", nb::type_slots(lumus::snapshot_slots), nb::is_final())
      .def(nb::init<>())
      .def("add_attribute", &Snapshot::add_attribute)
      .def("add_item", &Snapshot::add_item)
      .def("add_cell", &Snapshot::add_cell)
      .def("add_defaults", &Snapshot::add_defaults)
      .def("add_items", &Snapshot::add_items)
      .def("holds", &Snapshot::holds);
}
