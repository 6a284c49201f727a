"""lstsq: the least-squares solution of linear equations."""

from __future__ import annotations

from typing import Any, NamedTuple

from lumus.core.argument import check_tensors
from lumus.core.dispatch import apply
from lumus.core.dtypes import int64
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.linalg import LeastSquares
from lumus.core.kinds import Float, Int
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.spec import spec_of
from lumus.core.tensor import Tensor
from lumus.ops.broadcasting import sum_to
from lumus.ops.linalg.matrices import check_matrices, right_side_shape, same_dtype
from lumus.ops.linalg.pinv import pinv, relative_tolerance


class LstsqResult(NamedTuple):
    """What `lstsq` returns."""

    solution: Tensor[Float]
    residuals: Tensor[Float]
    rank: Tensor[Int]
    singular_values: Tensor[Float]


@frozen
class LstsqAttrs:
    """Singular values up to `rtol` times the largest count as 0."""

    rtol: float


@record
class LstsqRecord(Record):
    """d lstsq(a, b) = (r (y gb).T - gb x.T + (y.T x) (g - a.T gb).T, gb), gb = y.T g, r = b - a x.

    y is the pseudo-inverse of a.
    """

    a: Saved[Float]
    b: Saved[Float]
    x: Saved[Float]
    rtol: float
    needs: Needs

    def vjp(self, *grads: Tensor[Float] | None) -> tuple[Tensor[Float] | None, ...]:
        grad, a, b, x = grads[0], self.a.tensor(), self.b.tensor(), self.x.tensor()
        if grad is None:
            return (None, None)
        is_vector = b.ndim == 1
        if is_vector:
            grad, b_columns, x = grad.expand_dims(-1), b.expand_dims(-1), x.expand_dims(-1)
        else:
            b_columns = b
        y = pinv(a, rtol=self.rtol)
        by_b = y.mT @ grad
        by_a = None
        if self.needs[0]:
            residual = b_columns - a @ x
            by_a = residual @ (y @ by_b).mT - by_b @ x.mT
            by_a = by_a + (y.mT @ x) @ (grad - a.mT @ by_b).mT
            by_a = sum_to(by_a, a.spec)
        return (by_a, sum_to(by_b.squeeze(-1) if is_vector else by_b, b.spec))


@register
class Lstsq(Op):
    name = "lstsq"
    attrs = LstsqAttrs

    def infer(self, specs: Specs, attrs: LstsqAttrs) -> Specs:
        a, b = specs
        check_matrices("lstsq", a)
        batch, count = a.shape[:-2], min(a.shape[-2:])
        return (
            spec_of(right_side_shape("lstsq", a, b), a.dtype, a.device),
            spec_of(batch, int64, a.device),
            a.with_shape((*batch, count)),
        )

    def kernel(self, specs: Specs, attrs: LstsqAttrs) -> Kernel:
        return LeastSquares(attrs.rtol)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Any, attrs: LstsqAttrs, needs: Needs
    ) -> Record:
        a, b = inputs
        return LstsqRecord(Saved(a), Saved(b), saved_output(output[0], 0), attrs.rtol, needs)


def lstsq(a: Tensor[Float], b: Tensor[Float], *, rtol: float | None = None) -> LstsqResult:
    """The x with the least ``|a @ x - b|``, of several the shortest.

    Also the squared distance that is left, the rank of `a`, and its singular values, of which those
    up to `rtol` times the largest count as 0.

    **Shapes.** `a` (..., n, m); `b` is one vector (n,), or (..., n, k), whose columns are right
    sides. The axes before the last two broadcast. The solution is (..., m) or (..., m, k), the
    residuals (...) or (..., k), always; the rank is (...), the singular values (..., min(n, m)).
    **Kinds.** float32 or float64; dtypes promote. The rank is int64.
    **Gradient.** Of the solution and the residuals, for changes that keep the rank of `a`. The
    singular values are cut off the graph: `svdvals` has their gradient. (G. H. Golub and V.
    Pereyra, The differentiation of pseudo-inverses, 1973.)
    **Raises.** MatrixError for a matrix that is not finite, with its place in the batch; ShapeError
    for shapes that do not fit, ArgumentError for a negative `rtol`, DTypeError for half types,
    KindError for Int and Bool.

    >>> import lumus as lm
    >>> a, b = lm.tensor([[1.0], [1.0]]), lm.tensor([1.0, 3.0])
    >>> round(lm.linalg.lstsq(a, b).solution.item(), 5)
    2.0
    """
    check_tensors("lstsq", a, b)
    a, b = same_dtype("lstsq", a, b)
    check_matrices("lstsq", a.spec)
    tolerance = relative_tolerance("lstsq", a, rtol)
    x, rank, singular_values = apply("lstsq", a, b, rtol=tolerance)
    is_vector = b.ndim == 1
    left = (b.expand_dims(-1) - a @ x.expand_dims(-1)) if is_vector else b - a @ x
    residuals = left.square().sum(axis=(-2, -1) if is_vector else -2)
    return LstsqResult(x, residuals, rank, singular_values.detach())
