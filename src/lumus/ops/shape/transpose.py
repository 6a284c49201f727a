"""transpose: two axes swapped."""

from __future__ import annotations

from lumus.core.argument import axis_of
from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.kinds import K
from lumus.core.tensor import Tensor


@composite("transpose")
def transpose(x: Tensor[K], axis0: int = -2, axis1: int = -1) -> Tensor[K]:
    """A view with two axes swapped, by default the last two.

    **Shapes.** Both axes must exist.
    **Kinds.** Any.
    **Gradient.** `grad`, with the axes swapped back.
    **Raises.** ArgumentError for an axis out of range.

    >>> import lumus as lm
    >>> lm.transpose(lm.tensor([[1, 2], [3, 4]])).tolist()
    [[1, 3], [2, 4]]
    """
    first = axis_of("transpose", x, axis0)
    second = axis_of("transpose", x, axis1)
    axes = list(range(x.ndim))
    axes[first], axes[second] = second, first
    return apply("permute_dims", x, axes=tuple(axes))
