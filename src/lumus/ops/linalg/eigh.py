"""eigh: the eigenvalues and eigenvectors of symmetric matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

from lumus.core.argument import check_tensors
from lumus.core.dispatch import apply
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.linalg import Eigh as EighKernel
from lumus.core.kernels.linalg import EighValues
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.broadcasting import zeros
from lumus.ops.create.eye import eye
from lumus.ops.linalg.degenerate import (
    equal_pairs,
    poisoned,
    reciprocal_but,
    shared,
    tolerance,
    touched,
)
from lumus.ops.linalg.matrices import check_matrices


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Tensor[Float]
    eigenvectors: Tensor[Float]


@record
class EighRecord(Record):
    """d eigh(x) / dx = v (diag(grad_w) + f * skew(v.T grad_v)) v.T with f = 1 / (w_j - w_i)."""

    values: Saved[Float]
    vectors: Saved[Float]

    def vjp(self, *grads: Tensor[Float] | None) -> tuple[Tensor[Float] | None, ...]:
        w, v = self.values.tensor(), self.vectors.tensor()
        by_values, by_vectors = grads
        if not v.spec.size:
            return (zeros(v.spec),)
        equal = equal_pairs(w, tolerance(w, w.shape[-1]))
        if by_vectors is None:
            assert by_values is not None
            return ((v * shared(by_values, equal).expand_dims(-2)) @ v.mT,)
        inner = v.mT @ by_vectors
        gaps = w.expand_dims(-2) - w.expand_dims(-1)
        middle = (inner - inner.mT) * reciprocal_but(gaps, equal) * 0.5
        if by_values is not None:
            diagonal = eye(w.shape[-1], dtype=w.dtype, device=w.device)
            middle = middle + by_values.expand_dims(-2) * diagonal
        return (poisoned(v @ middle @ v.mT, touched(inner, by_values, equal)),)


@register
class Eigh(Op):
    name = "eigh"

    def infer(self, specs: Specs, attrs: None) -> Specs:
        check_matrices("eigh", specs[0], square=True)
        return (specs[0].with_shape(specs[0].shape[:-1]), specs[0])

    def kernel(self, specs: Specs, attrs: None) -> Kernel:
        return EighKernel()

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Any, attrs: None, needs: Needs
    ) -> Record:
        return EighRecord(saved_output(output[0], 0), saved_output(output[1], 1))


@record
class EigvalshRecord(Record):
    """d eigvalsh(x) / dx = v diag(grad) v.T with the eigenvectors v, computed in backward."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        x = self.x.tensor()
        if not x.spec.size:
            return (zeros(x.spec),)
        w, v = apply("eigh", x)
        scale = shared(grad, equal_pairs(w, tolerance(w, w.shape[-1])))
        return ((v * scale.expand_dims(-2)) @ v.mT,)


@register
class Eigvalsh(Op):
    name = "eigvalsh"

    def infer(self, specs: Specs, attrs: None) -> Spec:
        check_matrices("eigvalsh", specs[0], square=True)
        return specs[0].with_shape(specs[0].shape[:-1])

    def kernel(self, specs: Specs, attrs: None) -> Kernel:
        return EighValues()

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return EigvalshRecord(Saved(inputs[0]))


def eigh(x: Tensor[Float]) -> EighResult:
    """The eigenvalues w, increasing, and orthonormal eigenvectors: ``x @ v = v @ diag(w)``.

    Only the lower triangle of `x` is read: `x` is taken to be symmetric. The sign of an eigenvector
    is LAPACK's choice: a loss should not depend on it.

    **Shapes.** (..., n, n) give (..., n), and (..., n, n) whose columns are the eigenvectors.
    **Kinds.** float32 or float64.
    **Gradient.** ``v (diag(grad_w) + f * (s - s.mT) / 2) v.mT`` with ``s = v.mT @ grad_v`` and
    ``f = 1 / (w_j - w_i)``, that of a function of symmetric matrices, itself symmetric. A function
    of w alone shares it evenly among equal eigenvalues (to 10 n roundings). Eigenvectors of equal
    ones have no derivative: where a gradient reaches these, or equal eigenvalues beside any
    eigenvectors, all of the matrix's is NaN. Eigenvalues that are close make it large. (M. B.
    Giles, An extended collection of matrix derivative results, 2008.)
    **Raises.** MatrixError for a matrix that is not finite, with its place in the batch; ShapeError
    for matrices that are not square, DTypeError for half types, KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.linalg.eigh(lm.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
    [1.0, 2.0]
    """
    check_tensors("eigh", x)
    return EighResult(*apply("eigh", x))


def eigvalsh(x: Tensor[Float]) -> Tensor[Float]:
    """The eigenvalues of symmetric matrices, increasing; only the lower triangle is read.

    **Shapes.** (..., n, n) give (..., n).
    **Kinds.** float32 or float64.
    **Gradient.** ``v diag(grad) v.mT`` with the eigenvectors, which backward computes; shared
    evenly among equal eigenvalues (to 10 n roundings).
    **Raises.** MatrixError for a matrix that is not finite, with its place in the batch; ShapeError
    for matrices that are not square, DTypeError for half types, KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.linalg.eigvalsh(lm.tensor([[0.0, 1.0], [1.0, 0.0]])).tolist()
    [-1.0, 1.0]
    """
    check_tensors("eigvalsh", x)
    return apply("eigvalsh", x)
