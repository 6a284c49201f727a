"""qr: a matrix with orthonormal columns times a triangular one."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from lumus.core.argument import check_tensors, choice
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.linalg import QR as QRKernel  # noqa: N811
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.broadcasting import zeros
from lumus.ops.create.eye import eye
from lumus.ops.elementwise.where import where
from lumus.ops.linalg.degenerate import noise_of, poisoned
from lumus.ops.linalg.matrices import check_matrices
from lumus.ops.linalg.solve_triangular import solve_triangular
from lumus.ops.linalg.triangle import tril, triu
from lumus.ops.shape.concat import concat


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Tensor[Float]
    R: Tensor[Float]


@frozen
class QrAttrs:
    """Whether q is square."""

    complete: bool


@record
class QrRecord(Record):
    """d qr(x) / dx = (grad_q + q sym(r grad_r.T - grad_q.T q)) inv(r).T, sym from the lower half.

    Columns of x beyond its rows are ``q @ r``, and their gradient ``q @ grad_r``.
    """

    q: Saved[Float]
    r: Saved[Float]
    spec: Spec

    def vjp(self, *grads: Tensor[Float] | None) -> tuple[Tensor[Float] | None, ...]:
        q, r = self.q.tensor(), self.r.tensor()
        if not self.spec.size:
            return (zeros(self.spec),)
        by_q = zeros(q.spec) if grads[0] is None else grads[0]
        by_r = zeros(r.spec) if grads[1] is None else grads[1]
        rows, columns = self.spec.shape[-2:]
        if rows < columns:
            rest = columns - rows
            by_rest = by_r.narrow(-1, rows, rest)
            by_q = by_q + (q @ r.narrow(-1, rows, rest)) @ by_rest.mT
            square = _tall(q, r.narrow(-1, 0, rows), by_q, by_r.narrow(-1, 0, rows))
            return (concat([square, q @ by_rest], -1),)
        if q.shape[-1] == columns:
            return (_tall(q, r, by_q, by_r),)
        thin, free = q.narrow(-1, 0, columns), q.narrow(-1, columns, rows - columns)
        by_thin, by_free = by_q.narrow(-1, 0, columns), by_q.narrow(-1, columns, rows - columns)
        # Turning thin columns into the free space turns free ones the other way. Which basis of
        # that space they are is no function of x, so that nothing may depend on it.
        by_thin = by_thin - free @ (by_free.mT @ thin)
        inner = (free.mT @ by_free).detach()
        is_turned = ((inner - inner.mT).abs() > noise_of(by_q.mT @ q)).any(axis=(-2, -1))
        grad = _tall(thin, r.narrow(-2, 0, columns), by_thin, by_r.narrow(-2, 0, columns))
        return (poisoned(grad, is_turned),)


def _tall(
    q: Tensor[Float], r: Tensor[Float], by_q: Tensor[Float], by_r: Tensor[Float]
) -> Tensor[Float]:
    """The gradient of a matrix with at least as many rows as columns."""
    m = r @ triu(by_r).mT - by_q.mT @ q
    total = by_q + q @ (tril(m) + tril(m, -1).mT)
    # Columns that depend on those before them have a 0 there, but for rounding.
    is_dependent = (r.detach().diagonal().abs() <= noise_of(r).squeeze(-1)).any(axis=-1)
    unit = eye(r.shape[-1], dtype=r.dtype, device=r.device)
    r = where(is_dependent.reshape((*is_dependent.shape, 1, 1)), unit, r)
    return poisoned(solve_triangular(r, total.mT, upper=True).mT, is_dependent)


@register
class Qr(Op):
    name = "qr"
    attrs = QrAttrs

    def infer(self, specs: Specs, attrs: QrAttrs) -> Specs:
        (spec,) = specs
        check_matrices("qr", spec)
        *batch, rows, columns = spec.shape
        count = rows if attrs.complete else min(rows, columns)
        return (
            spec.with_shape((*batch, rows, count)),
            spec.with_shape((*batch, count, columns)),
        )

    def kernel(self, specs: Specs, attrs: QrAttrs) -> Kernel:
        return QRKernel(attrs.complete)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Any, attrs: QrAttrs, needs: Needs
    ) -> Record:
        return QrRecord(saved_output(output[0], 0), saved_output(output[1], 1), inputs[0].spec)


def qr(x: Tensor[Float], *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """The q with orthonormal columns and the upper triangular r with ``x = q @ r``.

    The signs on r's diagonal are LAPACK's choice.

    **Shapes.** (..., n, m) give q (..., n, k) and r (..., k, m), k the smaller of n and m, or n
    with ``mode="complete"``.
    **Kinds.** float32 or float64.
    **Gradient.** ``(grad_q + q @ s) @ inv(r).mT``, s the lower triangle of ``r @ grad_r.mT -
    grad_q.mT @ q``, mirrored (S. F. Walter and L. Lehmann, Algorithmic differentiation of linear
    algebra functions, 2010; for more columns than rows D. A. O. Roberts and L. R. Roberts, QR and
    LQ decomposition matrix backpropagation algorithms, 2020). The last n - m columns of a complete
    q are any basis of their space: where `grad_q` depends on which, all of the matrix's gradient is
    NaN, as it is where the first k columns are linearly dependent.
    **Raises.** MatrixError for a matrix that is not finite, with its place in the batch; ShapeError
    for fewer than two axes, ArgumentError for another mode, DTypeError for half types, KindError
    for Int and Bool.

    >>> import lumus as lm
    >>> q, r = lm.linalg.qr(lm.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> lm.abs(r).tolist()[0][0]
    5.0
    """
    check_tensors("qr", x)
    choice("qr", "mode", mode, ("reduced", "complete"))
    return QRResult(*apply("qr", x, complete=mode == "complete"))
