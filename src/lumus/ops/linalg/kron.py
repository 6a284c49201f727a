"""kron: the Kronecker product."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.argument import check_tensors
from lumus.core.broadcast import MAX_AXES
from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError


@overload
def kron(x: Tensor[Float], y: Tensor[Float]) -> Tensor[Float]: ...
@overload
def kron(x: Tensor[Int], y: Tensor[Int]) -> Tensor[Int]: ...
def kron(x: Any, y: Any) -> Any:
    """The Kronecker product: `x` with each element replaced by that element times `y`.

    **Shapes.** (n, m) and (p, q) give (n * p, m * q); any rank up to 8, the shorter shape is filled
    up with ones in front.
    **Kinds.** Float or Int, both the same; dtypes promote.
    **Gradient.** For x each block of `grad` times `y`, summed; for y the blocks times the elements
    of `x`, summed.
    **Raises.** KindError for Bool or mixed kinds, ShapeError for more than 8 axes.

    >>> import lumus as lm
    >>> lm.kron(lm.tensor([1, 2]), lm.tensor([3, 4])).tolist()
    [3, 4, 6, 8]
    """
    check_tensors("kron", x, y)
    rank = max(x.ndim, y.ndim)
    if 2 * rank > MAX_AXES:
        raise ShapeError(
            f"kron: at most {MAX_AXES // 2} axes, got shapes {x.shape} and {y.shape}", op="kron"
        )
    blocks = (1,) * (rank - x.ndim) + x.shape
    inner = (1,) * (rank - y.ndim) + y.shape
    one_apart = [length for pair in zip(blocks, (1,) * rank, strict=True) for length in pair]
    two_apart = [length for pair in zip((1,) * rank, inner, strict=True) for length in pair]
    product = x.reshape(one_apart) * y.reshape(two_apart)
    return product.reshape([n * m for n, m in zip(blocks, inner, strict=True)])
