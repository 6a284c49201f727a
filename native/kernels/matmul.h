// Matrix products with NumPy's rules.
#pragma once

#include "kernels/epilogue.h"
#include "runtime/view.h"

namespace lumus {

struct MatmulKernels {
  // out = a @ b: operands of rank 1 or more with any strides, batch axes broadcast, `out`
  // contiguous and of the shape that NumPy's rules give. One dtype for all three; any but bool.
  // With `bias` (floating; b of rank 2; one element for each column of b) out = a @ b + bias, of
  // the bits that a sum of its own would have. After the bias comes the `epilogue`, which may be
  // null; its columns are those of `out`, which then has at least one axis.
  void (*matmul)(const View& a, const View& b, const View* bias, const Epilogue* epilogue,
                 const View& out);
  // Whether float32 and float64 products are OpenBLAS's, where one is loaded.
  bool uses_blas;
};

const MatmulKernels& matmul_kernels();

}  // namespace lumus
