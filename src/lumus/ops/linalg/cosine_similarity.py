"""cosine_similarity: the cosine of the angle between vectors."""

from __future__ import annotations

from lumus.core.argument import axis_of, check_tensors, finite
from lumus.core.broadcast import broadcast_shapes
from lumus.core.dtypes import float32, is_half, promote
from lumus.core.kinds import Float
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError


def cosine_similarity(
    x: Tensor[Float], y: Tensor[Float], axis: int = 1, eps: float = 1e-8
) -> Tensor[Float]:
    """The cosine of the angle between vectors along `axis`: ``sum(x * y) / (|x| * |y|)``.

    Norms smaller than `eps` count as `eps`, so a zero vector has similarity 0 to all. Each vector
    is divided by its norm first, so that large and small ones neither overflow nor vanish.

    **Shapes.** Broadcast together; `axis` of that shape is removed.
    **Kinds.** Float; dtypes promote, half types compute in float32.
    **Gradient.** For x of a norm above `eps`: ``grad * (y / |y| - cosine * x / |x|) / |x|``.
    **Raises.** KindError for Int and Bool, ShapeError for shapes that do not broadcast,
    ArgumentError for an axis out of range or an `eps` below 0.

    >>> import lumus as lm
    >>> x = lm.tensor([[1.0, 0.0], [3.0, 4.0]])
    >>> lm.nn.functional.cosine_similarity(x, lm.tensor([[0.0, 5.0]])).tolist()
    [0.0, 0.800000011920929]
    """
    check_tensors("cosine_similarity", x, y)
    dtype = promote(x.dtype, y.dtype, "cosine_similarity")
    if dtype.kind != "float":
        raise kind_error("cosine_similarity", dtype, ("float",))
    eps = finite("cosine_similarity", "eps", eps)
    if eps < 0:
        raise ArgumentError(f"cosine_similarity: eps must not be below 0, got {eps}")
    shape = broadcast_shapes("cosine_similarity", x.shape, y.shape)
    wide = float32 if is_half(dtype) else dtype
    x, y = (one.astype(wide).broadcast_to(shape) for one in (x, y))
    place = axis_of("cosine_similarity", x, axis)
    directions = [one / one.norm(axis=place, keepdims=True).maximum(eps) for one in (x, y)]
    return (directions[0] * directions[1]).sum(axis=place).astype(dtype)
