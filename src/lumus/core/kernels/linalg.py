"""The kernels of linear algebra on stacks of matrices; beside those of `core.kernels`.

Each acts on the last two axes; the axes before them count the matrices. float32 and float64 alone.
A kernel that a matrix does not admit (singular, not positive definite, not finite) raises
MatrixError.
"""

from __future__ import annotations

from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel


@frozen
class Solve(Kernel):
    """Of (a, b): x with ``a @ x = b``."""


@frozen
class SolveTriangular(Kernel):
    """Of (a, b): x with ``a @ x = b``, reading one triangle of a.

    With `unit` its diagonal is not read either, and counts as ones.
    """

    upper: bool
    unit: bool


@frozen
class Inverse(Kernel):
    """The inverse matrix."""


@frozen
class Determinant(Kernel):
    """The determinant."""


@frozen
class SignedLogDeterminant(Kernel):
    """The sign of the determinant, and the logarithm of its absolute value."""


@frozen
class Cofactor(Kernel):
    """The matrix of cofactors, the determinant's derivative; also of singular matrices."""


@frozen
class CofactorTangent(Kernel):
    """Of (a, direction): how the cofactors of a change in that direction."""


@frozen
class Cholesky(Kernel):
    """The lower triangular l with ``l @ l.T = a``, reading the lower triangle of a."""


@frozen
class QR(Kernel):
    """q with orthonormal columns and the upper triangular r, ``q @ r = a``.

    With as many columns as the shorter side of a, or (complete) as a has rows.
    """

    complete: bool


@frozen
class SVD(Kernel):
    """u, s, vh with ``u @ diag(s) @ vh = a``, s decreasing; u and vh square if `full`."""

    full: bool


@frozen
class SingularValues(Kernel):
    """The singular values, decreasing."""


@frozen
class Eigh(Kernel):
    """The eigenvalues, increasing, and eigenvectors (columns) of symmetric matrices.

    Reads the lower triangle.
    """


@frozen
class EighValues(Kernel):
    """The eigenvalues, increasing, of symmetric matrices, reading the lower triangle."""


@frozen
class PseudoInverse(Kernel):
    """The pseudo-inverse; singular values up to `rtol` times the largest count as 0."""

    rtol: float


@frozen
class LeastSquares(Kernel):
    """Of (a, b): the shortest x with the least ``|a @ x - b|``, the rank of a, its singular values.

    Singular values up to `rtol` times the largest count as 0.
    """

    rtol: float
