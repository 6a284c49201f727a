// Executables as Python objects. The plain half of one is in native/executor; here are its
// arguments, results and callbacks, and when the interpreter lock is held.
#include "bind/executor.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

#include "bind/conversion.h"
#include "bind/exceptions.h"
#include "bind/release.h"
#include "runtime/copies.h"
#include "runtime/denormals.h"

namespace nb = nanobind;

namespace lumus {

PyObject* called_within = nullptr;
namespace {

// ---------------------------------------------------------------------------------- description

// The fields of a slot's tuple, after its kind, in order.
class SlotReader {
 public:
  explicit SlotReader(nb::tuple fields) : fields_(fields) {}

  Slot read() {
    const auto kind = nb::cast<std::string_view>(next());
    if (kind == "bound") return slot_;
    slot_.kind = kind_of(kind);
    if (slot_.kind == SlotKind::window) slot_.base = nb::cast<int>(next());
    slot_.view.dtype = static_cast<DType>(nb::cast<int>(next()));
    if (slot_.kind == SlotKind::dynamic) return slot_;
    if (slot_.kind == SlotKind::window) slot_.offset = nb::cast<std::int64_t>(next());
    slot_.view.rank = read_integers(next(), slot_.view.shape);
    if (slot_.kind == SlotKind::input || slot_.kind == SlotKind::window) {
      read_strides();
    } else {
      make_dense();
    }
    if (slot_.kind == SlotKind::planned) slot_.offset = nb::cast<std::int64_t>(next());
    return slot_;
  }

 private:
  static SlotKind kind_of(std::string_view name) {
    constexpr std::pair<std::string_view, SlotKind> kinds[] = {{"planned", SlotKind::planned},
                                                               {"input", SlotKind::input},
                                                               {"fresh", SlotKind::fresh},
                                                               {"view", SlotKind::window},
                                                               {"dynamic", SlotKind::dynamic}};
    for (const auto& [known, kind] : kinds) {
      if (name == known) return kind;
    }
    throw nb::value_error("executable: a kind of slot that does not exist");
  }

  nb::handle next() { return fields_[at_++]; }

  void read_strides() {
    if (read_integers(next(), slot_.view.strides) != slot_.view.rank) {
      throw nb::value_error("executable: a slot needs a stride for each axis");
    }
  }

  void make_dense() {
    std::int64_t stride = 1;
    for (int axis = slot_.view.rank - 1; axis >= 0; --axis) {
      slot_.view.strides[axis] = stride;
      stride *= slot_.view.shape[axis];
    }
  }

  nb::tuple fields_;
  std::size_t at_ = 0;
  Slot slot_{SlotKind::bound, View{nullptr, DType::float32, 0, {}, {}}};
};

std::vector<Slot> read_slots(nb::list descriptions, nb::list bound) {
  std::vector<Slot> slots;
  for (nb::handle entry : descriptions) {
    slots.push_back(SlotReader(nb::cast<nb::tuple>(entry)).read());
  }
  std::vector<bool> is_given(slots.size());
  for (nb::handle pair : bound) {
    const auto index = nb::cast<std::size_t>(pair[0]);
    if (index >= slots.size() || slots[index].kind != SlotKind::bound) {
      throw nb::value_error("executable: an array for a slot that is not a bound one");
    }
    copy_view(nb::cast<const Array&>(pair[1]).view, &slots[index].view);
    is_given[index] = true;
  }
  for (std::size_t index = 0; index < slots.size(); ++index) {
    if (slots[index].kind == SlotKind::bound && !is_given[index]) {
      throw nb::value_error("executable: a bound slot without an array");
    }
  }
  return slots;
}

const Array& array_in(nb::handle object) { return *nb::inst_ptr<Array>(object); }

bool has_layout(const View& view, const View& wanted) {
  if (view.dtype != wanted.dtype || view.rank != wanted.rank) return false;
  const bool is_empty = num_elements(wanted) == 0;
  for (int axis = 0; axis < wanted.rank; ++axis) {
    if (view.shape[axis] != wanted.shape[axis]) return false;
    if (is_empty || wanted.shape[axis] == 1) continue;
    if (view.strides[axis] != wanted.strides[axis]) return false;
  }
  return true;
}

bool has_shape(const View& view, const View& wanted) {
  return view.rank == wanted.rank && std::equal(view.shape, view.shape + view.rank, wanted.shape);
}

}  // namespace

// ----------------------------------------------------------------------------------- executable

BoundExecutable::BoundExecutable(nb::object arena, std::int64_t arena_bytes, nb::list slots,
                                 nb::list instructions, nb::list results, nb::list bound)
    : arena_object_(std::move(arena)),
      arena_(nb::cast<Arena&>(arena_object_)),
      plan_(arena_bytes, read_slots(slots, bound)),
      arrays_(static_cast<std::size_t>(plan_.num_slots())),
      is_set_(arrays_.size(), true) {
  for (int index = 0; index < plan_.num_slots(); ++index) {
    const SlotKind kind = plan_.slot(index).kind;
    if (kind == SlotKind::input) inputs_.push_back(index);
    if (kind == SlotKind::fresh) fresh_.push_back(index);
    if (kind == SlotKind::dynamic) {
      dynamic_.push_back(index);
      is_set_[static_cast<std::size_t>(index)] = false;
    }
  }
  for (nb::handle pair : bound) {
    const int index = nb::cast<int>(pair[0]);
    array(index) = nb::borrow(pair[1]);
    plan_.place(index, array_in(pair[1]).view.data);
  }
  for (nb::handle entry : instructions) read_instruction(nb::cast<nb::tuple>(entry));
  for (Instruction& one : instructions_) prepare(one);
  results_ = read_numbers(results);
  check_set(results_);
  for (const int result : results_) {
    if (plan_.slot(plan_.base_of(result)).kind == SlotKind::planned) {
      throw nb::value_error("executable: a result lies in the arena, which the next call writes");
    }
  }
  arena_.reserve(arena_bytes);
}

std::uintptr_t BoundExecutable::address(int index) const {
  if (index < 0 || index >= plan_.num_slots()) throw nb::index_error();
  return reinterpret_cast<std::uintptr_t>(plan_.view(index).data);
}

int BoundExecutable::traverse(visitproc visit, void* arg) const {
  for (const Instruction& one : instructions_) Py_VISIT(one.callable.ptr());
  return 0;
}

void BoundExecutable::clear() {
  is_cleared_ = true;
  for (Instruction& one : instructions_) one.callable.reset();
}

BoundExecutable::Turn::Turn(BoundExecutable* of) : of_(of), lock_(of->mutex_, std::defer_lock) {
  if (of->is_cleared_) throw std::runtime_error("executable: it was taken apart already");
  if (of->owner_ == std::this_thread::get_id()) {
    PyErr_SetString(called_within, "executable: called from within its own callback");
    throw nb::python_error();
  }
  if (!lock_.try_lock()) {
    const ReleasedLock unlocked;
    lock_.lock();
  }
  of->plan_.put_arena(of->arena_.take(of->arena_bytes()));
  of->owner_ = std::this_thread::get_id();
}

BoundExecutable::Turn::~Turn() {
  of_->let_go();
  of_->arena_.give_back(of_->plan_.take_arena());
  of_->owner_ = std::thread::id();
}

void BoundExecutable::let_go() {
  for (const std::vector<int>* slots : {&inputs_, &fresh_, &dynamic_}) {
    for (const int index : *slots) array(index).reset();
  }
}

// ---- construction

std::vector<int> BoundExecutable::read_numbers(nb::handle list) const {
  std::vector<int> numbers;
  for (nb::handle entry : list) {
    numbers.push_back(nb::cast<int>(entry));
    if (numbers.back() < 0 || numbers.back() >= plan_.num_slots()) {
      throw nb::value_error("executable: a number of a slot that does not exist");
    }
  }
  return numbers;
}

// Dynamic slots have memory only between the callback that sets them and their release.
void BoundExecutable::check_set(const std::vector<int>& slots) const {
  for (const int index : slots) {
    if (!is_set_[static_cast<std::size_t>(plan_.base_of(index))]) {
      throw nb::value_error("executable: a dynamic slot is read where it is not set");
    }
  }
}

std::vector<int> BoundExecutable::read_released(nb::handle list) {
  const std::vector<int> slots = read_numbers(list);
  check_set(slots);
  for (const int index : slots) {
    if (!is_dynamic(index)) throw nb::value_error("executable: only dynamic slots are released");
    is_set_[static_cast<std::size_t>(index)] = false;
  }
  return slots;
}

void BoundExecutable::read_instruction(nb::tuple fields) {
  ++num_instructions_;
  const auto kind = nb::cast<std::string_view>(fields[0]);
  if (kind == "step") return read_step(fields);
  Instruction one{InstructionKind::free};
  if (kind == "free") {
    one.released = read_released(fields[1]);
  } else if (kind == "call" || kind == "into") {
    const bool is_call = kind == "call";
    one.kind = is_call ? InstructionKind::call : InstructionKind::into;
    one.callable = nb::borrow(fields[1]);
    one.inputs = read_numbers(fields[2]);
    one.outputs = read_numbers(fields[3]);
    check_set(one.inputs);
    for (const int index : one.outputs) {
      if (is_call && is_dynamic(index)) is_set_[static_cast<std::size_t>(index)] = true;
    }
    check_set(one.outputs);
    if (is_call) one.released = read_released(fields[4]);
  } else {
    throw nb::value_error("executable: a kind of instruction that does not exist");
  }
  instructions_.push_back(std::move(one));
}

void BoundExecutable::read_step(nb::tuple fields) {
  const Step* const step = nb::cast<const Step*>(fields[1]);
  const std::vector<int> inputs = read_numbers(fields[2]), outputs = read_numbers(fields[3]);
  check_set(inputs);
  check_set(outputs);
  if (instructions_.empty() || instructions_.back().kind != InstructionKind::steps) {
    instructions_.push_back({InstructionKind::steps, plan_.num_steps(), plan_.num_steps()});
  }
  Instruction& stretch = instructions_.back();
  plan_.add_step(step, inputs, outputs);
  steps_.push_back(nb::borrow(fields[1]));
  const auto is_known_late = [&](int index) { return is_dynamic(index); };
  if (std::any_of(inputs.begin(), inputs.end(), is_known_late) ||
      std::any_of(outputs.begin(), outputs.end(), is_known_late)) {
    stretch.unchecked.push_back(stretch.end);
  } else {
    plan_.check_steps(stretch.end, stretch.end + 1);
  }
  ++stretch.end;
}

void BoundExecutable::prepare(Instruction& one) {
  if (one.kind != InstructionKind::steps || !one.unchecked.empty()) return;
  one.releases = plan_.work_of_steps(one.begin, one.end) >= kReleaseFrom;
}

// ---- running

nb::list BoundExecutable::run(nb::list arguments) {
  const Turn turn(this);
  bind(reinterpret_cast<PyListObject*>(arguments.ptr())->ob_item, arguments.size());
  execute();
  return results();
}

void BoundExecutable::bind(PyObject* const* arguments, std::size_t count) {
  if (count != inputs_.size()) {
    throw nb::value_error(("executable: takes " + std::to_string(inputs_.size()) +
                           " arguments, got " + std::to_string(count))
                              .c_str());
  }
  for (std::size_t at = 0; at < count; ++at) {
    if (!nb::isinstance<Array>(arguments[at])) {
      throw nb::type_error("executable: arguments are native arrays");
    }
    if (!has_layout(array_in(arguments[at]).view, plan_.view(inputs_[at]))) {
      throw nb::value_error(("executable: argument " + std::to_string(at) +
                             " has another dtype, shape or strides than it was made for")
                                .c_str());
    }
  }
  for (std::size_t at = 0; at < count; ++at) {
    array(inputs_[at]) = nb::borrow(arguments[at]);
    plan_.place(inputs_[at], array_in(arguments[at]).view.data);
  }
}

const Array& BoundExecutable::argument(std::size_t at) const {
  return array_in(arrays_[static_cast<std::size_t>(inputs_[at])]);
}

void BoundExecutable::execute() {
  for (const int index : fresh_) {
    const View& view = plan_.view(index);
    array(index) = nb::cast(make_array(view.dtype, view.rank, view.shape));
    plan_.place(index, array_in(array(index)).view.data);
  }
  for (const Instruction& one : instructions_) execute(one);
}

nb::list BoundExecutable::results() {
  nb::list results;
  for (const int index : results_) results.append(array_of(index));
  return results;
}

void BoundExecutable::execute(const Instruction& one) {
  switch (one.kind) {
    case InstructionKind::steps:
      return run_steps(one);
    case InstructionKind::call:
      call(one);
      break;
    case InstructionKind::into:
      one.callable(arrays_of(one.outputs), arrays_of(one.inputs));
      break;
    case InstructionKind::free:
      break;
  }
  for (const int index : one.released) array(index).reset();
}

void BoundExecutable::run_steps(const Instruction& one) const {
  bool releases = one.releases;
  if (!one.unchecked.empty()) {
    for (const int step : one.unchecked) plan_.check_steps(step, step + 1);
    releases = plan_.work_of_steps(one.begin, one.end) >= kReleaseFrom;
  }
  const KernelScope scope;
  if (!releases) return plan_.run_steps(one.begin, one.end);
  const ReleasedLock unlocked;
  plan_.run_steps(one.begin, one.end);
}

void BoundExecutable::call(const Instruction& one) {
  const nb::tuple arguments(arrays_of(one.inputs));
  const nb::object result = nb::steal(PyObject_CallObject(one.callable.ptr(), arguments.ptr()));
  if (!result.is_valid()) throw nb::python_error();
  const bool is_single = !nb::isinstance<nb::tuple>(result);
  const nb::tuple results = is_single ? nb::make_tuple(result) : nb::borrow<nb::tuple>(result);
  if (nb::len(results) != one.outputs.size()) {
    throw nb::value_error("executable: a callback gave another number of results than it has");
  }
  for (std::size_t at = 0; at < one.outputs.size(); ++at) {
    take_result(one.outputs[at], nb::borrow(results[at]), arguments);
  }
}

void BoundExecutable::take_result(int index, nb::object result, const nb::tuple& arguments) {
  if (!nb::isinstance<Array>(result)) {
    throw nb::type_error("executable: a callback gave what is not a native array");
  }
  const View& to = plan_.view(index);
  const View& from = array_in(result).view;
  const bool is_kept = is_dynamic(index);
  if (from.dtype != to.dtype || (!is_kept && !has_shape(from, to))) {
    throw nb::value_error("executable: a callback gave another dtype or shape than it said");
  }
  if (!is_kept) return assign(to, from);
  const bool is_laid_out = !plan_.has_windows(index) || is_contiguous(from);
  if (!is_laid_out || shares_memory(result, arguments)) result = nb::cast(copy_of(from));
  array(index) = std::move(result);
  plan_.place(index, array_in(array(index)).view);
}

// A result that is a view on an argument would change when that one's memory is used again.
bool BoundExecutable::shares_memory(nb::handle result, const nb::tuple& arguments) const {
  const Storage* const storage = array_in(result).storage.get();
  if (storage == plan_.arena().get()) return true;
  return std::any_of(arguments.begin(), arguments.end(), [&](nb::handle argument) {
    return array_in(argument).storage.get() == storage;
  });
}

nb::object BoundExecutable::array_of(int index) {
  const int base = plan_.base_of(index);
  if (plan_.slot(base).kind == SlotKind::planned) {
    return nb::cast(Array(plan_.arena(), plan_.view(index)));
  }
  if (base == index) return array(index);
  const Array& on = array_in(array(base));
  return nb::cast(Array(on.storage, plan_.view(index), on.readonly));
}

nb::list BoundExecutable::arrays_of(const std::vector<int>& slots) {
  nb::list arrays;
  for (const int index : slots) arrays.append(array_of(index));
  return arrays;
}

namespace {

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  return nb::inst_ptr<BoundExecutable>(self)->traverse(visit, arg);
}

int clear(PyObject* self) {
  nb::inst_ptr<BoundExecutable>(self)->clear();
  return 0;
}

PyType_Slot executable_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {0, nullptr},
};

}  // namespace
}  // namespace lumus

void bind_executor(nb::module_& m) {
  using Bound = lumus::BoundExecutable;
  lumus::called_within =
      PyErr_NewExceptionWithDoc("lumus._native.CalledWithin", "an executable, by its own callback",
                                PyExc_RuntimeError, nullptr);
  m.attr("CalledWithin") = nb::borrow(lumus::called_within);
  nb::class_<lumus::Arena>(m, "Arena", nb::is_final())
      .def(nb::init<>())
      .def_prop_ro("nbytes", &lumus::Arena::nbytes);
  nb::class_<Bound>(m, "Executable", nb::type_slots(lumus::executable_slots), nb::is_final())
      .def(nb::init<nb::object, std::int64_t, nb::list, nb::list, nb::list, nb::list>())
      .def_prop_ro("arena_bytes", &Bound::arena_bytes)
      .def_prop_ro("num_instructions", &Bound::num_instructions)
      .def("address", &Bound::address)
      .def("run", &Bound::run);
}
