"""unstack: a tensor taken apart along an axis."""

from __future__ import annotations

from lumus.core.argument import axis_of
from lumus.core.composite import composite
from lumus.core.kinds import K
from lumus.core.tensor import Tensor


@composite("unstack")
def unstack(x: Tensor[K], axis: int = 0) -> tuple[Tensor[K], ...]:
    """Views of `x` at each index of an axis, which they do not have: `stack` undone.

    **Shapes.** As many tensors as the axis is long.
    **Kinds.** Any.
    **Gradient.** To each its place in `x`.
    **Raises.** ArgumentError for an axis out of range.

    >>> import lumus as lm
    >>> [row.tolist() for row in lm.unstack(lm.tensor([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """
    axis = axis_of("unstack", x, axis)
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    return tuple([x.narrow(axis, index, 1).reshape(shape) for index in range(x.shape[axis])])
