"""expand_dims: new axes of length 1."""

from __future__ import annotations

from lumus.core.argument import check_tensors
from lumus.core.broadcast import listed, normalize_axes
from lumus.core.composite import composite
from lumus.core.kinds import K
from lumus.core.tensor import Axes, Tensor


@composite("expand_dims")
def expand_dims(x: Tensor[K], axis: Axes = 0) -> Tensor[K]:
    """A view with new axes of length 1, which stand at the positions `axis` of the result.

    **Shapes.** Rank grows by the number of axes given.
    **Kinds.** Any.
    **Gradient.** `grad` without those axes.
    **Raises.** ArgumentError for a position out of range or named twice.

    >>> import lumus as lm
    >>> lm.expand_dims(lm.zeros((2, 3)), axis=1).shape
    (2, 1, 3)
    """
    check_tensors("expand_dims", x)
    given = () if axis is None else tuple(listed(axis))
    ndim = x.ndim + len(given)
    axes = normalize_axes("expand_dims", given, ndim)
    lengths = iter(x.shape)
    shape = tuple(1 if place in axes else next(lengths) for place in range(ndim))
    return x.reshape(shape)
