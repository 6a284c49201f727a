// What other bindings need of the Program class.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "kernels/elementwise.h"

namespace lumus {

// The compiled form of a Python Program, which keeps it alive.
const ElementwiseProgram& program_of(nanobind::handle program);

// The same, and null for None.
const ElementwiseProgram* program_or_null(nanobind::handle program);

// The shape that the inputs broadcast to, into `shape`; returns its rank.
int broadcast_inputs(const View* const* inputs, int num_inputs, std::int64_t* shape);

}  // namespace lumus
