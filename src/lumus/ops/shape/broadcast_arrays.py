"""broadcast_arrays: tensors repeated to the shape that they all broadcast to."""

from __future__ import annotations

from lumus.core.argument import check_tensors
from lumus.core.broadcast import broadcast_shapes
from lumus.core.kinds import K
from lumus.core.tensor import Tensor


def broadcast_arrays(*tensors: Tensor[K]) -> list[Tensor[K]]:
    """Views of the tensors, repeated to the shape that they all broadcast to.

    **Shapes.** Those that broadcast together.
    **Kinds.** Any; each keeps its own.
    **Gradient.** `grad`, summed over the axes along which a tensor was repeated.
    **Raises.** ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> [one.shape for one in lm.broadcast_arrays(lm.zeros((3, 1)), lm.zeros((4,)))]
    [(3, 4), (3, 4)]
    """
    check_tensors("broadcast_arrays", *tensors)
    if not tensors:
        return []
    shape = broadcast_shapes("broadcast_arrays", *(one.shape for one in tensors))
    return [one.broadcast_to(shape) for one in tensors]
