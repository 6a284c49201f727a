"""solve_triangular: systems of linear equations with a triangular matrix."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import check_tensors, flag
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.linalg import SolveTriangular as SolveTriangularKernel
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.spec import Spec, spec_of
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.broadcasting import sum_to
from lumus.ops.linalg.matrices import check_matrices, right_side_shape, same_dtype
from lumus.ops.linalg.triangle import tril, triu


@frozen
class SolveTriangularAttrs:
    """Which triangle is read, and whether its diagonal counts as ones."""

    upper: bool
    unit: bool


@record
class SolveTriangularRecord(Record):
    """d solve_triangular(a, b) = (the triangle of -grad_b @ x.T, grad_b), grad_b that of a.T."""

    a: Saved[Float]
    x: Saved[Float] | None
    a_spec: Spec
    b_spec: Spec
    upper: bool
    unit: bool

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        transposed = self.a.tensor().mT
        grad_b = apply("solve_triangular", transposed, grad, upper=not self.upper, unit=self.unit)
        grad_a = None
        if self.x is not None:
            product = sum_to(-(grad_b @ self.x.tensor().mT), self.a_spec)
            inside = 1 if self.unit else 0
            grad_a = triu(product, inside) if self.upper else tril(product, -inside)
        return (grad_a, sum_to(grad_b, self.b_spec))


@register
class SolveTriangular(Op):
    """Of a stack of matrices and a stack of right sides, each a matrix of columns."""

    name = "solve_triangular"
    attrs = SolveTriangularAttrs

    def infer(self, specs: Specs, attrs: SolveTriangularAttrs) -> Spec:
        a, b = specs
        check_matrices("solve_triangular", a, square=True)
        return spec_of(right_side_shape("solve_triangular", a, b), a.dtype, a.device)

    def kernel(self, specs: Specs, attrs: SolveTriangularAttrs) -> Kernel:
        return SolveTriangularKernel(attrs.upper, attrs.unit)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: SolveTriangularAttrs,
        needs: Needs,
    ) -> Record:
        a, b = inputs
        x = saved_output(output) if needs[0] else None
        return SolveTriangularRecord(Saved(a), x, a.spec, b.spec, attrs.upper, attrs.unit)


def solve_triangular(
    a: Tensor[Float],
    b: Tensor[Float],
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Tensor[Float]:
    """The x with ``a @ x = b``, or ``x @ a = b`` with ``left=False``, by substitution.

    Only one triangle of `a` is read; with `unitriangular` its diagonal is not either, and counts as
    ones.

    **Shapes.** `a` (..., n, n); `b` is one vector (n,), or (..., n, k), and (..., k, n) on the
    right. The axes before the last two broadcast.
    **Kinds.** float32 or float64; dtypes promote.
    **Gradient.** For b the solution for `grad` with ``a.mT``; for a the triangle of minus that
    times ``x.mT``, 0 outside of it.
    **Raises.** MatrixError for a 0 on the diagonal, with the matrix's place in the batch;
    ShapeError for shapes that do not fit, DTypeError for half types, KindError for Int and Bool.

    >>> import lumus as lm
    >>> a = lm.tensor([[2.0, 9.0], [1.0, 4.0]])
    >>> lm.linalg.solve_triangular(a, lm.tensor([2.0, 5.0]), upper=False).tolist()
    [1.0, 1.0]
    """
    op = "solve_triangular"
    check_tensors(op, a, b)
    a, b = same_dtype(op, a, b)
    check_matrices(op, a.spec, square=True)
    if not b.ndim:
        raise ShapeError(f"{op}: the right side must have an axis, got shape ()", op=op)
    upper, unit = flag(op, "upper", upper), flag(op, "unitriangular", unitriangular)
    is_vector = b.ndim == 1
    column = b.expand_dims(-1) if is_vector else b
    if flag(op, "left", left):
        x = apply(op, a, column, upper=upper, unit=unit)
    else:
        column = column if is_vector else column.mT
        x = apply(op, a.mT, column, upper=not upper, unit=unit)
        x = x if is_vector else x.mT
    return x.squeeze(-1) if is_vector else x
