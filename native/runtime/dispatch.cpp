// Joins the kernel tables of the instruction sets: each family has one table for each, and
// FAMILY_kernels() gives the one in use. Add the header and the line of a family in sorted order.
#include "kernels/attention.h"
#include "kernels/convolution.h"
#include "kernels/copy.h"
#include "kernels/cross_entropy.h"
#include "kernels/ctc.h"
#include "kernels/elementwise.h"
#include "kernels/embedding.h"
#include "kernels/index.h"
#include "kernels/matmul.h"
#include "kernels/normalization.h"
#include "kernels/norms.h"
#include "kernels/pooling.h"
#include "kernels/random.h"
#include "kernels/recurrent.h"
#include "kernels/reduce.h"
#include "kernels/resample.h"
#include "kernels/rows.h"
#include "kernels/scan.h"
#include "kernels/sort.h"
#include "runtime/cpu.h"

#if LUMUS_X86
#define DISPATCH(Kernels, family)                                                         \
  namespace lumus {                                                                       \
  namespace v2 {                                                                          \
  extern const Kernels family##_table;                                                    \
  }                                                                                       \
  namespace v3 {                                                                          \
  extern const Kernels family##_table;                                                    \
  }                                                                                       \
  namespace v4 {                                                                          \
  extern const Kernels family##_table;                                                    \
  }                                                                                       \
  const Kernels& family##_kernels() {                                                     \
    static constexpr const Kernels* tables[] = {&v2::family##_table, &v3::family##_table, \
                                                &v4::family##_table};                     \
    return *tables[active_isa];                                                           \
  }                                                                                       \
  }
#else
#define DISPATCH(Kernels, family)                                    \
  namespace lumus {                                                  \
  namespace base {                                                   \
  extern const Kernels family##_table;                               \
  }                                                                  \
  const Kernels& family##_kernels() { return base::family##_table; } \
  }
#endif

// DISPATCH(FamilyKernels, family)
DISPATCH(AttentionKernels, attention)
DISPATCH(ConvolutionKernels, convolution)
DISPATCH(CopyKernels, copy)
DISPATCH(CrossEntropyKernels, cross_entropy)
DISPATCH(CtcKernels, ctc)
DISPATCH(ElementwiseKernels, elementwise)
DISPATCH(EmbeddingKernels, embedding)
DISPATCH(IndexKernels, index)
DISPATCH(MatmulKernels, matmul)
DISPATCH(MaxPoolKernels, max_pool)
DISPATCH(MeanPoolKernels, mean_pool)
DISPATCH(NormalizationKernels, normalization)
DISPATCH(NormsKernels, norms)
DISPATCH(RandomKernels, random)
DISPATCH(RecurrentKernels, recurrent)
DISPATCH(ReduceKernels, reduce)
DISPATCH(ResampleKernels, resample)
DISPATCH(RowsKernels, rows)
DISPATCH(ScanKernels, scan)
DISPATCH(SortKernels, sort)
