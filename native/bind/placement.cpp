// Elements brought elsewhere as copies and sums of blocks: a block is a slice of the output and the
// slice of the input that goes there.
#include <nanobind/nanobind.h>

#include <utility>
#include <vector>

#include "bind/conversion.h"
#include "bind/program.h"
#include "executor/step.h"
#include "kernels/copy.h"
#include "kernels/elementwise.h"
#include "kernels/reduce.h"
#include "runtime/copies.h"

namespace nb = nanobind;

namespace lumus {
namespace {

// The arguments of Array.slice.
struct Slice {
  std::int64_t starts[kMaxRank], sizes[kMaxRank], steps[kMaxRank];

  explicit Slice(nb::handle fields) {
    read_integers(fields[0], starts);
    read_integers(fields[1], sizes);
    read_integers(fields[2], steps);
  }
  View of(const View& view) const { return sliced(borrowed(view), starts, sizes, steps).view; }
};

struct Block {
  Slice to, from;
  int rank;
  std::int64_t axes[kMaxRank];  // of the slice of the input, for each axis of that of the output

  Block(nb::handle target, nb::handle source, nb::handle order)
      : to(target), from(source), rank(read_integers(order, axes)) {}

  View part_of(const View& input) const {
    const View part = from.of(input);
    View ordered = part;
    ordered.rank = rank;
    for (int axis = 0; axis < rank; ++axis) {
      ordered.shape[axis] = part.shape[axes[axis]];
      ordered.strides[axis] = part.strides[axes[axis]];
    }
    return ordered;
  }
};

std::vector<Block> read_blocks(nb::list triples) {
  std::vector<Block> blocks;
  for (nb::handle triple : triples) blocks.emplace_back(triple[0], triple[1], triple[2]);
  return blocks;
}

// The parts of the input, broadcast to their blocks, which fill the output.
Step* copy_blocks_step(nb::list triples) {
  return make_step({1, 1, InPlace::none, OutputLayout::strided},
                   [blocks = read_blocks(triples)](Views inputs, Views outputs) {
                     for (const Block& block : blocks) {
                       const View place = block.to.of(*outputs[0]);
                       const Array part = borrowed(block.part_of(*inputs[0]));
                       copy_kernels().copy(place, broadcasted(part, place.rank, place.shape).view);
                     }
                   });
}

// `part`, summed over the axes along which its place has one element.
Array summed(const View& part, const View& place) {
  std::uint32_t axes = 0;
  for (int axis = 0; axis < part.rank; ++axis) {
    if (part.shape[axis] != place.shape[axis]) axes |= 1u << axis;
  }
  if (axes == 0) return borrowed(part);
  Array sum = make_array(part.dtype, place.rank, place.shape);
  reduce_kernels().reduce(ReduceKind::sum, part, axes, sum.view);
  return sum;
}

// The parts of the input added up where they go, in order, by the program x + y; its dtype is that
// of the sums. With `covers` the first block is the whole output.
class AddedBlocks final : public Step {
 public:
  // `add` belongs to the caller, and outlives this.
  AddedBlocks(const ElementwiseProgram& add, std::vector<Block> blocks, bool covers)
      : Step({1}), add_(add), blocks_(std::move(blocks)), covers_(covers) {}

  void run(Views inputs, Views outputs) const override {
    const DType dtype = add_.output_dtypes[0];
    const Array input = converted(*inputs[0], dtype);
    write_rounded(*outputs[0], dtype, [&](const View& sums) {
      if (!covers_) clear(sums);
      for (const Block& block : blocks_) {
        const View place = block.to.of(sums);
        const Array part = summed(block.part_of(input.view), place);
        if (covers_ && &block == &blocks_.front()) {
          copy_kernels().copy(place, part.view);
          continue;
        }
        const View* const terms[] = {&place, &part.view};
        elementwise_kernels().run(add_, terms, terms, place.rank, place.shape);
      }
    });
  }

 private:
  const ElementwiseProgram& add_;
  std::vector<Block> blocks_;
  bool covers_;
};

Step* add_blocks_step(nb::handle add, nb::list triples, bool covers) {
  return new AddedBlocks(program_of(add), read_blocks(triples), covers);
}

// Parts of the input one after the other along the axis, without it unless `keeps_axis`.
Step* pieces_step(int axis, nb::tuple lengths, bool keeps_axis) {
  std::vector<std::int64_t> sizes;
  for (nb::handle length : lengths) sizes.push_back(nb::cast<std::int64_t>(length));
  const StepTraits traits = {1, static_cast<int>(sizes.size()), InPlace::none,
                             OutputLayout::strided};
  return make_step(traits, [=, sizes = std::move(sizes)](Views inputs, Views outputs) {
    View part = *inputs[0];
    const std::int64_t stride = part.strides[axis] * itemsize(part.dtype);
    if (!keeps_axis) --part.rank;
    for (int other = axis; !keeps_axis && other < part.rank; ++other) {
      part.shape[other] = part.shape[other + 1];
      part.strides[other] = part.strides[other + 1];
    }
    for (std::size_t at = 0; at < sizes.size(); ++at) {
      if (keeps_axis) part.shape[axis] = sizes[at];
      copy_kernels().copy(*outputs[at], part);
      part.data += sizes[at] * stride;
    }
  });
}

}  // namespace
}  // namespace lumus

void bind_placement(nb::module_& m) {
  using namespace lumus;
  m.def("copy_blocks_step", copy_blocks_step);
  m.def("add_blocks_step", add_blocks_step, nb::keep_alive<0, 1>());
  m.def("pieces_step", pieces_step);
}
