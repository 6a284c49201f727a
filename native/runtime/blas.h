// OpenBLAS, loaded by path at run time and kept on one thread: our own pool cuts the products, and
// two pools that spin beside each other would halve the speed of both.
//
// Calls from several threads at once are safe: on one thread a product touches no shared state of
// the library but its list of packing buffers, which it guards with a lock of its own.
#pragma once

#include <cstdint>

namespace lumus {

// CBLAS codes.
constexpr int kBlasRowMajor = 101;
constexpr int kBlasNoTranspose = 111;
constexpr int kBlasTranspose = 112;

struct Blas {
  void (*sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
  void (*dgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, double alpha,
                const double* a, int lda, const double* b, int ldb, double beta, double* c,
                int ldc);
  void (*sgemv)(int order, int transpose, int m, int n, float alpha, const float* a, int lda,
                const float* x, int incx, float beta, float* y, int incy);
  void (*dgemv)(int order, int transpose, int m, int n, double alpha, const double* a, int lda,
                const double* x, int incx, double beta, double* y, int incy);
  const char* config;
  const char* core_name;
};

// The library in use, or null: products then run on our own kernels alone.
const Blas* blas();

// Loads the library at `path` (the first success holds for the life of the process). On failure
// returns false and points *problem at the reason.
bool load_blas(const char* path, const char** problem);

}  // namespace lumus
