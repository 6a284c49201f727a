#include "executor/executable.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/step_error.h"
#include "runtime/storage.h"

namespace lumus {
namespace {

// What calling a step costs beside its work.
constexpr std::int64_t kCallWork = 128;

[[noreturn]] void invalid(int slot, const char* what) {
  throw std::invalid_argument("executable: slot " + std::to_string(slot) + " " + what);
}

// The elements that a view reaches, counted from its first one; nothing for an empty view.
struct Reach {
  std::int64_t low = 0;
  std::int64_t high = 0;  // the last one
};

Reach reach_of(const View& view) {
  Reach reach;
  for (int axis = 0; axis < view.rank; ++axis) {
    const std::int64_t length = (view.shape[axis] - 1) * view.strides[axis];
    (length < 0 ? reach.low : reach.high) += length;
  }
  return reach;
}

}  // namespace

Executable::Executable(std::int64_t arena_bytes, std::vector<Slot> slots)
    : arena_bytes_(arena_bytes), slots_(std::move(slots)), windows_(slots_.size()) {
  if (arena_bytes < 0) throw std::invalid_argument("executable: an arena of negative size");
  for (int index = 0; index < num_slots(); ++index) {
    Slot& slot = slots_[static_cast<std::size_t>(index)];
    slot.view.data = nullptr;
    if (slot.kind == SlotKind::planned) {
      const std::int64_t nbytes = num_elements(slot.view) * itemsize(slot.view.dtype);
      if (slot.offset < 0 || slot.offset % itemsize(slot.view.dtype) != 0 ||
          slot.offset + nbytes > arena_bytes) {
        invalid(index, "does not lie in the arena");
      }
      planned_.push_back(index);
    } else if (slot.kind == SlotKind::window) {
      // So that one pass in order places all windows.
      if (slot.base < 0 || slot.base >= index) invalid(index, "is a view on a later slot");
      if (slot.view.dtype != view(slot.base).dtype) invalid(index, "is a view of another dtype");
      for (int base = slot.base; base >= 0; base = this->slot(base).base) {
        windows_[static_cast<std::size_t>(base)].push_back(index);
      }
    }
  }
  for (int index = 0; index < num_slots(); ++index) {
    if (slot(index).kind != SlotKind::dynamic) check_windows(index);
  }
}

void Executable::check_windows(int index) const {
  for (const int window : windows_of(index)) {
    if (slot(window).base != index || num_elements(view(window)) == 0) continue;
    const Reach outer = reach_of(view(index)), inner = reach_of(view(window));
    const std::int64_t offset = slot(window).offset;
    if (num_elements(view(index)) == 0 || offset + inner.low < outer.low ||
        offset + inner.high > outer.high) {
      invalid(window, "reaches beyond what it is a view on");
    }
  }
}

int Executable::base_of(int index) const {
  while (slot(index).kind == SlotKind::window) index = slot(index).base;
  return index;
}

void Executable::place(int index, std::byte* data) {
  slots_[static_cast<std::size_t>(index)].view.data = data;
  for (const int window : windows_of(index)) {
    Slot& slot = slots_[static_cast<std::size_t>(window)];
    slot.view.data = view(slot.base).data + slot.offset * itemsize(slot.view.dtype);
  }
}

void Executable::place(int index, const View& view) {
  copy_view(view, &slots_[static_cast<std::size_t>(index)].view);
  check_windows(index);
  place(index, view.data);
}

void Executable::put_arena(StorageRef memory) {
  arena_ = std::move(memory);
  if (arena_->serial() == placed_in_) return;
  for (const int index : planned_) place(index, arena_->data() + slot(index).offset);
  placed_in_ = arena_->serial();
}

void Executable::add_step(const Step* step, const std::vector<int>& inputs,
                          const std::vector<int>& outputs) {
  const StepTraits& traits = step->traits();
  if (static_cast<int>(inputs.size()) != traits.num_inputs ||
      static_cast<int>(outputs.size()) != traits.num_outputs) {
    throw std::invalid_argument("executable: step " + std::to_string(num_steps()) + " takes " +
                                std::to_string(traits.num_inputs) + " inputs and " +
                                std::to_string(traits.num_outputs) + " outputs, not " +
                                std::to_string(inputs.size()) + " and " +
                                std::to_string(outputs.size()));
  }
  calls_.push_back({step, operands_.size(), operands_.size() + inputs.size()});
  for (const int input : inputs) operands_.push_back(&view(input));
  for (const int output : outputs) operands_.push_back(&view(output));
}

void Executable::check_steps(int begin, int end) const {
  for (int index = begin; index < end; ++index) {
    const Call& call = calls_[static_cast<std::size_t>(index)];
    call.step->check(&operands_[call.inputs], &operands_[call.outputs]);
  }
}

void Executable::run_steps(int begin, int end) const {
  const View* const* const operands = operands_.data();
  const Call* const last = calls_.data() + end;
  const Call* call = calls_.data() + begin;
  try {
    for (; call != last; ++call) {
      call->step->run(operands + call->inputs, operands + call->outputs);
    }
  } catch (StepError& error) {
    error.step = static_cast<int>(call - calls_.data());
    throw;
  }
}

std::int64_t Executable::work_of_steps(int begin, int end) const {
  std::int64_t work = 0;
  for (int index = begin; index < end; ++index) {
    const Call& call = calls_[static_cast<std::size_t>(index)];
    work += kCallWork + call.step->work(&operands_[call.inputs], &operands_[call.outputs]);
  }
  return work;
}

}  // namespace lumus
