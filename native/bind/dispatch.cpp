// `apply` for the common case: eager, a signature that has been met before.
//
// It does what core/dispatch.py spells out in Python (`apply_any`), with the slots of tensors,
// plans and modes read at their offsets, and hands everything else to that function: a new
// signature, more inputs than `kMaxInputs`, a tracing interpreter, anything that is not a tensor.
// Recording stays in Python.
//
// Signatures of one or two inputs without static arguments (or with an expression alone) are found
// by the addresses of their parts, in a table of their own; others by a tuple, in the dictionary of
// plans. Kept signatures hold references to their keys, so an address cannot come to mean another
// object. Used under the interpreter lock.
#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>

#include "bind/exceptions.h"
#include "bind/mode.h"
#include "bind/tensor.h"

namespace nb = nanobind;

namespace lumus {

TensorClass tensor_class;
ModeClass mode_class;

namespace {

struct Signature {
  PyObject* name;
  PyObject* expression;  // of a keyword argument, or null
  PyObject* x_spec;
  PyObject* y_spec;  // null for one input

  bool operator==(const Signature& other) const {
    return name == other.name && expression == other.expression && x_spec == other.x_spec &&
           y_spec == other.y_spec;
  }
  std::size_t hash() const {
    std::uintptr_t mixed = reinterpret_cast<std::uintptr_t>(name);
    for (PyObject* part : {expression, x_spec, y_spec}) {
      mixed = (mixed ^ (reinterpret_cast<std::uintptr_t>(part) >> 4)) * 0x9e3779b97f4a7c15ull;
    }
    return mixed >> 20;
  }
};

class Dispatch {
 public:
  void bind(nb::dict parts) {
    forget();
    tensor_class.bind(parts["tensor"]);
    expression_class_ = take(parts, "expression");
    apply_any_ = take(parts, "apply_any");
    find_plan_ = take(parts, "find_plan");
    plans_ = take(parts, "plans");
    connect_ = take(parts, "connect");
    finish_ = take(parts, "finish");
    nb::object plan_class = nb::borrow(parts["plan"]);
    run_ = slot_of(plan_class, "run");
    output_ = slot_of(plan_class, "output");
    mode_class.bind(parts["mode"], parts["mode_variable"]);
  }

  void forget() {
    for (Entry& entry : entries_) {
      if (!entry.plan) continue;
      PyObject* parts[] = {entry.key.name, entry.key.expression, entry.key.x_spec, entry.key.y_spec,
                           entry.plan};
      entry = {};
      for (PyObject* part : parts) Py_XDECREF(part);
    }
  }

  PyObject* apply(PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    const Py_ssize_t num_inputs = count - 1;
    if (num_inputs < 1 || num_inputs > kMaxInputs) return apply_any(args, count, keywords);
    PyObject* const* inputs = args + 1;
    // A tensor without its slots is a mistake that is told in Python.
    for (Py_ssize_t at = 0; at < num_inputs; ++at) {
      if (!tensor_class.has(inputs[at]) || !tensor_class.spec.get(inputs[at]) ||
          !tensor_class.data.get(inputs[at])) {
        return apply_any(args, count, keywords);
      }
    }
    PyObject* const mode = mode_class.current();
    if (!mode) return nullptr;
    if (mode_class.interpreter.get(mode) != Py_None) return apply_any(args, count, keywords);
    // Held: another thread may make the tables forget while a kernel runs without the lock.
    const nb::object held = nb::borrow(plan_of(args, count, keywords));
    PyObject* const plan = held.ptr();
    if (!plan) return PyErr_Occurred() ? nullptr : apply_any(args, count, keywords);

    PyObject* data[kMaxInputs + 1] = {nullptr};
    for (Py_ssize_t at = 0; at < num_inputs; ++at) data[at + 1] = tensor_class.data.get(inputs[at]);
    nb::object run = nb::borrow(run_.get(plan));  // the first run replaces it
    PyObject* result = PyObject_Vectorcall(
        run.ptr(), data + 1, static_cast<std::size_t>(num_inputs) | PY_VECTORCALL_ARGUMENTS_OFFSET,
        nullptr);
    if (!result) {
      if (!PyErr_ExceptionMatches(index_out_of_range) &&
          !PyErr_ExceptionMatches(PyExc_MemoryError) && !PyErr_ExceptionMatches(PyExc_TypeError)) {
        return nullptr;
      }
      PyErr_Clear();  // it happens again there, and is told as the user's mistake
      return apply_any(args, count, keywords);
    }
    if (PyTuple_CheckExact(result)) return finished(plan, inputs, num_inputs, result, mode);
    PyObject* const output = tensor_class.make(result, output_.get(plan), Py_None);
    Py_DECREF(result);
    if (!output) return nullptr;
    if (mode_class.tracks.get(mode) == Py_True && is_on_graph(inputs, num_inputs) &&
        !connected(plan, inputs, num_inputs, output, mode)) {
      Py_DECREF(output);
      return nullptr;
    }
    return output;
  }

 private:
  static constexpr Py_ssize_t kMaxInputs = 8;
  static constexpr std::size_t kEntries = 8192, kProbes = 8;
  struct Entry {
    Signature key{};
    PyObject* plan = nullptr;
  };

  static PyObject* take(nb::dict parts, const char* name) {
    return nb::borrow(parts[name]).release().ptr();  // for the life of the process
  }
  static PyTypeObject* as_type(PyObject* cls) { return reinterpret_cast<PyTypeObject*>(cls); }

  PyObject* apply_any(PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    return PyObject_Vectorcall(apply_any_, args, static_cast<std::size_t>(count), keywords);
  }

  // The plan of a signature (borrowed); null with an error set, or without one to go the long way.
  PyObject* plan_of(PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    const Py_ssize_t num_keywords = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    PyObject* const first = num_keywords ? args[count] : nullptr;
    if (count <= 3 && (num_keywords == 0 ||
                       (num_keywords == 1 && Py_TYPE(first) == as_type(expression_class_)))) {
      const Signature key{args[0], first, tensor_class.spec.get(args[1]),
                          count == 3 ? tensor_class.spec.get(args[2]) : nullptr};
      return find(key, args, count, keywords);
    }
    // The same key as find_plan's.
    const nb::object key = nb::steal(PyTuple_New(count + num_keywords));
    if (!key.is_valid()) return nullptr;
    PyTuple_SET_ITEM(key.ptr(), 0, Py_NewRef(args[0]));
    for (Py_ssize_t at = 1; at < count; ++at) {
      PyTuple_SET_ITEM(key.ptr(), at, Py_NewRef(tensor_class.spec.get(args[at])));
    }
    for (Py_ssize_t at = count; at < count + num_keywords; ++at) {
      PyTuple_SET_ITEM(key.ptr(), at, Py_NewRef(args[at]));
    }
    PyObject* const plan = PyDict_GetItemWithError(plans_, key.ptr());
    if (!plan) PyErr_Clear();  // a new signature, or one that is no key: both are seen to in Python
    return plan;
  }

  PyObject* find(const Signature& key, PyObject* const* args, Py_ssize_t count,
                 PyObject* keywords) {
    std::size_t at = key.hash() % kEntries;
    for (std::size_t probe = 0; probe < kProbes; ++probe, at = (at + 1) % kEntries) {
      if (entries_[at].key == key && entries_[at].plan) return entries_[at].plan;
      if (!entries_[at].plan) break;
    }
    PyObject* plan =
        PyObject_Vectorcall(find_plan_, args, static_cast<std::size_t>(count), keywords);
    if (!plan) return nullptr;
    if (entries_[at].plan) forget();  // full around here: start over
    at = key.hash() % kEntries;
    while (entries_[at].plan) at = (at + 1) % kEntries;
    entries_[at] = {key, plan};
    for (PyObject* part : {key.name, key.expression, key.x_spec, key.y_spec}) Py_XINCREF(part);
    return plan;
  }

  bool is_on_graph(PyObject* const* inputs, Py_ssize_t num_inputs) const {
    for (Py_ssize_t at = 0; at < num_inputs; ++at) {
      if (tensor_class.origin.get(inputs[at]) != Py_None) return true;
    }
    return false;
  }

  static nb::object tuple_of(PyObject* const* items, Py_ssize_t count) {
    nb::object tuple = nb::steal(PyTuple_New(count));
    for (Py_ssize_t at = 0; tuple.is_valid() && at < count; ++at) {
      PyTuple_SET_ITEM(tuple.ptr(), at, Py_NewRef(items[at]));
    }
    return tuple;
  }

  // The tensors of several results; takes the reference to `result`.
  PyObject* finished(PyObject* plan, PyObject* const* inputs, Py_ssize_t num_inputs,
                     PyObject* result, PyObject* mode) {
    const nb::object data = nb::steal(result);
    const nb::object held = tuple_of(inputs, num_inputs);
    if (!held.is_valid()) return nullptr;
    PyObject* args[] = {nullptr, plan, held.ptr(), data.ptr(), mode};
    return PyObject_Vectorcall(finish_, args + 1, 4 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  }

  bool connected(PyObject* plan, PyObject* const* inputs, Py_ssize_t num_inputs, PyObject* output,
                 PyObject* mode) {
    const nb::object held = tuple_of(inputs, num_inputs);
    if (!held.is_valid()) return false;
    PyObject* args[] = {nullptr, plan, held.ptr(), output, mode};
    PyObject* none =
        PyObject_Vectorcall(connect_, args + 1, 4 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
    Py_XDECREF(none);
    return none != nullptr;
  }

  PyObject* expression_class_ = nullptr;
  PyObject* apply_any_ = nullptr;
  PyObject* find_plan_ = nullptr;
  PyObject* plans_ = nullptr;
  PyObject* connect_ = nullptr;
  PyObject* finish_ = nullptr;
  ObjectSlot run_, output_;
  Entry entries_[kEntries];
};
Dispatch dispatch;

PyObject* apply(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return dispatch.apply(args, count, keywords);
}

PyMethodDef apply_definition = {
    "apply", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(apply)),
    METH_FASTCALL | METH_KEYWORDS,
    "apply(name, *inputs, **attrs)\n--\n\nRuns an op by name; see lumus.core.dispatch."};

PyObject* new_tensor(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 2 || count > 3) {
    PyErr_SetString(PyExc_TypeError, "new_tensor: takes data, a spec, and an origin if any");
    return nullptr;
  }
  return tensor_class.make(args[0], args[1], count == 3 ? args[2] : Py_None);
}

PyMethodDef new_tensor_definition = {
    "new_tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(new_tensor)),
    METH_FASTCALL,
    "new_tensor(data, spec, origin=None, /)\n--\n\nMakes a tensor; see lumus.core.construct."};

}  // namespace
}  // namespace lumus

void bind_dispatch(nb::module_& m) {
  m.attr("apply") = nb::steal(PyCFunction_New(&lumus::apply_definition, nullptr));
  m.attr("new_tensor") = nb::steal(PyCFunction_New(&lumus::new_tensor_definition, nullptr));
  m.def("bind_dispatch", [](nb::dict parts) { lumus::dispatch.bind(parts); });
  m.def("forget_plans", [] { lumus::dispatch.forget(); });
}
