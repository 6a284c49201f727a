// Which variant of a compiled function serves a call, found by what the arguments are: for dense
// tensors and values, alone or in lists, tuples and dicts, as nearly all calls have. Calls that are
// not found are looked at in Python.
#include <nanobind/nanobind.h>

#include <cstring>
#include <utility>
#include <vector>

#include "bind/tensor.h"
#include "runtime/array.h"

namespace nb = nanobind;

namespace lumus {
namespace {

enum class PartKind : std::uint8_t { tensor, value, list, tuple, dict };

// What a program depends on of an argument: of a tensor its spec, and the class of its node if it
// is recorded; of a container its form and items; of another value, itself.
struct Part {
  PartKind kind = PartKind::value;
  nb::object value = {};  // or the spec
  nb::object node_class = {};
  std::vector<nb::object> keys = {};  // of a dict
  std::vector<Part> items = {};
};

PartKind kind_of(PyObject* argument) {
  if (tensor_class.has(argument)) return PartKind::tensor;
  if (PyList_CheckExact(argument)) return PartKind::list;
  if (PyTuple_CheckExact(argument)) return PartKind::tuple;
  return PyDict_CheckExact(argument) ? PartKind::dict : PartKind::value;
}

// visit(item) for the items of a container, from left to right, until it gives false.
template <class Visit>
bool each_item(PyObject* container, PartKind kind, const Visit& visit) {
  if (kind == PartKind::dict) {
    PyObject *key, *item;
    for (Py_ssize_t at = 0; PyDict_Next(container, &at, &key, &item);) {
      if (!visit(item)) return false;
    }
    return true;
  }
  const bool is_list = kind == PartKind::list;
  for (Py_ssize_t at = 0; at < Py_SIZE(container); ++at) {
    if (!visit(is_list ? PyList_GET_ITEM(container, at) : PyTuple_GET_ITEM(container, at))) {
      return false;
    }
  }
  return true;
}

// Null for a tensor off the graph.
PyObject* node_class_of(PyObject* tensor, bool records) {
  PyObject* const origin = tensor_class.origin.get(tensor);
  if (!records || !origin || !PyTuple_Check(origin)) return nullptr;
  return reinterpret_cast<PyObject*>(Py_TYPE(PyTuple_GET_ITEM(origin, 0)));
}

bool is_dense(PyObject* tensor) {
  const nb::handle data = tensor_class.data.get(tensor);
  return data.is_valid() && nb::isinstance<Array>(data) &&
         is_contiguous(nb::inst_ptr<Array>(data)->view);
}

// The same object, or an equal number or text; tells -0.0 from 0.0.
bool is_same(PyObject* one, PyObject* other) {
  if (one == other) return true;
  if (Py_TYPE(one) != Py_TYPE(other)) return false;
  if (PyFloat_CheckExact(one)) {
    const double values[] = {PyFloat_AS_DOUBLE(one), PyFloat_AS_DOUBLE(other)};
    return std::memcmp(&values[0], &values[1], sizeof(double)) == 0;
  }
  if (PyLong_CheckExact(one) || PyUnicode_CheckExact(one)) {
    return PyObject_RichCompareBool(one, other, Py_EQ) == 1;
  }
  return false;
}

bool fits(const Part& part, PyObject* argument, bool records);

bool fits_keys(const Part& part, PyObject* dict) {
  PyObject *key, *item;
  Py_ssize_t at = 0;
  for (const nb::object& known : part.keys) {
    if (!PyDict_Next(dict, &at, &key, &item) || !is_same(known.ptr(), key)) return false;
  }
  return true;
}

bool fits_items(const Part& part, PyObject* container, bool records) {
  const bool is_dict = part.kind == PartKind::dict;
  const Py_ssize_t count = is_dict ? PyDict_GET_SIZE(container) : Py_SIZE(container);
  if (count != static_cast<Py_ssize_t>(part.items.size())) return false;
  if (is_dict && !fits_keys(part, container)) return false;
  auto known = part.items.begin();
  return each_item(container, part.kind,
                   [&](PyObject* item) { return fits(*known++, item, records); });
}

bool fits(const Part& part, PyObject* argument, bool records) {
  if (part.kind == PartKind::value) return is_same(part.value.ptr(), argument);
  if (part.kind != kind_of(argument)) return false;
  if (part.kind != PartKind::tensor) return fits_items(part, argument, records);
  return tensor_class.spec.get(argument) == part.value.ptr() &&
         node_class_of(argument, records) == part.node_class.ptr() && is_dense(argument);
}

// False for a tensor that is not dense.
bool read_part(PyObject* argument, bool records, Part* part) {
  part->kind = kind_of(argument);
  if (part->kind == PartKind::value) {
    part->value = nb::borrow(argument);
    return true;
  }
  if (part->kind == PartKind::tensor) {
    part->value = nb::borrow(tensor_class.spec.get(argument));
    part->node_class = nb::borrow(node_class_of(argument, records));
    return is_dense(argument);
  }
  if (part->kind == PartKind::dict) {
    PyObject *key, *item;
    for (Py_ssize_t at = 0; PyDict_Next(argument, &at, &key, &item);) {
      part->keys.push_back(nb::borrow(key));
    }
  }
  return each_item(argument, part->kind, [&](PyObject* item) {
    part->items.emplace_back();
    return read_part(item, records, &part->items.back());
  });
}

void add_tensors(PyObject* argument, std::vector<nb::object>* tensors) {
  const PartKind kind = kind_of(argument);
  if (kind == PartKind::tensor) {
    tensors->push_back(nb::borrow(argument));
  } else if (kind != PartKind::value) {
    each_item(argument, kind, [&](PyObject* item) {
      add_tensors(item, tensors);
      return true;
    });
  }
}

int visit_part(const Part& part, visitproc visit, void* arg) {
  Py_VISIT(part.value.ptr());
  for (const nb::object& key : part.keys) Py_VISIT(key.ptr());
  for (const Part& item : part.items) {
    if (const int stopped = visit_part(item, visit, arg)) return stopped;
  }
  return 0;
}

// A kind of call, and what serves it.
struct Entry {
  bool records;
  Part args, kwargs;
  nb::object target;
  bool is_plain;  // tensors by position alone

  bool serves(nb::tuple given, nb::dict named, bool with_records) const {
    return records == with_records && fits_items(args, given.ptr(), records) &&
           fits_items(kwargs, named.ptr(), records);
  }
};

class CallTable {
 public:
  // (target, tensors) of a call that has been put here, else None.
  nb::object find(nb::tuple args, nb::dict kwargs, bool records) {
    for (std::size_t at = 0; at < entries_.size(); ++at) {
      if (!entries_[at].serves(args, kwargs, records)) continue;
      // Of many kinds of calls the latest ones are looked at first.
      for (; at > 0; --at) std::swap(entries_[at - 1], entries_[at]);
      const Entry& entry = entries_.front();
      // Held: what is made below may set off a collection, which may lead back here.
      const nb::object target = entry.target;
      return nb::make_tuple(target, entry.is_plain ? args : tensors_of(args, kwargs));
    }
    return nb::none();
  }

  // Nothing for a call with a tensor that is not dense.
  void put(nb::tuple args, nb::dict kwargs, bool records, nb::object target) {
    for (Entry& entry : entries_) {
      if (!entry.serves(args, kwargs, records)) continue;
      const nb::object gone = std::exchange(entry.target, std::move(target));
      return;
    }
    Entry entry{records, {}, {}, std::move(target), kwargs.size() == 0};
    if (!read_part(args.ptr(), records, &entry.args)) return;
    if (!read_part(kwargs.ptr(), records, &entry.kwargs)) return;
    for (const Part& part : entry.args.items) {
      entry.is_plain = entry.is_plain && part.kind == PartKind::tensor;
    }
    entries_.push_back(std::move(entry));
  }

  void clear() {
    const std::vector<Entry> gone = std::move(entries_);  // what they lead to may come back here
    entries_.clear();
  }

  int traverse(visitproc visit, void* arg) const {
    for (const Entry& entry : entries_) {
      Py_VISIT(entry.target.ptr());
      for (const Part* part : {&entry.args, &entry.kwargs}) {
        if (const int stopped = visit_part(*part, visit, arg)) return stopped;
      }
    }
    return 0;
  }

 private:
  static nb::tuple tensors_of(nb::tuple args, nb::dict kwargs) {
    std::vector<nb::object> tensors;
    add_tensors(args.ptr(), &tensors);
    add_tensors(kwargs.ptr(), &tensors);
    nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
    if (!tuple.is_valid()) throw nb::python_error();
    for (std::size_t at = 0; at < tensors.size(); ++at) {
      PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(at), tensors[at].release().ptr());
    }
    return nb::borrow<nb::tuple>(tuple);
  }

  std::vector<Entry> entries_;
};

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<CallTable>(self)->traverse(visit, arg) : 0;
}

int clear(PyObject* self) {
  nb::inst_ptr<CallTable>(self)->clear();
  return 0;
}

PyType_Slot call_table_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {0, nullptr},
};

}  // namespace
}  // namespace lumus

void bind_call_table(nb::module_& m) {
  using lumus::CallTable;
  nb::class_<CallTable>(m, "CallTable", nb::type_slots(lumus::call_table_slots), nb::is_final())
      .def(nb::init<>())
      .def("find", &CallTable::find)
      .def("put", &CallTable::put)
      .def("clear", &CallTable::clear);
}
