"""Linear algebra for devices on the host: LAPACK through NumPy, on stacks of matrices.

NumPy releases the interpreter lock while it computes. What LAPACK refuses, or would make nonsense
of, is told by MatrixError with the matrix's place in the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lumus.core import kernels as k
from lumus.core.kernels.kernel import Kernel
from lumus.errors import MatrixError

Array: TypeAlias = NDArray[Any]


def _matrix(position: tuple[int, ...]) -> str:
    return f"matrix {list(position)} of the batch" if position else "the matrix"


def check_finite(op: str, a: Array) -> None:
    """Raises MatrixError for the first matrix with NaN or an infinity."""
    finite = np.isfinite(a)
    if finite.all():
        return
    *position, row, column = (int(one) for one in np.argwhere(~finite)[0])
    place = tuple(position)
    raise MatrixError(
        f"{op}: {_matrix(place)} is not finite: element [{row}, {column}] is "
        f"{float(a[(*position, row, column)])}",
        op=op,
        position=place,
    )


def _refused(op: str, a: Array, why: str, run: Callable[[Array], Any]) -> MatrixError:
    """The error for the first matrix of a batch that LAPACK refuses."""
    for place in np.ndindex(a.shape[:-2]):
        try:
            run(a[place])
        except np.linalg.LinAlgError:
            break
    else:
        place = ()
    hint = None
    if "singular" in why:
        hint = "lumus.linalg.lstsq or .pinv give the least-squares answer"
    return MatrixError(f"{op}: {_matrix(place)} {why}", hint=hint, op=op, position=place)


def solve(kernel: k.Solve, a: Array, b: Array) -> Array:
    """By LU with row exchanges."""
    check_finite("solve", a)
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        raise _refused("solve", a, "is singular", np.linalg.inv) from None


def inverse(kernel: k.Inverse, a: Array) -> Array:
    """By LU with row exchanges."""
    check_finite("inv", a)
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        raise _refused("inv", a, "is singular", np.linalg.inv) from None


def check_diagonal(kernel: k.SolveTriangular, a: Array) -> None:
    """Raises MatrixError for the first matrix with a 0 on the diagonal that is divided by."""
    zero = np.diagonal(a, axis1=-2, axis2=-1) == 0
    if kernel.unit or not zero.any():
        return
    *position, row = (int(one) for one in np.argwhere(zero)[0])
    place = tuple(position)
    raise MatrixError(
        f"solve_triangular: {_matrix(place)} is singular: element {row} of its diagonal is 0",
        op="solve_triangular",
        position=place,
    )


def solve_triangular(kernel: k.SolveTriangular, a: Array, b: Array) -> Array:
    """Row by row, for all matrices at once."""
    check_diagonal(kernel, a)
    size = a.shape[-1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])))
    for row in reversed(range(size)) if kernel.upper else range(size):
        known = slice(row + 1, size) if kernel.upper else slice(0, row)
        x[..., row, :] -= (a[..., row, None, known] @ x[..., known, :])[..., 0, :]
        if not kernel.unit:
            x[..., row, :] /= a[..., row, row, None]
    return x


def determinant(kernel: k.Determinant, a: Array) -> Array:
    """By LU with row exchanges."""
    check_finite("det", a)
    return np.asarray(np.linalg.det(a))


def signed_log_determinant(kernel: k.SignedLogDeterminant, a: Array) -> tuple[Array, Array]:
    """By LU with row exchanges."""
    check_finite("slogdet", a)
    sign, logarithm = np.linalg.slogdet(a)
    return np.asarray(sign), np.asarray(logarithm)


def _products_of_others(values: Array) -> Array:
    """For each element of the last axis the product of all others, without dividing."""
    ones = np.ones((*values.shape[:-1], 1), values.dtype)
    before = np.cumprod(np.concatenate([ones, values[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([ones, values[..., :0:-1]], -1), -1)[..., ::-1]
    return np.asarray(before * after)


def _svd_with_sign(a: Array) -> tuple[Array, Array, Array, Array]:
    """u, s, vh and det(u) * det(vh), which is 1 or -1."""
    # Of a compiled function the determinant, which checks it, may have been left out; LAPACK may
    # not return from an infinity.
    check_finite("det", a)
    u, s, vh = np.linalg.svd(a)
    sign = np.linalg.slogdet(u)[0] * np.linalg.slogdet(vh)[0]
    return u, s, vh, sign[..., None, None]


def cofactor(kernel: k.Cofactor, a: Array) -> Array:
    """From the singular values: cof(u s vh) = det(u) det(vh) u cof(s) vh, rank of no matter."""
    if not a.shape[-1]:
        return np.zeros_like(a)
    u, s, vh, sign = _svd_with_sign(a)
    return np.asarray(sign * ((u * _products_of_others(s)[..., None, :]) @ vh))


def cofactor_tangent(kernel: k.CofactorTangent, a: Array, direction: Array) -> Array:
    """The change of the cofactors in a direction, e in the bases of the singular vectors.

    Of diag(s): ``[i, i]`` changes by the sum over k of ``e[k, k]`` times the product of all
    singular values but i and k; ``[i, j]`` by ``-e[j, i]`` times that of all but i and j.
    """
    if not a.shape[-1]:
        return np.zeros_like(a)
    u, s, vh, sign = _svd_with_sign(a)
    on_diagonal = np.eye(s.shape[-1], dtype=bool)
    # Row i: the products of all but i and k, for each k.
    others = _products_of_others(np.where(on_diagonal, 1, s[..., None, :]))
    others = np.where(on_diagonal, 0, others)
    e = u.mT @ direction @ vh.mT
    along = (others @ np.diagonal(e, axis1=-2, axis2=-1)[..., None])[..., 0]
    change = np.where(on_diagonal, along[..., None, :], -others * e.mT)
    return np.asarray(sign * (u @ change @ vh))


def cholesky(kernel: k.Cholesky, a: Array) -> Array:
    """The lower factor."""
    check_finite("cholesky", np.tril(a))
    try:
        return np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        why = "is not positive definite"
        raise _refused("cholesky", a, why, np.linalg.cholesky) from None


def qr(kernel: k.QR, a: Array) -> tuple[Array, Array]:
    """By Householder reflections."""
    check_finite("qr", a)
    q, r = np.linalg.qr(a, mode="complete" if kernel.complete else "reduced")
    return q, r


def svd(kernel: k.SVD, a: Array) -> tuple[Array, Array, Array]:
    """By divide and conquer."""
    check_finite("svd", a)
    try:
        u, s, vh = np.linalg.svd(a, full_matrices=kernel.full)
    except np.linalg.LinAlgError:
        raise _refused("svd", a, "did not converge", np.linalg.svd) from None
    return u, s, vh


def singular_values(kernel: k.SingularValues, a: Array) -> Array:
    """By divide and conquer."""
    check_finite("svdvals", a)
    try:
        return np.asarray(np.linalg.svd(a, compute_uv=False))
    except np.linalg.LinAlgError:
        raise _refused("svdvals", a, "did not converge", np.linalg.svd) from None


def eigh(kernel: k.Eigh, a: Array) -> tuple[Array, Array]:
    """By divide and conquer."""
    check_finite("eigh", np.tril(a))
    try:
        values, vectors = np.linalg.eigh(a)
    except np.linalg.LinAlgError:
        raise _refused("eigh", a, "did not converge", np.linalg.eigh) from None
    return values, vectors


def eigh_values(kernel: k.EighValues, a: Array) -> Array:
    """By the QL iteration."""
    check_finite("eigvalsh", np.tril(a))
    try:
        return np.asarray(np.linalg.eigvalsh(a))
    except np.linalg.LinAlgError:
        raise _refused("eigvalsh", a, "did not converge", np.linalg.eigvalsh) from None


def _inverted(s: Array, rtol: float) -> tuple[Array, Array]:
    """The inverse singular values, 0 for those that count as 0, and how many do not."""
    largest = np.max(s, axis=-1, keepdims=True, initial=0)
    counts = s > rtol * largest
    inverse = np.divide(1, s, where=counts, out=np.zeros_like(s))
    return inverse, counts.sum(-1)


def pseudo_inverse(kernel: k.PseudoInverse, a: Array) -> Array:
    """From the singular value decomposition."""
    u, s, vh = _thin_svd("pinv", a)
    return np.asarray((vh.mT * _inverted(s, kernel.rtol)[0][..., None, :]) @ u.mT)


def least_squares(kernel: k.LeastSquares, a: Array, b: Array) -> tuple[Array, Array, Array]:
    """From the singular value decomposition, so that rank does not matter."""
    u, s, vh = _thin_svd("lstsq", a)
    inverse, rank = _inverted(s, kernel.rtol)
    column = b[:, None] if b.ndim == 1 else b
    x = vh.mT @ (inverse[..., None] * (u.mT @ column))
    return x[..., 0] if b.ndim == 1 else x, rank, s


def _thin_svd(op: str, a: Array) -> tuple[Array, Array, Array]:
    """The thin decomposition, for an op of another name."""
    check_finite(op, a)
    try:
        u, s, vh = np.linalg.svd(a, full_matrices=False)
    except np.linalg.LinAlgError:
        raise _refused(op, a, "did not converge", np.linalg.svd) from None
    return u, s, vh


TABLE: dict[type[Kernel], Callable[..., Any]] = {
    k.Cholesky: cholesky,
    k.Cofactor: cofactor,
    k.CofactorTangent: cofactor_tangent,
    k.Determinant: determinant,
    k.Eigh: eigh,
    k.EighValues: eigh_values,
    k.Inverse: inverse,
    k.LeastSquares: least_squares,
    k.PseudoInverse: pseudo_inverse,
    k.QR: qr,
    k.SVD: svd,
    k.SignedLogDeterminant: signed_log_determinant,
    k.SingularValues: singular_values,
    k.Solve: solve,
    k.SolveTriangular: solve_triangular,
}
"""Each a function of the kernel and its inputs, which returns an array or a tuple of them."""
