"""slogdet: the sign and the logarithm of the determinant."""

from __future__ import annotations

from typing import Any, NamedTuple

from lumus.core.argument import check_tensors
from lumus.core.dispatch import apply
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.linalg import SignedLogDeterminant
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record
from lumus.core.tensor import Tensor
from lumus.errors import MatrixError
from lumus.ops.broadcasting import zeros
from lumus.ops.linalg.inv import inv
from lumus.ops.linalg.matrices import check_matrices


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Tensor[Float]
    logabsdet: Tensor[Float]


@record
class SlogdetRecord(Record):
    """d log|det(x)| / dx = grad * inv(x).T; the sign is constant around x."""

    x: Saved[Float]

    def vjp(self, *grads: Tensor[Float] | None) -> tuple[Tensor[Float] | None, ...]:
        x, grad = self.x.tensor(), grads[1]
        if grad is None:
            return (zeros(x.spec),)
        try:
            inverse = inv(x)
        except MatrixError as error:
            raise MatrixError(
                "slogdet: log|det| has no gradient at a singular matrix\n"
                f"  {error.message.removeprefix('inv: ')}",
                hint="the gradient of det exists there",
                op="slogdet",
                position=error.position,
            ) from None
        return (grad.reshape((*grad.shape, 1, 1)) * inverse.mT,)


@register
class Slogdet(Op):
    name = "slogdet"

    def infer(self, specs: Specs, attrs: None) -> Specs:
        check_matrices("slogdet", specs[0], square=True)
        spec = specs[0].with_shape(specs[0].shape[:-2])
        return (spec, spec)

    def kernel(self, specs: Specs, attrs: None) -> Kernel:
        return SignedLogDeterminant()

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Any, attrs: None, needs: Needs
    ) -> Record:
        return SlogdetRecord(Saved(inputs[0]))


def slogdet(x: Tensor[Float]) -> SlogdetResult:
    """The sign of each determinant and ``log|det|``, for determinants beyond the dtype's range.

    Of a singular matrix they are 0 and -inf.

    **Shapes.** (..., n, n) give two tensors of shape (...).
    **Kinds.** float32 or float64.
    **Gradient.** `grad` of the logarithm times ``inv(x).mT``; 0 for the sign.
    **Raises.** MatrixError for a matrix that is not finite, and in backward for one that is
    singular, with its place in the batch; ShapeError for matrices that are not square, DTypeError
    for half types, KindError for Int and Bool.

    >>> import lumus as lm
    >>> sign, logabsdet = lm.linalg.slogdet(lm.tensor([[0.0, 1.0], [1.0, 0.0]]))
    >>> sign.item(), logabsdet.item()
    (-1.0, 0.0)
    """
    check_tensors("slogdet", x)
    return SlogdetResult(*apply("slogdet", x))
