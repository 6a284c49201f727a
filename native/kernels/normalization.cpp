// The table of normalisation: each call goes to the kernels that fit its layout.
#include "kernels/normalization_steps.h"

namespace lumus::LUMUS_ISA {
namespace {

// body(Element{}) for the type of the elements.
template <class Body>
void by_dtype(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::float64:
      return body(double{});
    case DType::float32:
      return body(float{});
    case DType::float16:
      return body(Float16{});
    default:
      return body(BFloat16{});
  }
}

bool is_short(const NormShape& shape) { return shape.inner < kShortRun; }

void rows(const NormCall& call) {
  by_dtype(call.shape.dtype, [&](auto element) { normalize_rows<decltype(element)>(call); });
}

void rows_grad(const NormGradCall& call) {
  by_dtype(call.shape.dtype, [&](auto element) {
    if (call.shape.inner == 1) {
      normalize_rows_grad<decltype(element)>(call);
    } else {
      normalize_row_planes_grad<decltype(element)>(call);
    }
  });
}

template <bool kHasStatistics>
void channels(const NormCall& call) {
  by_dtype(call.shape.dtype, [&](auto element) {
    if (is_short(call.shape)) {
      normalize_columns<decltype(element)>(call, kHasStatistics);
    } else {
      normalize_planes<decltype(element)>(call, kHasStatistics);
    }
  });
}

template <bool kHasStatistics>
void channels_grad(const NormGradCall& call) {
  by_dtype(call.shape.dtype, [&](auto element) {
    if (is_short(call.shape)) {
      normalize_columns_grad<decltype(element)>(call, kHasStatistics);
    } else {
      normalize_planes_grad<decltype(element)>(call, kHasStatistics);
    }
  });
}

}  // namespace

extern const NormalizationKernels normalization_table;
const NormalizationKernels normalization_table = {
    rows, rows_grad, channels<false>, channels_grad<false>, channels<true>, channels_grad<true>};

}  // namespace lumus::LUMUS_ISA
