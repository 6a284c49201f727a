"""count_nonzero: how many elements are not zero, over axes."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import axes_of
from lumus.core.composite import composite
from lumus.core.kinds import Bool, Int
from lumus.core.tensor import Axes, Tensor


@composite("count_nonzero")
def count_nonzero(x: Tensor[Any], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Int]:
    """How many elements over `axis` are not zero (NaN is not; True is not).

    **Shapes.** The axes in `axis` (all by default) are removed, or kept with length 1 by
    `keepdims`.
    **Kinds.** Any; the result is int64.
    **Gradient.** None: the result is Int.
    **Raises.** ArgumentError for an axis out of range or named twice.

    >>> import lumus as lm
    >>> lm.count_nonzero(lm.tensor([[1, 0], [2, 3]]), axis=0).tolist()
    [2, 1]
    """
    axes = axes_of("count_nonzero", x, axis)
    is_nonzero: Tensor[Bool] = x if x.dtype.kind == "bool" else x != 0
    return is_nonzero.sum(axis=axes, keepdims=keepdims)
