// The memory and the steps of a compiled program: slots, of which the planned ones lie in one
// arena, and steps over them. What Python owns (arguments, callbacks) is the binding's.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "executor/step.h"
#include "runtime/array.h"
#include "runtime/storage.h"

namespace lumus {

enum class SlotKind : std::uint8_t {
  planned,  // a place in the arena, dense
  input,    // an argument of each call
  bound,    // one array for all calls
  fresh,    // new dense memory at each call
  window,   // a view on another slot
  dynamic,  // whatever a callback gives
};

struct Slot {
  SlotKind kind;
  View view;                // of a dynamic slot only the dtype
  std::int64_t offset = 0;  // planned: bytes into the arena; window: elements into its base
  int base = -1;            // of a window
};

// Steps over slots are run in order, without a look at anything but where the memory of each slot
// is now.
class Executable {
 public:
  // Throws std::invalid_argument for slots that do not fit into the arena or each other.
  Executable(std::int64_t arena_bytes, std::vector<Slot> slots);
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  int num_slots() const { return static_cast<int>(slots_.size()); }
  const Slot& slot(int index) const { return slots_[static_cast<std::size_t>(index)]; }
  const View& view(int index) const { return slot(index).view; }
  // The slot that a window, perhaps of a window, is on; else the slot itself.
  int base_of(int index) const;
  bool has_windows(int index) const { return !windows_of(index).empty(); }
  std::int64_t arena_bytes() const { return arena_bytes_; }

  // Computes in this memory, of at least `arena_bytes`, until it is taken away again. Planned slots
  // move only when it is another than before.
  void put_arena(StorageRef memory);
  StorageRef take_arena() { return std::move(arena_); }
  const StorageRef& arena() const { return arena_; }

  // Says where the memory of a slot is, and with it that of its windows.
  void place(int index, std::byte* data);
  // The same for memory of another shape, of a bound or dynamic slot.
  void place(int index, const View& view);

  // `step` belongs to the caller, and outlives this.
  void add_step(const Step* step, const std::vector<int>& inputs, const std::vector<int>& outputs);
  int num_steps() const { return static_cast<int>(calls_.size()); }
  // Checks the steps [begin, end) against what their slots are now.
  void check_steps(int begin, int end) const;
  // A StepError says which step has thrown it.
  void run_steps(int begin, int end) const;
  // About how long they take, in elements moved.
  std::int64_t work_of_steps(int begin, int end) const;

 private:
  // Where the operands of a step begin in `operands_`: inputs, then outputs.
  struct Call {
    const Step* step;
    std::size_t inputs;
    std::size_t outputs;
  };

  const std::vector<int>& windows_of(int index) const {
    return windows_[static_cast<std::size_t>(index)];
  }
  void check_windows(int index) const;

  static constexpr std::uint64_t kNoSerial = UINT64_MAX;

  std::int64_t arena_bytes_;
  StorageRef arena_;                     // while it runs
  std::uint64_t placed_in_ = kNoSerial;  // the storage in which planned slots are
  std::vector<Slot> slots_;
  std::vector<int> planned_;
  std::vector<std::vector<int>> windows_;  // of each slot: the windows on it, and on those
  std::vector<const View*> operands_;
  std::vector<Call> calls_;
};

}  // namespace lumus
