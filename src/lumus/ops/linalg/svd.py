"""svd: the singular value decomposition."""

from __future__ import annotations

from typing import Any, NamedTuple

from lumus.core.argument import check_tensors, flag
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.linalg import SVD as SVDKernel  # noqa: N811
from lumus.core.kernels.linalg import SingularValues
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.broadcasting import zeros
from lumus.ops.elementwise.where import where
from lumus.ops.linalg.degenerate import equal_pairs, shared, tolerance
from lumus.ops.linalg.matrices import check_matrices
from lumus.ops.linalg.svd_grad import svd_grad


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Tensor[Float]
    S: Tensor[Float]
    Vh: Tensor[Float]


@frozen
class SvdAttrs:
    """Whether u and vh are square."""

    full: bool


@record
class SvdRecord(Record):
    """d svd(x) / dx: see `svd_grad`."""

    u: Saved[Float]
    s: Saved[Float]
    vh: Saved[Float]
    spec: Spec

    def vjp(self, *grads: Tensor[Float] | None) -> tuple[Tensor[Float] | None, ...]:
        u, s, vh = self.u.tensor(), self.s.tensor(), self.vh.tensor()
        by_u, by_s, by_vh = grads
        if not self.spec.size:
            return (zeros(self.spec),)
        if by_u is None and by_vh is None:
            assert by_s is not None
            return (_by_values(u, s, vh, by_s),)
        return (svd_grad((u, s, vh), (by_u, by_s, by_vh)),)


def _by_values(
    u: Tensor[Float], s: Tensor[Float], vh: Tensor[Float], grad: Tensor[Float]
) -> Tensor[Float]:
    """The gradient of a function of the singular values alone.

    Shared evenly among equal ones, and 0 at those of 0, where a singular value has a kink.
    """
    limit = tolerance(s, max(u.shape[-2], vh.shape[-1]))
    scale = where(s.detach() <= limit, 0.0, shared(grad, equal_pairs(s, limit)))
    count = s.shape[-1]
    left, right = u.narrow(-1, 0, count), vh.narrow(-2, 0, count)
    return (left * scale.expand_dims(-2)) @ right


@register
class Svd(Op):
    name = "svd"
    attrs = SvdAttrs

    def infer(self, specs: Specs, attrs: SvdAttrs) -> Specs:
        (spec,) = specs
        check_matrices("svd", spec)
        *batch, rows, columns = spec.shape
        count = min(rows, columns)
        left, right = (rows, columns) if attrs.full else (count, count)
        shapes = ((*batch, rows, left), (*batch, count), (*batch, right, columns))
        return tuple([spec.with_shape(shape) for shape in shapes])

    def kernel(self, specs: Specs, attrs: SvdAttrs) -> Kernel:
        return SVDKernel(attrs.full)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Any, attrs: SvdAttrs, needs: Needs
    ) -> Record:
        u, s, vh = (saved_output(one, place) for place, one in enumerate(output))
        return SvdRecord(u, s, vh, inputs[0].spec)


@record
class SvdvalsRecord(Record):
    """d svdvals(x) / dx = u diag(grad) vh with the singular vectors, computed in backward."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        x = self.x.tensor()
        if not x.spec.size:
            return (zeros(x.spec),)
        u, s, vh = apply("svd", x, full=False)
        return (_by_values(u, s, vh, grad),)


@register
class Svdvals(Op):
    name = "svdvals"

    def infer(self, specs: Specs, attrs: None) -> Spec:
        (spec,) = specs
        check_matrices("svdvals", spec)
        return spec.with_shape((*spec.shape[:-2], min(spec.shape[-2:])))

    def kernel(self, specs: Specs, attrs: None) -> Kernel:
        return SingularValues()

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return SvdvalsRecord(Saved(inputs[0]))


def svd(x: Tensor[Float], *, full_matrices: bool = True) -> SVDResult:
    """Orthogonal u and vh and decreasing s with ``x = u @ diag(s) @ vh``.

    The signs of the vectors are LAPACK's choice: a loss should not depend on them.

    **Shapes.** (..., n, m) give u (..., n, n), s (..., k) and vh (..., m, m), k the smaller of n
    and m; with ``full_matrices=False`` u is (..., n, k), and vh (..., k, m).
    **Kinds.** float32 or float64.
    **Gradient.** Written out in `lumus.ops.linalg.svd_grad`. Of a function of s alone: ``u diag(g)
    vh``, shared evenly among equal singular values (to 10 rounding errors a row), and 0 at those of
    0. Vectors of equal singular values, or of more than one 0, have no derivative: where a gradient
    reaches these, or such values beside any vectors, all of the matrix's is NaN. Values that are
    close make it large.
    **Raises.** MatrixError for a matrix that is not finite, with its place in the batch; ShapeError
    for fewer than two axes, DTypeError for half types, KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.linalg.svd(lm.tensor([[0.0, 2.0], [1.0, 0.0]])).S.tolist()
    [2.0, 1.0]
    """
    check_tensors("svd", x)
    return SVDResult(*apply("svd", x, full=flag("svd", "full_matrices", full_matrices)))


def svdvals(x: Tensor[Float]) -> Tensor[Float]:
    """The singular values of each matrix, decreasing.

    **Shapes.** (..., n, m) give (..., k), k the smaller of n and m.
    **Kinds.** float32 or float64.
    **Gradient.** ``u diag(grad) vh`` with the singular vectors, which backward computes; shared
    evenly among equal singular values (to 10 rounding errors a row), and 0 at those of 0.
    **Raises.** MatrixError for a matrix that is not finite, with its place in the batch; ShapeError
    for fewer than two axes, DTypeError for half types, KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.linalg.svdvals(lm.tensor([[0.0, 2.0], [1.0, 0.0]])).tolist()
    [2.0, 1.0]
    """
    check_tensors("svdvals", x)
    return apply("svdvals", x)
