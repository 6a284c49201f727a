"""matrix_rank: how many columns are linearly independent."""

from __future__ import annotations

from lumus.core.argument import check_tensors
from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.ops.linalg.matrices import check_matrices
from lumus.ops.linalg.pinv import relative_tolerance
from lumus.ops.linalg.svd import svdvals


def matrix_rank(x: Tensor[Float], *, rtol: float | None = None) -> Tensor[Int]:
    """How many singular values are greater than `rtol` times the largest.

    **Shapes.** (..., n, m) give (...). `rtol` is the larger of n and m times the dtype's rounding,
    if it is not given.
    **Kinds.** float32 or float64; the result is int64.
    **Gradient.** None: the result is Int.
    **Raises.** MatrixError for a matrix that is not finite, with its place in the batch; ShapeError
    for fewer than two axes, ArgumentError for a negative `rtol`, DTypeError for half types,
    KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.linalg.matrix_rank(lm.tensor([[1.0, 2.0], [2.0, 4.0]])).item()
    1
    """
    check_tensors("matrix_rank", x)
    check_matrices("matrix_rank", x.spec)
    limit = relative_tolerance("matrix_rank", x, rtol)
    values = svdvals(x.detach())
    if not values.shape[-1]:
        return (values > 0.0).sum(axis=-1)
    return (values > values.narrow(-1, 0, 1) * limit).sum(axis=-1)
