"""Linear algebra: the array API's `linalg`, on stacks of matrices, differentiable.

The last two axes are a matrix, those before them count the matrices. Decompositions run in float32
and float64, by LAPACK through NumPy on devices of the host.
"""

from lumus.ops.linalg.cholesky import cholesky
from lumus.ops.linalg.cross import cross
from lumus.ops.linalg.det import det
from lumus.ops.linalg.diagonal import diagonal, trace
from lumus.ops.linalg.eigh import eigh, eigvalsh
from lumus.ops.linalg.inv import inv
from lumus.ops.linalg.lstsq import lstsq
from lumus.ops.linalg.matmul import matmul
from lumus.ops.linalg.matrix_power import matrix_power
from lumus.ops.linalg.matrix_rank import matrix_rank
from lumus.ops.linalg.outer import outer
from lumus.ops.linalg.pinv import pinv
from lumus.ops.linalg.qr import qr
from lumus.ops.linalg.slogdet import slogdet
from lumus.ops.linalg.solve import solve
from lumus.ops.linalg.solve_triangular import solve_triangular
from lumus.ops.linalg.svd import svd, svdvals
from lumus.ops.linalg.tensordot import tensordot
from lumus.ops.linalg.vecdot import vecdot

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_power",
    "matrix_rank",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
]
