"""solve: systems of linear equations."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import check_tensors
from lumus.core.dispatch import apply
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.linalg import Solve as SolveKernel
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.spec import Spec, spec_of
from lumus.core.tensor import Tensor
from lumus.ops.broadcasting import sum_to
from lumus.ops.linalg.matrices import check_matrices, right_side_shape, same_dtype


@record
class SolveRecord(Record):
    """d solve(a, b) = (-grad_b @ x.T, grad_b) with grad_b = solve(a.T, grad)."""

    a: Saved[Float]
    x: Saved[Float] | None
    a_spec: Spec
    b_spec: Spec

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        column = grad.expand_dims(-1) if self.b_spec.ndim == 1 else grad
        grad_b = apply("solve", self.a.tensor().mT, column)
        grad_a = None
        if self.x is not None:
            x = self.x.tensor()
            row = x.expand_dims(-2) if self.b_spec.ndim == 1 else x.mT
            grad_a = sum_to(-(grad_b @ row), self.a_spec)
        if self.b_spec.ndim == 1:
            grad_b = grad_b.squeeze(-1)
        return (grad_a, sum_to(grad_b, self.b_spec))


@register
class Solve(Op):
    name = "solve"

    def infer(self, specs: Specs, attrs: None) -> Spec:
        a, b = specs
        check_matrices("solve", a, square=True)
        return spec_of(right_side_shape("solve", a, b), a.dtype, a.device)

    def kernel(self, specs: Specs, attrs: None) -> Kernel:
        return SolveKernel()

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        a, b = inputs
        return SolveRecord(Saved(a), saved_output(output) if needs[0] else None, a.spec, b.spec)


def solve(a: Tensor[Float], b: Tensor[Float]) -> Tensor[Float]:
    """The x with ``a @ x = b``, by LU decomposition with row exchanges (LAPACK's gesv).

    **Shapes.** `a` (..., n, n); `b` is one vector (n,), or (..., n, k), whose columns are right
    sides. The axes before the last two broadcast. Several vectors of a batch are ``b[..., None]``.
    **Kinds.** float32 or float64; dtypes promote.
    **Gradient.** ``solve(a.mT, grad)`` for b, and minus that times ``x.mT`` for a.
    **Raises.** MatrixError for a matrix that is singular or not finite, with its place in the
    batch; ShapeError for shapes that do not fit, DTypeError for half types, KindError for Int and
    Bool. A matrix that is nearly singular is solved as well as its condition allows.

    >>> import lumus as lm
    >>> lm.linalg.solve(lm.tensor([[2.0, 0.0], [0.0, 4.0]]), lm.tensor([2.0, 2.0])).tolist()
    [1.0, 0.5]
    """
    check_tensors("solve", a, b)
    return apply("solve", *same_dtype("solve", a, b))
