// Executables as Python objects: what is Python's of a compiled program. For binding sources only.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "executor/arena.h"
#include "executor/executable.h"
#include "executor/step.h"
#include "runtime/array.h"

namespace lumus {

namespace nb = nanobind;

enum class InstructionKind : std::uint8_t { steps, call, into, free };

struct Instruction {
  InstructionKind kind;
  // Of a stretch of steps: its range, whether it gives the interpreter lock back, and those whose
  // operands are known only when it runs.
  int begin = 0;
  int end = 0;
  bool releases = false;
  std::vector<int> unchecked = {};
  // Of a callback.
  nb::object callable = {};
  std::vector<int> inputs = {};
  std::vector<int> outputs = {};
  std::vector<int> released = {};  // dynamic slots that are let go of, then
};

// An executable with its arguments, results and callbacks. It is run within a turn: `bind`,
// `execute`, then `result` or `results`.
class BoundExecutable {
 public:
  BoundExecutable(nb::object arena, std::int64_t arena_bytes, nb::list slots, nb::list instructions,
                  nb::list results, nb::list bound);

  // One run at a time, since slots say where its values are: a second thread waits, without the
  // interpreter lock. All that a run holds, the arena's memory too, is let go of at its end,
  // however it ends. `owner_` is looked at under the interpreter lock alone.
  class Turn {
   public:
    explicit Turn(BoundExecutable* of);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    BoundExecutable* of_;
    std::unique_lock<std::mutex> lock_;
  };

  // Takes native arrays of the layouts that it was made for, and holds them until the turn ends.
  void bind(PyObject* const* arguments, std::size_t count);
  const Array& argument(std::size_t at) const;
  void execute();
  nb::object result(std::size_t at) { return array_of(results_[at]); }
  nb::list results();

  // All of it, as a turn of its own.
  nb::list run(nb::list arguments);

  std::size_t num_arguments() const { return inputs_.size(); }
  std::int64_t arena_bytes() const { return plan_.arena_bytes(); }
  int num_instructions() const { return num_instructions_; }
  std::uintptr_t address(int index) const;

  // Callbacks may lead back here.
  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  nb::object& array(int index) { return arrays_[static_cast<std::size_t>(index)]; }
  void let_go();

  // ---- construction

  std::vector<int> read_numbers(nb::handle list) const;
  bool is_dynamic(int index) const { return plan_.slot(index).kind == SlotKind::dynamic; }
  void check_set(const std::vector<int>& slots) const;
  std::vector<int> read_released(nb::handle list);
  void read_instruction(nb::tuple fields);
  void read_step(nb::tuple fields);
  void prepare(Instruction& one);

  // ---- running

  void execute(const Instruction& one);
  void run_steps(const Instruction& one) const;
  void call(const Instruction& one);
  void take_result(int index, nb::object result, const nb::tuple& arguments);
  bool shares_memory(nb::handle result, const nb::tuple& arguments) const;
  nb::object array_of(int index);
  nb::list arrays_of(const std::vector<int>& slots);

  nb::object arena_object_;
  Arena& arena_;
  Executable plan_;
  std::vector<nb::object> arrays_;  // of each slot: the array behind it, where Python made it
  std::vector<bool> is_set_;        // while instructions are read
  std::vector<nb::object> steps_;   // kept alive
  std::vector<Instruction> instructions_;
  std::vector<int> inputs_, fresh_, dynamic_, results_;
  int num_instructions_ = 0;
  bool is_cleared_ = false;
  std::mutex mutex_;
  std::thread::id owner_;
};

}  // namespace lumus
