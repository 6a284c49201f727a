// Matrix products: shapes, batches, the cut into pieces, and who computes a piece.
//
// Layout. Operands may have any strides and are never copied as a whole; the result is contiguous.
// Aliasing. The result shares no memory with the operands.
// Threads. A product is cut into a grid of blocks by its shape; a batch of small ones along the
// batch. Numerics. See gemm.h: neither the cut nor the layout changes a bit. Where OpenBLAS
// computes, the cut still depends on the shape alone.
#include "kernels/matmul.h"

#include "kernels/gemm.h"
#include "runtime/blas.h"
#include "runtime/storage.h"
#include "runtime/thread_pool.h"

namespace lumus::LUMUS_ISA {

namespace {

// One stack of products of equal shape, c[batch] = a[batch] b[batch].
struct Product {
  const std::byte* a;
  const std::byte* b;
  std::byte* c;
  const std::byte* bias;  // one element for each column, or null
  std::int64_t bias_stride;
  const Epilogue* epilogue;  // or null
  std::int64_t rows, columns, depth;
  std::int64_t a_row_stride, a_column_stride;
  std::int64_t b_row_stride, b_column_stride;
  int batch_rank;
  std::int64_t batch_size;
  std::int64_t batch_shape[kMaxRank];
  std::int64_t a_batch_strides[kMaxRank];
  std::int64_t b_batch_strides[kMaxRank];
};

void exchange(std::int64_t* x, std::int64_t* y) {
  const std::int64_t old_x = *x;
  *x = *y;
  *y = old_x;
}

// A matrix times a column is a row times the transposed matrix; the result is the same vector.
void turn_column_into_row(Product* product) {
  const std::byte* const a = product->a;
  product->a = product->b;
  product->b = a;
  exchange(&product->rows, &product->columns);
  exchange(&product->a_row_stride, &product->b_column_stride);
  exchange(&product->a_column_stride, &product->b_row_stride);
  for (int axis = 0; axis < product->batch_rank; ++axis) {
    exchange(&product->a_batch_strides[axis], &product->b_batch_strides[axis]);
  }
}

// Folds the last batch axis into the rows of a (or the columns of b) where the other operand does
// not change along it, so that a stack of products with one weight is a single product.
bool fold_last_batch_axis(Product* product) {
  const int axis = product->batch_rank - 1;
  const std::int64_t a_stride = product->a_batch_strides[axis];
  const std::int64_t b_stride = product->b_batch_strides[axis];
  const std::int64_t size = product->batch_shape[axis];
  if (b_stride == 0 && (product->rows == 1 || a_stride == product->rows * product->a_row_stride)) {
    if (product->rows == 1) product->a_row_stride = a_stride;
    product->rows *= size;
  } else if (product->rows == 1 && a_stride == 0 &&
             (product->columns == 1 || b_stride == product->columns * product->b_column_stride)) {
    if (product->columns == 1) product->b_column_stride = b_stride;
    product->columns *= size;
  } else {
    return false;
  }
  product->batch_rank -= 1;
  product->batch_size /= size;
  return true;
}

Product describe(const View& a, const View& b, const View* bias, const View& out) {
  Product product;
  product.a = a.data;
  product.b = b.data;
  product.c = out.data;
  product.bias = bias ? bias->data : nullptr;
  product.epilogue = nullptr;
  const int a_last = a.rank - 1;
  const int b_last = b.rank - 1;
  product.depth = a.shape[a_last];
  product.rows = a.rank > 1 ? a.shape[a_last - 1] : 1;
  product.columns = b.rank > 1 ? b.shape[b_last] : 1;
  product.a_row_stride = a.rank > 1 ? a.strides[a_last - 1] : 0;
  product.a_column_stride = a.strides[a_last];
  product.b_row_stride = b.strides[b.rank > 1 ? b_last - 1 : b_last];
  product.b_column_stride = b.rank > 1 ? b.strides[b_last] : 0;
  // A single column's bias is every column's, should rows and columns change places.
  product.bias_stride = bias && product.columns > 1 ? bias->strides[0] : 0;

  // Batch axes are aligned at their ends; axes of length 1 say nothing.
  const int a_batch = a.rank > 2 ? a.rank - 2 : 0;
  const int b_batch = b.rank > 2 ? b.rank - 2 : 0;
  const int batch_rank = a_batch > b_batch ? a_batch : b_batch;
  product.batch_rank = 0;
  product.batch_size = 1;
  for (int axis = 0; axis < batch_rank; ++axis) {
    const int a_axis = axis - (batch_rank - a_batch);
    const int b_axis = axis - (batch_rank - b_batch);
    const std::int64_t a_size = a_axis >= 0 ? a.shape[a_axis] : 1;
    const std::int64_t b_size = b_axis >= 0 ? b.shape[b_axis] : 1;
    const std::int64_t size = a_size == 1 ? b_size : a_size;
    if (size == 1) continue;
    product.batch_shape[product.batch_rank] = size;
    product.a_batch_strides[product.batch_rank] = a_size == 1 ? 0 : a.strides[a_axis];
    product.b_batch_strides[product.batch_rank] = b_size == 1 ? 0 : b.strides[b_axis];
    product.batch_size *= size;
    product.batch_rank += 1;
  }
  if (product.columns == 1 && product.rows != 1) turn_column_into_row(&product);
  while (product.batch_rank > 0 && fold_last_batch_axis(&product)) {
  }
  if (product.columns == 1 && product.rows != 1) turn_column_into_row(&product);
  return product;
}

// ---- one piece ----------------------------------------------------------------------------------

// With fused multiply-adds and 16 or more wide registers our own kernels are the faster ones (and
// give the same bits for every layout); OpenBLAS serves the others, where one is loaded.
#if defined(__AVX2__)
constexpr bool kOwnKernelsAreFaster = true;
#else
constexpr bool kOwnKernelsAreFaster = false;
#endif

template <class T>
constexpr bool kCanUseBlas = is_floating<T> && !kOwnKernelsAreFaster;

// Scratch memory of one piece, from the caching allocator.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::int64_t elements)
      : storage_(Storage::allocate(elements * static_cast<std::int64_t>(sizeof(T)))) {}
  ~Scratch() { storage_->drop(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() const { return reinterpret_cast<T*>(storage_->data()); }

 private:
  Storage* storage_;
};

// An operand as OpenBLAS takes it: dense rows or dense columns, a positive distance between them.
template <class T>
struct BlasOperand {
  const T* data;
  int transpose;
  int leading;
};

// Elements that `matrix` needs for a dense copy, 0 if OpenBLAS can take it as it is.
template <class T>
std::int64_t dense_copy_size(std::int64_t rows, std::int64_t columns, const Matrix<T>& matrix) {
  constexpr std::int64_t limit = 0x7fffffff;
  const bool has_dense_rows = columns == 1 || matrix.column_stride == 1;
  const bool has_dense_columns = rows == 1 || matrix.row_stride == 1;
  const bool is_direct =
      (has_dense_rows &&
       (rows == 1 || (matrix.row_stride >= columns && matrix.row_stride <= limit))) ||
      (has_dense_columns &&
       (columns == 1 || (matrix.column_stride >= rows && matrix.column_stride <= limit)));
  return is_direct ? 0 : rows * columns;
}

template <class T>
BlasOperand<T> blas_operand(std::int64_t rows, std::int64_t columns, const Matrix<T>& matrix,
                            std::int64_t copy_size, T* copy) {
  if (copy_size > 0) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        copy[row * columns + column] =
            matrix.data[row * matrix.row_stride + column * matrix.column_stride];
      }
    }
    return {copy, kBlasNoTranspose, static_cast<int>(columns)};
  }
  const bool has_dense_rows =
      (columns == 1 || matrix.column_stride == 1) && (rows == 1 || matrix.row_stride >= columns);
  const std::int64_t stride = has_dense_rows ? matrix.row_stride : matrix.column_stride;
  const std::int64_t least = has_dense_rows ? columns : rows;
  const bool has_one = has_dense_rows ? rows == 1 : columns == 1;
  return {matrix.data, has_dense_rows ? kBlasNoTranspose : kBlasTranspose,
          static_cast<int>(has_one ? least : stride)};
}

template <class T>
void multiply_piece_by_blas(const Blas& library, std::int64_t rows, std::int64_t columns,
                            std::int64_t depth, const Matrix<T>& a, const Matrix<T>& b, T* c,
                            std::int64_t c_stride) {
  const std::int64_t a_copy = dense_copy_size(rows, depth, a);
  const std::int64_t b_copy = dense_copy_size(depth, columns, b);
  const Scratch<T> scratch(a_copy + b_copy);
  const BlasOperand<T> left = blas_operand(rows, depth, a, a_copy, scratch.data());
  const BlasOperand<T> right = blas_operand(depth, columns, b, b_copy, scratch.data() + a_copy);
  const int m = static_cast<int>(rows);
  const int n = static_cast<int>(columns);
  const int k = static_cast<int>(depth);
  if constexpr (__is_same(T, float)) {
    library.sgemm(kBlasRowMajor, left.transpose, right.transpose, m, n, k, 1, left.data,
                  left.leading, right.data, right.leading, 0, c, static_cast<int>(c_stride));
  } else {
    library.dgemm(kBlasRowMajor, left.transpose, right.transpose, m, n, k, 1, left.data,
                  left.leading, right.data, right.leading, 0, c, static_cast<int>(c_stride));
  }
}

bool fits_blas(const Product& product) {
  constexpr std::int64_t limit = 0x7fffffff;
  return product.rows <= limit && product.columns <= limit && product.depth <= limit;
}

// Adds to each row of a piece of the result, which is still in the cache.
template <class Element>
void add_bias(std::int64_t rows, std::int64_t columns, const Element* bias,
              std::int64_t bias_stride, Element* c, std::int64_t c_stride) {
  using T = Computed<Element>;
  for (std::int64_t row = 0; row < rows; ++row, c += c_stride) {
    if (bias_stride == 1) {
      for (std::int64_t column = 0; column < columns; ++column) {
        c[column] = Narrow<Element>::from(widen<T>(c[column]) + widen<T>(bias[column]));
      }
    } else {
      for (std::int64_t column = 0; column < columns; ++column) {
        c[column] =
            Narrow<Element>::from(widen<T>(c[column]) + widen<T>(bias[column * bias_stride]));
      }
    }
  }
}

// Runs the epilogue over a piece of the result; `row` counts through the whole batch.
void finish_piece(const Product& product, std::int64_t row, std::int64_t rows, std::int64_t column,
                  std::int64_t columns) {
  if (!product.epilogue) return;
  run_epilogue(*product.epilogue, {row, rows, column, columns, product.columns});
}

// ---- the cut ------------------------------------------------------------------------------------

// The blocks of one product, in units of strips and panels.
struct Grid {
  std::int64_t num_strips, num_panels;
  std::int64_t row_blocks, column_blocks;
  std::int64_t work;  // of the whole product, in multiply-adds
};

constexpr std::int64_t kBlockStrips = 14;         // strips of A that stay in the level-2 cache
constexpr std::int64_t kPieceProducts = 1 << 19;  // multiply-adds worth a piece, about 10 us
constexpr std::int64_t kMaxPieces = 16;           // where there is a choice
constexpr std::int64_t kMinBlockColumns = 32;
constexpr std::int64_t kDeep = 1024;  // each block reads so much of A that it must be wider
constexpr std::int64_t kMaxBlockColumns = 256;  // keeps a block of the result in the level-2 cache

template <class Element>
Grid grid_of(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  using T = Computed<Element>;
  Grid grid;
  grid.num_strips = divided_up(rows, kTileRows<T>);
  grid.num_panels = divided_up(columns, kPanelColumns<T>);
  // With few rows the time goes into reading B, however few products it gives.
  grid.work = columns * depth * (rows < 16 ? 16 : rows);
  const std::int64_t wanted = smaller(grid.work / kPieceProducts, kMaxPieces);
  grid.row_blocks = divided_up(rows, kBlockStrips * kTileRows<T>);
  grid.column_blocks = divided_up(columns, kMaxBlockColumns);
  // A few blocks are made even, for two threads to share; with many it does not matter.
  const std::int64_t least = grid.row_blocks * grid.column_blocks;
  if (least % 2 == 1 && least > 1 && least < 8) {
    (grid.row_blocks > 1 ? grid.row_blocks : grid.column_blocks) += 1;
  }
  const std::int64_t min_columns = depth < kDeep ? kMinBlockColumns : 2 * kMinBlockColumns;
  while (grid.row_blocks * grid.column_blocks * 2 <= wanted &&
         columns >= grid.column_blocks * 2 * min_columns) {
    grid.column_blocks *= 2;
  }
  // Long thin products: rows once more where the columns did not give enough.
  while (grid.row_blocks * grid.column_blocks * 2 <= wanted &&
         grid.row_blocks * 8 <= grid.num_strips) {
    grid.row_blocks *= 2;
  }
  return grid;
}

template <class Element>
Matrix<Element> operand(const std::byte* data, const std::int64_t* batch_strides,
                        const Product& product, std::int64_t batch, std::int64_t row_stride,
                        std::int64_t column_stride) {
  std::int64_t offset = 0;
  for (int axis = product.batch_rank - 1; axis >= 0; --axis) {
    offset += batch % product.batch_shape[axis] * batch_strides[axis];
    batch /= product.batch_shape[axis];
  }
  return {reinterpret_cast<const Element*>(data) + offset, row_stride, column_stride};
}

template <class Element>
void multiply(const Product& product) {
  using T = Computed<Element>;
  const std::int64_t rows = product.rows;
  const std::int64_t columns = product.columns;
  const std::int64_t depth = product.depth;
  Element* const c = reinterpret_cast<Element*>(product.c);
  if (depth == 0) {
    std::memset(c, 0,
                static_cast<std::size_t>(product.batch_size * rows * columns) * sizeof(Element));
    if constexpr (is_floating<T>) {
      if (product.bias) {
        add_bias(product.batch_size * rows, columns, reinterpret_cast<const Element*>(product.bias),
                 product.bias_stride, c, columns);
      }
    }
    finish_piece(product, 0, product.batch_size * rows, 0, columns);
    return;
  }
  const Blas* const library = kCanUseBlas<Element> && fits_blas(product) ? blas() : nullptr;
  const Grid grid = grid_of<Element>(rows, columns, depth);
  const std::int64_t blocks = grid.row_blocks * grid.column_blocks;
  // Small blocks, of a batch or of a large result with little depth, go several to a piece.
  const std::int64_t grain = 1 + kPieceProducts / (grid.work / blocks + 512);

  const std::int64_t scratch_size =
      library ? 0
              : piece_scratch<Element>(
                    smaller(divided_up(grid.num_strips, grid.row_blocks) * kTileRows<T>, rows),
                    smaller(divided_up(grid.num_panels, grid.column_blocks) * kPanelColumns<T>,
                            columns),
                    depth);

  parallel_for(product.batch_size * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
    const Scratch<T> scratch(scratch_size);
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const std::int64_t batch = piece / blocks;
      const std::int64_t row_block = piece % blocks / grid.column_blocks;
      const std::int64_t column_block = piece % grid.column_blocks;
      Matrix<Element> a = operand<Element>(product.a, product.a_batch_strides, product, batch,
                                           product.a_row_stride, product.a_column_stride);
      Matrix<Element> b = operand<Element>(product.b, product.b_batch_strides, product, batch,
                                           product.b_row_stride, product.b_column_stride);
      Element* const result = c + batch * rows * columns;
      const std::int64_t row = row_block * grid.num_strips / grid.row_blocks * kTileRows<T>;
      const std::int64_t row_end =
          smaller((row_block + 1) * grid.num_strips / grid.row_blocks * kTileRows<T>, rows);
      const std::int64_t column =
          column_block * grid.num_panels / grid.column_blocks * kPanelColumns<T>;
      const std::int64_t column_end = smaller(
          (column_block + 1) * grid.num_panels / grid.column_blocks * kPanelColumns<T>, columns);
      a.data += row * a.row_stride;
      b.data += column * b.column_stride;
      Element* const to = result + row * columns + column;
      if constexpr (kCanUseBlas<Element>) {
        if (library) {
          multiply_piece_by_blas<Element>(*library, row_end - row, column_end - column, depth, a, b,
                                          to, columns);
        }
      }
      if (!library) {
        multiply_piece<Element>(row_end - row, column_end - column, depth, a, b, to, columns,
                                scratch.data());
      }
      if constexpr (is_floating<T>) {
        if (product.bias) {
          add_bias(row_end - row, column_end - column,
                   reinterpret_cast<const Element*>(product.bias) + column * product.bias_stride,
                   product.bias_stride, to, columns);
        }
      }
      finish_piece(product, batch * rows + row, row_end - row, column, column_end - column);
    }
  });
}

void multiply(DType dtype, const Product& product) {
  switch (dtype) {
    case DType::float64:
      return multiply<double>(product);
    case DType::float32:
      return multiply<float>(product);
    case DType::float16:
      return multiply<Float16>(product);
    case DType::bfloat16:
      return multiply<BFloat16>(product);
    case DType::int64:
      return multiply<std::uint64_t>(product);
    case DType::int32:
      return multiply<std::uint32_t>(product);
    case DType::int16:
      return multiply<std::uint16_t>(product);
    default:
      return multiply<std::uint8_t>(product);
  }
}

void matmul(const View& a, const View& b, const View* bias, const Epilogue* epilogue,
            const View& out) {
  const std::int64_t count = num_elements(out);
  if (count == 0) return;
  Product product = describe(a, b, bias, out);
  const std::int64_t columns = out.rank > 0 ? out.shape[out.rank - 1] : 1;
  if (product.columns == columns) product.epilogue = epilogue;
  multiply(a.dtype, product);
  // Where columns have become rows, or those of a batch one row, it comes at the end.
  if (epilogue && !product.epilogue) {
    run_epilogue(*epilogue, {0, count / columns, 0, columns, columns});
  }
}

}  // namespace

extern const MatmulKernels matmul_table;
const MatmulKernels matmul_table = {&matmul, !kOwnKernelsAreFaster};

}  // namespace lumus::LUMUS_ISA
