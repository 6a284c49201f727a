"""matrix_power: a matrix times itself."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.argument import check_tensors
from lumus.core.broadcast import integer
from lumus.core.kinds import Float, Int
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, ShapeError
from lumus.ops.create.eye import eye
from lumus.ops.linalg.inv import inv


@overload
def matrix_power(x: Tensor[Float], n: int) -> Tensor[Float]: ...
@overload
def matrix_power(x: Tensor[Int], n: int) -> Tensor[Int]: ...
def matrix_power(x: Any, n: int) -> Any:
    """``x @ x @ ... @ x``, n times, by repeated squaring; of the inverse for negative n.

    **Shapes.** (..., n, n), kept. To the power of 0 it is the identity, to that of 1 `x` itself.
    **Kinds.** Float or Int; ints wrap. Negative powers need float32 or float64.
    **Gradient.** That of the products.
    **Raises.** ShapeError for matrices that are not square, ArgumentError for a power that is no
    integer, KindError for Bool and for negative powers of Int, MatrixError for negative powers of a
    singular matrix.

    >>> import lumus as lm
    >>> lm.linalg.matrix_power(lm.tensor([[1, 1], [0, 1]]), 5).tolist()
    [[1, 5], [0, 1]]
    """
    op = "matrix_power"
    check_tensors(op, x)
    if x.dtype.kind == "bool":
        raise kind_error(op, x.dtype, ("float", "int"))
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{op}: needs square matrices, got shape {x.shape}", op=op)
    exponent = integer(op, "n", n)
    if exponent.bit_length() > 63:
        raise ArgumentError(f"{op}: n must fit into 64 bits", op=op)
    if exponent < 0:
        if x.dtype.kind == "int":
            raise kind_error(op, x.dtype, ("float",), what="a matrix (for a negative power)")
        x, exponent = inv(x), -exponent
    if exponent == 0:
        return eye(x.shape[-1], dtype=x.dtype, device=x.device).broadcast_to(x.shape).copy()
    while exponent % 2 == 0:
        x, exponent = x @ x, exponent // 2
    result = x
    while exponent > 1:
        x, exponent = x @ x, exponent // 2
        if exponent % 2:
            result = result @ x
    return result
