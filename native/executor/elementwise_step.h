// An elementwise program as a step.
#pragma once

#include <cstdint>

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

}  // namespace lumus
