"""Rules of the kernels of linear algebra and of Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lumus.compile.passes.operands import (
    Specs,
    check,
    check_axis,
    check_equal,
    check_precise,
    replaced,
)
from lumus.core import kernels
from lumus.core.broadcast import Shape, broadcast_shapes
from lumus.core.dtypes import int64
from lumus.core.spec import Spec

Rule = Callable[[Any, Specs, Specs], Spec | Specs]


def _stack(spec: Spec) -> tuple[Shape, int, int]:
    """(batch, rows, columns) of a stack of matrices."""
    check_precise(spec)
    check(spec.ndim >= 2, f"{spec!r} is no matrix")
    *batch, rows, columns = spec.shape
    return tuple(batch), rows, columns


def _square(spec: Spec) -> Shape:
    """The batch of a stack of square matrices."""
    batch, rows, columns = _stack(spec)
    check_equal(columns, rows)
    return batch


def _same(kernel: Any, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    _square(x)
    return x


def _each(kernel: Any, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    return x.with_shape(_square(x))


def _signed_log(kernel: Any, inputs: Specs, outputs: Specs) -> Specs:
    (x,) = inputs
    one = x.with_shape(_square(x))
    return (one, one)


def _tangent(kernel: Any, inputs: Specs, outputs: Specs) -> Spec:
    a, direction = inputs
    _square(a)
    check_equal(direction, a)
    return a


def _solve(kernel: Any, inputs: Specs, outputs: Specs) -> Spec:
    a, b = inputs
    _square(a)
    return _solution(a, b)


def _solution(a: Spec, b: Spec) -> Spec:
    batch, rows, columns = _stack(a)
    check_precise(a, b)
    if b.ndim == 1:
        check_equal(b.shape, (rows,))
        return a.with_shape((*batch, columns))
    of_b, rows_of_b, count = _stack(b)
    check_equal(rows_of_b, rows)
    return a.with_shape((*broadcast_shapes("solve", batch, of_b), columns, count))


def _least_squares(kernel: kernels.LeastSquares, inputs: Specs, outputs: Specs) -> Specs:
    a, b = inputs
    batch, rows, columns = _stack(a)
    rank = a.with_shape(batch).with_dtype(int64)
    return (_solution(a, b), rank, a.with_shape((*batch, min(rows, columns))))


def _qr(kernel: kernels.QR, inputs: Specs, outputs: Specs) -> Specs:
    (x,) = inputs
    batch, rows, columns = _stack(x)
    count = rows if kernel.complete else min(rows, columns)
    return (x.with_shape((*batch, rows, count)), x.with_shape((*batch, count, columns)))


def _svd(kernel: kernels.SVD, inputs: Specs, outputs: Specs) -> Specs:
    (x,) = inputs
    batch, rows, columns = _stack(x)
    count = min(rows, columns)
    left, right = (rows, columns) if kernel.full else (count, count)
    shapes = ((*batch, rows, left), (*batch, count), (*batch, right, columns))
    return tuple([x.with_shape(shape) for shape in shapes])


def _singular_values(kernel: Any, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    batch, rows, columns = _stack(x)
    return x.with_shape((*batch, min(rows, columns)))


def _eigh(kernel: Any, inputs: Specs, outputs: Specs) -> Specs:
    (x,) = inputs
    _square(x)
    return (x.with_shape(x.shape[:-1]), x)


def _eigh_values(kernel: Any, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    _square(x)
    return x.with_shape(x.shape[:-1])


def _pseudo_inverse(kernel: Any, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    batch, rows, columns = _stack(x)
    return x.with_shape((*batch, columns, rows))


def _fourier(kernel: kernels.Fourier, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    check_precise(x)
    check_equal(x.shape[-1:], (2,))
    check_equal(len(set(kernel.axes)), len(kernel.axes))
    for axis in kernel.axes:
        check_axis(axis, x.ndim - 1)
        check(x.shape[axis], f"a transform of nothing along axis {axis}")
    return x


def _real_fourier(kernel: kernels.RealFourier, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    check_precise(x)
    check_axis(kernel.axis, x.ndim)
    length = x.shape[kernel.axis]
    check(length, f"a transform of nothing along axis {kernel.axis}")
    return x.with_shape((*replaced(x.shape, kernel.axis, length // 2 + 1), 2))


def _inverse_real(kernel: kernels.InverseRealFourier, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    check_precise(x)
    check_equal(x.shape[-1:], (2,))
    check_axis(kernel.axis, x.ndim - 1)
    check(kernel.length >= 1, f"{kernel.length} numbers")
    check_equal(x.shape[kernel.axis], kernel.length // 2 + 1)
    return x.with_shape(replaced(x.shape[:-1], kernel.axis, kernel.length))


RULES: dict[type[Any], Rule] = {
    kernels.Fourier: _fourier,
    kernels.InverseRealFourier: _inverse_real,
    kernels.RealFourier: _real_fourier,
    kernels.Cholesky: _same,
    kernels.Cofactor: _same,
    kernels.CofactorTangent: _tangent,
    kernels.Determinant: _each,
    kernels.Eigh: _eigh,
    kernels.EighValues: _eigh_values,
    kernels.Inverse: _same,
    kernels.LeastSquares: _least_squares,
    kernels.PseudoInverse: _pseudo_inverse,
    kernels.QR: _qr,
    kernels.SVD: _svd,
    kernels.SignedLogDeterminant: _signed_log,
    kernels.SingularValues: _singular_values,
    kernels.Solve: _solve,
    kernels.SolveTriangular: _solve,
}
