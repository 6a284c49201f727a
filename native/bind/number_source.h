// Numbers that Python gives anew at each call of a compiled function (`core.mode.Source`).
#pragma once

#include <nanobind/nanobind.h>

#include "bind/snapshot.h"
#include "runtime/array.h"

namespace lumus {

namespace nb = nanobind;

class NumberSource {
 public:
  NumberSource() = default;
  NumberSource(const NumberSource&) = delete;
  NumberSource& operator=(const NumberSource&) = delete;
  virtual ~NumberSource() = default;

  // The numbers of this call, in row-major order.
  virtual nb::object values() const = 0;
  // Whether those of the next call are the same, unless what a snapshot watches has changed.
  virtual bool has_settled() const { return false; }
  // Says that the call has succeeded.
  virtual void commit() const = 0;
};

// A source written in Python, which outlives this.
class PythonSource final : public NumberSource {
 public:
  explicit PythonSource(nb::handle source) : source_(source) {}

  nb::object values() const override;
  void commit() const override;

 private:
  nb::handle source_;
};

// The numbers of each step of an optimiser's compiled update, and the count of the steps in the
// states of the parameters: `optimizer.numbers(step, group.options)`. Where that method has an
// attribute `settles_at`, it gives the same from that step on as long as the options stay.
class StepNumbers final : public NumberSource {
 public:
  // `earlier` steps of the same parameters come before this one in the same call.
  StepNumbers(nb::object optimizer, nb::object group, long earlier);

  nb::list states() const { return states_; }
  // Whether the parameters have made as many steps as each other.
  bool agree() const;
  // Adds what `agree` looks at to a snapshot.
  void watch(Snapshot& snapshot) const;

  nb::object values() const override;
  bool has_settled() const override;
  void commit() const override;

  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  nb::object last_step() const;
  nb::object next_step() const;

  nb::object optimizer_, group_;
  nb::list states_;
  long earlier_;
  long settles_at_;
};

// Numbers in row-major order into a contiguous array of float64, float32 or int64.
void set_numbers(const Array& array, nb::handle numbers);

}  // namespace lumus
