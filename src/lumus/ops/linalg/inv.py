"""inv: the inverse of matrices."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import check_tensors
from lumus.core.dispatch import apply
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.linalg import Inverse
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.linalg.matrices import check_matrices


@record
class InvRecord(Record):
    """d inv(x) / dx = -y.T @ grad @ y.T with y the inverse."""

    y: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        transposed = self.y.tensor().mT
        return (-(transposed @ grad @ transposed),)


@register
class Inv(Op):
    name = "inv"

    def infer(self, specs: Specs, attrs: None) -> Spec:
        check_matrices("inv", specs[0], square=True)
        return specs[0]

    def kernel(self, specs: Specs, attrs: None) -> Kernel:
        return Inverse()

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return InvRecord(saved_output(output))


def inv(x: Tensor[Float]) -> Tensor[Float]:
    """The inverse of each matrix. To solve equations, `solve` is faster and more exact.

    **Shapes.** (..., n, n), kept.
    **Kinds.** float32 or float64.
    **Gradient.** ``-y.mT @ grad @ y.mT`` with y the result.
    **Raises.** MatrixError for a matrix that is singular or not finite, with its place in the
    batch; ShapeError for matrices that are not square, DTypeError for half types, KindError for Int
    and Bool.

    >>> import lumus as lm
    >>> lm.linalg.inv(lm.tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    check_tensors("inv", x)
    return apply("inv", x)
