// Which variant of a compiled function serves a call, found by what the arguments are: for dense
// tensors and plain values, as nearly all calls have. Calls that are not found are looked at in
// Python.
#include <nanobind/nanobind.h>

#include <cstring>
#include <utility>
#include <vector>

#include "bind/tensor.h"
#include "runtime/array.h"

namespace nb = nanobind;

namespace lumus {
namespace {

// What a program depends on of an argument: of a tensor its spec, and the class of its node if it
// is recorded; of another value, itself.
struct Part {
  bool is_tensor = false;
  nb::object value;  // or the spec
  nb::object node_class;
};

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

bool fits(const Part& part, PyObject* argument, bool records) {
  if (!part.is_tensor) return is_same(part.value.ptr(), argument);
  return tensor_class.has(argument) && tensor_class.spec.get(argument) == part.value.ptr() &&
         node_class_of(argument, records) == part.node_class.ptr() && is_dense(argument);
}

// A kind of call, and what serves it.
struct Entry {
  bool records;
  std::vector<Part> parts;  // of the arguments, those by name last
  std::vector<nb::object> names;
  nb::object target;
  bool has_values = false;  // besides tensors

  bool serves(nb::tuple args, nb::dict kwargs, bool with_records) const {
    const std::size_t num_args = args.size();
    if (records != with_records || names.size() != kwargs.size()) return false;
    if (parts.size() != num_args + names.size()) return false;
    for (std::size_t at = 0; at < num_args; ++at) {
      PyObject* const argument = PyTuple_GET_ITEM(args.ptr(), static_cast<Py_ssize_t>(at));
      if (!fits(parts[at], argument, records)) return false;
    }
    PyObject *name, *argument;
    Py_ssize_t position = 0;
    for (std::size_t at = 0; PyDict_Next(kwargs.ptr(), &position, &name, &argument); ++at) {
      if (!is_same(names[at].ptr(), name)) return false;
      if (!fits(parts[num_args + at], argument, records)) return false;
    }
    return true;
  }
};

class CallTable {
 public:
  // (target, tensors) of a call that has been put here, else None.
  nb::object find(nb::tuple args, nb::dict kwargs, bool records) const {
    for (const Entry& entry : entries_) {
      if (!entry.serves(args, kwargs, records)) continue;
      // Held: what is made below may set off a collection, which may lead back here.
      const nb::object target = entry.target;
      const bool is_plain = entry.names.empty() && !entry.has_values;
      return nb::make_tuple(target, is_plain ? args : tensors_of(args, kwargs));
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
    Entry entry{records, {}, {}, std::move(target)};
    for (nb::handle argument : args) {
      if (!add_part(entry, argument)) return;
    }
    for (const auto& [name, argument] : kwargs) {
      entry.names.push_back(nb::borrow(name));
      if (!add_part(entry, argument)) return;
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
      for (const Part& part : entry.parts) Py_VISIT(part.value.ptr());
    }
    return 0;
  }

 private:
  static bool add_part(Entry& entry, nb::handle argument) {
    Part part;
    part.is_tensor = tensor_class.has(argument.ptr());
    part.value =
        nb::borrow(part.is_tensor ? tensor_class.spec.get(argument.ptr()) : argument.ptr());
    if (part.is_tensor) {
      if (!is_dense(argument.ptr())) return false;
      part.node_class = nb::borrow(node_class_of(argument.ptr(), entry.records));
    } else {
      entry.has_values = true;
    }
    entry.parts.push_back(std::move(part));
    return true;
  }

  static nb::tuple tensors_of(nb::tuple args, nb::dict kwargs) {
    nb::list tensors;
    for (nb::handle argument : args) {
      if (tensor_class.has(argument.ptr())) tensors.append(argument);
    }
    for (const auto& [name, argument] : kwargs) {
      if (tensor_class.has(argument.ptr())) tensors.append(argument);
    }
    return nb::tuple(tensors);
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
