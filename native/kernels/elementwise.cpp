// The engine of elementwise programs: plans how tiles cover the operands and runs a program over
// them. The loops of single instructions are in elementwise_float.cpp, elementwise_int.cpp and
// elementwise_cast.cpp.
#include "kernels/elementwise.h"

#include "kernels/elementwise_block.h"
#include "kernels/elementwise_steps.h"
#include "kernels/simd.h"
#include "runtime/scratch.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {
namespace {

using std::int64_t;

// Without tile buffers in play only the call of a step limits a tile.
constexpr int64_t kDirectTile = 8192;
constexpr int64_t kBlockTile = 2048;  // of a block, whose instructions take longer
// From this distance between neighbours on, reading along an axis wastes most of each cache line.
constexpr int64_t kFarBytes = 64;
constexpr int64_t kFarBlock = 32;
// A row of as many elements is worth a tile of its own where that spares moving them.
constexpr int64_t kDirectRow = 64;
constexpr int kMaxSlots = 4096;
constexpr int64_t kStackBytes = 64 * 1024;

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
int64_t distance(int64_t stride) { return stride < 0 ? -stride : stride; }
int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// ---- moving a block between its place and a dense tile
// --------------------------------------------

struct BlockAxis {
  int64_t extent;
  int64_t to_stride;    // bytes
  int64_t from_stride;  // bytes
};

template <class T>
void move_row(std::byte* to, const std::byte* from, const BlockAxis& axis) {
  constexpr int64_t size = sizeof(T);
  const int64_t count = axis.extent;
  if (axis.to_stride == size && axis.from_stride == size) {
    std::memcpy(to, from, static_cast<std::size_t>(count * size));
    return;
  }
  if (axis.to_stride == size && axis.from_stride == 0) {
    T value;
    std::memcpy(&value, from, sizeof value);
    T* target = reinterpret_cast<T*>(to);
    for (int64_t index = 0; index < count; ++index) target[index] = value;
    return;
  }
  const int64_t to_stride = axis.to_stride;
  const int64_t from_stride = axis.from_stride;
  for (int64_t index = 0; index < count; ++index) {
    std::memcpy(to + index * to_stride, from + index * from_stride, sizeof(T));
  }
}

template <class T>
void move_block(std::byte* to, const std::byte* from, const BlockAxis* axes, int rank) {
  if (rank <= 1) {
    const BlockAxis one{1, sizeof(T), sizeof(T)};
    move_row<T>(to, from, rank == 1 ? axes[0] : one);
    return;
  }
  if (rank == 2) {
    for (int64_t index = 0; index < axes[0].extent; ++index) {
      move_row<T>(to, from, axes[1]);
      to += axes[0].to_stride;
      from += axes[0].from_stride;
    }
    return;
  }
  for (int64_t index = 0; index < axes[0].extent; ++index) {
    move_block<T>(to, from, axes + 1, rank - 1);
    to += axes[0].to_stride;
    from += axes[0].from_stride;
  }
}

// One side is dense in the order of the axes, the other has `strides`.
void move_tile(bool to_dense, std::byte* dense, std::byte* strided, const int64_t* extents,
               const int64_t* strides, int rank, int64_t size) {
  BlockAxis axes[kMaxRank];
  int kept = kMaxRank;  // axes are collected from the last one backwards
  int64_t dense_stride = size;
  for (int axis = rank - 1; axis >= 0; --axis) {
    const int64_t extent = extents[axis];
    if (extent == 1) continue;
    const BlockAxis candidate = to_dense ? BlockAxis{extent, dense_stride, strides[axis]}
                                         : BlockAxis{extent, strides[axis], dense_stride};
    dense_stride *= extent;
    if (kept < kMaxRank) {
      BlockAxis& inner = axes[kept];
      if (candidate.to_stride == inner.extent * inner.to_stride &&
          candidate.from_stride == inner.extent * inner.from_stride) {
        inner.extent *= extent;
        continue;
      }
    }
    axes[--kept] = candidate;
  }
  BlockAxis* const first = axes + kept;
  const int count = kMaxRank - kept;
  // Run innermost along the axis where the strided side is dense.
  if (count >= 2) {
    const auto reach = [&](const BlockAxis& axis) {
      return distance(to_dense ? axis.from_stride : axis.to_stride);
    };
    BlockAxis& last = first[count - 1];
    if (reach(last) >= kFarBytes) {
      for (int axis = 0; axis < count - 1; ++axis) {
        if (reach(first[axis]) == size) {
          const BlockAxis swapped = first[axis];
          first[axis] = last;
          last = swapped;
          break;
        }
      }
    }
  }
  std::byte* const to = to_dense ? dense : strided;
  const std::byte* const from = to_dense ? strided : dense;
  switch (size) {
    case 1:
      return move_block<std::uint8_t>(to, from, first, count);
    case 2:
      return move_block<std::uint16_t>(to, from, first, count);
    case 4:
      return move_block<std::uint32_t>(to, from, first, count);
    default:
      return move_block<std::uint64_t>(to, from, first, count);
  }
}

// ---- the plan of a run
// ----------------------------------------------------------------------------

enum class Access : std::uint8_t {
  direct,    // used in place
  constant,  // one value for a whole tile
  moved,     // through a tile buffer
};

struct Operand {
  std::byte* data;
  int64_t size;  // of an element
  int slot;
  Access access;
  int64_t strides[kMaxRank];  // bytes
};

struct Plan {
  const ElementwiseProgram* program;
  int rank;
  int num_operands;  // inputs, then outputs
  int num_buffers;   // of operands that are not direct
  int num_moved;     // among them those that are not a single value
  int64_t num_tiles;
  bool has_row_tiles;  // each tile is a row in which all operands are direct or constant
  int64_t extents[kMaxRank];
  int64_t block[kMaxRank];   // extents of a tile
  int64_t counts[kMaxRank];  // tiles along each axis
  Operand operands[kMaxProgramOperands];
};

int first_output_slot(const ElementwiseProgram& program) {
  return program.num_inputs + program.num_constants + program.num_temporaries;
}

// Strides of each operand on the full shape, without axes of length 1.
void place_operands(Plan& plan, const View* const* outputs, const View* const* inputs, int rank,
                    const int64_t* shape) {
  const ElementwiseProgram& program = *plan.program;
  int kept_axes[kMaxRank];
  plan.rank = 0;
  for (int axis = 0; axis < rank; ++axis) {
    if (shape[axis] == 1) continue;
    kept_axes[plan.rank] = axis;
    plan.extents[plan.rank++] = shape[axis];
  }
  plan.num_operands = program.num_inputs + program.num_outputs;
  for (int index = 0; index < plan.num_operands; ++index) {
    const bool is_input = index < program.num_inputs;
    const View& view = is_input ? *inputs[index] : *outputs[index - program.num_inputs];
    Operand& operand = plan.operands[index];
    operand.data = view.data;
    operand.size = itemsize(view.dtype);
    operand.slot = is_input ? index : first_output_slot(program) + (index - program.num_inputs);
    const int missing = rank - view.rank;
    for (int axis = 0; axis < plan.rank; ++axis) {
      const int own = kept_axes[axis] - missing;
      const bool is_broadcast = own < 0 || view.shape[own] == 1;
      operand.strides[axis] = is_broadcast ? 0 : view.strides[own] * operand.size;
    }
  }
}

// Orders and flips axes so that the first output is walked forwards with its smallest steps
// innermost.
void orient_axes(Plan& plan) {
  const int first_output = plan.program->num_inputs;
  const int64_t* lead = plan.operands[first_output].strides;
  for (int axis = 0; axis < plan.rank; ++axis) {
    if (lead[axis] >= 0) continue;
    for (int index = 0; index < plan.num_operands; ++index) {
      Operand& operand = plan.operands[index];
      operand.data += operand.strides[axis] * (plan.extents[axis] - 1);
      operand.strides[axis] = -operand.strides[axis];
    }
  }
  for (int end = 1; end < plan.rank; ++end) {
    for (int axis = end; axis > 0 && lead[axis - 1] < lead[axis]; --axis) {
      const int64_t extent = plan.extents[axis];
      plan.extents[axis] = plan.extents[axis - 1];
      plan.extents[axis - 1] = extent;
      for (int index = 0; index < plan.num_operands; ++index) {
        int64_t* strides = plan.operands[index].strides;
        const int64_t stride = strides[axis];
        strides[axis] = strides[axis - 1];
        strides[axis - 1] = stride;
      }
    }
  }
}

// Joins neighbouring axes that every operand walks as one.
void join_axes(Plan& plan) {
  int kept = 0;
  for (int axis = 1; axis < plan.rank; ++axis) {
    bool joins = true;
    for (int index = 0; index < plan.num_operands && joins; ++index) {
      const int64_t* strides = plan.operands[index].strides;
      joins = strides[kept] == strides[axis] * plan.extents[axis];
    }
    if (joins) {
      plan.extents[kept] *= plan.extents[axis];
    } else {
      plan.extents[++kept] = plan.extents[axis];
    }
    for (int index = 0; index < plan.num_operands; ++index) {
      plan.operands[index].strides[kept] = plan.operands[index].strides[axis];
    }
  }
  if (plan.rank > 0) plan.rank = kept + 1;
}

// The axis along which some operand is dense while the last axis takes it far; -1 if there is none.
int find_crossing_axis(const Plan& plan) {
  const int last = plan.rank - 1;
  if (plan.rank < 2 || plan.extents[last] < 4) return -1;
  for (int index = 0; index < plan.num_operands; ++index) {
    const Operand& operand = plan.operands[index];
    if (distance(operand.strides[last]) < kFarBytes) continue;
    for (int axis = last - 1; axis >= 0; --axis) {
      if (distance(operand.strides[axis]) == operand.size && plan.extents[axis] >= 4) return axis;
    }
  }
  return -1;
}

// Whether a row makes a tile: an operand has gaps between its rows, so that a tile of several would
// have to be moved, and in a row all are read and written in place, or hold one value throughout.
bool has_direct_rows(const Plan& plan, int64_t tile) {
  const int last = plan.rank - 1;
  if (plan.rank < 2 || plan.extents[last] < kDirectRow || plan.extents[last] > tile) return false;
  bool has_gaps = false;
  for (int index = 0; index < plan.num_operands; ++index) {
    const Operand& operand = plan.operands[index];
    const int64_t pitch = operand.strides[last - 1];
    if (operand.strides[last] == operand.size) {
      has_gaps = has_gaps || (pitch != 0 && pitch != plan.extents[last] * operand.size);
      continue;
    }
    for (int axis = 0; axis < plan.rank; ++axis) {
      if (operand.strides[axis] != 0) return false;
    }
  }
  return has_gaps;
}

// Cuts the shape into tiles of at most `tile` elements.
void cut_tiles(Plan& plan, int64_t tile) {
  const int last = plan.rank - 1;
  for (int axis = 0; axis < plan.rank; ++axis) plan.block[axis] = 1;
  const int crossing = find_crossing_axis(plan);
  plan.has_row_tiles = has_direct_rows(plan, tile);
  if (plan.has_row_tiles) {
    plan.block[last] = plan.extents[last];
  } else if (crossing >= 0) {
    plan.block[last] = smaller(plan.extents[last], kFarBlock);
    plan.block[crossing] = smaller(plan.extents[crossing], tile / plan.block[last]);
  } else {
    int64_t inner = 1;
    for (int axis = last; axis >= 0; --axis) {
      const int64_t extent = plan.extents[axis];
      if (inner * extent <= tile) {
        plan.block[axis] = extent;
        inner *= extent;
        continue;
      }
      // Pieces of about equal length; whole cache lines where the axis is the last.
      int64_t length = divide_up(extent, divide_up(extent, tile / inner));
      if (inner == 1) length = smaller(tile, (length + 63) / 64 * 64);
      plan.block[axis] = length;
      break;
    }
  }
  plan.num_tiles = 1;
  for (int axis = 0; axis < plan.rank; ++axis) {
    const bool is_cut = plan.block[axis] < plan.extents[axis];  // spares small runs the division
    plan.counts[axis] = is_cut ? divide_up(plan.extents[axis], plan.block[axis]) : 1;
    plan.num_tiles *= plan.counts[axis];
  }
}

// True when an input that is the same view as output `position` is read after that output is
// written.
bool is_read_after_write(const Plan& plan, int position) {
  const ElementwiseProgram& program = *plan.program;
  const Operand& output = plan.operands[program.num_inputs + position];
  for (int index = 0; index < program.num_inputs; ++index) {
    if (plan.operands[index].data == output.data &&
        program.last_read[index] > program.written[position]) {
      return true;
    }
  }
  return false;
}

void choose_access(Plan& plan) {
  const int num_inputs = plan.program->num_inputs;
  plan.num_buffers = 0;
  plan.num_moved = 0;
  for (int index = 0; index < plan.num_operands; ++index) {
    Operand& operand = plan.operands[index];
    int64_t dense = operand.size;
    bool is_dense = true;
    bool is_constant = index < num_inputs;
    bool is_cut = false;  // shorter in the last tiles: nothing dense can lie around such an axis
    for (int axis = plan.rank - 1; axis >= 0; --axis) {
      const int64_t extent = plan.block[axis];
      if (extent == 1) continue;
      is_dense = is_dense && !is_cut && operand.strides[axis] == dense;
      is_constant = is_constant && operand.strides[axis] == 0;
      dense *= extent;
      is_cut = extent < plan.extents[axis];
    }
    if (is_dense && index >= num_inputs) is_dense = !is_read_after_write(plan, index - num_inputs);
    operand.access = is_dense ? Access::direct : is_constant ? Access::constant : Access::moved;
    plan.num_buffers += !is_dense;
    plan.num_moved += operand.access == Access::moved;
    if (operand.access == Access::moved) plan.has_row_tiles = false;
  }
}

// ---- running
// --------------------------------------------------------------------------------------

// Calls body(memory) with memory for tile buffers: on the stack unless a program needs very many.
template <class Body>
void with_memory(int64_t nbytes, const Body& body) {
  if (nbytes <= kStackBytes) {
    alignas(64) std::byte local[kStackBytes];
    body(static_cast<std::byte*>(local));
  } else {
    const Scratch scratch(nbytes);
    body(scratch.as<std::byte>());
  }
}

// Where the registers of a program are during a tile, and which hold one value throughout, at least
// a vector of it.
template <int kCapacity>
struct SlotsOf {
  std::byte* places[kCapacity];
  bool is_fixed[kCapacity];

  explicit SlotsOf(const ElementwiseProgram& program) {
    const int num_slots = first_output_slot(program) + program.num_outputs;
    std::memset(is_fixed, 0, static_cast<std::size_t>(num_slots));
    for (int index = 0; index < program.num_constants; ++index) {
      places[program.num_inputs + index] = program.constants[index];
      is_fixed[program.num_inputs + index] = true;
    }
  }
  std::byte*& operator[](int slot) { return places[slot]; }
};
using Slots = SlotsOf<kMaxSlots>;

template <int kCapacity>
LUMUS_INLINE void run_steps(const ElementwiseProgram& program, const SlotsOf<kCapacity>& slots,
                            int64_t count) {
  std::byte* const* const places = slots.places;
  const bool* const is_fixed = slots.is_fixed;
  const ProgramStep* const end = program.steps + program.num_steps;
  for (const ProgramStep* step = program.steps; step != end; ++step) {
    if (step->block != nullptr) {
      run_block(*step->block, places, is_fixed, count);
      continue;
    }
    const std::uint16_t* const arguments = step->arguments;
    const unsigned fixed = (is_fixed[arguments[0]] ? 1u : 0u) | (is_fixed[arguments[1]] ? 2u : 0u) |
                           (is_fixed[arguments[2]] ? 4u : 0u);
    step->function(places[step->result], places[arguments[0]], places[arguments[1]],
                   places[arguments[2]], count, fixed);
  }
}

// What a tile buffer of an input holds, so that a block that comes again is not moved again.
struct Held {
  const std::byte* from;
  int64_t count;
  int64_t inner;
};

void run_tiles(const Plan& plan, int64_t begin, int64_t end, std::byte* memory) {
  const ElementwiseProgram& program = *plan.program;
  const int first_temporary = program.num_inputs + program.num_constants;

  Slots slots(program);
  Held held[kMaxProgramOperands];
  for (int index = 0; index < program.num_temporaries; ++index) {
    slots[first_temporary + index] = memory;
    memory += program.slot_bytes;
  }
  for (int index = 0; index < plan.num_operands; ++index) {
    if (plan.operands[index].access == Access::direct) continue;
    slots[plan.operands[index].slot] = memory;
    memory += program.slot_bytes;
    held[index] = Held{nullptr, 0, 0};
  }

  int64_t position[kMaxRank];
  int64_t rest = begin;
  for (int axis = plan.rank - 1; axis >= 0; --axis) {
    position[axis] = rest == 0 ? 0 : rest % plan.counts[axis];
    rest = rest == 0 ? 0 : rest / plan.counts[axis];
  }

  std::byte* places[kMaxProgramOperands];
  int64_t extents[kMaxRank];
  for (int64_t tile = begin; tile < end; ++tile) {
    int64_t count = 1;
    int64_t starts[kMaxRank];
    for (int axis = 0; axis < plan.rank; ++axis) {
      starts[axis] = position[axis] * plan.block[axis];
      extents[axis] = smaller(plan.block[axis], plan.extents[axis] - starts[axis]);
      count *= extents[axis];
    }
    const int64_t inner = plan.rank > 0 ? extents[plan.rank - 1] : 1;
    for (int index = 0; index < plan.num_operands; ++index) {
      const Operand& operand = plan.operands[index];
      std::byte* place = operand.data;
      for (int axis = 0; axis < plan.rank; ++axis) place += starts[axis] * operand.strides[axis];
      places[index] = place;
      if (operand.access == Access::direct) {
        slots[operand.slot] = place;
        continue;
      }
      if (index >= program.num_inputs) continue;
      Held& holds = held[index];
      if (operand.access == Access::constant) {
        if (holds.from == place && holds.count >= count) continue;
        const int64_t stride = 0;
        const int64_t length = program.is_one_block ? smaller(count, kBlockLength) : count;
        slots.is_fixed[operand.slot] = true;
        move_tile(true, slots[operand.slot], place, &length, &stride, 1, operand.size);
      } else {
        if (holds.from == place && holds.count == count && holds.inner == inner) continue;
        move_tile(true, slots[operand.slot], place, extents, operand.strides, plan.rank,
                  operand.size);
      }
      holds = Held{place, count, inner};
    }

    run_steps(program, slots, count);
    if (plan.has_row_tiles) {
      // The rows that follow along the next axis lie further on, and nothing else changes.
      const int axis = plan.rank - 2;
      const int64_t rows = smaller(plan.counts[axis] - position[axis], end - tile) - 1;
      for (int64_t row = 0; row < rows; ++row) {
        for (int index = 0; index < plan.num_operands; ++index) {
          const Operand& operand = plan.operands[index];
          if (operand.access == Access::direct) slots[operand.slot] += operand.strides[axis];
        }
        run_steps(program, slots, count);
      }
      tile += rows;
      position[axis] += rows;
    }

    for (int index = program.num_inputs; index < plan.num_operands; ++index) {
      const Operand& operand = plan.operands[index];
      if (operand.access == Access::direct) continue;
      move_tile(false, slots[operand.slot], places[index], extents, operand.strides, plan.rank,
                operand.size);
    }
    for (int axis = plan.rank - 1; axis >= 0; --axis) {
      if (++position[axis] < plan.counts[axis]) break;
      position[axis] = 0;
    }
  }
}

// A small run whose operands are all dense or single elements, in one tile and without a plan.
// False when it is not one.
bool run_small(const ElementwiseProgram& program, const View* const* outputs,
               const View* const* inputs, int64_t count) {
  constexpr int64_t kMaxCount = 1024;  // where buffers are needed
  constexpr int kMaxBuffers = 8;
  constexpr int64_t kBufferBytes = kMaxCount * 8;
  const int first_temporary = program.num_inputs + program.num_constants;
  const int first_output = first_temporary + program.num_temporaries;
  int64_t limit = kDirectTile;
  if (program.num_constants > 0) limit = program.tile;
  if (program.num_temporaries > 0) limit = smaller(kMaxCount, program.tile);
  if (count > limit || count * program.cost >= kParallelWork) return false;
  if (program.num_temporaries > kMaxBuffers) return false;
  if (first_output + program.num_outputs > 64) return false;

  alignas(64) std::byte buffers[kMaxBuffers * kBufferBytes];
  SlotsOf<64> slots(program);
  int num_used = 0;
  for (; num_used < program.num_temporaries; ++num_used) {
    slots[first_temporary + num_used] = buffers + num_used * kBufferBytes;
  }
  for (int index = 0; index < program.num_inputs; ++index) {
    const View& view = *inputs[index];
    const int64_t own = num_elements(view);
    if (own == count && is_contiguous(view)) {
      slots[index] = view.data;
    } else if (own == 1 && num_used < kMaxBuffers && count <= kMaxCount) {
      slots[index] = buffers + num_used++ * kBufferBytes;
      const int64_t stride = 0;
      const int64_t length = program.is_one_block ? smaller(count, kBlockLength) : count;
      slots.is_fixed[index] = true;
      move_tile(true, slots[index], view.data, &length, &stride, 1, itemsize(view.dtype));
    } else {
      return false;
    }
  }
  for (int index = 0; index < program.num_outputs; ++index) {
    const View& view = *outputs[index];
    if (!is_contiguous(view)) return false;
    for (int input = 0; input < program.num_inputs; ++input) {
      if (slots[input] == view.data && program.last_read[input] > program.written[index]) {
        return false;
      }
    }
    slots[first_output + index] = view.data;
  }
  run_steps(program, slots, count);
  return true;
}

void run(const ElementwiseProgram& program, const View* const* outputs, const View* const* inputs,
         int rank, const int64_t* shape) {
  int64_t count = 1;
  for (int axis = 0; axis < rank; ++axis) count *= shape[axis];
  if (count == 0) return;
  if (run_small(program, outputs, inputs, count)) return;

  Plan plan;
  plan.program = &program;
  place_operands(plan, outputs, inputs, rank, shape);
  orient_axes(plan);
  join_axes(plan);
  cut_tiles(plan, program.tile);
  choose_access(plan);
  // A block reads no more than its length of a single value.
  const bool has_long_tiles =
      program.is_one_block
          ? plan.num_moved == 0
          : plan.num_buffers == 0 && program.num_temporaries + program.num_constants == 0;
  if (has_long_tiles && plan.rank > 0 && plan.extents[plan.rank - 1] > program.tile) {
    // Never more than one row, so that what was dense stays dense.
    const int64_t tile = program.is_one_block ? kBlockTile : kDirectTile;
    cut_tiles(plan, smaller(larger(tile, program.tile), plan.extents[plan.rank - 1]));
    choose_access(plan);
  }

  const int64_t nbytes = (program.num_temporaries + plan.num_buffers) * program.slot_bytes;
  const auto run_piece = [&](int64_t begin, int64_t end) {
    with_memory(nbytes, [&](std::byte* memory) { run_tiles(plan, begin, end, memory); });
  };
  int64_t tile_work = program.cost;
  for (int axis = 0; axis < plan.rank; ++axis) tile_work *= plan.block[axis];
  if (plan.num_tiles == 1) return run_piece(0, 1);
  const int64_t grain = larger(1, kParallelWork / larger(1, tile_work));
  parallel_for(plan.num_tiles, grain, run_piece);
}

void evaluate_tiles(const ElementwiseProgram& program, const std::byte* const* inputs,
                    const int64_t* strides, int64_t count, std::byte* result, std::byte* memory) {
  const int first_temporary = program.num_inputs + program.num_constants;
  const int output = first_output_slot(program);
  int64_t sizes[kMaxProgramOperands];
  Slots slots(program);
  for (int index = 0; index < program.num_temporaries; ++index) {
    slots[first_temporary + index] = memory;
    memory += program.slot_bytes;
  }
  for (int index = 0; index < program.num_inputs; ++index) {
    sizes[index] = itemsize(program.input_dtypes[index]);
    if (strides[index] == 1) continue;
    slots[index] = memory;
    memory += program.slot_bytes;
    if (strides[index] != 0) continue;
    slots.is_fixed[index] = true;
    const int64_t length = smaller(count, program.tile);
    const int64_t stride = 0;
    move_tile(true, slots[index], const_cast<std::byte*>(inputs[index]), &length, &stride, 1,
              sizes[index]);
  }
  const int64_t result_size = itemsize(program.output_dtypes[0]);
  for (int64_t begin = 0; begin < count; begin += program.tile) {
    const int64_t length = smaller(program.tile, count - begin);
    for (int index = 0; index < program.num_inputs; ++index) {
      if (strides[index] == 0) continue;
      const int64_t stride = strides[index] * sizes[index];
      std::byte* const place = const_cast<std::byte*>(inputs[index]) + begin * stride;
      if (strides[index] == 1) {
        slots[index] = place;
      } else {
        move_tile(true, slots[index], place, &length, &stride, 1, sizes[index]);
      }
    }
    slots[output] = result + begin * result_size;
    run_steps(program, slots, length);
  }
}

void evaluate(const ElementwiseProgram& program, const std::byte* const* inputs,
              const int64_t* strides, int64_t count, std::byte* result) {
  int num_moved = 0;
  for (int index = 0; index < program.num_inputs; ++index) num_moved += strides[index] != 1;
  with_memory((program.num_temporaries + num_moved) * program.slot_bytes, [&](std::byte* memory) {
    evaluate_tiles(program, inputs, strides, count, result, memory);
  });
}

StepFunction find_step(Opcode opcode, DType dtype, DType source) {
  if (opcode == Opcode::cast) return find_cast_step(source, dtype);
  if (opcode == Opcode::copy) return find_copy_step(itemsize(dtype));
  if (dtype == DType::float32 || dtype == DType::float64) return find_float_step(opcode, dtype);
  return find_integer_step(opcode, dtype);
}

}  // namespace

extern const ElementwiseKernels elementwise_table;
const ElementwiseKernels elementwise_table = {find_step, find_pair_step, find_block, run, evaluate};

}  // namespace lumus::LUMUS_ISA
