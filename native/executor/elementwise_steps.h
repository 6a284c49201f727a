// Elementwise programs as steps: over one set of operands, and over many at once.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/step.h"
#include "kernels/elementwise.h"

namespace lumus {

// The outputs have one shape, to which the inputs are broadcast. An output may be the very same
// view as an input.
class ElementwiseStep final : public Step {
 public:
  // `program` belongs to the caller, and outlives this.
  explicit ElementwiseStep(const ElementwiseProgram& program)
      : Step({program.num_inputs, program.num_outputs, InPlace::all, OutputLayout::strided}),
        program_(program) {}

  void check(Views inputs, Views outputs) const override;
  void run(Views inputs, Views outputs) const override;
  std::int64_t work(Views inputs, Views outputs) const override;

 private:
  const ElementwiseProgram& program_;
};

struct GroupShape {
  int rank;
  std::int64_t lengths[kMaxRank];
};

// The same program over groups of operands, each of a shape of its own. The inputs of all groups
// follow each other, and so do the outputs. The work is cut over all groups together, by the shapes
// alone: small groups share a piece, large dense ones have several.
class GroupedStep final : public Step {
 public:
  GroupedStep(const ElementwiseProgram& program, std::vector<GroupShape> groups);

  void check(Views inputs, Views outputs) const override;
  void run(Views inputs, Views outputs) const override;
  std::int64_t work(Views inputs, Views outputs) const override;

 private:
  // Elements [begin, end) of a group, in row-major order.
  struct Segment {
    std::size_t group;
    std::int64_t begin;
    std::int64_t end;
  };

  void run_segment(const Segment& segment, Views inputs, Views outputs) const;

  const ElementwiseProgram& program_;
  std::vector<GroupShape> groups_;
  std::vector<std::int64_t> counts_;  // elements of each group
  std::vector<Segment> segments_;
  std::vector<std::size_t> pieces_;  // the first segment of each piece, and the number of segments
  std::int64_t work_ = 0;
};

}  // namespace lumus
