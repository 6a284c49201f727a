#include "executor/elementwise_steps.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "runtime/thread_pool.h"

namespace lumus {
namespace {

bool broadcasts_to(const View& view, int rank, const std::int64_t* shape) {
  const int missing = rank - view.rank;
  if (missing < 0) return false;
  for (int axis = 0; axis < view.rank; ++axis) {
    if (view.shape[axis] != 1 && view.shape[axis] != shape[axis + missing]) return false;
  }
  return true;
}

void check_operands(const ElementwiseProgram& program, Views inputs, Views outputs, int rank,
                    const std::int64_t* shape) {
  for (int index = 0; index < program.num_inputs; ++index) {
    if (inputs[index]->dtype != program.input_dtypes[index]) {
      throw std::invalid_argument("an input of a program has another dtype than the program");
    }
    if (!broadcasts_to(*inputs[index], rank, shape)) {
      throw std::invalid_argument("an input of a program does not broadcast to its outputs");
    }
  }
  for (int index = 0; index < program.num_outputs; ++index) {
    const View& output = *outputs[index];
    if (output.dtype != program.output_dtypes[index]) {
      throw std::invalid_argument("an output of a program has another dtype than the program");
    }
    if (output.rank != rank || !std::equal(shape, shape + rank, output.shape)) {
      throw std::invalid_argument("the outputs of a program have different shapes");
    }
  }
}

// Of a piece, elements times cost: beside it, what a piece costs is small.
constexpr std::int64_t kPieceWork = 4 * kParallelWork;

// Elements times cost, in elements moved.
std::int64_t work_of(const ElementwiseProgram& program, std::int64_t count) {
  return count * program.cost / 2;
}

}  // namespace

void ElementwiseStep::check(Views inputs, Views outputs) const {
  check_operands(program_, inputs, outputs, outputs[0]->rank, outputs[0]->shape);
}

void ElementwiseStep::run(Views inputs, Views outputs) const {
  elementwise_kernels().run(program_, outputs, inputs, outputs[0]->rank, outputs[0]->shape);
}

std::int64_t ElementwiseStep::work(Views, Views outputs) const {
  return work_of(program_, num_elements(*outputs[0]));
}

GroupedStep::GroupedStep(const ElementwiseProgram& program, std::vector<GroupShape> groups)
    : Step({program.num_inputs * static_cast<int>(groups.size()),
            program.num_outputs * static_cast<int>(groups.size()), InPlace::all,
            OutputLayout::strided}),
      program_(program),
      groups_(std::move(groups)) {
  const std::int64_t cost = std::max<std::int64_t>(1, program.cost);
  // Whole tiles, so that no tile is shorter than without the cut.
  const std::int64_t length =
      std::max<std::int64_t>(1, kPieceWork / cost / program.tile) * program.tile;
  std::int64_t filled = 0;  // elements in the last piece
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const GroupShape& shape = groups_[group];
    std::int64_t count = 1;
    for (int axis = 0; axis < shape.rank; ++axis) count *= shape.lengths[axis];
    counts_.push_back(count);
    work_ += work_of(program, count);
    for (std::int64_t begin = 0; begin < count; begin += length) {
      const std::int64_t end = std::min(begin + length, count);
      if (pieces_.empty() || filled + (end - begin) > length) {
        pieces_.push_back(segments_.size());
        filled = 0;
      }
      segments_.push_back({group, begin, end});
      filled += end - begin;
    }
  }
  pieces_.push_back(segments_.size());
}

void GroupedStep::check(Views inputs, Views outputs) const {
  for (const GroupShape& group : groups_) {
    check_operands(program_, inputs, outputs, group.rank, group.lengths);
    inputs += program_.num_inputs;
    outputs += program_.num_outputs;
  }
}

void GroupedStep::run(Views inputs, Views outputs) const {
  const auto num_pieces = static_cast<std::int64_t>(pieces_.size()) - 1;
  parallel_for(num_pieces, 1, [&](std::int64_t first, std::int64_t last) {
    const std::size_t end = pieces_[static_cast<std::size_t>(last)];
    for (std::size_t at = pieces_[static_cast<std::size_t>(first)]; at < end; ++at) {
      run_segment(segments_[at], inputs, outputs);
    }
  });
}

void GroupedStep::run_segment(const Segment& segment, Views inputs, Views outputs) const {
  inputs += segment.group * static_cast<std::size_t>(program_.num_inputs);
  outputs += segment.group * static_cast<std::size_t>(program_.num_outputs);
  const GroupShape& shape = groups_[segment.group];
  const std::int64_t count = counts_[segment.group];
  const ElementwiseKernels& kernels = elementwise_kernels();
  if (segment.end - segment.begin == count) {
    return kernels.run(program_, outputs, inputs, shape.rank, shape.lengths);
  }

  // Part of the row-major order of operands that are dense, or one element for all.
  View parts[kMaxProgramOperands];
  const View* places[kMaxProgramOperands];
  const int num_operands = program_.num_inputs + program_.num_outputs;
  bool is_flat = true;
  for (int index = 0; index < num_operands && is_flat; ++index) {
    const View& view =
        index < program_.num_inputs ? *inputs[index] : *outputs[index - program_.num_inputs];
    View& part = parts[index];
    part.data = view.data;
    part.dtype = view.dtype;
    part.rank = 1;
    part.shape[0] = 1;
    part.strides[0] = 1;
    places[index] = &part;
    if (num_elements(view) == 1) continue;
    is_flat = num_elements(view) == count && is_contiguous(view);
    part.shape[0] = segment.end - segment.begin;
    part.data += segment.begin * itemsize(view.dtype);
  }
  if (is_flat) {
    const std::int64_t length = segment.end - segment.begin;
    kernels.run(program_, places + program_.num_inputs, places, 1, &length);
  } else if (segment.begin == 0) {
    // Operands of other layouts are not cut: the first segment takes the whole group.
    kernels.run(program_, outputs, inputs, shape.rank, shape.lengths);
  }
}

std::int64_t GroupedStep::work(Views, Views) const { return work_; }

}  // namespace lumus
