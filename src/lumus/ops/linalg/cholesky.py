"""cholesky: the triangular root of positive definite matrices."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import check_tensors, flag
from lumus.core.dispatch import apply
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.linalg import Cholesky as CholeskyKernel
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.linalg.matrices import check_matrices
from lumus.ops.linalg.solve_triangular import solve_triangular
from lumus.ops.linalg.triangle import tril


@record
class CholeskyRecord(Record):
    """d cholesky(x) / dx = (s + s.T) / 2, s = inv(l).T @ phi(l.T @ grad) @ inv(l).

    phi takes the lower triangle and half the diagonal.
    """

    lower: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        lower = self.lower.tensor()
        # Only the lower triangle of grad counts, and only that of the product is kept.
        product = lower.mT @ tril(grad)
        middle = tril(product, -1) + tril(product)
        upper = lower.mT
        left = solve_triangular(upper, middle, upper=True)
        both = solve_triangular(upper, left.mT, upper=True)
        return ((both + both.mT) * 0.25,)


@register
class Cholesky(Op):
    name = "cholesky"

    def infer(self, specs: Specs, attrs: None) -> Spec:
        check_matrices("cholesky", specs[0], square=True)
        return specs[0]

    def kernel(self, specs: Specs, attrs: None) -> Kernel:
        return CholeskyKernel()

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return CholeskyRecord(saved_output(output))


def cholesky(x: Tensor[Float], *, upper: bool = False) -> Tensor[Float]:
    """The lower triangular l with ``l @ l.mT = x``, or with `upper` its transpose.

    Only that triangle of `x` is read: `x` is taken to be symmetric.

    **Shapes.** (..., n, n), kept.
    **Kinds.** float32 or float64.
    **Gradient.** That of a function of symmetric matrices, itself symmetric: (s + s.mT) / 2 with
    ``s = inv(l).mT @ phi(l.mT @ grad) @ inv(l)``, where phi takes the lower triangle and half the
    diagonal (I. Murray, Differentiation of the Cholesky decomposition, 2016).
    **Raises.** MatrixError for a matrix that is not positive definite or not finite, with its place
    in the batch; ShapeError for matrices that are not square, DTypeError for half types, KindError
    for Int and Bool.

    >>> import lumus as lm
    >>> lm.linalg.cholesky(lm.tensor([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    check_tensors("cholesky", x)
    if flag("cholesky", "upper", upper):
        check_matrices("cholesky", x.spec, square=True)
        return apply("cholesky", x.mT).mT
    return apply("cholesky", x)
