"""outer: each element of one vector times each of another."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.argument import check_tensors
from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError


@overload
def outer(x: Tensor[Float], y: Tensor[Float]) -> Tensor[Float]: ...
@overload
def outer(x: Tensor[Int], y: Tensor[Int]) -> Tensor[Int]: ...
def outer(x: Any, y: Any) -> Any:
    """The products ``x[i] * y[j]``.

    **Shapes.** (n,) and (m,) give (n, m).
    **Kinds.** Float or Int, both the same; dtypes promote.
    **Gradient.** ``grad @ y`` for x, ``grad.T @ x`` for y.
    **Raises.** ShapeError for tensors that are no vectors, KindError for Bool or mixed kinds.

    >>> import lumus as lm
    >>> lm.outer(lm.tensor([1, 2]), lm.tensor([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """
    check_tensors("outer", x, y)
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(
            f"outer: needs two vectors, got shapes {x.shape} and {y.shape}",
            hint="flatten them with .reshape(-1)",
            op="outer",
        )
    return x.expand_dims(1) * y
