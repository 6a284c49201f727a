"""pairwise_distance: the distance of each vector to the one beside it."""

from __future__ import annotations

from lumus.core.argument import check_tensors, real
from lumus.core.kinds import Float
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.reduce.norm import norm


def pairwise_distance(
    x: Tensor[Float],
    y: Tensor[Float],
    p: float = 2.0,
    eps: float = 1e-6,
    *,
    keepdims: bool = False,
) -> Tensor[Float]:
    """The p-norm of ``x - y + eps`` along the last axis.

    For the distances of all vectors to all others see `lumus.cdist`.

    **Shapes.** Broadcast together; the last axis is removed, or kept with length 1 by `keepdims`.
    **Kinds.** Float; dtypes promote.
    **Gradient.** That of `lumus.norm` at the difference; 0 where it is zero, never NaN.
    **Raises.** KindError for Int and Bool, ShapeError for shapes that do not broadcast or have no
    axis, ArgumentError for a `p` or an `eps` that is no number.

    >>> import lumus as lm
    >>> x, y = lm.tensor([[1.0, 2.0]]), lm.tensor([[4.0, 6.0]])
    >>> lm.nn.functional.pairwise_distance(x, y, eps=0.0).tolist()
    [5.0]
    """
    check_tensors("pairwise_distance", x, y)
    for one in (x, y):
        if one.dtype.kind != "float":
            raise kind_error("pairwise_distance", one.dtype, ("float",))
    eps = real("pairwise_distance", "eps", eps)
    difference = x - y
    if not difference.ndim:
        raise ShapeError(
            "pairwise_distance: the vectors are 0-d; they need an axis", op="pairwise_distance"
        )
    return norm(difference + eps if eps else difference, p, -1, keepdims=keepdims)
