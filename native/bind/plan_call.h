// A call of a specialisation of a compiled function: everything but finding it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bind/executor.h"
#include "bind/number_source.h"
#include "bind/snapshot.h"
#include "bind/writes.h"

namespace lumus {

namespace nb = nanobind;

// How often something ran, and when it did last, in runs of all that are counted.
class Uses {
 public:
  Uses() : last_(next()) {}
  void note() {
    ++count_;
    last_ = next();
  }
  std::uint64_t count() const { return count_; }
  std::uint64_t last() const { return last_; }

 private:
  static std::uint64_t next() {
    static std::uint64_t clock = 0;  // under the interpreter lock
    return clock++;
  }

  std::uint64_t count_ = 0;
  std::uint64_t last_;
};

// Runs an executable on the data of tensors, with the numbers that Python gives, and notes what it
// writes. An error leaves the versions of what it writes and the counts of steps as they were.
class PlanCall {
 public:
  // `sources` are (array, source) of the numbers that Python gives; `writes` may be None. `results`
  // gives what the function returns, of the tensors of a call and what was computed; a function
  // whose result is one computed tensor has its (spec, origin) as `only`, others None. `told` gives
  // the exception to raise for one of native code, or for None if the function writes an argument
  // that shares memory with another, or with what it writes outside.
  PlanCall(nb::object executable, nb::list sources, nb::object writes, nb::object only,
           nb::object results, nb::object told, nb::object uses);
  PlanCall(const PlanCall&) = delete;
  PlanCall& operator=(const PlanCall&) = delete;

  // What the function returns for these tensors, whose data are `data` if they are not their own.
  // What has been `seen` stands, or nothing has.
  nb::object run(nb::object tensors, nb::object data);

  // The places that must stand for it to serve every call of its kind; None if others are asked.
  nb::object seen() const { return seen_; }
  void set_seen(nb::object seen);
  bool stands() const;

  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  struct Numbers {
    nb::object array, held;
    const NumberSource* source;
    bool had_settled = false;  // when it was asked last
  };

  nb::object run_plan(nb::handle tensors, nb::handle data);
  void bind(nb::handle tensors, nb::handle data);
  void read_numbers();
  nb::object made(const nb::object& tensors, const nb::object& computed) const;
  [[noreturn]] void raise_told(nb::handle error, nb::handle tensors, nb::handle data) const;

  nb::object executable_object_, writes_object_, only_, results_, told_, uses_object_;
  BoundExecutable& executable_;
  const Writes* writes_;
  Uses& uses_;
  std::vector<Numbers> numbers_;
  std::vector<std::unique_ptr<const PythonSource>> adapters_;  // of sources that are Python's
  nb::object seen_ = nb::none();
  nb::object read_under_ = nb::none();  // what had been seen when all numbers were read
  bool is_cleared_ = false;
  // While a run has its turn: the arguments, as objects and as what they are.
  std::vector<PyObject*> data_;
  Writes::Arguments arguments_;
};

}  // namespace lumus
