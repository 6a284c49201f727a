#include "bind/plan_call.h"

#include <cstddef>
#include <stdexcept>
#include <utility>

#include "bind/exceptions.h"
#include "bind/tensor.h"

namespace nb = nanobind;

namespace lumus {
namespace {

// The items of a list or tuple.
PyObject* const* items_of(nb::handle sequence) { return PySequence_Fast_ITEMS(sequence.ptr()); }

PyObject* data_of_tensor(PyObject* tensor) {
  PyObject* const data = tensor_class.has(tensor) ? tensor_class.data.get(tensor) : nullptr;
  if (!data) throw nb::type_error("a call of a plan takes tensors");
  return data;
}

nb::list list_of_data(nb::handle tensors) {
  nb::list data;
  for (nb::handle tensor : tensors) data.append(nb::handle(data_of_tensor(tensor.ptr())));
  return data;
}

}  // namespace

PlanCall::PlanCall(nb::object executable, nb::list sources, nb::object writes, nb::object only,
                   nb::object results, nb::object told, nb::object uses)
    : executable_object_(std::move(executable)),
      writes_object_(std::move(writes)),
      only_(std::move(only)),
      results_(std::move(results)),
      told_(std::move(told)),
      uses_object_(std::move(uses)),
      executable_(nb::cast<BoundExecutable&>(executable_object_)),
      writes_(writes_object_.is_none() ? nullptr : &nb::cast<const Writes&>(writes_object_)),
      uses_(nb::cast<Uses&>(uses_object_)) {
  if (!only_.is_none() && (!PyTuple_Check(only_.ptr()) || PyTuple_GET_SIZE(only_.ptr()) != 2)) {
    throw nb::type_error("the spec and the origin of the only result");
  }
  for (nb::handle pair : sources) {
    Numbers numbers{nb::borrow(pair[0]), nb::borrow(pair[1]), nullptr};
    if (!nb::isinstance<Array>(numbers.array)) throw nb::type_error("numbers go into an array");
    if (nb::isinstance<StepNumbers>(numbers.held)) {
      numbers.source = nb::inst_ptr<StepNumbers>(numbers.held);
    } else {
      adapters_.push_back(std::make_unique<const PythonSource>(numbers.held));
      numbers.source = adapters_.back().get();
    }
    numbers_.push_back(std::move(numbers));
  }
}

nb::object PlanCall::run(nb::object tensors, nb::object data) {
  if (is_cleared_) throw std::runtime_error("call of a plan: it was taken apart already");
  if (!PyTuple_Check(tensors.ptr()) && !PyList_Check(tensors.ptr())) {
    throw nb::type_error("call of a plan: a tuple or list of tensors");
  }
  if (!data.is_none() && !PyList_Check(data.ptr())) {
    throw nb::type_error("call of a plan: a list of arrays");
  }
  nb::object computed;
  try {
    computed = run_plan(tensors, data);
  } catch (...) {
    set_python_error();
    const nb::python_error error;
    const bool is_told = error.matches(PyExc_MemoryError) || error.matches(index_out_of_range) ||
                         error.matches(check_failed) || error.matches(called_within);
    if (!is_told) throw error;
    raise_told(error.value(), tensors, data);
  }
  if (!computed.is_valid()) raise_told(nb::none(), tensors, data);
  uses_.note();
  return made(tensors, computed);
}

// Null if an argument shares memory with what is written.
nb::object PlanCall::run_plan(nb::handle tensors, nb::handle data) {
  const BoundExecutable::Turn turn(&executable_);
  bind(tensors, data);
  if (writes_ && writes_->meet(arguments_)) return {};
  read_numbers();
  executable_.execute();
  nb::object computed = only_.is_none() ? nb::object(executable_.results()) : executable_.result(0);
  for (const Numbers& one : numbers_) one.source->commit();
  if (writes_) writes_->note(arguments_);
  return computed;
}

void PlanCall::bind(nb::handle tensors, nb::handle data) {
  data_.clear();
  arguments_.clear();
  if (data.is_none()) {
    for (Py_ssize_t at = 0; at < PySequence_Fast_GET_SIZE(tensors.ptr()); ++at) {
      data_.push_back(data_of_tensor(items_of(tensors)[at]));
    }
    executable_.bind(data_.data(), data_.size());
  } else {
    executable_.bind(items_of(data), static_cast<std::size_t>(PyList_GET_SIZE(data.ptr())));
  }
  for (std::size_t at = 0; at < executable_.num_arguments(); ++at) {
    arguments_.push_back(&executable_.argument(at));
  }
}

// Numbers that have settled are in their array since the run before, unless something else stands
// around the function now.
void PlanCall::read_numbers() {
  const nb::object seen = seen_;
  const bool may_stay = !seen.is_none() && seen.is(read_under_);
  read_under_ = nb::none();
  for (Numbers& one : numbers_) {
    const bool has_settled = one.source->has_settled();
    if (may_stay && has_settled && one.had_settled) continue;
    set_numbers(*nb::inst_ptr<Array>(one.array), one.source->values());
    one.had_settled = has_settled;
  }
  read_under_ = seen;
}

nb::object PlanCall::made(const nb::object& tensors, const nb::object& computed) const {
  if (only_.is_none()) return results_(tensors, computed);
  PyObject* const tensor = tensor_class.make(computed.ptr(), PyTuple_GET_ITEM(only_.ptr(), 0),
                                             PyTuple_GET_ITEM(only_.ptr(), 1));
  if (!tensor) throw nb::python_error();
  return nb::steal(tensor);
}

void PlanCall::raise_told(nb::handle error, nb::handle tensors, nb::handle data) const {
  const nb::object given = data.is_none() ? list_of_data(tensors) : nb::borrow(data);
  const nb::object told = told_(error, given);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(told.ptr())), told.ptr());
  throw nb::python_error();
}

void PlanCall::set_seen(nb::object seen) {
  if (!seen.is_none() && !nb::isinstance<Snapshot>(seen)) throw nb::type_error("a snapshot");
  seen_ = std::move(seen);
}

bool PlanCall::stands() const {
  const nb::object seen = seen_;  // held: a look may lead back here
  return !seen.is_none() && nb::inst_ptr<Snapshot>(seen)->holds();
}

int PlanCall::traverse(visitproc visit, void* arg) const {
  Py_VISIT(executable_object_.ptr());
  Py_VISIT(results_.ptr());
  Py_VISIT(told_.ptr());
  Py_VISIT(seen_.ptr());
  Py_VISIT(read_under_.ptr());
  for (const Numbers& one : numbers_) Py_VISIT(one.held.ptr());
  return 0;
}

void PlanCall::clear() {
  is_cleared_ = true;
  const nb::object results = std::exchange(results_, nb::none());
  const nb::object told = std::exchange(told_, nb::none());
  const nb::object seen[] = {std::exchange(seen_, nb::none()),
                             std::exchange(read_under_, nb::none())};
}

namespace {

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<PlanCall>(self)->traverse(visit, arg) : 0;
}

int clear(PyObject* self) {
  nb::inst_ptr<PlanCall>(self)->clear();
  return 0;
}

PyType_Slot plan_call_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {0, nullptr},
};

}  // namespace
}  // namespace lumus

void bind_plan_call(nb::module_& m) {
  using lumus::PlanCall;
  using lumus::Uses;
  nb::class_<Uses>(m, "Uses", nb::is_final())
      .def(nb::init<>())
      .def_prop_ro("count", &Uses::count)
      .def_prop_ro("last", &Uses::last);
  nb::class_<PlanCall>(m, "PlanCall", nb::type_slots(lumus::plan_call_slots), nb::is_final())
      .def(nb::init<nb::object, nb::list, nb::object, nb::object, nb::object, nb::object,
                    nb::object>(),
           nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg(),
           nb::arg())
      .def_prop_rw("seen", &PlanCall::seen, &PlanCall::set_seen, nb::arg().none())
      .def("run", &PlanCall::run, nb::arg(), nb::arg().none() = nb::none());
}
