#include "bind/number_source.h"

#include <climits>
#include <cstdint>
#include <utility>

#include "bind/conversion.h"

namespace nb = nanobind;

namespace lumus {
namespace {

constexpr long kNever = LONG_MAX;

// Names that are looked up at each call, for the life of the process.
struct Names {
  PyObject* values = PyUnicode_InternFromString("values");
  PyObject* commit = PyUnicode_InternFromString("commit");
  PyObject* step = PyUnicode_InternFromString("step");
  PyObject* numbers = PyUnicode_InternFromString("numbers");
  PyObject* options = PyUnicode_InternFromString("options");
  PyObject* one = PyLong_FromLong(1);
};

const Names& names() {
  static const Names known;
  return known;
}

nb::object checked(PyObject* result) {
  if (!result) throw nb::python_error();
  return nb::steal(result);
}

}  // namespace

nb::object PythonSource::values() const {
  return checked(PyObject_CallMethodNoArgs(source_.ptr(), names().values));
}

void PythonSource::commit() const {
  checked(PyObject_CallMethodNoArgs(source_.ptr(), names().commit));
}

StepNumbers::StepNumbers(nb::object optimizer, nb::object group, long earlier)
    : optimizer_(std::move(optimizer)),
      group_(std::move(group)),
      earlier_(earlier),
      settles_at_(
          nb::cast<long>(nb::getattr(optimizer_.attr("numbers"), "settles_at", nb::int_(kNever)))) {
}

bool StepNumbers::agree() const { return lumus::agree(states_, nb::borrow<nb::str>(names().step)); }

void StepNumbers::watch(Snapshot& snapshot) const {
  snapshot.add_agreement(states_, nb::borrow<nb::str>(names().step));
}

nb::object StepNumbers::last_step() const {
  if (PyList_GET_SIZE(states_.ptr()) == 0) throw nb::index_error("an update of no parameter");
  const nb::object state = nb::borrow(PyList_GET_ITEM(states_.ptr(), 0));
  return checked(PyObject_GetItem(state.ptr(), names().step));
}

nb::object StepNumbers::next_step() const {
  return checked(PyNumber_Add(last_step().ptr(), names().one));
}

bool StepNumbers::has_settled() const {
  if (settles_at_ == kNever) return false;
  int is_larger = 0;
  const long step = PyLong_AsLongAndOverflow(last_step().ptr(), &is_larger);
  if (step == -1 && PyErr_Occurred()) throw nb::python_error();
  return is_larger > 0 || step >= settles_at_ - 1 - earlier_;
}

nb::object StepNumbers::values() const {
  const nb::object step = checked(PyNumber_Add(next_step().ptr(), nb::int_(earlier_).ptr()));
  const nb::object options = checked(PyObject_GetAttr(group_.ptr(), names().options));
  PyObject* const arguments[] = {optimizer_.ptr(), step.ptr(), options.ptr()};
  return checked(PyObject_VectorcallMethod(names().numbers, arguments, 3, nullptr));
}

void StepNumbers::commit() const {
  const nb::object step = next_step();
  for (nb::handle state : states_) {
    const int failed = PyDict_CheckExact(state.ptr())
                           ? PyDict_SetItem(state.ptr(), names().step, step.ptr())
                           : PyObject_SetItem(state.ptr(), names().step, step.ptr());
    if (failed) throw nb::python_error();
  }
}

int StepNumbers::traverse(visitproc visit, void* arg) const {
  Py_VISIT(optimizer_.ptr());
  Py_VISIT(group_.ptr());
  Py_VISIT(states_.ptr());
  return 0;
}

void StepNumbers::clear() {
  const nb::object optimizer = std::exchange(optimizer_, nb::none());
  const nb::object group = std::exchange(group_, nb::none());
}

void set_numbers(const Array& array, nb::handle numbers) {
  const View& view = array.view;
  if (!PyTuple_Check(numbers.ptr()) || !is_contiguous(view) ||
      num_elements(view) != PyTuple_GET_SIZE(numbers.ptr())) {
    throw nb::value_error("numbers of a call: a tuple of as many as the array has elements");
  }
  std::int64_t at = 0;
  for (nb::handle number : nb::borrow<nb::tuple>(numbers)) {
    switch (view.dtype) {
      case DType::float64:
        data_of<double>(view)[at++] = nb::cast<double>(number);
        break;
      case DType::float32:
        data_of<float>(view)[at++] = static_cast<float>(nb::cast<double>(number));
        break;
      case DType::int64:
        data_of<std::int64_t>(view)[at++] = nb::cast<std::int64_t>(number);
        break;
      default:
        throw nb::type_error("numbers of a call: float64, float32 or int64");
    }
  }
}

namespace {

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<StepNumbers>(self)->traverse(visit, arg) : 0;
}

int clear(PyObject* self) {
  nb::inst_ptr<StepNumbers>(self)->clear();
  return 0;
}

PyType_Slot step_numbers_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {0, nullptr},
};

}  // namespace
}  // namespace lumus

void bind_number_source(nb::module_& m) {
  using lumus::StepNumbers;
  nb::class_<StepNumbers>(m, "StepNumbers", nb::type_slots(lumus::step_numbers_slots),
                          nb::is_final())
      .def(nb::init<nb::object, nb::object, long>())
      .def_prop_ro("states", &StepNumbers::states)
      .def("agree", &StepNumbers::agree)
      .def("watch", &StepNumbers::watch)
      .def("values", &StepNumbers::values)
      .def("commit", &StepNumbers::commit);
}
