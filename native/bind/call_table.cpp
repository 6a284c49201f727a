// Calls of compiled functions. Which variant serves a call is found by what the arguments are: for
// dense tensors and values, alone or in lists, tuples and dicts, as nearly all calls have. Calls
// that are not found are looked at in Python.
#include <nanobind/nanobind.h>

#include <cstring>
#include <utility>
#include <vector>

#include "bind/exceptions.h"
#include "bind/mode.h"
#include "bind/plan_call.h"
#include "bind/tensor.h"
#include "runtime/array.h"

namespace nb = nanobind;

namespace lumus {
namespace {

enum class PartKind : std::uint8_t { tensor, value, list, tuple, dict };

// The tensors of a call, from left to right, by which those that are given twice are known; beyond
// a few they count as others.
class Seen {
 public:
  // The number of the tensor before that is the very same, else -1.
  int add(PyObject* tensor) {
    for (int at = 0; at < count_; ++at) {
      if (tensors_[at] == tensor) return at;
    }
    if (count_ < kMost) tensors_[count_++] = tensor;
    return -1;
  }

 private:
  static constexpr int kMost = 16;

  PyObject* tensors_[kMost];
  int count_ = 0;
};

// What a program depends on of an argument: of a tensor its spec, the class of its node if it is
// recorded, and whether it is the same as one before; of a container its form and items; of another
// value, itself.
struct Part {
  PartKind kind = PartKind::value;
  int same_as = -1;
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

bool fits(const Part& part, PyObject* argument, bool records, Seen* seen);

bool fits_keys(const Part& part, PyObject* dict) {
  PyObject *key, *item;
  Py_ssize_t at = 0;
  for (const nb::object& known : part.keys) {
    if (!PyDict_Next(dict, &at, &key, &item) || !is_same(known.ptr(), key)) return false;
  }
  return true;
}

bool fits_items(const Part& part, PyObject* container, bool records, Seen* seen) {
  const bool is_dict = part.kind == PartKind::dict;
  const Py_ssize_t count = is_dict ? PyDict_GET_SIZE(container) : Py_SIZE(container);
  if (count != static_cast<Py_ssize_t>(part.items.size())) return false;
  if (is_dict && !fits_keys(part, container)) return false;
  auto known = part.items.begin();
  return each_item(container, part.kind,
                   [&](PyObject* item) { return fits(*known++, item, records, seen); });
}

bool fits(const Part& part, PyObject* argument, bool records, Seen* seen) {
  if (part.kind == PartKind::value) return is_same(part.value.ptr(), argument);
  if (part.kind != kind_of(argument)) return false;
  if (part.kind != PartKind::tensor) return fits_items(part, argument, records, seen);
  return seen->add(argument) == part.same_as &&
         tensor_class.spec.get(argument) == part.value.ptr() &&
         node_class_of(argument, records) == part.node_class.ptr() && is_dense(argument);
}

// False for a tensor that is not dense.
bool read_part(PyObject* argument, bool records, Seen* seen, Part* part) {
  part->kind = kind_of(argument);
  if (part->kind == PartKind::value) {
    part->value = nb::borrow(argument);
    return true;
  }
  if (part->kind == PartKind::tensor) {
    part->value = nb::borrow(tensor_class.spec.get(argument));
    part->node_class = nb::borrow(node_class_of(argument, records));
    part->same_as = seen->add(argument);
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
    return read_part(item, records, seen, &part->items.back());
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

// The arguments of a call; `named` is null where there are none.
struct Given {
  PyObject* args;
  PyObject* named;
  bool records;
};

// A kind of call, and what serves it.
struct Entry {
  bool records;
  Part args, kwargs;
  nb::object target;
  nb::object call;  // of its plan, or none
  bool is_plain;    // tensors by position alone

  bool serves(const Given& given) const {
    Seen seen;
    if (records != given.records || !fits_items(args, given.args, records, &seen)) return false;
    return given.named ? fits_items(kwargs, given.named, records, &seen) : kwargs.items.empty();
  }

  nb::tuple tensors_of(const Given& given) const {
    if (is_plain) return nb::borrow<nb::tuple>(given.args);
    std::vector<nb::object> tensors;
    add_tensors(given.args, &tensors);
    if (given.named) add_tensors(given.named, &tensors);
    nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
    if (!tuple.is_valid()) throw nb::python_error();
    for (std::size_t at = 0; at < tensors.size(); ++at) {
      PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(at), tensors[at].release().ptr());
    }
    return nb::borrow<nb::tuple>(tuple);
  }
};

class CallTable {
 public:
  // (target, tensors) of a call that has been put here, else None.
  nb::object find(nb::tuple args, nb::dict kwargs, bool records) {
    const Given given{args.ptr(), kwargs.ptr(), records};
    const Entry* const entry = entry_for(given);
    if (!entry) return nb::none();
    // Held: what is made below may set off a collection, which may lead back here.
    const nb::object target = entry->target;
    return nb::make_tuple(target, entry->tensors_of(given));
  }

  // What the function returns, if a plan serves the call as it is; else null.
  nb::object serve(const Given& given) {
    const Entry* const entry = entry_for(given);
    if (!entry || entry->call.is_none()) return {};
    const nb::object call = entry->call;  // held, as above
    const nb::tuple tensors = entry->tensors_of(given);
    PlanCall& plan = *nb::inst_ptr<PlanCall>(call);
    return plan.stands() ? plan.run(tensors, nb::none()) : nb::object();
  }

  // Nothing for a call with a tensor that is not dense.
  void put(nb::tuple args, nb::dict kwargs, bool records, nb::object target, nb::object call) {
    if (!call.is_none() && !nb::isinstance<PlanCall>(call)) throw nb::type_error("a PlanCall");
    for (Entry& entry : entries_) {
      if (!entry.serves({args.ptr(), kwargs.ptr(), records})) continue;
      const nb::object gone[] = {std::exchange(entry.target, std::move(target)),
                                 std::exchange(entry.call, std::move(call))};
      return;
    }
    Entry entry{records, {}, {}, std::move(target), std::move(call), kwargs.size() == 0};
    Seen seen;
    if (!read_part(args.ptr(), records, &seen, &entry.args)) return;
    if (!read_part(kwargs.ptr(), records, &seen, &entry.kwargs)) return;
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
      Py_VISIT(entry.call.ptr());
      for (const Part* part : {&entry.args, &entry.kwargs}) {
        if (const int stopped = visit_part(*part, visit, arg)) return stopped;
      }
    }
    return 0;
  }

 private:
  // Of many kinds of calls the latest ones are looked at first.
  const Entry* entry_for(const Given& given) {
    for (std::size_t at = 0; at < entries_.size(); ++at) {
      if (!entries_[at].serves(given)) continue;
      for (; at > 0; --at) std::swap(entries_[at - 1], entries_[at]);
      return &entries_.front();
    }
    return nullptr;
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

// What Python calls in place of a function: a table's plan where one serves the call as it is, else
// the method `_missed(args, kwargs)` of the class that is made of it. So it is for all calls that
// are not to be run at once: those that are traced, or differentiated.
class Called {
 public:
  explicit Called(nb::object calls)
      : calls_object_(std::move(calls)), calls_(&nb::cast<CallTable&>(calls_object_)) {}

  nb::object call(PyObject* self, PyObject* args, PyObject* named) const {
    PyObject* const mode = mode_class.current();
    if (!mode) throw nb::python_error();
    if (mode_class.interpreter.get(mode) == Py_None && mode_class.derives.get(mode) == Py_False) {
      nb::object served = calls_->serve({args, named, mode_class.records.get(mode) == Py_True});
      if (served.is_valid()) return served;
    }
    static PyObject* const missed = PyUnicode_InternFromString("_missed");
    const nb::object kwargs = named ? nb::borrow(named) : nb::dict();
    PyObject* const arguments[] = {self, args, kwargs.ptr()};
    PyObject* const result = PyObject_VectorcallMethod(missed, arguments, 3, nullptr);
    if (!result) throw nb::python_error();
    return nb::steal(result);
  }

  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(calls_object_.ptr());
    return 0;
  }

 private:
  nb::object calls_object_;
  CallTable* calls_;
};

PyObject* call(PyObject* self, PyObject* args, PyObject* named) {
  if (!nb::inst_ready(self)) {
    PyErr_SetString(PyExc_TypeError, "called before it was made");
    return nullptr;
  }
  try {
    return nb::inst_ptr<Called>(self)->call(self, args, named).release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

int traverse_called(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<Called>(self)->traverse(visit, arg) : 0;
}

PyType_Slot called_slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(call)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_called)},
    {0, nullptr},
};

}  // namespace
}  // namespace lumus

void bind_call_table(nb::module_& m) {
  using lumus::Called;
  using lumus::CallTable;
  nb::class_<CallTable>(m, "CallTable", nb::type_slots(lumus::call_table_slots), nb::is_final())
      .def(nb::init<>())
      .def("find", &CallTable::find)
      .def("put", &CallTable::put, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
           nb::arg().none() = nb::none())
      .def("clear", &CallTable::clear);
  nb::class_<Called>(m, "Called", nb::type_slots(lumus::called_slots)).def(nb::init<nb::object>());
}
